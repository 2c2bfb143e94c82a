"""Which executor a command uses: a number of processes here, or what a file says, with the keys that benchopt knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..messages.arguments import shown
from ..problems.problem_class import whole_number
from .processes import Processes

BACKENDS = ("loky", "dask", "submitit")

KEYS = {
    "loky": ("n_jobs",),
    "dask": ("dask_address", "n_jobs", "coiled_name"),
    "submitit": ("folder",),
}
"""What a file may say about each backend; submitit also takes everything that begins with `slurm_`."""


@contextmanager
def executor_for(jobs: int | None, config: Path | None) -> Iterator[Any]:
    """An executor while the block runs; None if neither is given.

    Arguments:
        jobs: the number of processes on this machine.
        config: a YAML file with `backend: loky`, `dask` or `submitit` and what that needs, as benchopt has it:
            `n_jobs` for loky, `dask_address` (or `n_jobs`, for workers on this machine) for dask, `slurm_*` for
            submitit.
    """
    if jobs is not None and config is not None:
        raise ValueError("--jobs and --parallel-config exclude each other: give n_jobs in the file.")
    if config is not None:
        settings = read_config(config)
        with MAKERS[settings["backend"]](settings, config) as executor:
            yield executor
    elif jobs is not None:
        with Processes(whole_number("--jobs", jobs)) as executor:
            yield executor
    else:
        yield None


def read_config(path: Path) -> dict[str, Any]:
    """The content of such a file, refused with a sentence if something in it is unknown.

    Arguments:
        path: of the YAML file.
    """
    try:
        import yaml  # pyright: ignore[reportMissingModuleSource]
    except ImportError:
        raise ImportError("a file for --parallel-config needs PyYAML: pip install pyyaml, or 'loa[cluster]'.") from None
    if not path.is_file():
        raise ValueError(f"there is no file {path} for --parallel-config.")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not YAML: {' '.join(str(error).split())[:120]}.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold keys such as `backend: dask`, got {shown(content)}.")
    backend = content.setdefault("backend", "loky")
    if backend not in BACKENDS:
        raise ValueError(f"{path}: backend must be {', '.join(BACKENDS)}, got {shown(backend)}.")
    known = ("backend", *KEYS[backend])
    unknown = [
        key for key in content if key not in known and not (backend == "submitit" and str(key).startswith("slurm_"))
    ]
    if unknown:
        more = " and slurm_…" if backend == "submitit" else ""
        raise ValueError(f"{path}: {unknown[0]!r} is unknown for {backend}; known are {', '.join(known)}{more}.")
    return content


@contextmanager
def _loky(settings: Mapping[str, Any], path: Path) -> Iterator[Any]:
    """Processes on this machine, which are loa's own: they are never forked, and replaced if they die."""
    with Processes(whole_number(f"n_jobs in {path}", settings.get("n_jobs", 1))) as executor:
        yield executor


@contextmanager
def _dask(settings: Mapping[str, Any], path: Path) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError(f"{path} asks for Dask: pip install distributed, or 'loa[cluster]'.") from None
    if "coiled_name" in settings:
        raise ValueError(f"{path}: start the cluster and give its dask_address instead of coiled_name.")
    address = settings.get("dask_address")
    if address is None:
        number = whole_number(f"n_jobs in {path}", settings.get("n_jobs", 1))
        cluster = LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=None)  # pyright: ignore
    else:
        cluster = address
    try:
        client = Client(cluster, timeout="30s")
    except OSError as error:
        raise ValueError(f"{path}: no scheduler of Dask answers at {address!r}.") from error
    try:
        yield client.get_executor()
    finally:
        client.close()
        if address is None:
            cluster.close()  # pyright: ignore[reportAttributeAccessIssue]


@contextmanager
def _submitit(settings: Mapping[str, Any], path: Path) -> Iterator[Any]:
    try:
        import submitit  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError(f"{path} asks for submitit: pip install submitit.") from None
    executor = submitit.AutoExecutor(folder=str(settings.get("folder", "loa-jobs")))
    executor.update_parameters(**{key: value for key, value in settings.items() if key.startswith("slurm_")})
    yield executor


MAKERS: dict[str, Callable[[Mapping[str, Any], Path], Any]] = {"loky": _loky, "dask": _dask, "submitit": _submitit}
