"""From a problem class to a certified algorithm: `loa run`."""

from .script import Order as Order
from .script import carry_out as carry_out
