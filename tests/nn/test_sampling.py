"""Processors against Hugging Face's, by hand, and draws against their probabilities."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocklib.nn.sampling import History, Sampling, draw, min_p, penalise_counts, top_k, top_p, uniform

NINF = float("-inf")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def random_logits(rows=3, vocab=40, seed=0, dtype=torch.float32):
    return (torch.randn(rows, vocab, generator=generator(seed)) * 3).to(dtype)


@settings(max_examples=80)
@given(
    temperature=st.sampled_from([0.3, 0.7, 1.0, 1.9]),
    k=st.sampled_from([None, 1, 2, 7, 40, 100]),
    p=st.sampled_from([None, 0.01, 0.3, 0.9, 0.999, 1.0]),
    minimum=st.sampled_from([None, 0.0, 0.02, 0.3, 1.0]),
    repetition=st.sampled_from([1.0, 1.3, 0.8]),
    seed=st.integers(0, 2**31),
)
def test_equals_hugging_face(temperature, k, p, minimum, repetition, seed):
    """Their own list of processors, in their own order, from the same settings."""
    transformers = pytest.importorskip("transformers")
    from transformers.generation.logits_process import LogitsProcessorList

    config = transformers.GenerationConfig(
        do_sample=True, temperature=temperature, top_k=k or 0, top_p=1.0 if p is None else p, min_p=minimum,
        repetition_penalty=repetition,
    )  # fmt: skip
    mixin = type("Any", (transformers.GenerationMixin,), {"config": SimpleNamespace(is_encoder_decoder=False)})()
    theirs = mixin._get_logits_processor(
        config, input_ids_seq_length=6, logits_processor=LogitsProcessorList(), device="cpu"
    )
    logits, ids = random_logits(seed=seed), torch.randint(40, (3, 6), generator=generator(seed))
    ours = Sampling(temperature, k, p, minimum, repetition).adjust(logits, History(ids, 40))
    torch.testing.assert_close(ours, theirs(ids, logits.clone()), rtol=1e-6, atol=1e-6)


def test_by_hand():
    logits = torch.tensor([[4.0, 2.0, 3.0, 1.0]])
    assert top_k(logits, 2).tolist() == [[4.0, NINF, 3.0, NINF]]
    assert top_k(torch.tensor([[1.0, 2.0, 2.0, 0.0]]), 1).tolist() == [[NINF, 2.0, 2.0, NINF]]  # a tie stays
    even = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    kept = {p: (top_p(even, p) > NINF).sum().item() for p in (0.1, 0.5001, 0.79, 0.81, 0.96)}
    assert kept == {0.1: 1, 0.5001: 2, 0.79: 2, 0.81: 3, 0.96: 4}  # the token that crosses stays
    assert (min_p(even, 0.29) > NINF).tolist() == [[True, True, True, False]]
    assert (min_p(even, 0.31) > NINF).tolist() == [[True, True, False, False]]


def test_penalties_by_hand():
    history = History(torch.tensor([[0, 1, 1]]), 5)
    for token in (2, 2, 3):
        history.add(torch.tensor([token]))
    logits = torch.tensor([[2.0, -2.0, 1.0, 0.0, 5.0]])
    # Repetition: prompt and output. Presence and frequency: the output alone, per occurrence for frequency.
    repeated = Sampling(0, repetition_penalty=2.0).adjust(logits, history)
    assert repeated.tolist() == [[1.0, -4.0, 0.5, 0.0, 5.0]]
    counted = Sampling(0, presence_penalty=0.5, frequency_penalty=0.25).adjust(logits, history)
    assert counted.tolist() == [[2.0, -2.0, 0.0, -0.75, 5.0]]
    both = Sampling(0.5, None, None, None, 2.0, 0.5, 0.25).adjust(logits, history)
    assert torch.equal(both, penalise_counts(repeated, history.generated, 0.5, 0.25) / 0.5)


def test_padding_is_no_repetition():
    history = History(torch.tensor([[0, 0, 2]]), 4, mask=torch.tensor([[0, 0, 1]]))
    assert history.present.tolist() == [[False, False, True, False]]
    copy = history.copy()
    copy.add(torch.tensor([3]))
    assert not history.present[0, 3] and history.generated.sum() == 0


def test_order_matters_and_is_temperature_first():
    """Truncating before dividing by the temperature would keep one token of these, not two."""
    logits = torch.tensor([[2.0, 0.0, -1.0]])
    assert (Sampling(4.0, top_p=0.6).adjust(logits) > NINF).sum() == 2
    assert (top_p(logits, 0.6) > NINF).sum() == 1


def test_greedy_is_one_hot_and_needs_no_generator():
    logits = random_logits()
    greedy = Sampling(temperature=0)
    assert torch.equal(greedy.choose(logits), logits.argmax(-1))
    assert torch.equal(greedy.probabilities(logits), torch.nn.functional.one_hot(logits.argmax(-1), 40).float())


def total_variation(counts, p):
    return (counts / counts.sum() - p).abs().sum().item() / 2


def test_draws_follow_their_probabilities():
    p = torch.tensor([0.5, 0.0, 0.3, 0.15, 0.05, 0.0], dtype=torch.float64)
    n = 200_000
    counts = torch.bincount(draw(p.expand(n, -1), generator()), minlength=6).double()
    # Expected distance of n honest draws: Σ √(p(1 − p) / 2πn), here 0.0014; by McDiarmid above + 0.006 once in 10⁶.
    floor = (p * (1 - p) / (2 * torch.pi * n)).sqrt().sum().item()
    assert total_variation(counts, p) < floor + 0.006
    assert counts[1] == counts[5] == 0
    assert total_variation(counts, torch.tensor([0.48, 0.02, 0.3, 0.15, 0.05, 0.0])) > floor + 0.006


@settings(max_examples=60)
@given(
    weights=st.lists(st.sampled_from([0.0, 1e-300, 1e-30, 0.1, 1.0, 3.0]), min_size=1, max_size=9).filter(any),
    u=st.floats(0, 1, exclude_max=True),
)
def test_no_coin_draws_what_has_no_weight(weights, u):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blocklib.nn.sampling.uniform", lambda rows, *_: torch.full((rows,), u, dtype=torch.float64))
        index = draw(torch.tensor([weights], dtype=torch.float64), generator()).item()
    assert weights[index] > 0


def test_the_largest_coin_stays_inside():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blocklib.nn.sampling.uniform", lambda rows, *_: torch.ones(rows, dtype=torch.float64))
        assert draw(torch.tensor([[0.2, 0.8, 0.0, 0.0]]), generator()).item() == 1


def test_a_seed_fixes_the_draw_and_a_generator_a_row_frees_it_of_the_batch():
    logits, sampling = random_logits(4), Sampling()
    assert torch.equal(sampling.choose(logits, generator=generator(3)), sampling.choose(logits, generator=generator(3)))
    alone = [sampling.choose(logits[i : i + 1], generator=[generator(i)]).item() for i in range(4)]
    assert sampling.choose(logits, generator=[generator(i) for i in range(4)]).tolist() == alone
    order = [2, 0, 3, 1]
    assert sampling.choose(logits[order], generator=[generator(i) for i in order]).tolist() == [alone[i] for i in order]
    with pytest.raises(ValueError, match="needs a torch.Generator"):
        sampling.choose(logits)
    with pytest.raises(ValueError, match="4 rows need as many generators, found 1"):
        uniform(4, [generator()])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_worked_out_in_float32(dtype):
    logits = random_logits(dtype=dtype)
    ours = Sampling(0.7, 30, 0.95, 0.01).probabilities(logits)
    assert ours.dtype == torch.float32
    assert torch.equal(ours, Sampling(0.7, 30, 0.95, 0.01).probabilities(logits.float()))


@pytest.mark.parametrize("bad", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [-0.5, 1.0]])
def test_no_distribution_no_draw(bad):
    with pytest.raises(ValueError, match="cannot draw"):
        draw(torch.tensor([bad]), generator())


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -1}, {"temperature": float("nan")}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.1},
        {"min_p": -0.1}, {"min_p": 1.5}, {"repetition_penalty": 0.0}, {"frequency_penalty": float("inf")},
        {"presence_penalty": float("nan")},
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        Sampling(**wrong)


def test_penalties_need_a_history():
    with pytest.raises(ValueError, match="history"):
        Sampling(repetition_penalty=1.2).adjust(random_logits())
