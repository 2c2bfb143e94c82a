r"""Write docs/speed.md, docs/baselines.md, docs/learned.md and the table of docs/generalization.md.

The numbers come from benchmarks/results and the shipped algorithms.

To measure again: for b in throughput heavy_tails memory scaling startup classical_speed certificates overfitting \
                      c_export latency elsewhere safeguard watch; do python $b.py > results/$b.json; done
                  python baselines.py quadratics lasso network stochastic-network images
                  python minibatches.py > results/minibatches.json
"""

import json
import re
from pathlib import Path

import loa
from loa.messages.percent import percent_seen
from loa.results.names import MEASURES

HERE = Path(__file__).parent

PAGE = """# Speed and memory

This page is written by `benchmarks/report.py` from measurements of the scripts beside it, on {cores} cores with jax
{jax}. Both sides of a ratio are measured in the same run.

## Throughput

On the paper's quadratics (d = 200, float64), the paper's learned update with random weights makes
**{throughput[problem_steps_per_second]:,} problem-steps per second** (1000 problems × 500 steps). Counting only the
arithmetic of the direction network, this is {throughput[gigaflops]:.1f} GFlop/s, or **{throughput[ratio]:.0%} of what
the same machine reaches in a 2000×2000 float64 matrix product** ({throughput[matrix_product_gigaflops]:.1f} GFlop/s);
the target is {throughput[target_ratio]:.0%}.
The small network runs as arithmetic on whole channels, which XLA fuses into one loop over coordinates; hidden layers
are never stored, and consecutive linear layers are merged. Derivatives use a chain of matrix products.

## Paying only for the steps taken

On {heavy_tails[problems]:,} problems with heavy-tailed stopping times (median
{heavy_tails[median_stopping_time]:.0f}, mean {heavy_tails[mean_stopping_time]:.0f}, longest
{heavy_tails[longest_stopping_time]:,}), the evaluation takes **{heavy_tails[ratio]:.2f} ×** the time of the steps
actually taken; the target is {heavy_tails[target_ratio]} ×. A batch that waits for its slowest member would take
{heavy_tails[ratio_of_a_batch_that_waits]:.1f} ×.

## Memory

With 2000 problems of dimension 30,000 and 1000 steps, the peak is **{memory[peak_gib]:.2f} GiB**, of which the problems
themselves take {memory[problems_gib]:.2f} GiB. The peak does not depend on the horizon.

## Scaling

The table shows gradient descent on quadratics in dimension 20 until they are solved:

| problems | seconds | µs per problem |
|---:|---:|---:|
{curve}

## Classical methods in batches

These numbers were measured with one device per core ({classical_speed[images][devices]}), on a small virtual machine
shared with other work, so they are rough. Our method and the other one alternated. On LASSO there were
{classical_speed[lasso][rounds]} rounds on the same problems, and the table has the shortest time of each method. On
images there were {classical_speed[images][rounds]} rounds on different problems, and the table has the mean. The
smallest and the largest ratio of a round are in parentheses.

| | ours, ms per problem | on one device | the other, ms per problem | ratio | on one device | target |
|---|---:|---:|---:|---:|---:|---:|
{classical}

FISTA with restart on {classical_speed[lasso][problems]} LASSO problems is compared with a plain NumPy loop over
{classical_speed[lasso][other_problems]} problems. The gradient is affine, so our implementation computes one gradient
per step, at the point where the criterion needs it, and extrapolates the other; the loop computes both. The mean
numbers of steps are {classical_speed[lasso][mean_stopping_time]:.0f} and
{classical_speed[lasso][other_mean_steps]:.0f}.

L-BFGS on {classical_speed[images][problems]} image problems is compared with SciPy's L-BFGS-B on
{classical_speed[images][other_problems]} problems, with our compiled value and gradient. The mean numbers of steps are
{classical_speed[images][mean_stopping_time]:.0f} and {classical_speed[images][other_mean_steps]:.0f}. OpenBLAS used
{classical_speed[images][blas_threads]} thread, which was the faster choice.

## Certificates

On one core, all certificates for 1000 problems × 100 candidates (the posterior with λ and references, and eight goals
for the deployed algorithm on 1000 held-out problems) take {certificates[first_seconds]:.2f} s the first time and
{certificates[best_seconds]:.2f} s afterwards; the target was {certificates[target_seconds]:.0f} s.

## One problem in C

The control problems of `examples/mpc.py` (45 unknowns, bounded forces) were solved by the file that `solver.export_c`
writes, by the `loa.Solver` that it comes from, and by the code that OSQP generates: {c_export[problems]} states, each
from a cold start, compiled with -O3, the shortest of five rounds for each state, on a machine shared with other work.
loa stops at a prox residual of 2.8e-5. OSQP has a criterion of its own, here with `eps_abs` = 1e-5, and the penalty
that needs the fewest steps on other states, because generated code does not adapt it. Its criterion is the stricter
one, as the largest residual of the solutions shows in the last column.

| | steps | in C, median | 99% | `loa.Solver`, median | largest difference | worst residual |
|---|---:|---:|---:|---:|---:|---:|
{in_c}

{more}
"""

