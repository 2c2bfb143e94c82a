"""The running example of section 3, with every claim of the paper checked against theory."""

from .claims import Claim as Claim
from .claims import measured_claims as measured_claims
from .example import experiment as experiment
