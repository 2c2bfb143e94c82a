"""Certificates in words: what is read is never more than what is certified, and never something else."""

import dataclasses
import re

import numpy as np
import pytest

from loa import certificates as c
from loa.certificates.bounds import rounding
from loa.certificates.goal import CAPPED

RNG = np.random.default_rng(23)
RANDOM = np.concatenate(
    [
        np.exp(RNG.uniform(-30, 30, 3000)),
        RNG.integers(1, 10**6, 1000).astype(float),
        np.round(RNG.random(1000), 4),
        np.nextafter(RNG.integers(1, 2000, 500).astype(float), np.inf),
        np.nextafter(RNG.integers(1, 2000, 500).astype(float), 0.0),
    ]
)
SHARES = np.concatenate([RNG.random(3000), 10.0 ** RNG.uniform(-12, 0, 1000), 1 - 10.0 ** RNG.uniform(-12, -1, 1000)])


def made(**fields):
    basic = dict(functional="stopping_time", measure="mean", kind="betting", bound=111.93, empirical=105.0)
    return c.Certificate(**{**basic, "confidence": 0.95, "n": 250, "cap": 500.0, **fields})


def percentage(text):
    assert text.endswith("%")
    return float(text[:-1])


# Rounding


def test_bounds_are_rounded_outward_by_less_than_a_thousandth():
    for number in RANDOM:
        above, below = float(rounding.number_up(number)), float(rounding.number_down(number))
        assert below <= number <= above
        assert above - below <= 1.0001e-3 * number


def test_what_was_declared_is_printed_exactly():
    for number in RANDOM:
        assert float(rounding.number_exact(number)) == number
        assert "e" in rounding.number_exact(number) or not rounding.number_exact(number).endswith(".0")


def test_percentages_are_rounded_outward_or_not_at_all():
    for share in SHARES:
        above, below = percentage(rounding.percent_up(share)), percentage(rounding.percent_down(share))
        assert below / 100 <= share * (1 + 1e-15)
        assert above / 100 >= share * (1 - 1e-15)
        assert above - below < 0.0101
        assert percentage(rounding.percent_exact(share)) / 100 == pytest.approx(share, rel=1e-15)
        assert rounding.percent_exact(share) != "100%"
    assert [rounding.percent_rest(level) for level in (0.9, 0.95, 0.99997)] == ["10%", "5%", "0.003%"]


def test_a_bound_that_is_a_hair_above_is_not_rounded_down():
    """Forgiving a millionth of the last digit, as was done once, claims more than is certified."""
    assert float(rounding.number_up(112 + 1e-8)) > 112 + 1e-8
    assert rounding.number_up(112.0) == "112"


@pytest.mark.parametrize("threshold", [12345.0, 0.123456, 123456789.0, 1 / 3])
def test_a_tail_is_about_its_threshold(threshold):
    sentence = made(measure="tail", threshold=threshold, bound=0.01, empirical=0.0, cap=None).sentence()
    (shown,) = re.findall(r"more than (\S+) iterations", sentence)
    assert float(shown) == threshold


@pytest.mark.parametrize("level", [0.99997, 0.9, 0.123456, 0.999999])
def test_a_quantile_is_about_its_level(level):
    quantile = made(measure="quantile", level=level, bound=20.0).sentence()
    assert percentage(re.findall(r"on at least (\S+) of", quantile)[0]) / 100 == pytest.approx(level, rel=1e-15)
    worst = made(measure="cvar", level=level, threshold=1.0, bound=20.0).sentence()
    assert percentage(re.findall(r"the worst (\S+) of", worst)[0]) == pytest.approx(100 * (1 - level), rel=1e-9)


def test_confidence_is_rounded_down():
    for confidence in SHARES[(SHARES > 0) & (SHARES < 1)][:500]:
        shown = percentage(made(confidence=float(confidence)).sentence().split()[1])
        assert shown / 100 <= confidence * (1 + 1e-15)
    assert made(confidence=0.99999).sentence().startswith("With 99.99% confidence, ")


def test_a_verdict_does_not_better_the_bound():
    assert "at most 0.1235 is certified" in c.Verdict(False, 0.1, 0.1, 0.12341, 0.01, 5).sentence()
    assert "at least 0.1234 is certified" in c.Verdict(False, 0.1, 0.1, 0.12349, 0.01, 5, is_upper=False).sentence()


# Sentences

BAND = ((10.0, 0.2), (20.0, 0.55), (90.0, 0.93))
NEW = "new problems drawn like these 250"
DRAWN = "an algorithm drawn from the posterior for each problem"


