"""Loaded checkpoints against the published classes on the same files: prefill, cache, padding, windows, spellings."""

from __future__ import annotations

import json

import pytest
import torch

import blocklib.nn
from blocklib.nn.cache import ContiguousCache, LayeredCache, SlidingCache
from blocklib.nn.families.fields import CheckpointError
from blocklib.nn.masks import SlidingWindow
from tests.nn.checkpoints import (
    BY_NAME,
    KINDS,
    LAYERS,
    LLAMA3,
    VOCAB,
    WINDOW,
    T,
    altered,
    checkpoint,
    error,
    ids,
    saved,
)

TOLERANCE = 1e-5  # of the largest logit; float32 leaves about 1e-6


def left_padded() -> tuple[torch.Tensor, torch.Tensor]:
    """A mask with five, no and one place of padding, and the positions that generation gives to it."""
    mask = torch.ones(3, T, dtype=torch.long)
    mask[0, :5] = 0
    mask[2, :1] = 0
    return mask, (mask.cumsum(-1) - 1).clamp(min=0)


@torch.no_grad()
def in_steps(model, tokens, cache, chunks, mask=None):
    """Logits of chunks one after the other through a cache."""
    out, start = [], 0
    for size in chunks:
        seen = None if mask is None else mask[:, : start + size]
        out.append(model(tokens[:, start : start + size], cache=cache, attention_mask=seen))
        start += size
    return torch.cat(out, 1)


names = pytest.mark.parametrize("name", [kind.name for kind in KINDS])


@names
@torch.no_grad()
def test_prefill(name):
    folder, reference = checkpoint(name)
    logits = blocklib.nn.load(folder)(ids())
    assert logits.shape == (2, T, VOCAB) and logits.dtype == torch.float32
    assert error(logits, reference(ids()).logits) <= TOLERANCE


@names
@torch.no_grad()
def test_decoding_with_a_cache(name):
    folder, reference = checkpoint(name)
    model, full = blocklib.nn.load(folder), reference(ids()).logits
    assert error(in_steps(model, ids(), ContiguousCache(), [1] * T), full) <= TOLERANCE
    assert error(in_steps(model, ids(), ContiguousCache(), [5, 3, 1, 1, 1]), full) <= TOLERANCE


@names
@torch.no_grad()
def test_left_padding(name):
    folder, reference = checkpoint(name)
    model, (mask, positions), tokens = blocklib.nn.load(folder), left_padded(), ids(3)
    theirs = reference(tokens, attention_mask=mask, position_ids=positions).logits
    whole, steps = model(tokens, attention_mask=mask), in_steps(model, tokens, ContiguousCache(), [6, 3, 1, 1], mask)
    for row, start in enumerate([5, 0, 1]):
        assert error(whole[row, start:], theirs[row, start:]) <= TOLERANCE
        assert error(steps[row, start:], theirs[row, start:]) <= TOLERANCE
        alone = model(tokens[row : row + 1, start:])[0]
        assert error(whole[row, start:], alone) <= TOLERANCE
    assert whole.isfinite().all()
    # Control: without the mask, padding is read.
    assert error(model(tokens)[0, 5:], theirs[0, 5:]) > 1e-3


@pytest.mark.parametrize("name", ["mistral", "qwen2-windows", "gemma2", "gemma3", "gpt-oss", "mixtral-window"])
def test_windows_need_only_a_window_of_cache(name):
    folder, reference = checkpoint(name)
    model = blocklib.nn.load(folder)
    slide = [isinstance(block.attention.pattern, SlidingWindow) for block in model.blocks]
    assert any(slide)

    def cache(window):
        return LayeredCache([SlidingCache(window) if s else ContiguousCache() for s in slide])

    with torch.no_grad():
        full = reference(ids()).logits
    for chunks in ([1] * T, [6, 2, 3]):
        assert error(in_steps(model, ids(), cache(WINDOW), chunks), full) <= TOLERANCE
    assert error(in_steps(model, ids(), cache(WINDOW - 1), [1] * T), full) > 1e-3  # control: one too few


@pytest.mark.parametrize("name", ["gpt2", "llama-3.1", "mixtral", "gemma3", "gpt-oss"])
@torch.no_grad()
def test_greedy_tokens_are_those_of_generate(name):
    folder, reference = checkpoint(name)
    model, (mask, _), tokens = blocklib.nn.load(folder), left_padded(), ids(3)
    new = 6
    theirs = reference.generate(
        tokens, attention_mask=mask, max_new_tokens=new, min_new_tokens=new, do_sample=False, eos_token_id=None
    )
    cache = ContiguousCache()
    logits = model(tokens, cache=cache, attention_mask=mask)
    for _ in range(new):
        token = logits[:, -1].argmax(-1, keepdim=True)
        tokens, mask = torch.cat([tokens, token], 1), torch.cat([mask, torch.ones_like(token)], 1)
        logits = model(token, cache=cache, attention_mask=mask)
    assert tokens.tolist() == theirs.tolist()


