"""Photographs from which test images are cropped: those in scikit-image's wheel, or a folder that the user gives."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from ...messages.arguments import as_path
from ...messages.extras import require
from ...messages.warning import warn

if TYPE_CHECKING:
    from PIL import Image

SHIPPED = (
    *("astronaut.png", "brick.png", "camera.png", "cell.png", "chelsea.png", "clock_motion.png", "coffee.png"),
    *("coins.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png", "moon.png", "motorcycle_left.png"),
    *("retina.jpg", "rocket.jpg"),
)
"""The photographs in scikit-image's wheel that are large enough, with only one of the two views of the motorcycle."""

NUM_HELD_OUT = 4
"""How many photographs stay out of the pool, as "new photographs"."""

SCALES = (1.0, 0.8, 0.65, 0.5)
"""The scales at which photographs are cropped, if they are large enough."""

SHORTER_SIDE = 512
"""Larger photographs are first reduced until their shorter side has this many pixels."""


class Photographs(eqx.Module):
    """Grey photographs at several scales, concatenated in one array; `plates` has the offset and size of each."""

    pixels: UInt8[Array, " pixel"]
    plates: Int[Array, "photograph scale 3"]

    def __init__(self, photographs: Sequence[Image.Image], smallest: tuple[int, int]):
        pixels, plates, offset = [], [], 0
        for photograph in photographs:
            for scale in SCALES:
                plate = _at_scale(photograph, scale, smallest)
                pixels.append(plate.ravel())
                plates.append((offset, *plate.shape))
                offset += plate.size
        if offset >= 2**31:
            raise ValueError(f"these photographs have {offset:.1e} pixels in total, but at most 2e9 can be handled.")
        self.pixels = jnp.asarray(np.concatenate(pixels))
        self.plates = jnp.asarray(np.reshape(plates, (-1, len(SCALES), 3)), jnp.int32)

    def crop(self, key: Key[Array, ""], size: tuple[int, int]) -> Float[Array, "height width"]:
        """A random crop with values in [0, 1]; photograph, scale, position and flips are uniform and independent."""
        which, scale, top, left, *flips = jax.random.uniform(key, (6,))
        num_photographs, num_scales, _ = self.plates.shape
        offset, height, width = self.plates[_among(num_photographs, which), _among(num_scales, scale)]
        rows = _run_of_pixels(_among(height - size[0] + 1, top), size[0], flips[0] < 0.5)
        columns = _run_of_pixels(_among(width - size[1] + 1, left), size[1], flips[1] < 0.5)
        return self.pixels[offset + rows[:, None] * width + columns].astype(float) / 255.0


def _among(number: int | Int[Array, ""], uniform: Float[Array, ""]) -> Int[Array, ""]:
    """One of 0 … number-1, for a number uniform on [0, 1)."""
    return jnp.minimum((uniform * number).astype(jnp.int32), number - 1)


def _run_of_pixels(first: Int[Array, ""], length: int, flipped: Bool[Array, ""]) -> Int[Array, " length"]:
    """Consecutive indices along one axis, ascending or descending."""
    steps = jnp.arange(length, dtype=jnp.int32)
    return first + jnp.where(flipped, length - 1 - steps, steps)


def load(folder: Path | str | None, *, new: bool, smallest: tuple[int, int]) -> Photographs:
    """The pool of photographs, or (`new`) the four held out of it: those whose names have the smallest hashes."""
    require("PIL", *(("skimage",) if folder is None else ()))
    from PIL import Image

    paths = _shipped() if folder is None else _inside(as_path("images", folder))
    paths = sorted(paths, key=lambda path: hashlib.sha256(path.name.encode()).hexdigest())
    photographs, unreadable = {}, []
    for path in paths:
        try:
            photographs[path.name] = _read(path)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            if folder is None:
                raise
            unreadable.append(f"{path.name} ({type(error).__name__})")
    if unreadable:
        warn(f"skipped files in {folder} that are not images: {', '.join(unreadable)}.")
    if len(photographs) <= NUM_HELD_OUT:
        raise ValueError(
            f"{folder} has {len(photographs)} images that can be read, but at least {NUM_HELD_OUT + 1} are needed: "
            f"{NUM_HELD_OUT} are held out as new photographs, the others make the pool."
        )
    too_small = [f"{name} ({image.height} x {image.width})" for name, image in photographs.items()
                 if image.height < smallest[0] or image.width < smallest[1]]  # fmt: skip
    if too_small:
        raise ValueError(
            f"images must have at least {smallest[0]} x {smallest[1]} pixels (height x width), but these are smaller: "
            f"{', '.join(too_small)}."
        )
    chosen = list(photographs.values())
    return Photographs(chosen[:NUM_HELD_OUT] if new else chosen[NUM_HELD_OUT:], smallest)


def _shipped() -> list[Path]:
    from importlib.util import find_spec

    package = find_spec("skimage")
    assert package is not None
    assert package.origin is not None
    return [Path(package.origin).parent / "data" / name for name in SHIPPED]


def _inside(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise ValueError(f"images must be a folder of photographs, but {folder} is not a folder.")
    return [path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]


def _read(path: Path) -> Image.Image:
    """A grey image, upright."""
    from PIL import Image, ImageOps

    with Image.open(path) as image:
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I"):  # 16 bits
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        return image.convert("L")


def _at_scale(photograph: Image.Image, scale: float, smallest: tuple[int, int]) -> np.ndarray:
    """The photograph at this scale, or at the smallest scale at which it is large enough."""
    height, width = photograph.height, photograph.width
    scale *= min(1.0, SHORTER_SIDE / min(height, width))
    scale = max(scale, smallest[0] / height, smallest[1] / width)
    if scale == 1.0:
        return np.asarray(photograph)
    return np.asarray(photograph.resize((round(scale * width), round(scale * height))))
