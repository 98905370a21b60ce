"""Members of every family, counted by the Hugging Face classes on the meta device: total and component by component."""

from __future__ import annotations

import random

import pytest

from blocklib.ledger import params, reader
from blocklib.ledger.config import ConfigError
from tests.ledger import hf
from tests.ledger.members import MEMBERS, WRAPPED

pytest.importorskip("transformers", reason="the independent counts need the Hugging Face classes")
from huggingface_hub.errors import StrictDataclassError


@pytest.mark.parametrize("name", MEMBERS)
def test_members_match_the_class_on_the_meta_device(name):
    class_name, raw = MEMBERS[name]
    assert params.count(reader.from_dict(raw)).components == hf.counted(raw, class_name)


@pytest.mark.parametrize("name", WRAPPED)
def test_text_under_a_wrapper_matches_the_text_class(name):
    class_name, text, wrapped = WRAPPED[name]
    assert params.count(reader.from_dict(wrapped)).components == hf.counted(text, class_name)


def drawn(raw: dict, dice: random.Random) -> dict:
    """The member with some of its sizes drawn anew and some of its flags turned."""
    raw = dict(raw)
    for name, value in raw.items():
        if name in ("pad_token_id", "num_experts_per_tok", "n_group", "topk_group", "hc_mult") or dice.random() < 0.5:
            continue
        if isinstance(value, bool) and name not in ("new_decoder_architecture", "tie_word_embeddings"):
            raw[name] = dice.random() < 0.5
        elif type(value) is int:
            raw[name] = value + 12 * dice.randrange(3) if name in WIDTHS else max(2, value + 2 * dice.randrange(-1, 4))
    return raw


WIDTHS = {"hidden_size", "n_embd", "d_model", "n_embed"}  # stay multiples of every number of heads drawn
HEADS = {"num_attention_heads", "n_head", "num_key_value_heads", "encoder_attention_heads",
         "decoder_attention_heads", "linear_num_key_heads", "linear_num_value_heads", "num_kv_heads",
         "o_groups"}  # fmt: skip


def test_members_drawn_at_random_match_too():
    dice, agreed = random.Random(35), 0
    for name in sorted(MEMBERS) * 3:
        class_name, raw = MEMBERS[name]
        fixed = {key: value for key, value in raw.items() if key in HEADS or isinstance(value, list | dict | str)}
        member = drawn(raw, dice) | fixed
        if isinstance(member.get("num_hidden_layers"), int) and {"layer_types", "compress_ratios"} & set(member):
            member["num_hidden_layers"] = raw["num_hidden_layers"]
        try:
            config = reader.from_dict(member)
        except ConfigError:
            continue
        try:
            independent = hf.counted(member, class_name)
        except (ValueError, RuntimeError, AssertionError, StrictDataclassError):
            continue  # the class refuses what a count could well be made of (odd rotary widths, say)
        assert params.count(config).components == independent, (name, member)
        agreed += 1
    assert agreed > 120


def test_every_family_has_a_member():
    seen = {raw["model_type"] for _, raw in MEMBERS.values()} | {raw["model_type"] for *_, raw in WRAPPED.values()}
    assert set(reader.families()) - seen == {"kimi_k2"}  # DeepSeek-V3's class under another name


def test_control_one_more_row_is_seen():
    class_name, raw = MEMBERS["llama"]
    assert params.count(reader.from_dict(raw | {"vocab_size": 51})).components != hf.counted(raw, class_name)
