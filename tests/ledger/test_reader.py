"""Reading files: defaults as the classes have them, every field accounted for, hostile input refused in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from blocklib.atlas import MODEL_IDS, load
from blocklib.atlas.models import FOLDER
from blocklib.ledger import cache, params, reader
from blocklib.ledger.config import ConfigError
from blocklib.ledger.parts import MoE
from blocklib.ledger.reader.common import in_the_files_words, layer_count
from blocklib.ledger.reader.source import MAX_BYTES
from tests.atlas.counts import COUNTS
from tests.ledger.members import (
    ALBERT,
    GEMMA2,
    GEMMA3,
    GPT2,
    GPT_OSS,
    LLAMA,
    MEMBERS,
    MISTRAL,
    Q35,
    QWEN2,
    QWEN3,
    QWEN3_MOE,
    V2,
    V3,
    V4,
    WRAPPED,
)
from tests.ledger.test_fuzz import FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_whole_files_come_out_exact(file):
    count = params.count(reader.read(file))
    assert (*count.components.values(), count.total) == COUNTS[file.stem]
    shape, known = reader.read(file), load(file.stem).config
    if file.stem not in ("mistral-7b", "gemma-3-1b", "transformer-base"):  # windows and activation as published
        assert shape == known


def test_a_folder_stands_for_the_file_in_it(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert reader.read(tmp_path) == reader.read(str(tmp_path / "config.json")) == reader.from_text(json.dumps(LLAMA))
    assert reader.from_text("\ufeff".encode() + json.dumps(LLAMA).encode()) == reader.from_dict(LLAMA)


@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_inert_fields_do_not_matter(name):
    raw = MEMBERS[name][1]
    noise = {"torch_dtype": "bfloat16", "bos_token_id": 1, "initializer_range": 0.5, "transformers_version": "5",
             "id2label": {"0": "a"}, "quantization_config": {"bits": 4}, "is_encoder_decoder":
             raw["model_type"] in ("t5", "marian")}  # fmt: skip
    assert reader.from_dict(raw | noise) == reader.from_dict(raw)


def test_every_family_is_found_under_its_own_name():
    assert list(reader.families()) == list(reader.MODEL_TYPES)
    for name, family in reader.families().items():
        assert family.name == name and (family.text is None) == (family.build is not None)
    for home in reader.HOMES:
        assert set(reader._module(home)) == set(reader.HOMES[home])


def test_no_field_is_read_and_inert_at_once():
    for family in reader.families().values():
        read = set(family.read) | {name for spec in family.read.values() for name in spec.names}
        assert not read & set(family.inert), family.name
        assert not read & set(family.fixed) and not set(family.inert) & set(family.fixed), family.name
        assert all(reason for reason in family.inert.values())


# (given, field) -> what stands in its place where the file leaves it out
@pytest.mark.parametrize(
    ("raw", "field", "same_as"),
    [
        (LLAMA, "tie_word_embeddings", False), (LLAMA, "head_dim", 3), (LLAMA, "num_key_value_heads", 4),
        (LLAMA, "attention_bias", False), (LLAMA, "mlp_bias", False), (GPT2, "n_inner", 48), (GPT2, "n_positions", 1024),
        (GPT2, "tie_word_embeddings", True), (MISTRAL, "sliding_window", 4096), (QWEN3, "head_dim", 128),
        (QWEN2, "use_sliding_window", False), (GEMMA2, "head_dim", 256), (GEMMA2, "tie_word_embeddings", True),
        (GEMMA2, "num_key_value_heads", 4), (GPT_OSS, "head_dim", 64), (GPT_OSS, "sliding_window", 128),
        (GPT_OSS, "attention_bias", True), (GPT_OSS, "num_experts_per_tok", 4), (V3, "first_k_dense_replace", 3),
        (V3, "q_lora_rank", 1536), (V2, "first_k_dense_replace", 0), (V4, "hc_mult", 4), (V4, "o_groups", 8),
        (QWEN3_MOE, "decoder_sparse_step", 1), (Q35, "full_attention_interval", 4), (Q35, "linear_num_key_heads", 16),
    ],
)  # fmt: skip
def test_defaults(raw, field, same_as):
    bare = {name: value for name, value in raw.items() if name != field}
    if field == "linear_num_key_heads":
        bare["linear_num_value_heads"] = 32
    assert reader.from_dict(bare) == reader.from_dict(bare | {field: same_as})


def test_every_layer_of_an_albert_may_be_a_group_of_its_own():
    groups = reader.from_dict(ALBERT | {"num_hidden_groups": ALBERT["num_hidden_layers"]})
    assert groups.stored_layers == ALBERT["num_hidden_layers"]
    with pytest.raises(ConfigError, match="num_hidden_groups"):
        reader.from_dict(ALBERT | {"num_hidden_groups": ALBERT["num_hidden_layers"] + 1})


def test_rates_of_compression_without_a_word_in_the_file():
    bare = {name: value for name, value in V4.items() if not name.startswith("compress")} | {"num_hidden_layers": 5}
    bare |= {"layer_types": ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"] + [
        "sliding_attention"] * 2}  # fmt: skip
    assert [layer.mixer.rate for layer in reader.from_dict(bare).layers] == [None, 4, 128, None, None]
    assert [layer.mixer.rate for layer in reader.from_dict({k: v for k, v in bare.items() if k != "layer_types"}).layers] == [
        128, 128, 128, 4, 128]  # fmt: skip
    with pytest.raises(ConfigError, match="mlp_layer_types names 1 layers"):
        reader.from_dict(bare | {"mlp_layer_types": ["moe"]})


def test_which_layers_are_sparse():
    layers = reader.from_dict(QWEN3_MOE | {"num_hidden_layers": 7, "decoder_sparse_step": 3}).layers
    assert [isinstance(layer.ffn, MoE) for layer in layers] == [False, False, True, False, False, True, False]


def test_refusals_in_the_files_own_words():
    refusal = ConfigError("n_heads must be a multiple of n_kv_heads, found 3 and 2")
    raw = {"num_attention_heads": 3, "num_key_value_heads": 2, "head_dim": 4}
    assert in_the_files_words(refusal, raw).remedy == "in this file: num_attention_heads, num_key_value_heads"
    assert in_the_files_words(refusal, {}) is refusal and refusal.remedy is None
    own = ConfigError("n_heads must be even", remedy="add one")
    assert in_the_files_words(own, raw) is own
    assert layer_count(10_000) == 10_000


def test_windows_are_laid_out_as_the_classes_do():
    def windows(raw):
        return [layer.mixer.window for layer in reader.from_dict(raw).layers]

    assert windows(GEMMA2 | {"num_hidden_layers": 4}) == [4096, None, 4096, None]
    assert windows(GEMMA3 | {"num_hidden_layers": 7}) == [4096] * 5 + [None, 4096]
    assert windows(GPT_OSS) == [128, None, 128]
    assert windows(QWEN2 | {"use_sliding_window": True, "max_window_layers": 2}) == [None, None, 4096]
    assert windows(QWEN2) == windows(QWEN2 | {"use_sliding_window": True, "sliding_window": None}) == [None] * 3
    assert windows(MISTRAL | {"sliding_window": 7}) == [7, 7, 7]
    assert windows(QWEN3_MOE | {"use_sliding_window": True, "sliding_window": 9}) == [9, 9, 9]


@pytest.mark.parametrize(
    ("raw", "change", "message"),
    [
        (LLAMA, {"model_type": None}, "model_type is missing"),
        (LLAMA, {"model_type": "lama"}, "model_type 'lama' is not supported.*llama"),
        (LLAMA, {"model_type": ["llama"]}, "is not supported"),
        (LLAMA, {"architectures": ["LlamaForSequenceClassification"]}, "class 'LlamaForSequence.* is not supported"),
        (LLAMA, {"architectures": []}, "architectures must be a list of one class name"),
        (LLAMA, {"architectures": ["LlamaForCausalLM", "LlamaModel"]}, "architectures must be"),
        (LLAMA, {"hidden_size": True}, "hidden_size must be a positive integer, found True"),
        (LLAMA, {"hidden_size": 12.0}, "hidden_size must be a positive integer, found 12.0"),
        (LLAMA, {"hidden_size": "12"}, "hidden_size must be a positive integer, found '12'"),
        (LLAMA, {"hidden_size": -12}, "found -12"),
        (LLAMA, {"hidden_size": 10**30}, "hidden_size must be .* more than 30 digits"),
        (LLAMA, {"hidden_size": None}, "hidden_size must be a positive integer, found None"),
        (LLAMA, {"vocab_size": 0}, "vocab_size"),
        (LLAMA, {"tie_word_embeddings": 1}, "tie_word_embeddings must be true or false"),
        (LLAMA, {"hidden_act": "tanh"}, "hidden_act 'tanh' is not supported"),
        (LLAMA, {"hidden_act": {}}, "hidden_act"),
        (LLAMA, {"num_hidden_layers": 10_001}, "num_hidden_layers must be at most 10000|n_layers|num_hidden_layers"),
        (LLAMA, {"num_attention_heads": 5}, "d_model 12 is not a multiple of n_heads 5"),
        (LLAMA, {"num_key_value_heads": 3}, "n_heads must be a multiple of n_kv_heads.*num_key_value_heads"),
        (LLAMA, {"sliding_window": 4}, "'sliding_window' is unknown for llama"),
        (LLAMA, {"hidden_siz": 4}, "'hidden_siz' is unknown for llama.*did you mean hidden_size"),
        (LLAMA, {"add_cross_attention": True}, "add_cross_attention must be false for llama, found True"),
        (LLAMA, {"is_encoder_decoder": 0}, "is_encoder_decoder must be false"),
        (GPT2, {"hidden_size": 13}, "n_embd and hidden_size say the same thing and must agree"),
        (QWEN2, {"layer_types": ["full_attention"]}, "layer_types names 1 layers, num_hidden_layers is 3"),
        (QWEN2, {"layer_types": "full_attention"}, "layer_types must be a list"),
        (QWEN2, {"layer_types": ["full_attention", "linear_attention", "full_attention"]}, "layer_types 'linear"),
        (QWEN2, {"layer_types": ["sliding_attention"] * 3}, "no sliding_window is in use"),
        (GEMMA2, {"use_bidirectional_attention": True}, "use_bidirectional_attention must be false or null"),
        (V2, {"qk_head_dim": 8}, "qk_head_dim is 8, the other fields make it 9"),
        (V3, {"moe_layer_freq": 2}, "moe_layer_freq must be 1"),
        (V4, {"compress_ratios": [0, 4, 5, 0, 0]}, "compress_ratios holds 5"),
        (V4, {"compress_ratios": [0, 4]}, "compress_ratios names 2 layers"),
        (V4, {"compress_rates": {"dense": 4}}, "compress_rates names 'dense'"),
        (V4, {"compress_rates": {"compressed_sparse_attention": 0}}, "compress_rates.compressed_sparse_attention"),
        (V4, {"compress_rates": 4}, "compress_rates must be an object"),
        (V4, {"n_shared_experts": 2}, "n_shared_experts must be 1"),
        (V4, {"o_groups": 3}, "o_groups must divide"),
        (QWEN3_MOE, {"mlp_only_layers": [3]}, "mlp_only_layers names layer 3 of 3"),
        (QWEN3_MOE, {"mlp_only_layers": [True]}, "mlp_only_layers must be an integer from 0 up"),
        (QWEN3_MOE, {"mlp_only_layers": 1}, "mlp_only_layers must be a list"),
        (QWEN3_MOE, {"num_experts_per_tok": 6}, "top_k must be at most n_experts.*num_experts_per_tok"),
        (Q35, {"linear_num_value_heads": 3}, "v_heads must be a multiple of k_heads.*linear_num_value_heads"),
        (Q35, {"attn_output_gate": False}, "attn_output_gate must be true"),
        (MEMBERS["falcon 7b shape"][1], {"num_kv_heads": 3}, "num_kv_heads is 3, the older decoder shape has 1"),
        (MEMBERS["falcon 40b shape"][1], {"num_ln_in_parallel_attn": 3}, "num_ln_in_parallel_attn must be 1 or 2"),
        (MEMBERS["marian"][1], {"decoder_vocab_size": 41}, "decoder_vocab_size is 41, but both sides share"),
        (MEMBERS["t5"][1], {"is_gated_act": True}, "is_gated_act is true, feed_forward_proj says otherwise"),
        (MEMBERS["t5"][1], {"is_encoder_decoder": False}, "is_encoder_decoder must be true for t5"),
        (MEMBERS["albert"][1], {"num_hidden_groups": 4}, "num_hidden_groups is 4, more than num_hidden_layers 3"),
        (MEMBERS["bert"][1], {"position_embedding_type": "relative_key"}, "position_embedding_type must be"),
        (WRAPPED["gemma3 with images"][2], {"text_config": None}, "text_config is missing"),
        (WRAPPED["gemma3 with images"][2], {"text_config": []}, "text_config must be an object"),
        (WRAPPED["gemma3 with images"][2], {"text_config": LLAMA}, "text_config.model_type must be gemma3_text"),
        (WRAPPED["gemma3 with images"][2], {"hidden_size": 4}, "'hidden_size' is unknown for gemma3"),
        (WRAPPED["qwen3.5 with images"][2], {"text_config": Q35 | {"tie_word_embeddings": True}},
         "tie_word_embeddings differs between the file and its text_config"),
    ],
)  # fmt: skip
def test_refusals(raw, change, message):
    with pytest.raises(ConfigError, match=message):
        reader.from_dict(raw | change)


@pytest.mark.parametrize("field", ["hidden_size", "vocab_size", "num_hidden_layers", "num_attention_heads",
                                   "intermediate_size"])  # fmt: skip
def test_a_missing_field_is_named_with_the_nearest(field):
    raw = dict(LLAMA)
    raw[field + "s"] = raw.pop(field)
    with pytest.raises(ConfigError, match=f"{field} is missing .the nearest field is '{field}s'"):
        reader.from_dict(raw)


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"), (b"{", "is not JSON"), (b"[]", "must hold one JSON object"), (b"3", "must hold one JSON"),
        (b"\xff\xfe{}", "is not UTF-8"), (b'{"a": 1, "a": 2}', "names 'a' twice"), (b'{"a": NaN}', "holds NaN"),
        (b'{"a": -Infinity}', "holds -Infinity"), (DEEP.encode(), "nested"), (b"{}", "model_type is missing"),
        (b'{"a": ' + b"[" * 30 + b"]" * 30 + b"}", "nested deeper than 20 levels"),
        (b'{"vocab_size": ' + b"9" * 5000 + b"}", "is not usable JSON"),
        (b'{"a": 1e999, "model_type": "llama"}', "missing"), (b"x" * (MAX_BYTES + 1), "is larger than"),
        (b"\x00" * 20, "is not JSON"), (b"<html>", "is not JSON"),
    ],
    ids=range(16),
)  # fmt: skip
def test_files_that_are_no_config(tmp_path, content, message):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        reader.read(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_paths_that_are_no_file(tmp_path):
    loop, far = tmp_path / "loop.json", tmp_path / ("x" * 300)
    os.symlink(loop, loop)
    os.mkfifo(tmp_path / "pipe.json")
    for path, message in ((tmp_path, "cannot be read"), (tmp_path / "none.json", "No such file"),
                          (loop, "cannot be read: "), (far, "too long"), ("a\0b", "cannot be read"),
                          (tmp_path / "pipe.json", "is no regular file"), ("/dev/null", "is no regular file")):  # fmt: skip
        with pytest.raises(ConfigError, match=message):
            reader.read(path)


def test_the_ledgers_own_words():
    raw = json.loads((FOLDER / "configs" / "kimi-k3.json").read_text())
    assert params.count(reader.from_dict(raw)).total == 2_779_484_393_568
    for change, message in [
        ({"colour": 1}, "field 'colour' is unknown"), ({"layers": None}, "layers must be list"),
        ({"layers": [["delta", "dense"]]}, "a row of layers is"), ({"layers": [["x", "dense", 1]]}, "do not define"),
        ({"layers": [["delta", "dense", 0]]}, "no number up to"), ({"layers": [["delta", "dense", 1, 3]]}, "an object"),
        ({"layers": [["delta", "dense", 1, {"depth": 3}]]}, "unexpected keyword"),
        ({"layers": [["delta", "dense", 10**9]]}, "no number up to"), ({"mixers": {"delta": {"kind": "m"}}}, "kind of"),
        ({"mixers": {"delta": {"kind": "kimi_delta"}}}, "missing"), ({"mixers": []}, "mixers must be"),
        ({"ffns": {"dense": 3}}, "must be an object"), ({"d_model": True}, "d_model must be a positive integer"),
        ({"ffns": {"dense": {"d_ff": 3, "kind": "swiglu"}, "experts": {"n_experts": 4}}}, "missing"),
        ({"norm": ["rmsnorm"]}, "unknown norm"),
    ]:  # fmt: skip
        with pytest.raises(ConfigError, match=message):
            reader.from_dict(raw | change)
    missing = {name: value for name, value in raw.items() if name != "vocab_size"}
    with pytest.raises(ConfigError, match="vocab_size"):
        reader.from_dict(missing)


def test_what_a_sequence_keeps():
    v4 = cache.describe(load("deepseek-v4-flash").config)
    assert (2 * v4.growing_per_token, 2 * sum(elements for _, elements in v4.sliding)) == (6880, 44_032)
    assert v4.elements(1000) == 3440 * 1000 + 22_016 * 128
    mistral = cache.describe(load("mistral-7b").config)
    assert 2 * mistral.elements(100_000) == 4096 * 131_072 == 536_870_912
    assert cache.describe(load("bert-base-uncased").config) == cache.KVCache()
    assert 2 * cache.describe(load("t5-base").config).cross == 36_864
    assert 2 * cache.describe(load("transformer-base").config).cross == 12_288
    k3 = cache.describe(load("kimi-k3").config)
    assert 2 * k3.latent == 27_648 and k3.growing == 0
    qwen = cache.describe(load("qwen3.8-27b").config)
    assert 4 * qwen.state == 150_994_944 and qwen.constant == 37_748_736 + 1_474_560
    assert 2 * qwen.elements(262_144) == 16 * 2**30


def test_reading_needs_no_torch_and_little_time():
    code = (
        "import sys, time; from blocklib import atlas; from blocklib.ledger import reader, params, cache;"
        "a = time.perf_counter(); atlas.load('deepseek-v3'); b = time.perf_counter();"
        "[(params.count(c), params.active(c), cache.describe(c)) for c in (atlas.load(m).config for m in atlas.MODEL_IDS)];"
        "print(b - a, time.perf_counter() - a, sorted({'torch', 'numpy', 'transformers'} & set(sys.modules)))"
    )
    one, everything = [], []
    while len(one) < 6 and not (one and min(one) < 0.05 and min(everything) < 0.2):  # a busy machine delays some
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        first, every, modules = done.stdout.split(maxsplit=2)
        assert modules.strip() == "[]"
        one.append(float(first))
        everything.append(float(every))
    assert min(one) < 0.05 and min(everything) < 0.2
    assert len(MODEL_IDS) == 35


# Fields as published files have them, beside those that the members above name.
PUBLISHED_FIELDS = {
    "llama": "rope_scaling rope_theta pretraining_tp rms_norm_eps torch_dtype max_sequence_length is_llama_config "
    "rope_interleaved eos_token_id transformers_version use_cache max_position_embeddings attention_dropout",
    "gpt2": "attn_pdrop embd_pdrop resid_pdrop n_ctx summary_type summary_use_proj task_specific_params "
    "layer_norm_epsilon _num_labels",
    "bloom": "seq_length unk_token_id skip_bias_add skip_bias_add_qkv offset_alibi masked_softmax_fusion "
    "attention_softmax_in_fp32 bias_dropout_fusion slow_but_exact apply_residual_connection_post_layernorm",
    "gpt_neox": "rotary_pct rotary_emb_base use_parallel_residual",
    "falcon": "alibi auto_map apply_residual_connection_post_layernorm ff_factor",
    "deepseek_v3": "aux_loss_alpha ep_size num_nextn_predict_layers quantization_config scoring_func seq_aux "
    "topk_method norm_topk_prob routed_scaling_factor num_key_value_heads auto_map",
    "qwen3_next": "norm_topk_prob partial_rotary_factor router_aux_loss_coef output_router_logits rope_scaling",
    "gpt_oss": "initial_context_length swiglu_limit quantization_config router_aux_loss_coef rope_scaling",
    "gemma2": "hidden_act cache_implementation query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping",
    "gemma3_text": "rope_local_base_freq rope_scaling cache_implementation query_pre_attn_scalar",
    "bert": "gradient_checkpointing pooler_fc_size pooler_type directionality layer_norm_eps classifier_dropout",
    "albert": "down_scale_factor gap_size net_structure_type num_memory_blocks classifier_dropout_prob",
    "t5": "n_positions output_past task_specific_params dropout_rate layer_norm_epsilon initializer_factor",
    "marian": "bad_words_ids num_beams scale_embedding max_length decoder_start_token_id forced_eos_token_id",
    "qwen2": "use_mrope max_position_embeddings rope_theta", "qwen3_moe": "max_window_layers norm_topk_prob",
    "qwen3_5_text": "mamba_ssm_dtype mtp_num_hidden_layers mtp_use_dedicated_embeddings rope_parameters",
    "deepseek_v4": "compress_rope_theta index_topk hc_sinkhorn_iters hc_eps swiglu_limit scoring_func qk_rope_head_dim",
}  # fmt: skip


@pytest.mark.parametrize("kind", PUBLISHED_FIELDS)
def test_fields_of_published_files_are_known(kind):
    raw = next(raw for _, raw in MEMBERS.values() if raw["model_type"] == kind)
    more = {name: None for name in PUBLISHED_FIELDS[kind].split()}
    assert reader.from_dict(raw | more) == reader.from_dict(raw)
