"""Solvers in files: a compiled program with its weights, which runs where only JAX is installed.

A file begins with one line of JSON, its description; the rest is a program that `jax.export` wrote. Where loa is not
installed, these lines run it (`pip install jax flatbuffers`):

    import json, jax, jax.export
    with open("solver.loa", "rb") as file:
        header, program = json.loads(file.readline()), jax.export.deserialize(bytearray(file.read()))
    jax.config.update("jax_enable_x64", header["float64"])
    *x, numbers, counts = jax.jit(program.call)(*problem, *start, given)

`problem` and `start` are lists of arrays with the shapes in `header["problem"]` and `header["point"]`; the start is
used if `given` is true. The loss is `numbers[0]`, the outcome `header["outcomes"][counts[0]]`, the steps `counts[1]`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from ..certificates.certificate import Certificate
from ..messages.arguments import as_path
from ..problems.oracle import Calls
from ..storage.files import write_whole
from ..storage.provenance import versions
from .files.column_names import names_of_leaves
from .inputs import Shapes
from .program import Program
from .solution import OUTCOMES, Solution
from .watching.claims import check_certificates

FORMAT = "exported solver 1"
LONGEST = 2**24
"""Bytes of the longest description that is read."""


def write_exported(
    path: Path | str, program: Program, facts: dict[str, Any], certificates: Iterable[Certificate]
) -> None:
    """Write a program to a file with its description.

    Arguments:
        path: the file; an existing file is replaced.
        program: what to write.
        facts: what the description says about it besides shapes, versions and platform.
        certificates: what was certified of the algorithm.
    """
    path, certificates = as_path("path", path), check_certificates(certificates)
    given = jax.ShapeDtypeStruct((), jnp.bool_)
    exported = jax.export.export(jax.jit(program.whole))(*program.problem.forms, *program.point.forms, given)
    whole = bytes(exported.serialize())
    header = facts | {
        "loa": FORMAT,
        "platforms": list(exported.platforms),
        "float64": bool(jnp.result_type(float) == jnp.float64),
        "problem": _described(program.problem),
        "point": _described(program.point),
        "outcomes": list(OUTCOMES),
        "calls": list(Calls._fields),
        "certificates": [each.to_dict() for each in certificates],
        "versions": versions(),
    }
    line = json.dumps(header | {"fingerprint": _fingerprint(header, whole)}, allow_nan=False).encode() + b"\n"
    write_whole(path, lambda temporary: temporary.write_bytes(line + whole))


class ExportedSolver:
    """A solver from a file, made by `loa.deployment.load_exported`; it is called like the one that was exported.

    A problem is an array, a list of arrays, or a dictionary by the names in `header["problem"]`; a point that is not a
    single array comes as such a dictionary. `header` is the description of the file, `certificates` what it promises.
    """

    def __init__(self, header: dict[str, Any], exported: jax.export.Exported):
        self.header = header
        self.certificates = [Certificate.from_dict(each) for each in header["certificates"]]
        self.problem, self.point = _shapes("problem", header["problem"]), _shapes("start", header["point"])
        forms = (*self.problem.forms, *self.point.forms, jax.ShapeDtypeStruct((), jnp.bool_))
        self._solve = jax.jit(exported.call).lower(*forms).compile()

    def __call__(self, problem: Any, *, start: Any = None) -> Solution:
        """Solve one problem.

        Arguments:
            problem: one problem.
            start: a point to start from; by default that of the class.

        Returns:
            The solution.
        """
        with jax.enable_x64(self.header["float64"]):
            leaves = self.problem.leaves(_named(self.problem, problem))
            zeros = [np.zeros(form.shape, form.dtype) for form in self.point.forms]
            x0 = zeros if start is None else self.point.leaves(_named(self.point, start))
            *x, numbers, counts = map(np.array, self._solve(*leaves, *x0, np.asarray(start is not None)))
        (outcome, steps, *calls), (loss, *gap) = counts.tolist(), numbers.tolist()
        point, known = self.point.tree(x), gap[0] if gap else None
        point = point.get("", point)
        return Solution(point, self.header["outcomes"][outcome], steps, loss, known, Calls._make(calls))


def load_exported(path: Path | str) -> ExportedSolver:
    """Load a solver that `solver.export` wrote.

    The file is checked: its format, the fingerprint of description and program, and that it was made for this platform.
    It holds a program of StableHLO, which only computes: no Python from the file is ever executed.

    Arguments:
        path: the file.

    Returns:
        The solver, compiled.
    """
    path = as_path("path", path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}.")
    with path.open("rb") as file:
        line, whole = file.readline(LONGEST), file.read()
    try:
        header = json.loads(line)
        known = header["loa"] == FORMAT and header["fingerprint"] == _fingerprint(header, whole)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a solver exported by loa.") from error
    if not known:
        raise ValueError(f"{path} is damaged, or was exported by another version of loa ({header['loa']!r:.40}).")
    platform = jax.default_backend()
    if platform not in header["platforms"]:
        made_for = " and ".join(header["platforms"])
        raise ValueError(f"{path} was exported for {made_for}, and JAX runs on {platform} here: export it there.")
    with jax.enable_x64(header["float64"]):
        return ExportedSolver(header, jax.export.deserialize(bytearray(whole)))


def _fingerprint(header: dict[str, Any], program: bytes) -> str:
    """A hash of the program and of all that the description says, certificates and shapes included."""
    said = {name: each for name, each in header.items() if name != "fingerprint"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode() + b"\n" + program).hexdigest()


def _described(shapes: Shapes) -> list[dict[str, Any]]:
    names = names_of_leaves(shapes.tree(shapes.forms))
    return [{"name": name, "shape": list(form.shape), "dtype": str(form.dtype)} for name, form in names.items()]


def _shapes(name: str, described: list[dict[str, Any]]) -> Shapes:
    example = {each["name"]: np.zeros(each["shape"], each["dtype"]) for each in described}
    return Shapes(name, example, "what was exported")


def _named(shapes: Shapes, value: Any) -> Any:
    """A problem or point as a dictionary by the names of its arrays, however it was given."""
    named = names_of_leaves(value)
    if set(named) == set(shapes.example):
        return named
    leaves = list(named.values())
    return dict(zip(shapes.example, leaves, strict=True)) if len(leaves) == len(shapes.example) else value
