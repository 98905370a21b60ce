"""Chances of a verdict: SciPy's distributions and the verdicts themselves, repeated, as oracles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from blocklib.lab import power, statistics
from blocklib.lab.power import chances, t_cdf, t_quantile


def test_constants_are_those_of_the_verdicts():
    assert (power.LEVEL, power.MARGIN, power.FEWEST) == (statistics.LEVEL, statistics.MARGIN, statistics.FEWEST)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 7, 8, 19, 30])
def test_students_distribution(df):
    for t in (-40.0, -2.5, -0.3, 0.0, 0.7, 1.9, 6.0, 55.0):
        assert t_cdf(t, df) == pytest.approx(stats.t.cdf(t, df), abs=1e-12)
    for p in (0.5, 0.9, 0.975, 0.995, 0.9999):
        assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seeds", [5, 8, 20])
@pytest.mark.parametrize("comparisons", [1, 5])
def test_a_difference_is_found_as_often_as_the_noncentral_t_says(seeds, comparisons):
    bound = stats.t.ppf(1 - 0.025 / comparisons, seeds - 1)
    for effect in (0.0, 0.005, 0.014, 0.03, 0.08):
        shift = effect / 0.014 * seeds**0.5
        oracle = stats.nct.sf(bound, seeds - 1, shift) + np.nan_to_num(stats.nct.cdf(-bound, seeds - 1, shift))
        assert chances(effect, 0.014, seeds, comparisons).differs == pytest.approx(oracle, abs=2e-6)


@pytest.mark.parametrize(
    ("effect", "sd", "seeds"), [(0.0, 0.014, 8), (0.012, 0.014, 8), (0.02, 0.007, 5), (0.04, 0.03, 8)]
)
def test_shares_are_those_of_verdicts_repeated(effect, sd, seeds):
    rng = np.random.default_rng(11)
    gaps = rng.normal(effect, sd, (1500, seeds))
    said = [statistics.compare(gap, np.zeros(seeds)).verdict for gap in gaps]
    expected = chances(effect, sd, seeds)
    for kind in ("differs", "same", "open"):
        share = getattr(expected, kind)
        assert said.count(kind) / len(said) == pytest.approx(share, abs=4 * (share * (1 - share) / 1500) ** 0.5 + 2e-3)


def test_shares_add_up_and_move_the_right_way():
    for sd in (0.005, 0.014, 0.05):
        found = [chances(effect, sd, 8, 5) for effect in (0.0, 0.01, 0.02, 0.04, 0.08)]
        assert all(sum(each) == pytest.approx(1, abs=1e-6) and min(each) >= 0 for each in found)
        assert [c.differs for c in found] == sorted(c.differs for c in found)
        assert chances(sd, sd, 20).differs > chances(sd, sd, 8).differs > chances(sd, sd, 8, 5).differs
    assert chances(0.0, 0.014, 8, 1).differs == pytest.approx(0.05, abs=1e-6)
    assert chances(0.0, 0.014, 8, 5).differs == pytest.approx(0.01, abs=1e-6)


@pytest.mark.parametrize("wrong", [dict(sd=0), dict(seeds=4), dict(comparisons=0)])
def test_what_has_no_answer_is_refused(wrong):
    with pytest.raises(ValueError):
        chances(**({"effect": 0.01, "sd": 0.01, "seeds": 8} | wrong))
    with pytest.raises(ValueError):
        t_quantile(0.2, 5)
    with pytest.raises(ValueError):
        t_cdf(1.0, 0)


def test_needs_nothing_but_the_standard_library():
    import subprocess
    import sys

    parts = "arms, questions, summary, power, report"
    code = (
        f"import sys; from blocklib.lab import {parts}; print(sorted({{'numpy', 'scipy', 'torch'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
