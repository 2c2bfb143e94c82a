r"""Performance functionals \(\varphi(\theta, \xi)\) of a problem and a trajectory (section 3.4, appendix E).

A functional is a fold over the trajectory, so any number of them are computed in one pass without storing it.
The fold sees \(s^{(0)}, s^{(1)}, \dots\) up to the stopping time, the horizon or divergence, whichever comes first;
a functional that needs more steps than that declares it with `steps`.
"""

from .cumulative_gap import CumulativeGap as CumulativeGap
from .functional import End as End
from .functional import Functional as Functional
from .functional import Record as Record
from .gap import Gap as Gap
from .gap import LargestGap as LargestGap
from .gap import SmallestGap as SmallestGap
from .indicator import Indicator as Indicator
from .oracle_calls import OracleCalls as OracleCalls
from .rate import ContractionFactor as ContractionFactor
from .rate import ConvergenceRate as ConvergenceRate
from .stopping_time import StoppingTime as StoppingTime
