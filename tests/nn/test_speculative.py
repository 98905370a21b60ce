"""The output's distribution by total variation against a floor, and the tokens a pass gives against the formula."""

from __future__ import annotations

from math import log, pi, sqrt

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from blocklib.nn import speculative
from blocklib.nn.cache import ContiguousCache, SlidingCache
from blocklib.nn.generate import generate
from blocklib.nn.paged import PagedCache, PagePool
from blocklib.nn.sampling import Sampling, draw
from blocklib.nn.speculative import (
    accept,
    acceptance,
    expected_tokens,
    residual,
    speculative_generate,
    speculative_steps,
    speedup,
)
from tests.nn.tiny import TinyLM, token_ids

DRAWS = 60_000


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def distribution(vocab, seed, sharpness=2.0):
    return (torch.randn(vocab, generator=generator(seed), dtype=torch.float64) * sharpness).softmax(-1)


def far_from(counts, p) -> float:
    """Total variation between draws and p, over what honest draws exceed once in a million times.

    Their expectation is about Σ √(p(1 − p) / 2πn) (the normal law's mean deviation); they exceed it by t with
    probability at most exp(−2nt²), since one draw moves the distance by at most 1/n (McDiarmid 1989).
    """
    n = counts.sum().item()
    limit = (p * (1 - p) / (2 * pi * n)).sqrt().sum().item() + sqrt(log(1e6) / (2 * n))
    return (counts / n - p).abs().sum().item() / 2 / limit


def first_tokens(p, q, how=residual, seed=0):
    """Counts of the first token of ``DRAWS`` speculative steps with one drafted token."""
    coin = generator(seed)
    drafted = draw(q.expand(DRAWS, -1), coin).unsqueeze(1)
    count, following = accept(p.expand(DRAWS, 2, -1), q.expand(DRAWS, 1, -1), drafted, coin, how)
    return torch.bincount(torch.where(count == 1, drafted[:, 0], following), minlength=len(p)).double(), count


@pytest.mark.parametrize("seed", range(3))
def test_the_next_token_has_the_large_models_distribution(seed):
    p, q = distribution(50, seed), distribution(50, seed + 100)
    counts, count = first_tokens(p, q)
    assert far_from(counts, p) < 1
    assert far_from(draw(p.expand(DRAWS, -1), generator(seed)).bincount(minlength=50).double(), p) < 1  # the floor
    assert count.double().mean().item() == pytest.approx(acceptance(p, q).item(), abs=5 * sqrt(0.25 / DRAWS))