@pytest.mark.parametrize(
    ("fields", "claim"),
    [
        ({}, f"the algorithm needs at most 112 iterations on average on {NEW}"),
        ({"bound": 1.0}, f"the algorithm needs at most 1 iteration on average on {NEW}"),
        ({"n": 1}, "the algorithm needs at most 112 iterations on average on new problems drawn like this one"),
        ({"functional": "oracle_calls"}, f"the algorithm needs at most 112 oracle calls on average on {NEW}"),
        ({"functional": "time", "unit": "ms"}, f"the algorithm's time is at most 112 ms on average on {NEW}"),
        ({"functional": "warm_up", "unit": "iterations"},
         f"the algorithm's warm up is at most 112 iterations on average on {NEW}"),
        ({"functional": "performance", "unit": "joules"},
         f"the algorithm needs at most 112 joules on average on {NEW}"),
        ({"functional": "contraction_factor", "bound": 0.93001},
         f"the algorithm's contraction factor is at most 0.9301 on average on {NEW}"),
        ({"at_cap": 0.00007, "cap": 600.0},
         f"the algorithm needs at most 112 iterations on average on {NEW} (values are capped at 600; 0.01% of the "
         "sample reached the cap)"),
        ({"at_cap": 0.0}, f"the algorithm needs at most 112 iterations on average on {NEW}"),
        ({"functional": "slow", "cap": 1.0, "bound": 0.041, "empirical": 0.02},
         f'the property "slow" holds on at most 4.1% of {NEW}'),
        ({"target": "posterior", "posterior": (0.5, 0.5)},
         f"{DRAWN} needs at most 112 iterations on average on {NEW}"),
        ({"target": "posterior", "posterior": (0.5, 0.5), "functional": "contraction_factor", "bound": 0.9},
         f"the contraction factor of {DRAWN} is at most 0.9 on average on {NEW}"),
        ({"measure": "probability", "functional": "solved", "bound": 0.98955, "empirical": 1.0},
         f"the algorithm solves at least 98.95% of {NEW}"),
        ({"measure": "probability", "functional": "never_far", "bound": 0.98955, "empirical": 1.0},
         f'the property "never far" holds on at least 98.95% of {NEW}'),
        ({"measure": "probability", "functional": "solved", "bound": 0.9, "empirical": 1.0, "target": "posterior",
          "posterior": (1.0,)}, f"{DRAWN} solves at least 90% of {NEW}"),
        ({"measure": "tail", "threshold": 400.0, "bound": 0.00621, "empirical": 0.0, "at_cap": 0.1},
         f"the algorithm needs more than 400 iterations on at most 0.63% of {NEW}"),
        ({"measure": "tail", "functional": "rate", "threshold": 0.4, "bound": 0.00621, "empirical": 0.0},
         f"the algorithm's rate is more than 0.4 on at most 0.63% of {NEW}"),
        ({"measure": "quantile", "level": 0.9}, f"the algorithm needs at most 112 iterations on at least 90% of {NEW}"),
        ({"measure": "cvar", "level": 0.9, "threshold": 90.0},
         f"the algorithm needs at most 112 iterations on average on the worst 10% of {NEW}"),
        ({"measure": "distribution", "band": BAND, "bound": 20.0},
         f"the algorithm needs at most 20 iterations on at least 50% and at most 90 on at least 90% of {NEW}, all "
         "simultaneously"),
        ({"measure": "distribution", "band": ((20.0, 0.93),), "bound": 20.0},
         f"the algorithm needs at most 20 iterations on at least 90% of {NEW}"),
        ({"measure": "distribution", "band": BAND[:1], "bound": np.inf},
         f"the algorithm needs at most 10 iterations on at least 20% of {NEW}"),
        ({"bound": 500.0}, "nothing can be said about the mean stopping time from these 250 problems: more problems "
         "are needed"),
        ({"bound": 500.0, "at_cap": 1.0}, "nothing can be said about the mean stopping time from these 250 problems: "
         "100% of them reached the cap of 500"),
        ({"measure": "quantile", "level": 0.9, "bound": 500.0, "at_cap": 0.2},
         "nothing can be said about the 90% quantile of the stopping time from these 250 problems: 20% of them reached "
         "the cap of 500"),
        ({"measure": "quantile", "level": 0.9, "bound": 500.0, "target": "posterior", "posterior": (0.5, 0.5)},
         f"nothing can be said about the 90% quantile of the stopping time of {DRAWN} from these 250 problems: more "
         "problems are needed"),
        ({"measure": "distribution", "band": (), "bound": np.inf, "n": 1},
         "nothing can be said about the distribution of the stopping time from this one problem: more problems are "
         "needed"),
        ({"measure": "probability", "functional": "solved", "bound": 0.0, "empirical": 0.0},
         'nothing can be said about the probability of the property "solved" from these 250 problems: none of them has '
         "it"),
    ],
)  # fmt: skip
def test_every_measure_has_its_sentence(fields, claim):
    certificate = made(**fields)
    assert certificate.sentence() == str(certificate) == f"With 95% confidence, {claim}."
    assert certificate.claim() == f"{claim[0].upper()}{claim[1:]}."