OTHER_LIBRARIES = """## Beside other libraries

L-BFGS with ten pairs, on the same problems and in float64, until the norm of the gradient is below the same tolerance
(`benchmarks/other_libraries.py`): `loa.solve`, `vmap` over jaxopt {other_libraries[versions][jaxopt]} and optimistix
{other_libraries[versions][optimistix]}, and a loop over SciPy {other_libraries[versions][scipy]} with our compiled
value and gradient. They take turns, compiled beforehand; the shortest time counts. SciPy gets a few of the problems.

| problems | steps, mean and longest | library | ms per problem | solved |
|---|---:|---|---:|---:|
{rows}
"""

STARTUP = """## Startup

Seconds of a fresh process, the shortest of several where it is quick; in parentheses those that processors worked for
it, because the machine had other work, which makes the clock run on. The targets are for a machine without other work.

| | seconds | target |
|---|---:|---:|
{rows}

"Known" means that `loa.keep_programs()` or an earlier run has kept the compiled programs. XLA spent
{startup[lasso_first][compiling]:.0f} s of the first run of `loa run lasso` on compiling, and
{startup[lasso_second][compiling]:.0f} s of the second one on loading what was kept.
"""

ONE_AT_A_TIME = """## One problem at a time

`loa.Solver` solves the same control problems, {latency[problems]} states one after the other, from NumPy array to NumPy
array: from a cold start, warm-started at the solution, and with a deadline of 1 ms. Times are in milliseconds.

| | steps | median | 99% | warm, median | 99% | deadline, median | 99% |
|---|---:|---:|---:|---:|---:|---:|---:|
{rows}
"""

IN_OTHER_PROGRAMS = """## In SciPy and PyTorch

The table has the time of a step beyond the functions that it calls, once {elsewhere[steps]} steps have compiled it: in
SciPy for Rosenbrock's function of {elsewhere[dimension]} variables, in PyTorch for a network of 71 parameters. It is in
microseconds, the median of {elsewhere[rounds]} rounds. A line search calls the functions several times in a step. The
last column has the methods of SciPy and PyTorch themselves.

| | loa | theirs |
|---|---|---|
{rows}
"""

SAFEGUARD = """## A safeguard

The table has each algorithm alone, guarded by `loa.learning.guard`, and its fallback, on {safeguard[problems]} problems
of the class that the guard was chosen for, and of changed ones; a guarded run may take 10% more steps than the horizon.
"Lost" counts the problems that the fallback solves and the guarded algorithm does not. On the problems that the
fallback solves, the next columns have the ratio of the mean steps, and the share of problems within the steps of the
fallback plus 10% (and one step). "Untouched" is the share of the problems solved without a guard on which nothing
changes. Where an algorithm is the faster one on average, there are still problems on which the fallback would
have been faster, as only running it shows.

| | change | alone: steps, solved | guarded | fallback | lost | ratio | within | untouched |
|---|---|---:|---:|---:|---:|---:|---:|---:|
{rows}

{paces}
"""