WRONG = {
    "the large model's own": lambda p, q: p,
    "|p − q|": lambda p, q: (p - q).abs() / (p - q).abs().sum(-1, keepdim=True),
    "q − p": lambda p, q: residual(q, p),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("seed", range(2))
def test_control_a_wrong_residual_fails_the_same_test(kind, seed):
    p, q = distribution(50, seed), distribution(50, seed + 100)
    assert far_from(first_tokens(p, q, WRONG[kind])[0], p) > 3


def test_control_max_is_needed_to_draw_at_all():
    p, q = distribution(50, 0), distribution(50, 100)
    with pytest.raises(ValueError, match="negative"):
        first_tokens(p, q, lambda p, q: p - q)


@settings(max_examples=60)
@given(vocab=st.integers(1, 30), sharpness=st.sampled_from([0.0, 0.5, 3.0, 40.0]), seed=st.integers(0, 2**31))
def test_the_identity_behind_it_is_exact(vocab, sharpness, seed):
    """min(p, q) + (1 − α) · residual = p."""
    p, q = distribution(vocab, seed, sharpness), distribution(vocab, seed + 1, sharpness)
    alpha = acceptance(p, q)
    torch.testing.assert_close(torch.minimum(p, q) + (1 - alpha) * residual(p, q), p, rtol=0, atol=1e-14)
    assert alpha.item() == pytest.approx(1 - (p - q).abs().sum().item() / 2, abs=1e-12)
    assert torch.equal(residual(p, p), p)


def test_disjoint_and_equal_drafts():
    p, q = torch.tensor([0.5, 0.5, 0.0, 0.0]).double(), torch.tensor([0.0, 0.0, 0.5, 0.5]).double()
    counts, count = first_tokens(p, q)
    assert (count == 0).all() and counts[2:].sum() == 0
    assert (first_tokens(p, p)[1] == 1).all()


class Markov(nn.Module):
    """The next token by the last one alone; keeps the contract of caches by ignoring them."""

    def __init__(self, vocab, seed, sharpness=1.5):
        super().__init__()
        self.table = torch.randn(vocab, vocab, generator=generator(seed), dtype=torch.float64) * sharpness

    def forward(self, ids):
        return self.table[ids]


def transitions(target, draft, tokens=5000, seed=0):
    ids = torch.zeros(1, 1, dtype=torch.long)
    passes = list(
        speculative_steps(target, draft, ids, tokens, gamma=3, sampling=Sampling(), generator=generator(seed))
    )
    text = [0, *(token for one in passes for token in one.tokens)]
    assert len(text) == tokens + 1
    vocab = len(target.table)
    pairs = torch.tensor(text[:-1]) * vocab + torch.tensor(text[1:])
    return pairs.bincount(minlength=vocab**2).view(vocab, vocab).double(), passes


def worst_row(counts, p):
    """The visited states' distances, each over its own limit; every visit is an independent draw of the next token."""
    return max(far_from(row, row_p) for row, row_p in zip(counts, p, strict=True) if row.sum() > 300)


def test_whole_sequences_keep_the_large_models_transitions():
    target, draft = Markov(4, 0), Markov(4, 1)
    counts, passes = transitions(target, draft)
    assert worst_row(counts, target.table.softmax(-1)) < 1
    assert worst_row(counts, draft.table.softmax(-1)) > 3
    assert 1.5 < sum(len(one.tokens) for one in passes) / len(passes) < 4


def test_control_whole_sequences_with_a_wrong_residual(monkeypatch):
    right = speculative.accept
    monkeypatch.setattr(speculative, "accept", lambda *given: right(*given, WRONG["|p − q|"]))
    target, draft = Markov(4, 0), Markov(4, 1)
    assert worst_row(transitions(target, draft)[0], target.table.softmax(-1)) > 1.5


@pytest.mark.parametrize("gamma", [0, 1, 4, 7])
@pytest.mark.parametrize("seed", range(2))
def test_tokens_a_pass_follow_the_formula(gamma, seed):
    """Drafts kept independently with α each: the mean of 1 … γ + 1 within five standard errors."""
    p, n = distribution(20, seed, 1.0), 10_000
    q = 0.8 * p + 0.2 * distribution(20, seed + 50, 1.0)
    coin = generator(seed)
    drafted = draw(q.expand(n * gamma, -1), coin).view(n, gamma) if gamma else torch.zeros(n, 0, dtype=torch.long)
    count, _ = accept(p.expand(n, gamma + 1, -1), q.expand(n, gamma, -1), drafted, coin)
    tokens = count.double() + 1
    alpha, error = acceptance(p, q).item(), 5 * tokens.std().item() / sqrt(n) + 1e-12
    assert tokens.mean().item() == pytest.approx(expected_tokens(alpha, gamma), abs=error)
    for other in (gamma - 1, gamma + 1):  # control: one term less or more
        assert tokens.mean().item() != pytest.approx(expected_tokens(alpha, other), abs=error)


def test_known_values():
    """α = 0.8, γ = 4 gives 3.3616; the published table at c = 0.02 and 0.05."""
    assert (
        expected_tokens(0.8, 4) == pytest.approx(3.3616) and expected_tokens(1.0, 4) == 5 and expected_tokens(0, 4) == 1
    )
    best = {
        (a, c): max(range(1, 40), key=lambda g: speedup(a, g, c)) for a in (0.5, 0.8, 0.9) for c in (0.02, 0.05, 0.1)
    }
    assert best == {
        (0.5, 0.02): 4, (0.5, 0.05): 3, (0.5, 0.1): 2, (0.8, 0.02): 11, (0.8, 0.05): 8, (0.8, 0.1): 6,
        (0.9, 0.02): 19, (0.9, 0.05): 13, (0.9, 0.1): 10,
    }  # fmt: skip
    assert round(speedup(0.8, 8, 0.05), 2) == 3.09 and round(speedup(0.9, 19, 0.02), 2) == 6.37


CACHES = {
    "none": lambda: (None, None),
    "contiguous": lambda: (ContiguousCache(), ContiguousCache()),
    "paged": lambda: (PagedCache(PagePool(30, 3, range(29, -1, -1))), PagedCache(PagePool(30, 2))),
}


@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("gamma", [0, 1, 3, 6])
@pytest.mark.parametrize("penalty", [1.0, 1.4])
def test_greedy_gives_the_large_models_greedy_tokens(kind, gamma, penalty):
    target, draft, ids = TinyLM(), TinyLM(seed=5), token_ids(1, 4)
    target_cache, draft_cache = CACHES[kind]()
    sampling = Sampling(0, repetition_penalty=penalty, presence_penalty=penalty - 1)
    ours = speculative_generate(
        target, draft, ids, 25, gamma=gamma, sampling=sampling, target_cache=target_cache, draft_cache=draft_cache,
        generator=generator(),
    )  # fmt: skip
    assert torch.equal(ours, generate(target, ids, 25, sampling=sampling))


def test_a_perfect_draft_is_always_kept():
    model, ids = TinyLM(), token_ids(1, 4)
    for sampling in (Sampling(0), Sampling(0.9, top_k=8, frequency_penalty=0.2)):
        passes = list(
            speculative_steps(
                model, model, ids, 25, gamma=4, sampling=sampling, target_cache=ContiguousCache(),
                draft_cache=ContiguousCache(), generator=generator(),
            )
        )  # fmt: skip
        assert [(p.accepted, p.drafted, len(p.tokens)) for p in passes] == [(4, 4, 5)] * 5
    assert list(speculative_steps(model, model, ids, 0, generator=generator())) == []


def test_caches_change_no_sampled_token():
    target, draft, ids = TinyLM(windows=(6, 6)), TinyLM(seed=5), token_ids(1, 9)
    options = {"gamma": 3, "sampling": Sampling(1.3, top_p=0.97)}
    plain = speculative_generate(target, draft, ids, 25, generator=generator(4), **options)
    caches = {"target_cache": SlidingCache(6, reserve=3), "draft_cache": ContiguousCache()}
    assert torch.equal(plain, speculative_generate(target, draft, ids, 25, generator=generator(4), **options, **caches))
    assert caches["target_cache"].length == 9 + 25 - 1 and caches["draft_cache"].length < 9 + 25
    with pytest.raises(ValueError, match="larger reserve"):  # control: a ring that cannot go back
        tight = {"target_cache": SlidingCache(6), "draft_cache": ContiguousCache()}
        speculative_generate(target, draft, ids, 25, generator=generator(4), **options, **tight)


def test_control_caches_that_keep_refused_tokens():
    class Stubborn(ContiguousCache):
        def truncate(self, length):
            self._seen = dict.fromkeys(self._seen, length)
            for keys, values in self._store.values():  # the right number of tokens, one of them refused
                keys[:, :, length - 1], values[:, :, length - 1] = 0, 0

    target, draft, ids = TinyLM(), TinyLM(seed=5), token_ids(1, 4)
    ours = speculative_generate(
        target, draft, ids, 25, gamma=3, generator=generator(), target_cache=Stubborn(), draft_cache=ContiguousCache()
    )
    assert not torch.equal(ours, generate(target, ids, 25))


def test_an_eos_ends_it_inside_a_pass():
    model, ids = TinyLM(), token_ids(1, 4)
    free = generate(model, ids, 25)[0, 4:].tolist()
    eos = free[6]
    ours = speculative_generate(model, model, ids, 25, gamma=4, eos=[eos], generator=generator())
    assert ours[0, 4:].tolist() == free[: free.index(eos) + 1]


def test_what_does_not_fit_is_refused():
    p = distribution(5, 0).expand(1, 3, -1)
    with pytest.raises(ValueError, match="do not fit together"):
        accept(p, p[:, :1], torch.zeros(1, 1, dtype=torch.long), generator())
    with pytest.raises(ValueError, match="one prompt"):
        next(speculative_steps(TinyLM(), TinyLM(), token_ids(2, 3), 5, generator=generator()))
    with pytest.raises(ValueError, match="needs a torch.Generator"):
        next(speculative_steps(TinyLM(), TinyLM(), token_ids(1, 3), 5))
