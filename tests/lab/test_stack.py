"""Arms are matched and paired, and the stack they describe equals the library's block."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blocklib.lab import arms, stack
from blocklib.lab.arms import ARMS, BASE, ArmError
from blocklib.lab.recipe_facts import lab_embedding_scale
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import ParallelBlock, PostNormBlock, PreNormBlock
from blocklib.nn.ffn import SwiGLU
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.model import DecoderLM
from blocklib.nn.norm import RMSNorm
from blocklib.nn.position import RoPE

SMALL = replace(BASE, vocab_size=50, d_model=16, n_heads=2, n_kv_heads=2, d_ff=24)
UNMATCHED = {"shared-layers"}  # one layer's weights in four places: that is the question


@pytest.mark.parametrize("arm", ARMS.values(), ids=list(ARMS))
def test_parameters_are_matched(arm):
    gap = abs(stack.parameters(arm) / stack.parameters(BASE) - 1)
    assert (gap < 0.01) == (arm.id not in UNMATCHED), f"{arm.id} has {gap:.2%} more or fewer parameters than the base"


def test_base_has_the_counted_parameters():
    # 1024·128 + 4 (4·128² + 3·128·344 + 2·128) + 128, by hand
    assert stack.parameters(BASE) == 922_752


def test_same_names_and_shapes_start_alike():
    base = dict(stack.build(BASE, 3).named_parameters())
    for ident in ("gelu", "mqa", "sandwich-order", "post-warm", "layernorm"):
        other = dict(stack.build(ARMS[ident], 3).named_parameters())
        same = [
            name for name in base if name in other and base[name].shape == other[name].shape and base[name].dim() > 1
        ]
        assert "embed.weight" in same and "attention.2.q.weight" in same
        assert all(torch.equal(base[name], other[name]) for name in same)
    apart = dict(stack.build(BASE, 4).named_parameters())
    assert not torch.equal(base["embed.weight"], apart["embed.weight"])


def test_writes_start_smaller_by_the_root_of_their_number():
    for ident, writes in (("base", 8), ("no-ffn", 12), ("parallel", 8)):
        model = stack.build(ARMS[ident], 1)
        assert model.attention[1].o.weight.std().item() == pytest.approx(0.02 / writes**0.5, rel=0.05)
        assert model.attention[1].q.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert stack.build(ARMS["plain-init"], 1).ffn[0].down.weight.std().item() == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "block", "final"),
    [({}, PreNormBlock, RMSNorm), ({"place": "post"}, PostNormBlock, None), ({"skip": 0.5}, PreNormBlock, RMSNorm)],
)
def test_stack_equals_the_librarys_blocks(changes, block, final):
    arm = replace(SMALL, **changes)
    model = stack.build(arm, 5)
    rope = RoPE(rope_frequencies(8))
    blocks = [
        block(16, MultiHeadAttention(16, 2, rope=rope), SwiGLU(16, 24), norm=RMSNorm, skip=arm.skip) for _ in range(4)
    ]
    other = DecoderLM(50, 16, blocks, norm=final)
    other.embed.load_state_dict(model.embed.state_dict())
    for i, each in enumerate(blocks):
        each.attention.load_state_dict(model.attention[i].state_dict())
        each.ffn.load_state_dict(model.ffn[i].state_dict())
    ids = torch.randint(50, (2, 9))
    torch.testing.assert_close(model(ids), other(ids), rtol=1e-5, atol=1e-6)


def test_parallel_stack_equals_parallel_blocks():
    arm = replace(SMALL, layout="PP")
    model = stack.build(arm, 5)
    x = torch.randn(2, 9, 16)
    for i in range(2):
        block = ParallelBlock(16, model.attention[i], model.ffn[i], norm=RMSNorm, shared_norm=True)
        torch.testing.assert_close(model._sublayer("P", x, {"A": i, "F": i}), block(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ident", [ident for ident in ARMS if ident not in {"no-mask", "no-attention"}])
def test_every_arm_is_causal_and_reads_its_past(ident):
    model = stack.build(ARMS[ident], 2)
    with torch.no_grad():
        for weight in model.parameters():  # large weights, so that what is read shows
            if weight.dim() > 1:
                weight.mul_(5)
    ids = torch.randint(1024, (1, 12))
    changed = ids.clone()
    changed[0, 6] = (ids[0, 6] + 1) % 1024
    before, after = model(ids), model(changed)
    assert torch.equal(before[0, :6], after[0, :6])
    assert not torch.allclose(before[0, 7:], after[0, 7:])


@pytest.mark.parametrize("ident", ["pre-scaled", "post-scaled"])
def test_embeddings_are_scaled(ident):
    """What enters the first sublayer is the table's row times the root of the width; the base's is the row itself."""
    for arm, factor in ((ARMS[ident], 128**0.5), (BASE, 1.0)):
        model, ids, seen = stack.build(arm, 1), torch.tensor([[3, 5]]), []
        first = model.attention[0] if arm.place == "post" else model.attention_norm[0]
        first.register_forward_pre_hook(lambda _, given, seen=seen: seen.append(given[0]))
        model(ids)
        torch.testing.assert_close(seen[0], model.embed.weight[ids] * factor)
        assert lab_embedding_scale(arm.id) == factor


def test_without_mask_the_future_is_read_until_it_is_masked():
    model = stack.build(ARMS["no-mask"], 2)
    ids = torch.randint(1024, (1, 12))
    changed = ids.clone()
    changed[0, -1] = (ids[0, -1] + 1) % 1024
    assert not torch.equal(model(ids)[0, :6], model(changed)[0, :6])
    model.causal(True)
    assert torch.equal(model(ids)[0, :11], model(changed)[0, :11])


def test_no_attention_reads_only_its_own_token():
    model = stack.build(ARMS["no-attention"], 2)
    ids = torch.randint(1024, (1, 12))
    assert torch.allclose(model(ids)[0, 5], model(ids[:, 5:6])[0, 0], atol=1e-6)


def test_shared_layers_hold_one_of_each():
    model = stack.build(ARMS["shared-layers"], 1)
    assert (len(model.attention), len(model.ffn), len(model.arm.layout)) == (1, 1, 8)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"layout": "AXF"}, "layout 'AXF': expected letters A, F and P"),
        ({"layout": ""}, "layout ''"),
        ({"norm": "batch"}, "norm 'batch': expected one of rms, rms0, layer"),
        ({"place": "in", "ffn": "swish"}, "place 'in': expected one of .*; ffn 'swish': expected one of swiglu, gelu"),
        ({"attention": "linear"}, "attention 'linear'"),
        ({"n_heads": 3, "n_kv_heads": 3}, "d_model 16: does not divide into 3 heads"),
        ({"n_heads": 1}, "n_heads 1: expected a multiple of n_kv_heads, 2; set both"),
        ({"d_ff": 0}, "d_ff 0: expected at least 1"),
        ({"warmup": 1000}, "warmup 1000: expected fewer steps than the 1000"),
    ],
)
def test_contradictory_arm_is_refused(changes, says):
    with pytest.raises(ArmError, match=f"^arm 'mine': {says}"):
        replace(SMALL, id="mine", **changes)


def test_every_choice_can_be_built():
    for field, allowed in arms.CHOICES.items():
        for value in allowed:
            stack.Stack(replace(SMALL, **{field: value}))


def test_two_arms_of_one_id_are_refused():
    """The second would take over the results of the first."""
    with pytest.raises(ArmError, match="arm 'relu': two arms have this id.*rename one"):
        arms._by_id([*ARMS.values(), replace(ARMS["relu"], d_ff=400)])


def test_unknown_arm_names_the_nearest():
    with pytest.raises(ArmError, match="did you mean 'macaron'"):
        arms.get("macarons")