# Every field that is read must matter; else a wrong reading would agree as well.
MATTERS = [
    ("gpt2", "layer_norm_epsilon", 0.5), ("gpt2", "activation_function", "relu"), ("gpt2", "scale_attn_weights", False),
    ("gpt2", "scale_attn_by_inverse_layer_idx", True),
    ("llama", "rms_norm_eps", 0.5), ("llama", "hidden_act", "gelu"), ("llama", "rope_parameters", {"rope_theta": 10.0}),
    ("llama", "rope_parameters", {**LLAMA3, "rope_theta": 10.0}),
    ("llama-3.1", "rope_parameters", {**LLAMA3, "factor": 40.0}),
    ("llama-3.1", "rope_parameters", {**LLAMA3, "original_max_position_embeddings": 400}),
    ("mistral", "sliding_window", 3), ("mistral", "sliding_window", None),
    ("qwen2-windows", "layer_types", ["full_attention"] * LAYERS),
    ("qwen2-windows", "rope_parameters", {"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.0}),
    ("mixtral", "num_experts_per_tok", 1), ("mixtral", "rope_parameters", {"rope_theta": 10.0}),
    ("gemma2", "attn_logit_softcapping", 30.0), ("gemma2", "final_logit_softcapping", None),
    ("gemma2", "query_pre_attn_scalar", 12), ("gemma2", "hidden_activation", "silu"),
    ("gemma3", "sliding_window", 2), ("gpt-oss", "swiglu_limit", 0.5), ("gpt-oss", "swiglu_alpha", 3.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "field", "value"), MATTERS)
@torch.no_grad()
def test_every_field_that_is_read_matters(tmp_path, name, field, value):
    _, reference = checkpoint(name)
    folder = altered(tmp_path, name, config=lambda values: values.update({field: value}))
    ours = blocklib.nn.load(folder)(ids())
    assert error(ours, reference(ids()).logits) > 1e-3
    changed = type(reference).from_pretrained(folder, attn_implementation="eager")
    assert error(ours, changed(ids()).logits) <= TOLERANCE


# Fields whose absence leaves the shapes of all tensors as they are.
OPTIONAL = """
    activation_function layer_norm_epsilon scale_attn_weights scale_attn_by_inverse_layer_idx n_inner n_ctx
    hidden_act hidden_activation rms_norm_eps rope_parameters max_position_embeddings architectures
    sliding_window layer_types max_window_layers use_sliding_window _sliding_window_pattern
    query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping use_bidirectional_attention
    num_experts_per_tok swiglu_alpha swiglu_limit dtype use_cache
""".split()
LIKELY = [
    "gpt2",
    "llama",
    "mistral",
    "qwen2-patterned",
    "qwen3",
    "mixtral",
    "olmo2",
    "gemma2",
    "gemma3-patterned",
    "gpt-oss",
]


@pytest.mark.parametrize("name", LIKELY)
@torch.no_grad()
def test_absent_fields_have_the_defaults_of_the_published_class(tmp_path, name):
    values = json.loads((checkpoint(name)[0] / "config.json").read_text())
    # Without use_sliding_window the layer types would contradict it, which is refused.
    absent = [f for f in OPTIONAL if f in values and (f, values[f]) != ("use_sliding_window", True)]
    assert len(absent) >= 6
    for field in absent:
        folder = altered(tmp_path, name, config=lambda values, field=field: values.pop(field))
        reference = type(checkpoint(name)[1]).from_pretrained(folder, attn_implementation="eager")
        assert error(blocklib.nn.load(folder)(ids()), reference(ids()).logits) <= TOLERANCE, field


@pytest.mark.parametrize("every", [None, 2, 3])
@torch.no_grad()
def test_gemma3_repeats_a_pattern_where_no_layers_are_named(tmp_path, every):
    def patterned(values):
        del values["layer_types"], values["_sliding_window_pattern"]
        values |= {} if every is None else {"sliding_window_pattern": every}

    folder = altered(tmp_path, "gemma3-patterned", config=patterned)
    reference = type(checkpoint("gemma3-patterned")[1]).from_pretrained(folder, attn_implementation="eager")
    model = blocklib.nn.load(folder)
    full = [i for i, block in enumerate(model.blocks) if not isinstance(block.attention.pattern, SlidingWindow)]
    assert full == list(range((every or 6) - 1, 7, every or 6))
    assert error(model(ids()), reference(ids()).logits) <= TOLERANCE


def older_rope(values):
    rope = values.pop("rope_parameters")
    values |= {"rope_theta": rope.pop("rope_theta"), "rope_scaling": {"type": rope.pop("rope_type"), **rope}}


def older_gemma(values):
    rope = values.pop("rope_parameters")
    values |= {"rope_theta": rope["full_attention"]["rope_theta"], "rope_scaling": None, "hidden_act": "gelu_pytorch_tanh",
               "rope_local_base_freq": rope["sliding_attention"]["rope_theta"], "cache_implementation": "hybrid"}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "older"),
    [
        ("llama-3.1", older_rope),
        ("qwen2-windows", older_rope),
        ("llama-biases", older_rope),
        ("gemma3", older_gemma),
        ("mistral", lambda values: values.update(torch_dtype=values.pop("dtype"), head_dim=12)),
        ("gpt-oss", lambda values: values.update(experts_per_token=2, initial_context_length=4096)),
    ],
)
@torch.no_grad()
def test_older_spellings_mean_the_same(tmp_path, name, older):
    _, reference = checkpoint(name)
    assert error(blocklib.nn.load(altered(tmp_path, name, config=older))(ids()), reference(ids()).logits) <= TOLERANCE


