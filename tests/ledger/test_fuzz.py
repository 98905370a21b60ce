"""A thousand mutations of 33 real files: one clear refusal, or a count that an independent formula confirms."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from blocklib.ledger import cache, params, reader
from blocklib.ledger.config import ConfigError
from tests.ledger import closed

FILES = sorted((Path(__file__).parent / "configs").glob("*.json"))
KINDS = ("delete", "rename", "retype", "negate", "huge", "nest", "null", "nudge")
SEED, TIMES = 20261129, 1000

# Fields that are read and checked, but on which no count of parameters depends.
NO_WEIGHT = {
    "hidden_act", "activation_function", "afn", "hidden_activation", "sliding_window", "use_sliding_window",
    "max_window_layers", "num_experts_per_tok", "mlp_layer_types", "compress_rates", "head_dim", "qk_head_dim",
}  # fmt: skip
# Heads share out the width of the stream where no width of a head is given: their number changes no matrix.
HEADS = {"n_head", "num_attention_heads", "encoder_attention_heads", "decoder_attention_heads"}


def targets(raw: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Every field of the file and of its text model, those that are read three times."""
    owners = [raw, raw["text_config"]] if isinstance(raw.get("text_config"), dict) else [raw]
    read = {name for family in reader.families().values() for name in family.read}
    return [(owner, name) for owner in owners for name in owner for _ in range(3 if name in read else 1)]


def mutate(raw: dict[str, Any], kind: str, dice: random.Random) -> tuple[dict[str, Any], str]:
    """A copy with one field changed, and the field."""
    raw = copy.deepcopy(raw)
    owner, name = dice.choice(targets(raw))
    value = owner[name]
    if kind == "delete":
        del owner[name]
    elif kind == "rename":
        owner[dice.choice([name + "x", "x_" + name, name[:-1] or "y", name.upper()])] = owner.pop(name)
    elif kind == "retype":
        owner[name] = dice.choice(
            [str(value), [value], {"v": value}, 1.5, True, False, "", [], float(7), None, b"".hex()]
        )
    elif kind == "negate":
        owner[name] = not value if isinstance(value, bool) else -value if isinstance(value, int | float) else -1
    elif kind == "huge":
        owner[name] = dice.choice([10**6, 10**12, 10**40, 2**31, 2**63, 10**400, 1e300])
    elif kind == "nest":
        deep: Any = value
        for _ in range(dice.choice([1, 5, 30, 500])):
            deep = [deep] if dice.random() < 0.5 else {"x": deep}
        owner[name] = deep
    elif kind == "null":
        owner[name] = None
    else:
        owner[name] = value + dice.choice([1, 2, 8]) if type(value) is int else value
    return raw, name


def cases() -> list[tuple[Path, str, str, dict[str, Any]]]:
    dice, loaded, found = random.Random(SEED), [(f, json.loads(f.read_text())) for f in FILES], []
    for i in range(TIMES):
        file, raw = loaded[i % len(loaded)]
        kind = KINDS[i // len(loaded) % len(KINDS)]
        mutated, name = mutate(raw, kind, dice)
        found.append((file, kind, name, mutated))
    return found


@pytest.fixture(scope="module")
def outcomes():
    """(file, kind, field, mutated, Config or the refusal) of every case."""
    found = []
    for file, kind, name, raw in cases():
        try:
            result: Any = reader.from_dict(raw)
        except ConfigError as error:
            result = error
        found.append((file, kind, name, raw, result))
    return found


def test_nothing_but_one_clear_refusal_or_a_config(outcomes):
    for file, kind, name, _, result in outcomes:
        if isinstance(result, ConfigError):
            text = str(result)
            assert "\n" not in text and 10 < len(text) < 1000, (file.name, kind, name, text)


def test_refusals_name_the_field(outcomes):
    for file, kind, name, _, result in outcomes:
        if isinstance(result, ConfigError) and kind in ("delete", "retype", "negate", "huge", "null"):
            lengths = {"layer_types", "mlp_layer_types"} if name == "num_hidden_layers" else set()
            if name not in ("architectures", "text_config"):
                said = str(result)
                assert any(word in said for word in {name, "nested"} | lengths), (file.name, kind, name, said)


def test_accepted_counts_agree_with_the_closed_form(outcomes):
    accepted = 0
    for file, kind, name, raw, result in outcomes:
        if not isinstance(result, ConfigError):
            accepted += 1
            assert params.count(result).total == closed.total(raw), (file.name, kind, name)
    assert accepted > 250


def test_a_field_that_is_read_changes_the_config_or_is_refused(outcomes):
    """An accepted change of a read field changes the count, the shape alone, or stands for the same value."""
    changed = same = 0
    for file, kind, name, raw, result in outcomes:
        before = json.loads(file.read_text())
        family = reader.families()[before["model_type"]]
        read = set(family.read) | (set(reader.families()[family.text].read) if family.text else set())
        read |= {alias for spec in family.read.values() for alias in spec.names}
        if isinstance(result, ConfigError) or name not in read:
            continue
        original = reader.from_dict(before)
        if result == original:
            same += 1  # absent or null, where the default is what stood there; or the very same value
            owners = [(raw, before), (raw.get("text_config", {}), before.get("text_config", {}))]
            assert kind != "rename" and any(
                name in old and (name not in new or new[name] is None or new[name] == old[name] or name in NO_WEIGHT)
                for new, old in owners
            ), (file.name, kind, name)
        elif params.count(result) != params.count(original):
            changed += 1
        else:
            headless = family.name in ("bert", "albert") and name == "tie_word_embeddings"
            shared = family.name == "albert" and name == "num_hidden_layers"  # more uses of the same weights
            assert headless or shared or name in NO_WEIGHT | HEADS, (file.name, kind, name, raw.get(name))
    assert changed > 40 and same > 10


def test_inert_fields_change_nothing(outcomes):
    for file, kind, name, _, result in outcomes:
        before = json.loads(file.read_text())
        family = reader.families()[before["model_type"]]
        if name in family.inert and kind != "rename" and not isinstance(result, ConfigError):
            assert result == reader.from_dict(before), (file.name, kind, name)


def test_accepted_files_have_a_cache_and_active_counts(outcomes):
    for *_, result in outcomes:
        if not isinstance(result, ConfigError):
            active = params.active(result)
            assert 0 < active.without_input_embedding <= active.with_embeddings <= params.count(result).total
            assert cache.describe(result).elements(1000) >= 0


def test_control_the_closed_form_sees_a_wrong_count():
    for file in FILES:
        raw = json.loads(file.read_text())
        right = params.count(reader.from_dict(raw)).total
        assert closed.total(raw) == right
        owner = raw.get("text_config", raw)
        name = "vocab_size"
        assert closed.total(raw | {name: raw[name] + 1} if owner is raw else
                            raw | {"text_config": owner | {name: owner[name] + 1}}) != right  # fmt: skip


def test_there_are_a_thousand_of_every_kind():
    found = cases()
    assert len(found) == TIMES and {kind for _, kind, *_ in found} == set(KINDS) and len(FILES) == 33
