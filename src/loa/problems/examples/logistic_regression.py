"""Logistic regression on bootstrap samples of real data."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Scalar

from ...messages.arguments import positive_number
from ...messages.extras import require
from ..computed_optimum import ComputedOptimum


class Bootstrap(NamedTuple):
    """One problem: how often each observation is in the sample and, once computed, the optimal loss."""

    counts: Float[Array, " n"]
    optimal_loss: Float[Array, ""] | None = None


class LogisticRegression(ComputedOptimum):
    r"""Logistic regression with a ridge penalty, on bootstrap samples of the breast cancer data.

    \[ \min_x \frac1n \sum_i c_i \log(1 + e^{-y_i \langle a_i, x \rangle}) + \frac\mu2 \|x\|^2. \]

    \((a_i, y_i)\) are the n = 569 observations of scikit-learn's breast cancer data, with 30 standardized features, a
    constant feature and labels ±1. \(c_i\) counts how often observation i occurs in a bootstrap sample, which draws n
    observations with replacement. The start is 0.

    Arguments:
        penalty: μ > 0.

    >>> LogisticRegression().signed_features.shape
    (569, 31)
    """

    signed_features: Float[Array, "n d"]
    penalty: float = eqx.field(static=True)

    def __init__(self, penalty: float = 1e-3):
        penalty = positive_number("the penalty μ", penalty)
        require("sklearn")
        from sklearn.datasets import load_breast_cancer

        features, labels = load_breast_cancer(return_X_y=True)
        features = (features - features.mean(axis=0)) / features.std(axis=0)
        features = np.column_stack([features, np.ones(len(features))])
        self.signed_features = jnp.asarray((2.0 * labels - 1.0)[:, None] * features, float)
        self.penalty = penalty

    def sample(self, key: Key[Array, ""]) -> Bootstrap:
        size = self.signed_features.shape[0]
        drawn = jax.random.randint(key, (size,), 0, size)
        return Bootstrap(jnp.zeros_like(self.signed_features[:, 0]).at[drawn].add(1.0))

    def start(self, problem: Bootstrap, key: Key[Array, ""]) -> Float[Array, " d"]:
        return jnp.zeros_like(self.signed_features[0])

    def loss(self, x: Float[Array, " d"], problem: Bootstrap) -> Scalar:
        losses = jnp.logaddexp(0.0, -(self.signed_features @ x))
        return jnp.mean(problem.counts * losses) + 0.5 * self.penalty * jnp.sum(x * x)

    def gradient(self, x: Float[Array, " d"], problem: Bootstrap) -> Float[Array, " d"]:
        weights = problem.counts * jax.nn.sigmoid(-(self.signed_features @ x)) / problem.counts.size
        return self.penalty * x - weights @ self.signed_features

    def smoothness(self, problem: Bootstrap) -> Scalar:
        r"""A Lipschitz constant of the gradient.

        \(\lambda_{\max}(\frac1{4n} \sum_i c_i a_i a_i^\top) + \mu\).
        """
        weighted = problem.counts[:, None] * self.signed_features / (4.0 * problem.counts.size)
        return jnp.linalg.eigvalsh(self.signed_features.T @ weighted)[-1] + self.penalty

    def suboptimality(self, x: Float[Array, " d"], problem: Bootstrap) -> Scalar:
        """An upper bound from strong convexity, ‖∇ℓ(x)‖² / 2μ."""
        gradient = self.gradient(x, problem)
        return jnp.sum(gradient * gradient) / (2.0 * self.penalty)
