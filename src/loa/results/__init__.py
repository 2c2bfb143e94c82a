"""What a run found, in typed numbers: every table, figure and page reads from here."""

from .run_results import Results as Results
from .summary import RunSummary as RunSummary