BASELINES = """# Classical baselines

This page is written by `benchmarks/report.py` from the measurements of `benchmarks/baselines.py`. Stopping times are in
steps, on problems that were not used for tuning; unsolved problems count as the horizon. The reference points in the
first table were measured outside this project, on different draws.

| class | reference (measured elsewhere) |
|---|---|
| quadratics | CG 277, 100% of 500; L-BFGS 1473 |
| images | L-BFGS about 195, 100% |
| LASSO | FISTA with restart 214, 100%; without 997 |
| network | L-BFGS 88, 86%; Adam 173, 50% |
| stochastic network | Adam 1300, 75% at its best rate |
"""


LEARNED = """# Learned algorithms

This page is written by `benchmarks/report.py` from the provenance of the algorithms that ship with loa
(`loa.provenance(name)`). `loa train` learned and measured them on 2 shared cores; some were timed again by
`benchmarks/measure_weights.py`. NAME is ours; NAME-paper has the paper's architecture and objective; NAME-unrolled is
NAME-paper after further training on segments of ten steps. Test problems were not used for learning; unsolved problems
count as the horizon. Oracle calls are those for values, gradients, proximal mappings and stochastic gradients together.
Times are those of a whole batch divided by its size, and are rough.
"""


def learned_overview(names: list[str]) -> str:
    """An overview of all algorithms, each beside the classical method that needs the fewest steps."""
    lines = ["| algorithm | mean | solved | best classical | minutes of learning |", "|---|---:|---:|---:|---:|"]
    for name in names:
        provenance = loa.provenance(name)
        ours, others = provenance["test"]["learned"], dict(provenance["test"])
        del others["learned"]
        best, numbers = min(others.items(), key=lambda item: item[1]["mean"])
        lines.append(
            f"| [{name}](#{name}) | {ours['mean']:.4g} | {percent_seen(ours['solved'])} | "
            f"{numbers['mean']:.4g}, {percent_seen(numbers['solved'])} ({best}) | {provenance['seconds'] / 60:.1f} |"
        )
    return "\n".join(lines)


