"""Learning: imitation, training, and prior and posterior on a finite set of parameters (sections 4 and 5)."""

from .adapting import Adapted as Adapted
from .adapting import adapt as adapt
from .checks import Check as Check
from .checks import Glance as Glance
from .curvature import average_curvature as average_curvature
from .first_step import first_step as first_step
from .guarding import guard as guard
from .imitation import imitate as imitate
from .langevin import Support as Support
from .langevin import langevin_support as langevin_support
from .objective import Imitation as Imitation
from .objective import Objective as Objective
from .objective import OneStepContraction as OneStepContraction
from .objective import OverSegments as OverSegments
from .objective import as_objective as as_objective
from .prior import Weighted as Weighted
from .prior import lambda_on as lambda_on
from .prior import mode as mode
from .prior import posterior_on as posterior_on
from .prior import prior_on as prior_on
from .training import Trained as Trained
from .training import train as train
from .tuning import Interval as Interval
from .tuning import tune as tune
from .tuning_by_gradient import tune_by_gradient as tune_by_gradient
