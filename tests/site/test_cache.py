"""The disk cache may cost time, never a wrong value."""

from __future__ import annotations

import json
import os

import pytest

from blocklib.facts import fingerprint
from blocklib.site.cache import Store, key, versions


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def test_round_trip_keeps_every_character(store):
    value = {"html": "<p>两本账 — “x”\u2028</p>", "n": [1, None, True]}
    store.put("pages", "ab12", value)
    assert store.get("pages", "ab12") == value
    assert (store.hits, store.misses) == ({"pages": 1}, {})


def test_kinds_do_not_mix(store):
    store.put("pages", "ab", 1)
    assert store.get("blocks", "ab") is None


@pytest.mark.parametrize("damage", [b"", b'{"a": ', b"\xff\xfe", b"not json"])
def test_a_damaged_entry_counts_as_absent(store, tmp_path, damage):
    store.put("pages", "abcd", {"a": 1})
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(damage)
    assert store.get("pages", "abcd") is None
    store.put("pages", "abcd", {"a": 2})
    assert store.get("pages", "abcd") == {"a": 2}


def test_nothing_half_written_stays(store, tmp_path):
    store.put("pages", "abcd", {"a": 1})
    assert [p.suffix for p in tmp_path.rglob("*") if p.is_file()] == [".json"]


def test_an_unwritable_folder_is_no_cache(tmp_path):
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file")
    store.put("pages", "ab", 1)
    assert store.get("pages", "ab") is None


def test_prune_drops_what_was_not_used_for_longest(store, tmp_path):
    for i in range(4):
        store.put("pages", f"k{i}", i)
        path = next(tmp_path.rglob(f"k{i}.json"))
        os.utime(path, (i, i))
    assert store.prune(keep=2) == 2
    assert [store.get("pages", f"k{i}") for i in range(4)] == [None, None, 2, 3]


def test_parsed_imports_pass_from_build_to_build(store, tmp_path, monkeypatch):
    monkeypatch.setattr(fingerprint, "_parsed", {"d1": [fingerprint.Import("a.b", ("c",), 1, lazy=True)]})
    store.recall_imports()
    store.keep_imports()
    monkeypatch.setattr(fingerprint, "_parsed", {})
    again = Store(tmp_path)
    again.recall_imports()
    (item,) = fingerprint._parsed["d1"]
    assert (item.module, item.names, item.level, item.lazy) == ("a.b", ("c",), 1, True)
    put = []
    monkeypatch.setattr(again, "put", lambda *entry: put.append(entry))
    again.keep_imports()
    assert put == []  # nothing new
    monkeypatch.setitem(fingerprint._parsed, "d2", [])
    again.keep_imports()
    assert len(put) == 1


def test_keys_tell_parts_apart_and_do_not_depend_on_order_of_fields():
    assert key("ab", "c") != key("a", "bc")
    assert key({"x": 1, "y": 2}) == key({"y": 2, "x": 1})
    assert key("页") == key(*json.loads('["页"]'))


def test_versions_name_python_and_the_renderers():
    found = versions()
    assert {"python", "torch", "markdown", "mkdocs-material"} <= set(found) and all(found.values())
