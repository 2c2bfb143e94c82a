"""Objects on their way to another process: users' own classes travel with the text of their file."""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pkgutil
import sys
import sysconfig
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import equinox as eqx

INSTALLED = [Path(sysconfig.get_paths()[name]).resolve() for name in ("purelib", "platlib", "stdlib")]
OWN = Path(__file__).resolve().parent.parent


class Sent:
    """An object that is pickled only if it leaves the process, and unpickled only once in each process that it reaches.

    So what is compiled for it there is compiled once. Classes and functions that a user has defined in a file, a script
    among them, travel with the text of that file: the other process need not be able to import it.
    """

    def __init__(self, value: Any):
        self.value = value

    def __reduce__(self) -> Any:
        return _Received, (packed(self.value),)


class _Received:
    def __init__(self, content: bytes):
        self.content = content

    @property
    def value(self) -> Any:
        return _unpacked(self.content)

    def __reduce__(self) -> Any:
        return _Received, (self.content,)


@functools.lru_cache(maxsize=64)
def _unpacked(content: bytes) -> Any:
    import cloudpickle  # pyright: ignore[reportMissingImports]

    return cloudpickle.loads(content)


def packed(value: Any) -> bytes:
    """An object as bytes, from which a process that has loa can make it again."""
    try:
        import cloudpickle  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError(
            "sending work to other processes needs cloudpickle: pip install cloudpickle, or 'loa[cluster]'."
        ) from None

    class Packer(cloudpickle.Pickler):
        def reducer_override(self, obj: Any) -> Any:
            module = _users_module(obj)
            if module is not None:
                file = Path(str(module.__file__))
                return _defined_in, (file.stem, str(file.resolve()), file.read_text(), obj.__qualname__)
            if isinstance(obj, type) and issubclass(obj, eqx.Module) and obj.__module__ == "__main__":
                raise ValueError(
                    f"{obj.__qualname__} cannot be sent to another process, because it is defined in a session and not "
                    "in a file: move its definition to a file and import it."
                )
            return super().reducer_override(obj)

    stream = io.BytesIO()
    Packer(stream).dump(value)
    return stream.getvalue()


def _users_module(thing: Any) -> ModuleType | None:
    """The file of a user where a class or function is defined, if another process may be unable to import it."""
    if not isinstance(thing, type | FunctionType) or "<" in thing.__qualname__:
        return None
    module = sys.modules.get(thing.__module__ or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None or not file.endswith(".py") or "." in module.__name__:
        return None
    path = Path(file).resolve()
    if not path.is_file() or any(path.is_relative_to(place) for place in (*INSTALLED, OWN)):
        return None
    return module


def _defined_in(stem: str, file: str, text: str, qualname: str) -> Any:
    """A class or function from the text of the file that defines it; each text is run once in a process."""
    name = f"{stem}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if name not in sys.modules:
        folder = os.path.dirname(file)
        if os.path.isdir(folder) and folder not in sys.path:
            sys.path.append(folder)  # for what the file imports from beside it
        module = ModuleType(name)
        module.__file__ = file
        sys.modules[name] = module
        try:
            exec(compile(text, file, "exec"), module.__dict__)
        except BaseException:
            del sys.modules[name]
            raise
    return pkgutil.resolve_name(f"{name}:{qualname}")
