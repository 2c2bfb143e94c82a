"""What tables, figures and report show, computed once: plain arrays or the performance of a run in, typed values out.

Whoever draws takes these values and computes nothing of its own.
"""

from .contests import CONFIDENCE as CONFIDENCE
from .contests import Contest as Contest
from .contests import contests as contests
from .contests import price as price
from .contests import rivals as rivals
from .distribution import Steps as Steps
from .distribution import certified_band as certified_band
from .distribution import empirical as empirical
from .distribution import solved_within as solved_within
from .evolution import Evolution as Evolution
from .evolution import evolution as evolution
from .histogram import Bars as Bars
from .histogram import Histogram as Histogram
from .histogram import Mark as Mark
from .histogram import Row as Row
from .histogram import histogram as histogram
from .over_time import OverTime as OverTime
from .over_time import over_time as over_time
from .profile import performance_profile as performance_profile
from .profile import profiles as profiles
from .values import LEVELS as LEVELS
from .values import ProblemRow as ProblemRow
from .values import names as names
from .values import quantile as quantile
from .values import ranking as ranking
from .values import time_of as time_of
from .values import values as values