# What a file can say


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"confidence": 1.5}, "confidence must be a number strictly between 0 and 1, got 1.5"),
        ({"confidence": 1.0}, "confidence must be a number strictly between 0 and 1"),
        ({"bound": -5.0}, "bound must be a number between 0 and inf, got -5"),
        ({"bound": float("nan")}, "bound must be a number between 0 and inf, got nan"),
        ({"bound": "112"}, "bound must be a number"),
        ({"bound": True}, "bound must be a number"),
        ({"bound": None}, "bound must be a number"),
        ({"measure": "quantile", "level": 0.9, "bound": -5.0, "unit": "iterations", "cap": None}, "bound must be"),
        ({"measure": "tail", "threshold": 1.0, "bound": 1.5}, "bound must be a number between 0 and 1, got 1.5"),
        ({"n": 0}, "n must be a whole number from 1, got 0"),
        ({"n": 2.5}, "n must be a whole number from 1"),
        ({"measure": "mode"}, "measure must be one of mean, probability"),
        ({"target": "everyone"}, "target must be one of deployed, posterior"),
        ({"functional": 3}, "functional must be a text"),
        ({"cap": -1.0}, "cap must be a number strictly between 0 and inf"),
        ({"at_cap": 1.2}, "at_cap must be a number between 0 and 1"),
        ({"measure": "quantile"}, "the measure quantile needs a level"),
        ({"measure": "tail", "bound": 0.5, "empirical": 0.5}, "the measure tail needs a threshold"),
        ({"measure": "distribution"}, "the measure distribution needs a band"),
        ({"measure": "distribution", "band": ((1.0, 0.5), (2.0, 1.5))}, "growing shares from 0 to 1"),
        ({"measure": "distribution", "band": ((1.0,),)}, r"pairs \(value, share\)"),
        ({"posterior": (0.5, 0.6)}, "posterior must sum to one"),
        ({"posterior": ("a",)}, "posterior must be weights"),
        ({"draws": {"held-out": 3}}, "draws must be fingerprints by role"),
        ({"assumptions": "none"}, "assumptions must be a list of texts"),
    ],
)
@pytest.mark.wrong_types
def test_impossible_content_is_refused(fields, sentence):
    content = made().to_dict() | fields
    with pytest.raises(ValueError, match=sentence):
        c.Certificate.from_dict(content)
    with pytest.raises(ValueError, match=sentence):
        made(**fields)


def test_a_changed_digit_is_noticed(tmp_path):
    certificate = c.Mean("stopping_time", 500.0).certify(RNG.integers(1, 400, 100), 0.95, draws={"held-out": "abc"})
    path = tmp_path / "certificate.json"
    certificate.save(path)
    text = path.read_text()
    digits = [place for place, letter in enumerate(text) if letter.isdigit()]
    for place in RNG.choice(digits, 40, replace=False):
        path.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :])
        with pytest.raises(ValueError, match=r"does not match its checksum|no certificate has|must be"):
            c.Certificate.load(path)
    path.write_text(text)
    assert c.Certificate.load(path) == certificate


def test_the_checksum_is_of_the_content_not_of_the_layout():
    certificate = made()
    content = certificate.to_dict()
    rearranged = {name: content[name] for name in sorted(content)} | {"bound": content["bound"], "cap": 500}
    assert c.Certificate.from_dict(rearranged) == certificate
    assert dataclasses.replace(certificate, n=251).checksum != certificate.checksum
    del content["checksum"]
    with pytest.raises(ValueError, match=r"not a certificate: it must have .*checksum"):
        c.Certificate.from_dict(content)


# What it rests on


def test_assumptions_and_checks_are_listed():
    values = RNG.integers(1, 400, 100).astype(float)
    mean = c.certify(values, cap=500.0)
    assert "every value lies between 0 and the cap" in mean.checked
    assert not any("truncated" in line for line in mean.assumptions)
    assert CAPPED in mean.assumptions
    posterior = c.certify_posterior(values[:, None], [1.0], [1.0], cap=500.0, lam=0.3)
    assert CAPPED in posterior.assumptions
    free = c.Quantile("x", 0.5, cap=None).certify(values, 0.95)
    assert any("no value is truncated" in line for line in free.assumptions)
    assert "every value lies between 0 and the cap" not in free.checked
    assert "there is one value per problem" in free.checked
    helped = c.certify(values, cap=500.0, prior_values=values[:10])
    assert any("come from other problems" in line for line in helped.assumptions)
    occam = c.certify_occam(values, 0.1, cap=500.0)
    assert any("prior" in line for line in occam.assumptions)
    assert any("their number" in line for line in occam.assumptions)
    plan = c.Plan({"x": c.Mean("x", 500.0)})
    (planned,) = plan.certify({"x": values}, c.Draw.of(np.arange(100.0), "held-out"))
    assert any("two draws" in line for line in planned.checked)
    growing = c.AnytimeCertificate(c.Mean("x", 500.0))
    growing.add(values, np.arange(100.0))
    assert any("two draws" in line for line in growing.certificate().checked)
