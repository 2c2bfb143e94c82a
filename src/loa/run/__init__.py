"""From a problem class to a certified algorithm: `loa run`."""

from .at_work import Deployed as Deployed
from .at_work import deployed as deployed
from .script import Order as Order
from .script import carry_out as carry_out