def learned_table(name: str) -> str:
    """One section of docs/learned.md."""
    provenance = loa.provenance(name)
    lines = [
        f"## {name}",
        "",
        f"Learned in {provenance['seconds'] / 60:.1f} minutes, seed {provenance['seed']}, "
        f"commit {provenance['commit']}, jax {provenance['versions']['jax']}.",
        "",
        "| algorithm | mean | median | q95 | CVaR95 | solved | oracle calls | ms per problem |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for algorithm, numbers in provenance["test"].items():
        times = " | ".join(f"{numbers[key]:.4g}" for key in ("mean", "median", "q95", "cvar95"))
        milliseconds = 1e3 * numbers["seconds_per_problem"]
        rest = f"{percent_seen(numbers['solved'])} | {numbers['oracle_calls']:.4g} | {milliseconds:.3g}"
        shown = f"**{algorithm}**" if algorithm == "learned" else algorithm
        lines.append(f"| {shown} | {times} | {rest} |")
    return "\n".join(lines)


def classical_row(name: str, numbers: dict) -> str:
    """One method of the table in docs/speed.md."""
    times = [
        numbers[key] for key in ("milliseconds_each", "milliseconds_each_on_one_device", "other_milliseconds_each")
    ]
    spread = f"{min(numbers['ratio_by_round']):.1f} – {max(numbers['ratio_by_round']):.1f}"
    ratios = f"**{numbers['ratio']:.1f} ×** ({spread}) | {numbers['ratio_on_one_device']:.1f} ×"
    return f"| {name} | {' | '.join(f'{time:.3g}' for time in times)} | {ratios} | {numbers['target_ratio']} × |"


WAITING = [
    ("`import loa`", "import_loa"),
    ("`import loa` and its first use, which imports JAX", "import_loa_and_use_it"),
    ("`loa --help`", "loa_help"),
    ("the README's first example, from `python` to its numbers", "readme_example"),
    ("a script with one evaluation, of an unknown kind", "unknown_evaluation"),
    ("the same script, of a known kind", "known_evaluation"),
    ("`loa run lasso`, the first time", "lasso_first"),
    ("`loa run lasso`, with known programs", "lasso_second"),
]


def waiting_row(words: str, name: str, startup: dict) -> str:
    """One line of the table of what a newcomer waits for."""
    seconds, target = startup[name], startup["targets"].get(name)
    return f"| {words} | {seconds['seconds']:.2g} ({seconds['cpu_seconds']:.2g}) | {target or ''} |"


def waiting_table(startup: dict) -> str:
    """What a newcomer waits for."""
    return "\n".join(waiting_row(*row, startup) for row in WAITING)


def library_table(numbers: dict) -> str:
    """Workloads and libraries, and what came of it in words."""
    workloads = numbers["workloads"]
    libraries = [row for name, each in workloads.items() for row in library_rows(name, each)]
    verdicts = " ".join(library_verdict(name, each) for name, each in workloads.items())
    return "\n".join([*libraries, "", verdicts])


def library_rows(name: str, numbers: dict) -> list[str]:
    """One workload of the table of libraries."""
    first = f"{numbers['problems']:,} {name.split(',')[0]}", f"{numbers['mean_steps']:.0f}, {numbers['longest']}"
    rows = []
    for library, row in numbers["libraries"].items():
        cells = first if library == "loa" else ("", "")
        mark = "**" if library == "loa" else ""
        found = f"{mark}{library}{mark}", f"{mark}{row['milliseconds']:.3g}{mark}", f"{row['solved']:.0%}"
        rows.append(f"| {' | '.join((*cells, *found))} |")
    return rows


def library_verdict(name: str, numbers: dict) -> str:
    """How loa compares with the best of the others that solves as much."""
    ratio = numbers["best_of_the_others_over_ours"]
    return (
        f"On {numbers['problems']:,} {name.split(',')[0]} the best of the others takes {ratio:.1f} × the time of loa."
    )


def c_row(name: str, numbers: dict) -> str:
    """One algorithm of the table of programs in C."""
    ours = "in_c" in numbers and "solver" in numbers
    cells = [f"{numbers['mean_steps']:.1f}", *(f"{numbers['in_c'][word]:.0f} µs" for word in ("median", "p99"))]
    cells += [f"{numbers['solver']['median']:.0f} µs", f"{numbers['largest_difference']:.0e}"] if ours else ["", ""]
    return f"| {' | '.join([name, *cells, format(numbers['worst_residual'], '.1e')])} |"


def baselines_table(numbers: dict) -> str:
    """One section of docs/baselines.md."""
    lines = [f"## {numbers['experiment']}: {numbers['problems']} problems, at most {numbers['horizon']} steps", ""]
    lines += [
        "| algorithm | mean | median | q95 | CVaR95 | solved | oracle calls |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, described in numbers["algorithms"].items():
        times = " | ".join(f"{described['stopping_time'][key]:.4g}" for key in MEASURES)
        lines.append(
            f"| {name} | {times} | {percent_seen(described['solved'])} | {described['oracle_calls']['mean']:.4g} |"
        )
    for name, tuned in numbers["tuned"].items():
        settings = ", ".join(f"{parameter} = {value:.5g}" for parameter, value in tuned["parameters"].items())
        gains = [f"{gain_in_words(gain)} than {other}" for other, gain in tuned["advantage"].items()]
        lines += ["", f"{name}, tuned on {tuned['problems']} other problems: {settings}. It needs {'; '.join(gains)}."]
    return "\n".join(lines)


def gain_in_words(gain: list[float]) -> str:
    """The mean difference in steps between a tuned method and another one on the same problems."""
    mean, low, high = gain
    amount = f"{abs(mean):.4g} steps {'fewer' if mean > 0 else 'more'} (95% interval {low:.4g} to {high:.4g})"
    return amount if low > 0 or high < 0 else f"{amount}, which is not a clear difference,"


def mini_batches_table(numbers: dict) -> str:
    """The section on how mini-batches are drawn in docs/baselines.md."""
    means = {
        way: [row["mean"] for row in numbers["rows"] if row["batches"] == way] for way in ("independent", "passes")
    }
    lower = 1 - sum(means["passes"]) / sum(means["independent"])
    lines = [
        "## How mini-batches are drawn",
        "",
        "The paper draws new randomness for every step, and we draw new mini-batches accordingly. Going through the",
        f"data in shuffled passes takes {lower:.0%} fewer steps. The start, one draw that all problems share, matters",
        "just as much. A comparison of numbers for Adam(0.02) therefore has to state both. The table has results on",
        f"{numbers['problems']} problems, with at most {numbers['horizon']} steps:",
        "",
        "| seed of the start | mini-batches | mean | solved |",
        "|---:|---|---:|---:|",
    ]
    for row in numbers["rows"]:
        margin = row["high"] - row["mean"]
        lines.append(
            f"| {row['start']} | {row['batches']} | {row['mean']:.4g} ± {margin:.0f} | {percent_seen(row['solved'])} |"
        )
    return "\n".join(lines)


OVERFITTING = """## The paper's network

This table repeats the example with the architecture of the paper's experiment on network training (appendix K), with
the same initial weights and the same number of training steps, for increasing numbers of training problems. The best
point is chosen on the training problems. "Certified" columns have the certified bounds on the mean: for the algorithm
itself from held-out problems, and for a posterior on a support around it from posterior problems, with a prior from the
training problems.

Unlike the matrix above, a network that treats all coordinates in nearly the same way hardly memorizes problems. From
three problems it learns little, whether about these or about others, and it performs better on new problems the more
problems it is trained on. The certificates show the same.
"""


def overfitting_table(numbers: dict) -> str:
    """The table of docs/generalization.md."""
    lines = [
        OVERFITTING,
        f"{numbers['steps']:,} steps of training; at most {numbers['cap']:.0f} iterations; 250 new problems;",
        f"certificates with confidence {numbers['confidence']:.0%} from {numbers['held_out']} held-out and "
        f"{numbers['posterior']} posterior problems; a support of {numbers['support']} points.",
        "",
        "| trained on | mean on these | solved | mean on new | solved | certified, held-out | certified, posterior |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in numbers["runs"]:
        seen, new = (f"{run[which]['mean']:.1f} | {percent_seen(run[which]['solved'], 0)}" for which in ("seen", "new"))
        certified = f"{run['held_out_certificate']:.1f} | {run['posterior_certificate']:.1f}"
        lines.append(f"| {run['problems']} | {seen} | {new} | {certified} |")
    return "\n".join(lines)


def latency_rows(numbers: dict) -> str:
    """One problem at a time: steps, and milliseconds of several kinds."""
    rows = []
    for name, each in numbers["algorithms"].items():
        kinds = [f"{each[kind][which]:.2f}" for kind in ("cold", "warm", "deadline") for which in ("median", "p99")]
        rows.append(f"| {name} | {each['mean_steps']:.1f} | {' | '.join(kinds)} |")
    if numbers["osqp"] is not None:
        other = numbers["osqp"]
        rows.append(f"| OSQP, with its own criterion | | {other['median']:.2f} | {other['p99']:.2f} | | | | |")
    return "\n".join(rows)


def overhead_rows(numbers: dict) -> str:
    """Microseconds per step in SciPy and PyTorch."""

    def cell(found: dict) -> str:
        return ", ".join(f"{name} {microseconds:.0f}" for name, microseconds in found.items())

    names = {"scipy": "SciPy", "torch": "PyTorch"}
    return "\n".join(
        f"| {words} | {cell(numbers[key])} | {cell(numbers[f'{key}_own'])} |" for key, words in names.items()
    )


def guard_rows(numbers: dict) -> str:
    """A guarded algorithm beside what it is made of, for each change of its class."""
    rows = []
    for each in numbers["algorithms"]:
        for row in each["rows"]:
            parts = [f"{steps:.4g}, {solved:.0%}" for steps, solved in zip(row["steps"], row["solved"], strict=True)]
            ratio = "–" if row["ratio"] is None else f"{row['ratio']:.3f}"
            shares = ["–" if row[key] is None else f"{row[key]:.1%}" for key in ("within", "untouched")]
            cells = [each["name"], row["change"], *parts, str(row["lost"]), ratio, *shares]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def paces(numbers: dict) -> str:
    """The time of a step under a guard, relative to one without, in words."""
    known = [each for each in numbers["algorithms"] if each["time_per_step"] is not None]
    times = ", ".join(f"{each['time_per_step']:.2f} ({each['name']})" for each in known)
    return f"Where nothing goes wrong, a step takes {times} times as long as without a guard." if times else ""


MEASURED_LATER = {
    "other_libraries": (OTHER_LIBRARIES, library_table),
    "latency": (ONE_AT_A_TIME, latency_rows),
    "elsewhere": (IN_OTHER_PROGRAMS, overhead_rows),
    "safeguard": (SAFEGUARD, guard_rows),
    "startup": (STARTUP, waiting_table),
}
"""Sections of the page on speed, which are left out until they are measured."""


def watch_table(numbers: dict) -> str:
    """Delays, false alarms and costs of a watch, for docs/watching.md."""
    lines = [
        f"| change after {numbers['calm']} problems | median delay | largest of {numbers['repetitions']} "
        "| given away by |",
        "|---|---:|---:|---|",
    ]
    for row in numbers["changes"]:
        told = ", ".join(row["names"]) + (f"; {row['false']} false" if row["false"] else "")
        lines.append(f"| {row['change']} | {row['median']:.0f} | {row['largest']} | {told} |")
    drift = numbers["drift"]
    lines.append(f"| data grow by 0.1% a problem, from the first on | {drift['median']:.0f} | {drift['largest']} | |")
    return "\n".join(
        [
            *lines,
            "",
            f"Without any change: {numbers['alarms']} of {numbers['streams']} streams of {numbers['length']} "
            "observations raised an alarm.",
            f"An observation of two quantities takes about {numbers['microseconds']:.0f} µs of a processor.",
        ]
    )


def fill(page: Path, content: str) -> None:
    """Put content between the two comments of a page that is otherwise written by hand."""
    before, after = (r"<!-- written by [^>]*-->\n", r"\n<!-- end -->")
    page.write_text(
        re.sub(f"({before}).*?({after})", lambda m: m[1] + content + m[2], page.read_text(), flags=re.DOTALL)
    )


def main() -> None:
    results = {path.stem: json.loads(path.read_text()) for path in (HERE / "results").glob("*.json")}
    rows = (
        f"| {r['problems']:,} | {r['seconds']:.3f} | {r['microseconds_each']:.1f} |"
        for r in results["scaling"]["curve"]
    )
    speeds = results["classical_speed"]
    classical = [classical_row("FISTA, LASSO", speeds["lasso"]), classical_row("L-BFGS, images", speeds["images"])]
    in_c = [c_row(name, numbers) for name, numbers in results["c_export"]["algorithms"].items()]
    tables = dict(curve="\n".join(rows), classical="\n".join(classical), in_c="\n".join(in_c))
    tables["more"] = "\n".join(
        text.format(**results, rows=rows(results[name]), paces=paces(results[name]) if name == "safeguard" else "")
        for name, (text, rows) in MEASURED_LATER.items()
        if name in results
    ).rstrip()
    page = PAGE.format(**results, **results["throughput"]["machine"], **tables)
    (HERE.parent / "docs" / "speed.md").write_text(page)
    sections = [LEARNED.rstrip(), learned_overview(list(loa.shipped())), *map(learned_table, loa.shipped())]
    (HERE.parent / "docs" / "learned.md").write_text("\n\n".join(sections) + "\n")
    if "watch" in results:
        fill(HERE.parent / "docs" / "watching.md", watch_table(results["watch"]))
    if "overfitting" in results:  # a long run, made separately
        fill(HERE.parent / "docs" / "generalization.md", overfitting_table(results["overfitting"]))
    tables = [baselines_table(numbers) for name, numbers in sorted(results.items()) if name.startswith("baselines-")]
    batches = mini_batches_table(results["minibatches"])
    (HERE.parent / "docs" / "baselines.md").write_text("\n\n".join([BASELINES.rstrip(), *tables, batches]) + "\n")


if __name__ == "__main__":
    main()
