"""Evidence for the lesson on normalising a single token."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, rms_norm

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.norm import BatchNorm, LayerNorm, RMSNorm
from blocklib.theory.norm_epsilon import norm_output_size
from tests.claims_evidence.support import Case, cases, fails, gap, holds, jacobian, over


def randomised(norm: nn.Module) -> nn.Module:
    for weight in norm.parameters():
        nn.init.normal_(weight, 0.5, 1.0)
    return norm.double()


# -- one row -----------------------------------------------------------------------------------------------


def off_bias(case: Case, rows: int, training: bool) -> tuple[float, float]:
    """How far BatchNorm's output for the last of ``rows`` rows is from its bias, and its largest derivative there."""
    norm = randomised(BatchNorm(case.d)).train(training)
    batch = case.x.flatten(0, 1)[:rows, None]
    slope = jacobian(lambda last: norm(torch.cat([batch[:-1], last[None, None]]))[-1, 0], batch[-1, 0])
    return gap(norm(batch)[-1, 0], norm.bias), slope.abs().max().item()


@pytest.mark.claim("batchnorm-erases-one-row")
def test_batchnorm_erases_one_row():
    for number in (0, 1):
        holds([off_bias(case, 1, True)[number] for case in cases()])
    with pytest.raises(ValueError, match="more than 1 value"):  # PyTorch's own declines
        nn.BatchNorm1d(6)(torch.zeros(1, 6))


@pytest.mark.claim("batchnorm-erases-one-row", control=True)
def test_batchnorm_erases_one_row_control():
    for rows, training in ((3, True), (1, False)):
        for number in (0, 1):
            fails([off_bias(case, rows, training)[number] for case in cases()], clearly=1e-4)


# -- what lies ahead ---------------------------------------------------------------------------------------


def seen(case: Case, norm_of: Callable[[int], nn.Module]) -> tuple[float, float]:
    """Largest derivative of the first position's output, through a norm and causal attention, with respect to later
    positions of its sequence and to the other sequence of the batch."""
    torch.manual_seed(case.d)
    norm = randomised(norm_of(case.d))
    attention = MultiHeadAttention(case.d, case.heads, causal=True).double()
    slope = jacobian(lambda x: attention(norm(x))[0, 0], case.x)  # (d, B, T, d)
    return slope[:, 0, 1:].abs().max().item(), slope[:, 1].abs().max().item()


@pytest.mark.claim("batchnorm-reads-the-future")
def test_batchnorm_reads_the_future():
    found = [seen(case, BatchNorm) for case in cases()]
    fails([later for later, _ in found], clearly=1e-6)
    fails([other for _, other in found], clearly=1e-6)


@pytest.mark.claim("batchnorm-reads-the-future", control=True)
def test_batchnorm_reads_the_future_control():
    """With statistics of the token itself, and with stored ones, neither reaches it."""
    for norm_of in (LayerNorm, RMSNorm, lambda d: BatchNorm(d).eval()):
        found = [seen(case, norm_of) for case in cases()]
        holds([later for later, _ in found], 0.0)
        holds([other for _, other in found], 0.0)


# -- what is forgotten -------------------------------------------------------------------------------------


def changed(case: Case, norm_of, shift: float, eps: float) -> float:
    norm = norm_of(case.d, eps=eps, affine=False)
    x = case.x * (0.01 if eps else 1)
    return max(gap(norm(scale * x + shift), norm(x)) for scale in (0.2, 1.0, 9.0))


def unrestored(case: Case, centre: bool, eps: float) -> float:
    """How far the input is from what the output and the forgotten numbers give back, by the definition of the norm."""
    x = case.x
    mean = x.mean(-1, keepdim=True) if centre else 0.0
    size = (x - mean).square().mean(-1, keepdim=True).sqrt()
    out = layer_norm(x, (case.d,), eps=eps) if centre else rms_norm(x, (case.d,), eps=eps)
    return gap(out * size + mean, x)


def lost_ranks(case: Case, norm_of, eps: float) -> int:
    slope = jacobian(norm_of(case.d, eps=eps, affine=False), case.x[0, 0])
    return case.d - int(torch.linalg.matrix_rank(slope, tol=1e-9))


@pytest.mark.claim("norms-forget-exactly")
def test_norms_forget_exactly():
    """No more (the input comes back from output and forgotten numbers) and no less (scale and shift go unseen)."""
    for shift in (0.0, 3.0):
        holds(over(cases(), changed, LayerNorm, shift, 0.0))
    holds(over(cases(), changed, RMSNorm, 0.0, 0.0))
    for centre in (True, False):
        holds(over(cases(), unrestored, centre, 0.0))
    assert {lost_ranks(case, LayerNorm, 0.0) for case in cases()} == {2}
    assert {lost_ranks(case, RMSNorm, 0.0) for case in cases()} == {1}


@pytest.mark.claim("norms-forget-exactly", control=True)
def test_norms_forget_exactly_control():
    """A shift is no secret to RMSNorm; and with an epsilon the size is none to either."""
    fails(over(cases(), changed, RMSNorm, 3.0, 0.0))
    for norm_of in (LayerNorm, RMSNorm):
        fails(over(cases(), changed, norm_of, 0.0, 1e-3))
    for centre in (True, False):
        fails(over(cases(), unrestored, centre, 0.5))
    assert {lost_ranks(case, LayerNorm, 0.1) for case in cases()} == {1}  # the shift is still lost
    assert {lost_ranks(case, RMSNorm, 0.1) for case in cases()} == {0}


# -- epsilon -----------------------------------------------------------------------------------------------


def sizes(out: Tensor, centre: bool) -> float:
    return (out.std(correction=0) if centre else out.square().mean().sqrt()).item()


@pytest.mark.claim("epsilon-shrinks-small-vectors")
@pytest.mark.parametrize("exponent", range(-5, 1))
def test_epsilon_shrinks_small_vectors(exponent):
    for seed in range(4):
        x = torch.randn(12, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        for centre in (True, False):
            size = 10.0**exponent
            small = (x - x.mean() if centre else x) / sizes(x, centre) * size
            norm = LayerNorm if centre else RMSNorm
            ours = sizes(norm(12, eps=1e-6, affine=False)(small), centre)
            theirs = sizes((layer_norm if centre else rms_norm)(small, (12,), eps=1e-6), centre)
            expected = float(norm_output_size(size, "1e-6"))
            assert ours == pytest.approx(expected, rel=1e-9) and theirs == pytest.approx(expected, rel=1e-9)
            assert expected < 1
    assert float(norm_output_size(1, "1e-6")) > 0.999 and float(norm_output_size("1e-4", "1e-6")) < 0.1


# -- what the lesson says of its own runs ------------------------------------------------------------------


def test_the_two_modes_part_more_the_smaller_the_batch():
    """Over another population and other seeds than the lesson's."""
    for seed in (1, 2):
        torch.manual_seed(seed)
        token, found = torch.randn(1, 1, 5) * 2, {}
        for size in (2, 8, 32, 128):
            gaps = []
            for _ in range(60):
                batch = torch.cat([token, torch.randn(size - 1, 1, 5) * 2 - 1])
                stored = BatchNorm(5)
                stored.running_mean.fill_(-1.0)
                stored.running_var.fill_(4.0)
                gaps.append(gap(BatchNorm(5)(batch)[0], stored.eval()(batch)[0]))
            found[size] = sum(gaps) / len(gaps)
        assert found[2] > 1.5 * found[8] > 1.5 * 1.5 * found[32] > 1.5**3 * found[128]
