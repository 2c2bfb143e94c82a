"""A watch: exact p-values, few false alarms over all time, alarms that name the quantity, verdicts on certificates."""

import json

import numpy as np
import pytest
from scipy import stats

import loa
from loa.certificates import Distribution, Mean, Probability, Quantile, Tail
from loa.deployment.watching.evidence import SHAPES, Evidence
from loa.deployment.watching.ranks import Ranks

STREAMS, LENGTH = 400, 300


class Frozen(Ranks):
    """The negative control: a sample that does not grow, so that p-values depend on each other through it."""

    def add(self, value):
        self.size += 1

    def place(self, value):
        self.size = int(self._totals.sum())
        return super().place(value)


def test_ranks_agree_with_numpy():
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=4000), 2)
    ranks = Ranks(values[:100])
    for number in range(100, 4000):
        if number % 97 == 0:
            smaller, equal = np.sum(values[:number] < values[number]), np.sum(values[:number] == values[number])
            assert ranks.place(values[number]) == (smaller, equal)
        ranks.add(values[number])
    different, counts = np.unique(values, return_counts=True)
    np.testing.assert_array_equal(ranks.different()[0], different)
    np.testing.assert_array_equal(ranks.different()[1], counts)


def test_bets_are_densities():
    """They are those of SciPy's beta distributions, mixed with weights that sum to one."""
    evidence = Evidence(Ranks([0.0]))
    before = evidence.weights.copy()
    evidence._bet(0.3)
    densities = np.array([stats.beta(a, b).pdf(0.3) for a, b in SHAPES])
    assert evidence.log_wealth == pytest.approx(np.log(before @ densities), rel=1e-12)
    assert evidence.weights.sum() == pytest.approx(1.0)


