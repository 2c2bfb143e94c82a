# %% [markdown]
# # Measure an optimizer
#
# How does an optimizer behave on *your* problems? One number is not an answer: it takes 20 steps on one problem and 60 on
# another. This notebook measures the distribution. It takes a few seconds.

# %%
import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import loa

jax.config.update("jax_enable_x64", True)

# %% [markdown]
# A **problem class** says how to draw a problem, what its loss is, and where to start. These are logistic regressions on
# random data, of which some are harder than others.


# %%
class Regressions(loa.ProblemClass):
    def sample(self, key):
        features, labels, scale = jax.random.split(key, 3)
        A = jax.random.normal(features, (40, 8)) * jnp.exp(jax.random.normal(scale, (8,)))
        return A, jnp.sign(A @ jnp.ones(8) + jax.random.normal(labels, (40,)))

    def loss(self, x, problem):
        A, b = problem
        return jnp.mean(jnp.logaddexp(0.0, -b * (A @ x))) + 0.01 * jnp.sum(x**2)

    def start(self, problem, key):
        return jnp.zeros(8)


regressions = Regressions()
problems = regressions.draw(jax.random.key(0), 500)

# %% [markdown]
# `loa.evaluate` runs an algorithm on all problems until the **criterion** holds, at most `horizon` steps. A problem that is
# not solved counts as the horizon; nothing is dropped.

# %%
setting = dict(criterion=loa.gradient_norm_below(1e-4), horizon=300, key=jax.random.key(1))
algorithms = {"heavy ball": loa.HeavyBall(0.3, 0.8), "L-BFGS": loa.LBFGS()}
results = {name: loa.evaluate(each, regressions, problems, **setting) for name, each in algorithms.items()}
for name, result in results.items():
    print(f"{name}: {np.mean(result.outcome == 'solved'):.1%} solved")
    print(loa.measures.summary(result["stopping_time"]))

# %% [markdown]
# The whole distribution says more than its mean:

# %%
figure = Figure(figsize=(6, 3), layout="constrained")
axes = figure.subplots()
for name, result in results.items():
    axes.ecdf(result["stopping_time"].ravel(), label=name)
axes.set(xlabel="steps", ylabel="share of problems solved", xscale="log")
axes.legend()
figure

# %% [markdown]
# Which one is better on average? A **verdict** is certain with 95% confidence, or it says that more problems are needed:

# %%
comparison = loa.compare(algorithms, regressions, problems, **setting)
print(comparison.verdict("L-BFGS", over="heavy ball"))

# %% [markdown]
# And what can be promised about problems that nobody has seen? Fresh problems give a **certificate**:

# %%
fresh = regressions.draw(jax.random.key(2), 500)
print(loa.certify(loa.evaluate(loa.LBFGS(), regressions, fresh, **setting), "stopping_time"))
