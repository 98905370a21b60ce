"""Checkpoints that must be refused: one clear error that names what is wrong, and nothing ignored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import blocklib.nn
from blocklib.atlas.models import load as load_model
from blocklib.ledger.params import count
from blocklib.nn.families import FAMILIES, weights
from blocklib.nn.families.fields import CheckpointError, Fields
from tests.nn.checkpoints import LAYERS, LLAMA3, VOCAB, altered, checkpoint, ids

CONFIGS = [
    ("llama", {"model_type": "retnet"}, "model_type: expected one of gpt2, .*found 'retnet'"),
    ("llama", {"model_type": None}, "model_type: expected one of"),
    ("llama", {"model_type": "gemma3"}, "found 'gemma3'"),
    ("llama", {"attn_sparsity": 2, "zeta": 1}, "unknown fields attn_sparsity, zeta: neither read nor known"),
    ("llama", {"sliding_window": 4}, "unknown field sliding_window"),
    ("llama", {"quantization_config": {"quant_method": "mxfp4"}}, "quantization_config: quantised"),
    (
        "llama",
        {"architectures": ["LlamaForSequenceClassification"]},
        "architectures: expected None or .*LlamaForCausal",
    ),
    ("llama", {"is_encoder_decoder": True}, "is_encoder_decoder: expected False, found True"),
    ("llama", {"hidden_size": None}, "hidden_size: expected an integer from 1"),
    (
        "llama",
        {"hidden_size": 33, "head_dim": None},
        "hidden_size: expected a multiple of num_attention_heads = 4, found 33",
    ),
    ("llama", {"hidden_size": 10**30}, "hidden_size: expected an integer from 1"),
    ("llama", {"num_hidden_layers": 10**9}, "num_hidden_layers: expected an integer from 1 to 1,024"),
    ("llama", {"num_hidden_layers": True}, "num_hidden_layers: expected an integer"),
    (
        "llama",
        {"num_key_value_heads": 3},
        "num_key_value_heads: expected a divisor of num_attention_heads = 4, found 3",
    ),
    ("llama", {"head_dim": 7}, "RoPE turns pairs: rotary_dim must be even and positive, found 7"),
    ("llama", {"hidden_act": "mish"}, "hidden_act: expected one of silu, .*found 'mish'"),
    ("llama", {"rms_norm_eps": 0}, "rms_norm_eps: expected a number above 0, found 0"),
    ("llama", {"rms_norm_eps": "1e-6"}, "rms_norm_eps: expected a number above 0"),
    ("llama", {"tie_word_embeddings": 1}, "tie_word_embeddings: expected true or false, found 1"),
    (
        "llama",
        {"rope_parameters": {"rope_type": "longrope"}},
        "rope_parameters.rope_type: expected one of .*'longrope'",
    ),
    ("llama", {"rope_parameters": {"rope_type": "default", "factor": 2.0}}, "unknown field rope_parameters.factor"),
    ("llama", {"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor: expected None or 1.0"),
    ("llama", {"rope_parameters": {"rope_type": "linear"}}, "rope_parameters.factor is missing"),
    (
        "llama",
        {"rope_parameters": {"rope_type": "yarn", "type": "linear", "factor": 2.0}},
        "rope_parameters.type: expected",
    ),
    ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_parameters and rope_scaling are both given"),
    ("llama", {"rope_theta": 5.0}, "rope_parameters.rope_theta: expected 5 as at the top"),
    ("llama", {"rope_parameters": [1]}, "rope_parameters: expected an object"),
    ("llama", {"rope_parameters": {**LLAMA3, "high_freq_factor": 1.0}}, "high_freq_factor 1.0 must be above"),
    ("mixtral", {"num_hidden_layers": 500, "num_local_experts": 4096}, "describes .* parameters, but the tensors hold"),
    ("gpt2", {"add_cross_attention": True}, "add_cross_attention: expected False"),
    ("gpt2", {"n_ctx": 41}, "n_ctx: expected None or 40, found 41"),
    ("gpt2", {"n_head": 5}, "n_embd: expected a multiple of n_head = 5, found 32"),
    ("qwen2", {"layer_types": ["sliding_attention"] * LAYERS}, "sliding_window: expected a window"),
    ("qwen2", {"layer_types": ["full_attention"]}, "layer_types: expected a list of 3 words"),
    ("qwen3", {"layer_types": ["linear_attention"] * LAYERS}, "layer_types: expected a list of 3 words"),
    ("qwen3", {"max_window_layers": -1}, "max_window_layers: expected an integer from 0"),
    ("mixtral", {"num_experts_per_tok": 6}, "num_experts_per_tok: expected at most num_local_experts = 5, found 6"),
    ("gemma2", {"use_bidirectional_attention": True}, "use_bidirectional_attention: expected None or False"),
    ("gemma2", {"hidden_act": "silu"}, "hidden_act: expected None or 'gelu_pytorch_tanh', found 'silu'"),
    ("gemma3", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping: expected None, found 50.0"),
    ("gemma3", {"rope_theta": 5.0}, "rope_parameters is given together with older fields"),
    ("gpt-oss", {"hidden_act": "gelu"}, "hidden_act: expected 'silu', found 'gelu'"),
    ("gpt-oss", {"experts_per_token": 4}, "experts_per_token: expected None or 2, found 4"),
]


@pytest.mark.parametrize(("name", "change", "message"), CONFIGS)
def test_configs_that_are_refused(tmp_path, name, change, message):
    with pytest.raises(CheckpointError, match=message) as caught:
        blocklib.nn.load(altered(tmp_path, name, config=lambda values: values.update(change)))
    assert str(caught.value).startswith("config.json: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "field",
    ["model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"],
)
def test_a_size_is_never_guessed(tmp_path, field):
    with pytest.raises(CheckpointError, match=f"{field} is missing; expected"):
        blocklib.nn.load(altered(tmp_path, "llama", config=lambda values: values.pop(field)))


def put(name, tensor):
    return lambda state: state.update({name: tensor})


Q = "model.layers.1.self_attn.q_proj.weight"
TENSORS = [
    ("llama", lambda s: s.pop(Q), f"missing {Q}"),
    ("llama", lambda s: s.pop("lm_head.weight"), r"missing lm_head\.weight"),
    ("llama", lambda s: [s.pop(k) for k in list(s) if "layers.1" in k], r"missing model\.layers\.1\..* and 6 more"),
    ("llama", put("model.layers.3.mlp.up_proj.weight", torch.ones(2)), r"unexpected model\.layers\.3\.mlp\.up_proj"),
    ("llama", put("model.layers.0.self_attn.q_proj.bias", torch.ones(32)), "the model has no place for it"),
    ("llama", put(Q, torch.ones(33, 32)), r"expected shape \[32, 32\], found \[33, 32\]"),
    ("llama", put(Q, torch.ones(32, 32, dtype=torch.int8)), "expected F64, F32, F16, BF16, found I8; quantised"),
    ("llama", put("model.layers.3.self_attn.rotary_emb.inv_freq", torch.ones(4)), "unexpected"),
    ("gpt2", put("transformer.h.0.attn.bias", torch.ones(1, 1, 40, 40)), r"h\.0\.attn\.bias is at odds"),
    ("mixtral", lambda s: s.pop("model.layers.0.block_sparse_moe.experts.4.w2.weight"), r"missing .*experts\.4\.w2"),
    ("gpt-oss", lambda s: s.pop("model.layers.2.self_attn.sinks"), r"missing .*sinks"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "message"), TENSORS)
def test_tensors_that_are_refused(tmp_path, name, change, message):
    with pytest.raises(CheckpointError, match=message):
        blocklib.nn.load(altered(tmp_path, name, tensors=change))


BAD_JSON = [
    (b'{"model_type": "llama", "model_type": "gpt2"}', "'model_type' is given twice"),
    (b'{"rms_norm_eps": NaN}', "NaN is not a number"),
    (b'{"rms_norm_eps": -Infinity}', "-Infinity is not a number"),
    (b'{"hidden_size": ' + b"9" * 5000 + b"}", "not readable as JSON: Exceeds the limit"),
    (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, "not readable as JSON: nested too deeply"),
    (b"[1, 2]", "expected an object"),
    (b"\xff\xfe", "not readable as JSON"),
    (b"", "not readable as JSON"),
    (b'{"model_type": "llama"', "not readable as JSON"),
    (b'{"a": "' + b"x" * 2**20 + b'"}', "larger than 1,048,576 bytes"),
]


@pytest.mark.parametrize(("data", "message"), BAD_JSON, ids=range(len(BAD_JSON)))
def test_json_that_is_refused(tmp_path, data, message):
    (tmp_path / "config.json").write_bytes(data)
    with pytest.raises(CheckpointError, match=message) as caught:
        blocklib.nn.load(tmp_path)
    assert len(str(caught.value)) < 300


def indexed(folder: Path, **values) -> Path:
    """A folder whose only shard holds a copy of llama's tensors, with an index."""
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    index = {"metadata": {}, "weight_map": dict.fromkeys(state, "a.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index | values))
    return folder


@pytest.mark.parametrize(
    "file",
    ["../a.safetensors", "/etc/a.safetensors", "x/a.safetensors", "..\\a.safetensors", "a.bin", "", 3, None, "..",
     "x/../../a.safetensors"],
)  # fmt: skip
def test_an_index_names_files_of_its_folder_only(tmp_path, file):
    with pytest.raises(CheckpointError, match="'w' lies in .*; expected the plain name of a .safetensors file"):
        blocklib.nn.load(indexed(altered(tmp_path, "llama"), weight_map={"w": file}))


def test_an_index_and_its_shards_agree(tmp_path):
    folder = indexed(altered(tmp_path, "llama"))
    assert blocklib.nn.load(folder)(ids()).shape == (2, 11, VOCAB)
    path = folder / "model.safetensors.index.json"
    good = json.loads(path.read_text())
    for weight_map, message in [
        ({**good["weight_map"], "w": "a.safetensors"}, "w: listed in .* but not in the file"),
        ({Q: "a.safetensors"}, "and .* more: in the file, but not listed"),
        ({**good["weight_map"], "w": "b.safetensors"}, "'w' lies in 'b.safetensors', which is not there"),
        ({**good["weight_map"], "w": "\0.safetensors"}, "which is not there"),
        ([], "weight_map: expected an object"),
    ]:
        path.write_text(json.dumps(good | {"weight_map": weight_map}))
        with pytest.raises(CheckpointError, match=message):
            blocklib.nn.load(folder)
    path.write_text(json.dumps(good | {"weights": 1}))
    with pytest.raises(CheckpointError, match="unknown field 'weights'"):
        blocklib.nn.load(folder)
    (folder / "model.safetensors").write_bytes((folder / "a.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match="are there; expected one"):
        blocklib.nn.load(folder)


def test_files_that_are_no_safetensors(tmp_path):
    folder = altered(tmp_path, "llama")
    data = (folder / "model.safetensors").read_bytes()
    for broken in (b"", b"PK\x03\x04" + b"\0" * 100, data[:-1], data[:500], b"\xff" * 8 + data[8:]):
        (folder / "model.safetensors").write_bytes(broken)
        with pytest.raises(CheckpointError, match="not a safetensors file"):
            blocklib.nn.load(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="neither model.safetensors nor .* is there"):
        blocklib.nn.load(folder)
    (folder / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(CheckpointError, match="pytorch_model.bin may run code when read and is not read"):
        blocklib.nn.load(folder)
    with pytest.raises(CheckpointError, match="no such folder"):
        blocklib.nn.load(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="config.json: not found in"):
        os.mkdir(tmp_path / "empty")
        blocklib.nn.load(tmp_path / "empty")


HOSTILE = [None, -1, 0, 3, 2**70, True, 1e300, -0.5, "x", "", [], ["x"], {}, {"x": 1}, [[[]]]]


@pytest.mark.parametrize("name", ["gpt2", "llama-3.1", "mistral", "qwen2", "qwen3", "mixtral", "olmo2", "gemma2", "gemma3",
                                  "gpt-oss"])  # fmt: skip
def test_no_value_of_any_field_breaks_the_reader(name):
    values = json.loads((checkpoint(name)[0] / "config.json").read_text())
    family = FAMILIES[values["model_type"]]
    changes = [{field: value} for field in values for value in HOSTILE]
    for field, inner in values.items():
        if isinstance(inner, dict):
            changes += [{field: {**inner, key: value}} for key in inner for value in HOSTILE]
    for change in changes:
        fields = Fields({**values, **change}, "config.json")
        try:
            fields.choice("model_type", FAMILIES)
            family.model(fields)
        except CheckpointError as error:
            assert len(str(error)) < 400, error


def test_layouts_are_bijections():
    a, b, c, s = torch.randn(4, 6), torch.randn(4, 6), torch.randn(4, 6), torch.randn(3, 4, 6)
    for layout, ours in [
        (weights.SAME, (a,)), (weights.TRANSPOSED, (a,)), (weights.FUSED_TRANSPOSED, (a, b, c)), (weights.FUSED, (a, b, c)),
        (weights.PER_EXPERT, (s,)), (weights.STACK_TRANSPOSED, (s,)), (weights.ALTERNATE_TRANSPOSED, (s, s + 1)),
        (weights.ALTERNATE, (a, b)),
    ]:  # fmt: skip
        back = layout.unpack(*layout.pack(*ours))
        assert all(torch.equal(x, y) for x, y in zip(ours, back, strict=True))


def test_building_blocks_load_no_reader():
    code = "import sys, blocklib.nn.attention; print([m for m in sys.modules if 'nn.famil' in m or 'safetensors' in m])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


ATLAS = Path(__file__).parents[2] / "blocklib" / "atlas" / "data" / "configs"
PUBLISHED = {
    "llama-3-8b": 8_030_261_248, "llama-3.1-405b": 405_853_388_800, "mixtral-8x7b": 46_702_792_704,
    "gpt2-small": 124_439_808, "gemma-2-9b": 9_241_705_984, "gemma-3-1b": 999_885_952, "gpt-oss-20b": 20_914_757_184,
    "qwen3-8b": 8_190_735_360, "mistral-7b": 7_241_732_096,
}  # fmt: skip


def test_published_configs_are_accepted_and_have_the_published_sizes():
    sizes = {}
    for path in sorted(ATLAS.glob("*.json")):
        fields = Fields(json.loads(path.read_text()), path.name)
        if fields.values.get("model_type") in FAMILIES:
            model = fields.choice("model_type", FAMILIES).model(fields)
            sizes[path.stem] = sum(weight.numel() for weight in model.parameters())
            assert {weight.device.type for weight in model.parameters()} == {"meta"}
    assert {name: sizes[name] for name in PUBLISHED} == PUBLISHED
    assert {name: size for name, size in sizes.items() if size != count(load_model(name).config).total} == {}
