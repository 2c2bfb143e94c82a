# %% [markdown]
# # Your own problem
#
# A problem class of your own, from instances that you have: here 200 curves that were measured, to each of which a decay
# A·exp(-k·t) is fitted. It takes a few seconds.

# %%
import jax
import jax.numpy as jnp
import numpy as np

import loa

jax.config.update("jax_enable_x64", True)

random = np.random.default_rng(0)
times = np.linspace(0.0, 4.0, 25)
amplitudes, rates = random.uniform(0.5, 2.0, 200), random.uniform(0.3, 2.0, 200)
curves = amplitudes[:, None] * np.exp(-rates[:, None] * times) + 0.02 * random.normal(size=(200, 25))

# %% [markdown]
# What differs from instance to instance is the *problem*; everything else is part of the class. A class may say more than
# its loss. With `residuals`, methods for least squares can be used.


# %%
class Decays(loa.ProblemClass):
    def residuals(self, x, curve):
        amplitude, rate = jnp.exp(x)
        return amplitude * jnp.exp(-rate * times) - curve

    def loss(self, x, curve):
        return 0.5 * jnp.sum(self.residuals(x, curve) ** 2)

    def start(self, curve, key):
        return jnp.zeros(2)


decays = Decays()
setting = dict(criterion=loa.gradient_norm_below(1e-6), horizon=200, key=jax.random.key(0))

# %% [markdown]
# Which method should it be? Half of the instances decide, the other half tells how good the choice is.

# %%
algorithms = {"L-BFGS": loa.LBFGS(), "Newton": loa.Newton(), "Levenberg-Marquardt": loa.LevenbergMarquardt()}
comparison = loa.compare(algorithms, decays, jnp.asarray(curves[:100]), **setting)
for name, numbers in comparison.summary().items():
    print(f"{name}: {numbers['stopping_time']['mean']:.1f} steps, {numbers['solved']:.0%} solved")
best = min(algorithms, key=lambda name: comparison.summary()[name]["stopping_time"]["mean"])
print("chosen:", best)

# %%
performance = loa.evaluate(algorithms[best], decays, jnp.asarray(curves[100:]), **setting)
print(loa.certify(performance, "stopping_time"))

# %% [markdown]
# **Solutions**, with what the fits should have found:

# %%
solutions = loa.solve(algorithms[best], decays, jnp.asarray(curves), **setting)
fitted = np.exp(solutions.x)
print("largest error of the rate:", np.abs(fitted[:, 1] - rates).max().round(2))
print({outcome: int(np.sum(solutions.outcome == outcome)) for outcome in np.unique(solutions.outcome)})

# %% [markdown]
# With the class in a file and `instances = "folder"`, `loa run my_problem.py` does all of this, lets learned methods take
# part, and writes a report.
