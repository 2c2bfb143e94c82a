"""The table of bad arguments to the public functions of loa: each row must end in a sentence of loa's own."""

from .at_work import external_rows, solving_rows, table_rows, watch_rows
from .bounds import bound_rows, measure_rows, pair_rows
from .certificates import goal_rows, plan_rows, posterior_rows
from .constrained import program_rows, set_rows
from .deployed import configuration_rows, log_rows, solver_rows, tune_solver_rows
from .evaluation import evaluation_rows
from .learning import learning_rows, tuning_rows
from .parts import part_rows, problem_rows
from .rows import Row
from .storage import deployment_rows, storage_rows

GROUPS = (
    evaluation_rows, learning_rows, tuning_rows, measure_rows, bound_rows, pair_rows, posterior_rows, goal_rows,
    plan_rows, storage_rows, deployment_rows, problem_rows, part_rows,
    solving_rows, external_rows, table_rows, watch_rows, set_rows, program_rows,
    solver_rows, tune_solver_rows, configuration_rows, log_rows,
)  # fmt: skip


def rows() -> tuple[Row, ...]:
    """The whole table."""
    return tuple(row for group in GROUPS for row in group())
