"""A log of 300 portfolio problems, one a month, learned on the past: `loa run examples/logged_portfolios.py`."""

import tempfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import loa

try:
    from skfolio.datasets import load_sp500_dataset
except ImportError as error:
    raise ImportError("the prices ship with skfolio: `pip install skfolio`, or `pip install loa[gallery]`.") from error

RETURNS = np.diff(np.log(load_sp500_dataset().to_numpy()), axis=0)
YEAR, MONTH, STOCKS = 250, 26, RETURNS.shape[1]
FOLDER = Path(tempfile.gettempdir()) / "loa-logged-portfolios"


def instances():
    """The log: a folder with one file for each of the last 300 months, from the returns of the year before it."""
    FOLDER.mkdir(exist_ok=True)
    for number, end in enumerate(range(len(RETURNS) - 299 * MONTH, len(RETURNS) + 1, MONTH)):
        year = YEAR * RETURNS[end - YEAR : end]
        if not (FOLDER / f"month-{number}.npz").exists():
            np.savez(FOLDER / f"month-{number}.npz", covariance=np.cov(year.T) / YEAR, mean=year.mean(axis=0))
    return loa.problems.from_files(FOLDER, order="time")


class Portfolios(loa.problems.QuadraticPrograms):
    """Mean and variance of 20 stocks, with at most a quarter of the capital in each of them."""

    def program(self, problem):
        A, ones = np.vstack([np.eye(STOCKS), np.ones(STOCKS)]), np.ones(STOCKS)
        lower, upper = jnp.append(0.0 * ones, 1.0), jnp.append(0.25 * ones, 1.0)
        return loa.problems.Program(10.0 * problem["covariance"], -problem["mean"], A, lower, upper)
