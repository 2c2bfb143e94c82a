"""Tests and docstring examples run in float64, as the experiments do, and keep what they cache to themselves."""

import os

import jax
import pytest

jax.config.update("jax_enable_x64", True)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    os.environ["LOA_CACHE"] = str(tmp_path_factory.mktemp("cache"))
