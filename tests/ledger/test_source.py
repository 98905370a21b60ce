"""A file as it comes: how large and how deep it may be, and how refusals name it."""

from __future__ import annotations

import json

import pytest

from blocklib.ledger.parts import ConfigError
from blocklib.ledger.reader.source import check_depth, parse_object, read_object


def refusal(call, *args) -> str:
    with pytest.raises(ConfigError) as error:
        call(*args)
    return str(error.value)


def test_a_million_bytes_are_enough(tmp_path):
    largest = b'{"a": 1}' + b" " * (1_000_000 - 8)
    assert parse_object(largest) == {"a": 1} and "is larger than 1000000 bytes" in refusal(parse_object, largest + b" ")
    path = tmp_path / "config.json"
    path.write_bytes(largest)
    assert read_object(path) == read_object(tmp_path) == {"a": 1}
    path.write_bytes(largest + b" ")
    assert refusal(read_object, path).startswith(f"{path}: is larger than")


def test_twenty_levels_are_deep_enough():
    for depth in (1, 20):
        nested = json.loads("[" * (depth - 1) + "0" + "]" * (depth - 1))
        check_depth(nested)
        assert parse_object(json.dumps({"a": nested}) if depth < 20 else json.dumps({"a": nested[0]}))
    assert refusal(check_depth, json.loads("[" * 20 + "0" + "]" * 20)) == "is nested deeper than 20 levels"


def test_refusals_name_the_file_and_the_systems_reason(tmp_path):
    assert (
        refusal(read_object, tmp_path / "no.json") == f"{tmp_path}/no.json: cannot be read: No such file or directory"
    )
    odd = tmp_path / "a\x1bb.json"
    odd.write_text("[]")
    assert refusal(read_object, odd) == f"{tmp_path}/a\\x1bb.json: must hold one JSON object, found []"
    assert "null" in refusal(read_object, "a\0b") and "\0" not in refusal(read_object, "a\0b")


@pytest.mark.parametrize(("text", "said"), [
    ('{"a": 1, "b": 2, "b": 3}', "names 'b' twice"), ('{"a": {"c": 1, "c": 1}}', "names 'c' twice"),
    ('{"a": NaN}', "holds NaN"), ('{"a": -Infinity}', "holds -Infinity"), ("{", "is not JSON: "),
    ('{"a": ' + "9" * 5000 + "}", "is not usable JSON"), (b"\xff", "byte 0 cannot be decoded"), ("7", "found 7"),
])  # fmt: skip
def test_what_no_config_is(text, said):
    assert said in refusal(parse_object, text)
