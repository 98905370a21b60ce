"""Evidence for the lab's pages: noise and differences, the constant that a lost run ends at, paired draws, the course's counts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scipy import stats

from blocklib.lab import course, power, stack
from blocklib.lab.arms import ARMS, BASE, Arm, replace
from blocklib.lab.reference import REFERENCE
from blocklib.lab.statistics import Comparison, holm
from blocklib.nn.ffn import SwiGLU
from blocklib.nn.norm import RMSNorm, ZeroCentredRMSNorm
from tests.claims_evidence.support import CLEARLY, fails, holds


def generators(rounds: int = 12) -> Iterator[np.random.Generator]:
    return (np.random.default_rng(seed) for seed in range(rounds))


# -- a difference and its spread ----------------------------------------------------------------------------------


def spreads(rng: np.random.Generator, share: float) -> tuple[float, float]:
    """(√2 · sd of one run, sd of the difference of two), exactly, from a random joint distribution of two runs.

    Both have the same random marginal over a few values; ``share`` of the weight goes to pairs of equal runs.
    """
    values, weights = rng.normal(size=6), rng.dirichlet(np.ones(6))
    joint = (1 - share) * np.outer(weights, weights) + share * np.diag(weights)
    gap = values[:, None] - values[None, :]
    sd = math.sqrt(weights @ (values - weights @ values) ** 2)
    return math.sqrt(2) * sd, math.sqrt((joint * gap**2).sum() - ((joint * gap).sum()) ** 2)


@pytest.mark.claim("difference-spreads-root-two")
def test_difference_spreads_root_two():
    holds([abs(a - b) for a, b in (spreads(rng, 0.0) for rng in generators())])


@pytest.mark.claim("difference-spreads-root-two", control=True)
def test_difference_spreads_root_two_control():
    """Runs that share their luck differ by less: that is what pairing is for."""
    fails([a - b for a, b in (spreads(rng, 0.5) for rng in generators())], CLEARLY)


@pytest.mark.claim("eight-seeds-find")
def test_eight_seeds_find():
    bound = stats.t.ppf(1 - 0.05 / 5 / 2, 7)
    for effect in (0.01, 0.02, 0.03):
        shift = effect / 0.02 * math.sqrt(8)
        oracle = stats.nct.sf(bound, 7, shift) + np.nan_to_num(stats.nct.cdf(-bound, 7, shift))
        assert power.chances(effect, 0.02, 8, 5).differs == pytest.approx(oracle, abs=1e-6)
    repeats = np.random.default_rng(3).normal(0.02, 0.02, (20_000, 8))
    t = repeats.mean(1) / (repeats.std(1, ddof=1) / math.sqrt(8))
    assert (abs(t) > bound).mean() == pytest.approx(power.chances(0.02, 0.02, 8, 5).differs, abs=0.012)


@pytest.mark.claim("holm-keeps-the-level")
def test_holm_keeps_the_level():
    """Five true null hypotheses, independent or sharing their noise: at most one question in twenty reports any."""
    rng = np.random.default_rng(8)
    for shared in (0.0, 0.7):
        noise = rng.normal(size=(4000, 5, 8)) + shared * 2 * rng.normal(size=(4000, 1, 8))
        t = noise.mean(-1) / (noise.std(-1, ddof=1) / math.sqrt(8))
        p = 2 * stats.t.sf(abs(t), 7)
        said = [min(c.p for c in holm([Comparison(0, 1, 0, 0, 0, v, 1, 8) for v in row])) < 0.05 for row in p[:1500]]
        assert np.mean(said) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)
        assert (p.min(1) < 0.05).mean() > 0.05  # without the correction it is more than that


# -- the constant that a lost run ends at --------------------------------------------------------------------------


def text(rng: np.random.Generator, kinds: int = 12, length: int = 400) -> np.ndarray:
    """Token ids in which each token leans on the one before it."""
    follow = rng.dirichlet(np.full(kinds, 0.3), size=kinds)
    ids = [int(rng.integers(kinds))]
    for _ in range(length - 1):
        ids.append(int(rng.choice(kinds, p=follow[ids[-1]])))
    return np.array(ids)


def constant_loss(ids: np.ndarray, share: np.ndarray) -> float:
    return float(-np.log(share[ids]).mean())


@pytest.mark.claim("best-constant-is-frequencies")
def test_best_constant_is_frequencies():
    for rng in generators():
        ids = text(rng)
        best = np.bincount(ids, minlength=12) / len(ids)
        floor = constant_loss(ids, np.where(best > 0, best, 1.0))
        for _ in range(50):
            near = rng.random() < 0.5
            other = rng.dirichlet(5000 * best + 0.5) if near else rng.dirichlet(np.ones(12))
            assert constant_loss(ids, np.maximum(other, 1e-12)) >= floor - 1e-12


@pytest.mark.claim("best-constant-is-frequencies", control=True)
def test_best_constant_is_frequencies_control():
    """A prediction that may look one token back goes below the floor."""
    for rng in generators():
        ids = text(rng)[:-1]
        best = np.bincount(ids, minlength=12) / len(ids)
        floor = constant_loss(ids[1:], np.where(best > 0, best, 1.0))
        pairs = np.zeros((12, 12))
        np.add.at(pairs, (ids[:-1], ids[1:]), 1)
        given = pairs[ids[:-1], ids[1:]] / pairs[ids[:-1]].sum(1)
        assert float(-np.log(given).mean()) < floor - CLEARLY


# -- paired draws --------------------------------------------------------------------------------------------------


def small(rng: np.random.Generator) -> list[Arm]:
    """Arms of one width with as many writes, but other sublayers, projections and norms."""
    common = {"d_model": 16, "n_heads": 2, "n_kv_heads": 2, "d_ff": int(rng.integers(9, 30)), "vocab_size": 40}
    layouts = ["AFAF", "FAFA", "AAFF", "FFAA"]
    changes = [
        {},
        {"norm": "layer"},
        {"ffn": "gelu"},
        {"attention": "gated"},
        {"attention": "tied-qk"},
        {"qk_norm": True},
    ]
    return [
        replace(BASE, id="small", layout=str(rng.choice(layouts)), **(common | changes[int(rng.integers(6))]))
        for _ in range(2)
    ]


def unlike(arms: list[Arm], seed: int, keyed: bool) -> int:
    """Matrices of one name and shape in both arms that do not start alike."""
    drawn = []
    for arm in arms:
        model = stack.build(arm, seed)
        weights = {n: w.detach().clone() for n, w in model.named_parameters() if w.dim() > 1}
        if not keyed:
            together = torch.Generator().manual_seed(seed)
            for weight in weights.values():
                weight.normal_(0.0, 0.02, generator=together)
        drawn.append(weights)
    common = [n for n in drawn[0] if n in drawn[1] and drawn[0][n].shape == drawn[1][n].shape]
    assert common
    return sum(not torch.equal(drawn[0][n], drawn[1][n]) for n in common)


@pytest.mark.claim("keyed-draws-pair")
def test_keyed_draws_pair():
    holds([float(unlike(small(rng), seed, keyed=True)) for seed, rng in enumerate(generators())])


@pytest.mark.claim("keyed-draws-pair", control=True)
def test_keyed_draws_pair_control():
    """From one generator, an arm with another matrix before the rest gets another rest."""
    plain = replace(BASE, id="small", d_model=16, n_heads=2, n_kv_heads=2, d_ff=20, vocab_size=40)
    fails([float(unlike([plain, replace(plain, attention="gated")], seed, keyed=False)) for seed in range(6)])


# -- weight decay on gains -----------------------------------------------------------------------------------------


def far_from_their_ends(decay: float) -> list[float]:
    """How far gains end from zero (plain) and from one (zero-centred), read off what the norms hand on, after AdamW
    has had no gradient to follow."""
    found = []
    for seed in range(8):
        g = torch.Generator().manual_seed(seed)
        plain, centred = RMSNorm(16).double(), ZeroCentredRMSNorm(16).double()
        x = torch.randn(16, generator=g).double()
        stored = [*plain.parameters(), *centred.parameters()]
        opt = torch.optim.AdamW(stored, lr=0.1, weight_decay=decay)
        with torch.no_grad():
            for weight in stored:
                weight.copy_(torch.randn(16, generator=g))
                weight.grad = torch.zeros_like(weight)
        for _ in range(3000):
            opt.step()
        bare = RMSNorm(16, affine=False).double()(x)
        with torch.no_grad():
            found += [float(plain(x).abs().max()), float((centred(x) - bare).abs().max())]
    return found


@pytest.mark.claim("decay-pulls-gains")
def test_decay_pulls_gains():
    holds(far_from_their_ends(0.1))


@pytest.mark.claim("decay-pulls-gains", control=True)
def test_decay_pulls_gains_control():
    fails(far_from_their_ends(0.0))


# -- the arm without attention -------------------------------------------------------------------------------------


def reads_the_past(arm: Arm, seed: int) -> float:
    """How much the logits at a position move when every other token of the text is replaced."""
    g = torch.Generator().manual_seed(seed)
    model = stack.build(replace(arm, vocab_size=64, d_model=16, n_heads=2, n_kv_heads=2, d_ff=24), seed).double()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(10)
        ids, other = torch.randint(64, (2, 1, 9), generator=g)
        other[0, 6] = ids[0, 6]
        return float((model(ids)[0, 6] - model(other)[0, 6]).abs().max())


@pytest.mark.claim("no-attention-reads-one-token")
def test_no_attention_reads_one_token():
    holds([reads_the_past(ARMS["no-attention"], seed) for seed in range(8)])


@pytest.mark.claim("no-attention-reads-one-token", control=True)
def test_no_attention_reads_one_token_control():
    fails([reads_the_past(ARMS["base"], seed) for seed in range(8)])


# -- the course ----------------------------------------------------------------------------------------------------


@pytest.mark.claim("course-floor-is-of-one-run")
def test_course_floor_is_of_one_run():
    """Repeated fives of normal runs: their mean range gives the constant, and differences spread by the root of two more."""
    rng = np.random.default_rng(12)
    runs = rng.normal(size=(60_000, 5))
    constant = np.ptp(runs, axis=1).mean()
    assert course.range_over_sd(5) == pytest.approx(constant, abs=0.01)
    sd = 0.016 / constant
    assert course.sd_from_range(0.016, 5) == pytest.approx(sd, rel=5e-3)
    assert 3 * sd == pytest.approx(0.020, abs=1e-3), "the course's three sigma is that of one run"
    gaps = sd * (rng.normal(size=200_000) - rng.normal(size=200_000))
    assert course.three_sigma_from_range(0.016, 5, "difference") == pytest.approx(3 * gaps.std(), rel=1e-2)
    assert course.sigmas_of_difference(0.020, 0.016, 5) == pytest.approx(0.020 / gaps.std(), rel=1e-2)


@pytest.mark.claim("course-count")
def test_course_count():
    counted = sum(w.numel() for w in stack.Stack(REFERENCE).parameters())
    assert course.course_parameters("base") == counted == 3_688_704
    ffn = sum(w.numel() for w in SwiGLU(256, 688).parameters())
    assert course.course_part("swiglu") == ffn == 528_384
