"""Warns of a version of JAX that computes wrong results.

On CPUs with several cores, jaxlib 0.10.2 silently leaves part of the result out when a batch of matrix products is
followed by a sum (https://github.com/jax-ml/jax/issues/39103): losses are wrong, and now and then not a number. Neither
0.10.1 nor 0.11 does that. loa does not install 0.10.2, but it may be there already.
"""

from jaxlib.version import __version_info__ as jaxlib_version

from ..messages.warning import warn

WRONG = (0, 10, 2)

if jaxlib_version[:3] == WRONG:
    warn(
        "jaxlib 0.10.2 computes wrong results on CPUs (https://github.com/jax-ml/jax/issues/39103), so no number can "
        "be trusted: install another version, for example with `pip install jax==0.10.1 jaxlib==0.10.1`.",
        RuntimeWarning,
    )
