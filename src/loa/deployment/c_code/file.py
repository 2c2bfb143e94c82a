"""A solver as a file of C, with a header for those who call it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...certificates.certificate import Certificate
from ...messages.arguments import as_path
from ...problems.oracle import Calls
from ...storage.files import write_whole
from ...storage.provenance import versions
from ..files.column_names import names_of_leaves
from ..inputs import Shapes
from ..program import LATE, Program
from ..solution import OUTCOMES
from ..watching.claims import check_certificates
from .graph import Value
from .library import functions_used
from .scalars import Unsupported, c_type, literal
from .statements import written
from .tracing import traced
from .writer import Writer

KEYWORDS = (
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "false", "float", "for", "goto", "if", "inline", "int", "long", "main", "register", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "true", "typedef", "union", "unsigned",
    "void", "volatile", "while",
)  # fmt: skip
"""What no function of a user can be called in C."""

LIBRARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf",
    "erfc", "exit", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "free", "frexp",
    "hypot", "ilogb", "isfinite", "isinf", "isnan", "j0", "j1", "jn", "ldexp", "lgamma", "log", "log10", "log1p",
    "log2", "logb", "lrint", "lround", "malloc", "memcpy", "memset", "modf", "nan", "nearbyint", "nextafter", "pow",
    "printf", "remainder", "remquo", "rint", "round", "scalbn", "signbit", "sin", "sinh", "sqrt", "tan", "tanh",
    "tgamma", "trunc", "y0", "y1", "yn",
)  # fmt: skip
"""Functions of C that a file of that name would replace."""

MOST_NUMBERS = 1_000_000
"""The largest number of constants in a file; more of them take compilers minutes."""


def write_c(path: Path | str, program: Program, facts: dict[str, Any], certificates: Iterable[Certificate]) -> None:
    """Write a program to a file of C, and beside it the header with its declarations.

    Arguments:
        path: the file, whose name ends in .c and begins with the name of the function.
        program: what to write.
        facts: what the comment at the beginning says about it.
        certificates: what was certified of the algorithm; the comment has their sentences.
    """
    path, certificates = as_path("path", path), check_certificates(certificates)
    taken = path.stem in (*KEYWORDS, *LIBRARY)
    if path.suffix != ".c" or taken or not re.fullmatch(r"[a-zA-Z]\w*", path.stem, re.ASCII):
        reason = f", and {path.stem} has a meaning in C" if taken else ""
        raise ValueError(
            f"path must be the name of a function followed by .c, like controller.c, got {path.name}{reason}."
        )
    interface = _Interface(path.stem, program)
    forms = (*program.problem.forms, *program.point.forms, jax.ShapeDtypeStruct((), jnp.bool_))
    try:
        block = traced(jax.make_jaxpr(program.whole)(*forms))
        writer = written(block, interface.arguments)
    except Unsupported as error:
        raise ValueError(
            f"there is no translation to C for {error}, which {facts['algorithm']} on {facts['problem_class']} needs: "
            "use another algorithm, or solver.export, which keeps all of JAX."
        ) from error
    count = sum(numbers.size for _, numbers in writer.tables)
    if count > MOST_NUMBERS:
        raise ValueError(f"a file of C may hold {MOST_NUMBERS} constants, and this program has {count}: too large.")
    about = _about(path.stem, facts, certificates)
    declarations = interface.declarations()
    interface.last_lines(writer, block.results)
    text = about + declarations + "\n" + function_text(writer, interface.signature(), interface.first_lines())
    write_whole(path.with_suffix(".h"), lambda temporary: temporary.write_text(about + declarations))
    write_whole(path, lambda temporary: temporary.write_text(text))


class _Interface:
    """How the function is called: its name, its arguments, and the structure that it fills."""

    def __init__(self, name: str, program: Program):
        self.name, self.point = name, program.point
        self.problem = _fields("problem", program.problem)
        self.start = _fields("start", program.point)
        self.x = _fields("x", program.point)
        numbers = jax.eval_shape(program.whole, *program.problem.forms, *program.point.forms, jnp.asarray(True))[-2]
        self.measured, self.kind = ["loss", "gap"][: numbers.shape[0]], c_type(numbers.dtype)

    @property
    def arguments(self) -> list[str]:
        """What the arguments of the program are called in the body of the function."""
        single = {name: f"{name}_0" if form.shape else name for name, form in self.problem.items() if form.size == 1}
        starts = [f"(*{name})" if form.size == 1 else name for name, form in self.start.items()]
        return [*(single.get(name, name) for name in self.problem), *starts, "given"]

    def declarations(self) -> str:
        guard, large = f"LOA_{self.name.upper()}", self.name.upper()
        fields = [f"{c_type(form.dtype)} {name}{_extent(form)};" for name, form in self.x.items()]
        fields += [f"{self.kind} {name};" for name in self.measured]
        fields += ["int outcome;  /* one of those above */", "int steps;"]
        fields += [f"int {name}_calls;" for name in Calls._fields]
        outcomes = [f"{large}_{word.upper().replace(' ', '_')} = {n}" for n, word in enumerate(OUTCOMES) if n != LATE]
        lines = "\n  ".join(fields)
        return (
            f"#ifndef {guard}\n#define {guard}\n#include <stdbool.h>\n#include <stdint.h>\n\n"
            f"enum {{ {', '.join(outcomes)} }};\n\n"
            f"typedef struct {{\n  {lines}\n}} {self.name}_solution;\n\n"
            "/* Solve a problem and return the outcome. Start from the given point or, if there is none (NULL), from\n"
            "   that of the problem class. Uses static memory: one call at a time. */\n"
            f"int {self.signature()};\n#endif\n"
        )

    def signature(self) -> str:
        given = [
            f"{'const ' if form.shape else ''}{c_type(form.dtype)} {name}{_extent(form)}"
            for name, form in self.problem.items()
        ]
        starts = [f"const {c_type(form.dtype)} *{name}" for name, form in self.start.items()]
        return f"{self.name}({', '.join([*given, *starts, f'{self.name}_solution *solution'])})"

    def first_lines(self) -> list[str]:
        first = next(iter(self.start))
        return [f"const bool given = {first} != 0;"] + [
            f"const {c_type(form.dtype)} {name}_0 = {name}[0];"
            for name, form in self.problem.items()
            if form.shape and form.size == 1
        ]

    def last_lines(self, writer: Writer, results: list[Value]) -> None:
        *points, numbers, counts = results
        for (name, form), value in zip(self.x.items(), points, strict=True):
            single = "[0]" if form.shape and form.size == 1 else ""
            writer.copy(f"solution->{name}{single}", value)
        for n, name in enumerate(self.measured):
            writer.line(f"solution->{name} = {writer.read(numbers, [str(n)])};")
        for n, name in enumerate(["outcome", "steps", *(f"{each}_calls" for each in Calls._fields)]):
            writer.line(f"solution->{name} = {writer.read(counts, [str(n)])};")
        writer.line("return solution->outcome;")


def function_text(writer: Writer, signature: str, first: list[str]) -> str:
    """A function of C with all that it needs.

    Arguments:
        writer: its statements, constants and memory.
        signature: its name and arguments.
        first: lines that come before the statements.
    """
    body = "\n".join([*(f"  {line}" for line in first), *writer.lines])
    memory = "".join(f"static {kind} {name}[{size}];\n" for name, kind, size in writer.memory)
    tables = "".join(_table(name, numbers) for name, numbers in writer.tables)
    includes = (
        "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
    )
    return f"{includes}\n{functions_used(body)}\n{tables}\n{memory}\nint {signature} {{\n{body}\n}}\n"


def _table(name: str, numbers: np.ndarray) -> str:
    values = ", ".join(literal(number, numbers.dtype) for number in numbers.tolist())
    lines = "\n".join(textwrap.wrap(values, 118, initial_indent="  ", subsequent_indent="  "))
    return f"static const {c_type(numbers.dtype)} {name}[{numbers.size}] = {{\n{lines}\n}};\n"


def _fields(word: str, shapes: Shapes) -> dict[str, Any]:
    names = names_of_leaves(shapes.tree(shapes.forms))
    return {re.sub(r"\W", "_", f"{word}_{name}") if name else word: form for name, form in names.items()}


def _extent(form: Any) -> str:
    return f"[{form.size}]" if form.shape else ""


def _about(name: str, facts: dict[str, Any], certificates: Iterable[Certificate]) -> str:
    made = ", ".join(f"{package} {version}" for package, version in versions().items())
    lines = [
        f"{name}: {facts['algorithm']} on {facts['problem_class']}, until {facts['criterion']}, at most "
        f"{facts['horizon']} steps.",
        *(str(certificate) for certificate in certificates),
        f"Written by {made}. C99, no allocation; compile with -O3 and link with -lm.",
    ]
    wrapped = [each for line in lines for each in textwrap.wrap(line.replace("*/", "* /"), 115)]
    return "/* " + "\n   ".join(wrapped) + " */\n"
