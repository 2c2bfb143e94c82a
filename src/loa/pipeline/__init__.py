"""From a problem class to a certified algorithm: `loa run`."""

from .run import Order as Order
from .run import carry_out as carry_out
