"""Members of every family, counted by the Hugging Face classes on the meta device: total and component by component."""

from __future__ import annotations

import pytest

from blocklib.ledger import params, reader
from tests.ledger import hf
from tests.ledger.members import MEMBERS, WRAPPED

pytest.importorskip("transformers", reason="the independent counts need the Hugging Face classes")


@pytest.mark.parametrize("name", MEMBERS)
def test_members_match_the_class_on_the_meta_device(name):
    class_name, raw = MEMBERS[name]
    assert params.count(reader.from_dict(raw)).components == hf.counted(raw, class_name)


@pytest.mark.parametrize("name", WRAPPED)
def test_text_under_a_wrapper_matches_the_text_class(name):
    class_name, text, wrapped = WRAPPED[name]
    assert params.count(reader.from_dict(wrapped)).components == hf.counted(text, class_name)


def test_every_family_has_a_member():
    seen = {raw["model_type"] for _, raw in MEMBERS.values()} | {raw["model_type"] for *_, raw in WRAPPED.values()}
    assert set(reader.families()) - seen == {"kimi_k2"}  # DeepSeek-V3's class under another name


def test_control_one_more_row_is_seen():
    class_name, raw = MEMBERS["llama"]
    assert params.count(reader.from_dict(raw | {"vocab_size": 51})).components != hf.counted(raw, class_name)
