"""Bad arguments of saving, loading and deployment."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax

import loa
from loa import certificates as c

from .rows import (
    NAN,
    Row,
    each,
    not_keys,
    things,
)


def storage_rows() -> Iterator[Row]:
    folder = Path(tempfile.mkdtemp())
    (folder / "empty").write_bytes(b"")
    (folder / "text").write_text("hello")
    (folder / "long").write_bytes((2**60).to_bytes(8, "little") + b"{}")
    (folder / "json").write_text("{}")
    loa.save(folder / "good", loa.GradientDescent(0.1))
    content = bytearray((folder / "good").read_bytes())
    (folder / "cut").write_bytes(content[:-1])
    content[-1] ^= 1
    (folder / "flipped").write_bytes(content)
    certificate = loa.certify([1.0], cap=2.0).to_json()
    for function in (loa.load, loa.provenance):
        name = function.__name__
        files = [folder / each for each in ("empty", "text", "long", "json", "cut", "flipped")]
        yield from each(f"loa.{name} file", function, files, "saved by loa")
        yield from each(
            f"loa.{name} path_or_name", function, (folder / "none", "lassso", "", folder), "no file|directory"
        )
        yield from each(f"loa.{name} path_or_name", function, (3, None, 1.5, ["a"], b"lasso", "a\0b"))
    yield from each(
        "loa.load classes", lambda v: loa.load("lasso", classes=v), (3, [3], "abc", loa.GradientDescent), "class"
    )
    yield from each(
        "loa.save algorithm", lambda v: loa.save(folder / "new", v), (3, None, loa.GradientDescent, loa.loss_below(1.0))
    )
    yield from each(
        "loa.save provenance",
        lambda v: loa.save(folder / "new", loa.GradientDescent(0.1), v),
        (3, "me", {"a": object()}, {"a": np.ones(2)}, [1]),
        "provenance",
    )
    yield from each(
        "loa.save path",
        lambda v: loa.save(v, loa.GradientDescent(0.1)),
        (3, None, folder, folder / "no" / "where", ""),
        "path|directory|folder",
    )
    texts = (
        "",
        "hello",
        "{}",
        "[]",
        "3",
        "null",
        '"a"',
        "[" * 10**5,
    )
    yield from each("Certificate.from_json text", c.Certificate.from_json, (*texts, None, 3), "certificate")
    for name, text in {
        "cut": certificate[:-9],
        "of another confidence": certificate.replace("0.95", "0.96"),
        "of no problems": certificate.replace('"n": 1', '"n": 0'),
    }.items():
        yield Row(f"Certificate.from_json {name}", lambda text=text: c.Certificate.from_json(text), "certificate")
    yield from each("Certificate.from_dict content", c.Certificate.from_dict, (None, 3, [], {}, "a"), "certificate")
    for name in ("empty", "text", "json", "flipped", "none"):
        yield Row(f"Certificate.load {name}", lambda n=name: c.Certificate.load(folder / n), "certificate")
    for argument, values in (
        ("bound", (NAN, -1.0, "a", None)),
        ("confidence", (0, 1, 95, NAN)),
        ("n", (0, 2.5, "a")),
        ("level", (0, 1, 2)),
        ("measure", ("median", None)),
        ("band", (3, ((1.0, 2.0),))),
        ("posterior", ((0.5,), 3)),
        ("draws", (3, {"a": 1})),
    ):
        fields = dict(functional="x", measure="mean", kind="k", bound=1.0, empirical=1.0, confidence=0.95, n=9)
        yield from each(
            f"Certificate {argument}", lambda v, a=argument, f=fields: c.Certificate(**(f | {a: v})), values
        )


def deployment_rows() -> Iterator[Row]:
    yield from each("from_optax transformation", loa.from_optax, (3, None, "adam", optax.adam, optax))
    for function in (loa.to_optax, loa.scipy_method, *_torch()):
        name = function.__name__
        algorithms = (3, None, "sgd", loa.GradientDescent, things()["stack"])
        yield from each(f"{name} algorithm", function, algorithms)
        yield from each(
            f"{name} key", lambda v, f=function: f(loa.SGD(0.1), key=v), tuple(v for v in not_keys() if v is not None)
        )
    rows = {
        "bounds": dict(bounds=[(0, 1)]),
        "constraints": dict(constraints=[{"type": "eq", "fun": abs}]),
        "maxiter": dict(options={"maxiter": "many"}),
        "maxiter that is negative": dict(options={"maxiter": -1}),
        "gtol": dict(options={"gtol": "small"}),
        "gtol that is NaN": dict(options={"gtol": NAN}),
        "gradient": dict(jac=lambda x: [1.0, 2.0]),
    }
    for name, options in rows.items():
        yield Row(f"minimize with {name}", lambda o=options: _minimize(**o), name.split()[0])
    update = loa.to_optax(loa.GradientDescent(0.1))
    yield Row("update without parameters", lambda: update.update(jnp.ones(1), update.init(jnp.ones(1))), "parameters")


def _torch() -> tuple[Any, ...]:
    try:
        import torch  # noqa: F401  # pyright: ignore
    except ImportError:
        return ()
    return (loa.torch_optimizer,)


def _minimize(**options: Any) -> Any:
    from scipy.optimize import minimize

    options = {"jac": lambda x: 2 * x} | options
    return minimize(lambda x: float(x @ x), np.ones(1), method=loa.scipy_method(loa.GradientDescent(0.1)), **options)
