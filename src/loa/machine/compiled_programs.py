"""Compiled programs stay mapped into memory, and Linux limits the number of mappings of a process.

Every new kind of evaluation adds about 150 of them, and beyond `vm.max_map_count`, 65 530 by default, jaxlib crashes in
its compiler. So a long session forgets its programs in time.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import jax

EVERY = 16
"""Counting takes milliseconds when there are many, so it is not done each time."""

SHARE = 0.5
"""Of the mappings allowed, how many may be in use."""

_asked = itertools.count()


def make_room() -> bool:
    """Forget all compiled programs if mappings are about to run out; whether that was so."""
    if next(_asked) % EVERY:
        return False
    try:
        with Path("/proc/self/maps").open() as lines:
            used = sum(1 for _ in lines)
        allowed = int(Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):  # not Linux
        return False
    if used <= SHARE * allowed:
        return False
    jax.clear_caches()
    return True