@pytest.mark.parametrize("name", ["llama", "mixtral"])
@torch.no_grad()
def test_shards(tmp_path, name):
    reference = saved(BY_NAME[name], tmp_path, max_shard_size="30KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    assert error(blocklib.nn.load(str(tmp_path))(ids()), reference(ids()).logits) <= TOLERANCE


def as_first_published(state):
    """GPT-2's first files: names without prefix, causal masks stored, the head not."""
    for key in list(state):
        state[key.removeprefix("transformer.")] = state.pop(key)
    for i in range(LAYERS):
        state[f"h.{i}.attn.bias"] = torch.ones(1, 1, 40, 40).tril()
        state[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)


@torch.no_grad()
def test_gpt2_as_first_published(tmp_path):
    _, reference = checkpoint("gpt2")
    ours = blocklib.nn.load(altered(tmp_path, "gpt2", lambda v: v.update(n_ctx=40), as_first_published))
    assert error(ours(ids()), reference(ids()).logits) <= TOLERANCE


@torch.no_grad()
def test_a_tied_head_may_be_stored_again_but_not_otherwise(tmp_path):
    _, reference = checkpoint("qwen3")

    def again(state):
        state["lm_head.weight"] = state["model.embed_tokens.weight"].clone()
        state["model.layers.1.self_attn.rotary_emb.inv_freq"] = 10000.0 ** (-torch.arange(0, 12, 2) / 12)

    model = blocklib.nn.load(altered(tmp_path, "qwen3", tensors=again))
    assert model.head.weight is model.embed.weight
    assert error(model(ids()), reference(ids()).logits) <= TOLERANCE

    def other(state):
        again(state)
        state["lm_head.weight"][3, 3] += 1

    with pytest.raises(CheckpointError, match=r"lm_head\.weight is at odds"):
        blocklib.nn.load(altered(tmp_path, "qwen3", tensors=other))

    def turned(state):
        state["model.layers.1.self_attn.rotary_emb.inv_freq"] = torch.ones(6)

    with pytest.raises(CheckpointError, match=r"layers\.1\.self_attn\.rotary_emb\.inv_freq is at odds"):
        blocklib.nn.load(altered(tmp_path, "qwen3", tensors=turned))


@torch.no_grad()
def test_half_precision_files(tmp_path):
    folder = altered(tmp_path, "llama", tensors=lambda state: state.update({k: v.bfloat16() for k, v in state.items()}))
    reference = type(checkpoint("llama")[1]).from_pretrained(folder, dtype=torch.float32)
    model = blocklib.nn.load(folder)
    assert error(model(ids()), reference(ids()).logits) <= TOLERANCE
    assert not model.training and {p.dtype for p in model.parameters()} == {torch.float32}
    half = blocklib.nn.load(folder, dtype=torch.bfloat16)
    assert half(ids()).dtype == torch.bfloat16
    assert error(half(ids()).float(), reference(ids()).logits) < 0.1