def test_p_values_are_uniform_and_independent():
    rng, found = np.random.default_rng(1), []
    for _ in range(STREAMS):
        evidence = Evidence(Ranks(rng.poisson(3.0, 5)))  # a small sample with many ties
        found.append([evidence.add(float(rng.poisson(3.0)), rng.random()) for _ in range(20)])
    found = np.array(found)
    assert stats.kstest(found.ravel(), "uniform").pvalue > 1e-4
    correlations = np.corrcoef(found.T)[np.triu_indices(20, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(STREAMS)


def _ever(rng, sample):
    """Whether the wealth over a stream without any change ever reaches 100."""
    evidence = Evidence(sample(rng.normal(size=30)))
    for value, uniform in zip(rng.normal(size=LENGTH), rng.random(LENGTH), strict=True):
        evidence.add(value, uniform)
        if evidence.log_wealth >= np.log(100):
            return True
    return False


def test_false_alarms_are_rare_and_a_broken_martingale_is_caught():
    rng = np.random.default_rng(2)
    alarms = sum(_ever(rng, Ranks) for _ in range(STREAMS))
    broken = sum(_ever(rng, Frozen) for _ in range(100))
    limit = stats.binom(STREAMS, 0.01).ppf(1 - 1e-4)
    assert alarms <= limit
    assert broken > stats.binom(100, 0.01).ppf(1 - 1e-4)  # the control


def _stream(watch, rng, count, steps=20, noise=1.0):
    for _ in range(count):
        alarm = watch.see(steps=rng.poisson(steps), noise=noise * rng.normal())
        if alarm:
            return alarm
    return None


@pytest.mark.parametrize(("change", "quantity"), [({"steps": 30}, "steps"), ({"noise": 3.0}, "noise")])
def test_a_change_after_a_long_calm_is_noticed_and_named(change, quantity):
    rng = np.random.default_rng(3)
    watch = loa.Watch({"steps": rng.poisson(20, 300), "noise": rng.normal(size=300)})
    assert _stream(watch, rng, 1000) is None
    alarm = _stream(watch, rng, 200, **change)
    assert alarm.quantity == quantity
    assert alarm.evidence >= watch.threshold == 200
    assert watch.alarms == (alarm,)
    assert quantity in str(alarm)


def test_it_continues_where_it_was_saved(tmp_path):
    certificate = Mean("steps", cap=100.0).certify(np.full(50, 20.0), 0.95)
    calibration = np.random.default_rng(0).normal(size=(2, 40))
    values = np.random.default_rng(1).normal(size=(60, 2)) + 1.0

    def see(watch, part):
        for a, b in part:
            watch.see(a=a, b=b, steps=80.0)

    whole, first = (loa.Watch({"a": calibration[0], "b": calibration[1]}, certificates=[certificate]) for _ in "12")
    see(whole, values)
    see(first, values[:25])
    first.save(tmp_path / "watch.npz")
    second = loa.Watch.load(tmp_path / "watch.npz")
    see(second, values[25:])
    assert second.evidence == whole.evidence
    assert second.alarms == whole.alarms
    assert second.verdicts == whole.verdicts
    assert set(first.verdicts.values()) == {"contradicted"}
    for name, each in whole.history.items():
        np.testing.assert_array_equal(each, second.history[name])
    assert list(tmp_path.iterdir()) == [tmp_path / "watch.npz"]


def test_verdicts_on_certificates():
    rng = np.random.default_rng(4)
    sample = rng.poisson(20, 1000).astype(float)
    goals = [
        Mean("steps", cap=100.0),
        Tail("steps", threshold=35.0, cap=100.0),
        Quantile("steps", level=0.9, cap=100.0),
    ]
    certificates = [each.certify(sample, 0.95) for each in goals]
    certificates.append(Probability("solved").certify(np.arange(1000) >= 20, 0.95))
    calm, worse = (loa.Watch({"steps": sample}, certificates=certificates) for _ in "12")
    assert set(calm.verdicts.values()) == {"not decided"}
    for _ in range(4000):
        calm.see(steps=rng.poisson(18), solved=rng.random() < 0.999)
        worse.see(steps=rng.poisson(30), solved=rng.random() < 0.9)
    assert set(calm.verdicts.values()) == {"holds"}
    assert set(worse.verdicts.values()) == {"contradicted"}


def test_true_certificates_are_hardly_ever_contradicted():
    """At the worst true value of a probability, for 300 streams and α = 5%."""
    rng, certificate = np.random.default_rng(5), Probability("solved").certify(np.arange(500) >= 10, 0.95)
    wrong = 0
    for _ in range(300):
        watch = loa.Watch({"steps": [1.0]}, certificates=[certificate], false_alarms=0.05)
        claim = watch._claims[0]
        for solved in rng.random(300) < certificate.bound:
            claim.add(float(solved))
            if claim.verdict != "not decided":
                wrong += 1
                break
    assert wrong <= stats.binom(300, 0.1).ppf(1 - 1e-4)


def test_numbers_that_are_none_count_as_large():
    watch = loa.Watch({"loss": np.linspace(0, 1, 50)})
    for _ in range(40):
        watch.see(loss=float("nan"))
    assert watch.alarms[0].quantity == "loss"


def test_bad_input_gets_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="at least one quantity"):
        loa.Watch({})
    with pytest.raises(ValueError, match="one per problem"):
        loa.Watch({"steps": np.zeros((3, 2))})
    with pytest.raises(ValueError, match="calibration values of steps"):
        loa.Watch({"steps": []})
    watch = loa.Watch({"steps": [1, 2, 3]})
    with pytest.raises(ValueError, match="one number for steps, such as steps=12, got only loss"):
        watch.see(loss=3.0)
    with pytest.raises(ValueError, match="one number for steps, such as steps=12, got nothing"):
        watch.see()
    with pytest.raises(ValueError, match="one number for steps"):
        watch.see(steps=np.zeros(2))
    assert watch.time == 0
    with pytest.raises(ValueError, match="can be watched"):
        loa.Watch({"steps": [1]}, certificates=[Distribution("steps", cap=9.0).certify(np.arange(9.0), 0.9)])
    with pytest.raises(FileNotFoundError, match="there is no file"):
        loa.Watch.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text(json.dumps({}))
    with pytest.raises(ValueError, match="not a watch saved by loa, or is damaged"):
        loa.Watch.load(tmp_path / "text.npz")


def test_the_page_is_one_file_that_escapes_names(tmp_path):
    watch = loa.Watch({"<steps>": np.arange(30)}, certificates=[Mean("n", cap=9.0).certify(np.ones(9), 0.9)])
    for number in range(5000):
        watch.see(**{"<steps>": 40 + number, "n": 1.0})
    loa.watch_page(watch, tmp_path / "watch.html")
    text = (tmp_path / "watch.html").read_text()
    assert "<steps>" not in text
    assert "&lt;steps&gt; no longer looks" in text
    assert "http" not in text
    assert len(text) < 400_000  # long streams are thinned
    assert "holds" in text
