"""What loa runs on: versions, devices, cores, precision, cache, variables."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import jax
import jaxlib.version

import loa

from ..machine.wrong_compiler import WRONG
from ..messages.extras import EXTRAS
from ..storage.cache import cache_directory, others_can_write
from ..storage.kept_programs import SWITCH

PACKAGES = ("jax", "jaxlib", "equinox", "jaxtyping", "numpy", "scipy", "optax", "safetensors")
VARIABLES = ("CUDA_VISIBLE_DEVICES", "JAX_", "LOA_", "MKL_NUM", "OMP_NUM", "OPENBLAS_", "TF_CPP", "XLA_")
"""How the variables begin that change what loa computes, or how fast."""


def describe() -> Iterator[str]:
    """The page, line by line, without the self-test."""
    yield f"loa {_version('loa')} in {Path(loa.__file__).parent}"
    yield f"Python {platform.python_version()} in {sys.executable}, {platform.platform()}"
    yield f"packages   {', '.join(f'{name} {_version(name)}' for name in PACKAGES)}"
    yield f"extras     {_extras()}"
    yield f"compiler   {_compiler()}"
    yield f"devices    {', '.join(map(str, jax.devices()))}"
    yield f"cores      {_cores()}"
    yield f"precision  {_precision()}"
    yield f"cache      {_cache()}"
    yield f"variables  {_variables()}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _extras() -> str:
    """Extras of which everything is installed, and what is missing of the others."""
    missing = {extra: [] for extra in sorted(set(EXTRAS.values()))}
    for module, extra in EXTRAS.items():
        if find_spec(module) is None:
            missing[extra].append(module)
    there = [extra for extra, modules in missing.items() if not modules]
    absent = [f"{extra} (without {', '.join(modules)})" for extra, modules in missing.items() if modules]
    return f"installed: {', '.join(there) or 'none'}; not installed: {', '.join(absent) or 'none'}"


def _compiler() -> str:
    known = jaxlib.version.__version_info__[:3] == WRONG
    return "jaxlib 0.10.2 computes WRONG results on CPUs: install 0.10.1" if known else "no known fault in this jaxlib"


def _cores() -> str:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{usable} of {os.cpu_count()} usable{load}{_memory()}"


def _memory() -> str:
    """Where the system tells it, in gigabytes."""
    try:
        return f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.1f} GB of memory"
    except (AttributeError, OSError, ValueError):
        return ""


def _precision() -> str:
    double = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    return "double, by a variable" if double else "single unless an experiment or a script asks for double"


def _cache() -> str:
    """Where it is, how large, and whether loa uses it."""
    directory = cache_directory()
    kept = os.environ.get("JAX_COMPILATION_CACHE_DIR") or directory / "programs"
    off = os.environ.get(SWITCH) == "0"
    programs = "compiled programs are not kept" if off else f"compiled programs in {kept}"
    if not directory.exists():
        return f"{directory} (does not exist yet), {programs}"
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    state = "others can write to it, so it is not used" if others_can_write(directory) else f"{size / 1e6:.0f} MB"
    state += "" if os.access(directory, os.W_OK) else ", cannot be written to"
    return f"{directory} ({state}), {programs}"


def _variables() -> str:
    found = {name: value for name, value in sorted(os.environ.items()) if name.startswith(VARIABLES)}
    return ", ".join(f"{name}={value}" for name, value in found.items()) or "none that matter"
