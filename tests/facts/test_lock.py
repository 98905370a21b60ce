"""Slow facts come from the lock file while the code they came from stands, and are refused after."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pytest

from blocklib.cli import main
from blocklib.facts import lock
from blocklib.facts.check import check_pages
from blocklib.facts.discover import FactError
from blocklib.facts.registry import Registry
from blocklib.facts.values import Measured, Range
from tests.facts.library import again, make_library


@pytest.fixture
def site(tmp_path):
    registry = make_library(tmp_path)
    docs = tmp_path / "docs"
    docs.mkdir()
    for lang, text in (
        ("zh", "[1](fact:slow_one?seed=3)。"),
        ("en", "[2](fact:slow_one?seed=6) and [1](fact:slow_one?seed=3)."),
    ):
        (docs / f"a.{lang}.md").write_text(text, encoding="utf-8")
    return registry


def relock(registry, monkeypatch):
    monkeypatch.setattr("blocklib.facts.lock.registry_for", lambda root: registry)
    entries = lock.recompute(registry.root)
    lock.write(registry.folder / "lock.json", entries)
    return entries


def test_without_a_lock_the_remedy_is_named(site):
    problems = check_pages(site.root, registry=site).problems
    assert [str(p) for p in problems] == [
        f"docs/a.en.md:1: printed {n} but slow_one?seed={s} is computed apart and not in the lock file "
        "(python -m blocklib facts --lock)" for n, s in ((1, 3), (2, 6))
    ] + ["docs/a.zh.md:1: printed 1 but slow_one?seed=3 is computed apart and not in the lock file "
         "(python -m blocklib facts --lock)"]  # fmt: skip


def test_locking_holds_until_the_code_changes(site, monkeypatch):
    entries = relock(site, monkeypatch)
    assert sorted(entries) == ["slow_one?seed=3", "slow_one?seed=6"]
    fresh = again(site)
    assert check_pages(site.root, registry=fresh).problems == []
    assert fresh.evaluate("slow_one?seed=6").value == 2
    # A module it imports is enough.
    (site.root / site.package / "constants.py").write_text("FACTOR = 8\n")
    problems = check_pages(site.root, registry=again(site)).problems
    assert len(problems) == 3 and all("has changed since it was locked" in p.message for p in problems)


def test_a_locked_fact_imports_nothing(site, monkeypatch):
    relock(site, monkeypatch)
    fresh = again(site)
    fresh.evaluate("slow_one?seed=3")
    import sys

    assert f"{site.package}.theory" not in sys.modules


def test_a_broken_lock_file_is_an_error_in_one_line(site):
    for text in ("{", "[]", '{"slow_one?seed=3": 1}', '{"slow_one?seed=3": {"value": {"x": 1}, "fingerprint": "y"}}'):
        (site.folder / "lock.json").write_text(text)
        with pytest.raises(FactError):
            Registry(site.root, site.package).evaluate("slow_one?seed=3")


@pytest.mark.parametrize("value", [
    3, -1, Fraction(1, 3), Decimal("1.50"), 0.1, Range(Fraction(1, 2), 3), Measured(Fraction("0.616"), Fraction("0.004")),
])  # fmt: skip
def test_values_survive_the_file(value):
    back = lock.decode(json.loads(json.dumps(lock.encode(value))))
    assert back == value and type(back) is type(value)


@pytest.mark.parametrize("data", [None, True, "3", [], {}, {"fraction": "1/0"}, {"a": 1, "b": 2}, {"range": [1]}])
def test_what_is_no_value_is_refused(data):
    with pytest.raises(FactError):
        lock.decode(data)


def test_differences():
    def entry(value, mark="m"):
        return {"value": lock.encode(value), "fingerprint": mark}

    old = {"a": entry(1), "b": entry(Measured(Fraction(1), Fraction(1, 10))), "c": entry(2), "d": entry(3)}
    new = {"a": entry(2), "b": entry(Measured(Fraction("1.05"), Fraction(1, 10))), "c": entry(2, "n"), "d": entry(3),
           "e": entry(1)}  # fmt: skip
    assert lock.differences(old, new) == [
        "a: locked 1 but recomputed 2", "c: the lock file is stale, its value still holds", "e: not in the lock file"
    ]  # fmt: skip
    noise = Measured(Fraction(1), Fraction(1, 10))
    for value, same in ((Measured(Fraction("1.1"), Fraction(1, 20)), True), (Measured(Fraction("1.11"), Fraction(1, 10)), False),
                        (Fraction(1), False)):  # fmt: skip
        assert (lock.differences({"a": entry(noise)}, {"a": entry(value)}) == []) is same
        assert (lock.differences({"a": entry(value)}, {"a": entry(noise)}) == []) is same


def test_the_file_is_sorted_and_readable(tmp_path):
    path = tmp_path / "lock.json"
    lock.write(path, {"b": {"value": 1, "fingerprint": "中"}, "a": {"value": 2, "fingerprint": "y"}})
    assert path.read_text("utf-8") == (
        '{\n "a": {\n  "fingerprint": "y",\n  "value": 2\n },\n "b": {\n  "fingerprint": "中",\n  "value": 1\n }\n}\n')  # fmt: skip
    assert lock.load(path)["a"] == {"value": 2, "fingerprint": "y"} and [p.name for p in tmp_path.iterdir()] == [
        "lock.json"
    ]


def test_listing(site):
    lines, faults = lock.listing(site)
    assert faults == [] and len(lines) == len(site.names())
    assert any(line.split() == ["slow_one(seed:", "int)", "-", "measured", "slow", "Slow."] for line in lines)


FACT = '@fact()\ndef {}():\n    """A.\n\n    中文：甲。\n    """\n'


def test_long_names_do_not_widen_the_listing(tmp_path):
    registry = make_library(tmp_path, "")
    (registry.root / registry.package / "theory.py").write_text("", encoding="utf-8")
    names = ["a" * 58, "b" * 59, "c"]
    (registry.root / registry.package / "more.py").write_text("".join(map(FACT.format, names)), encoding="utf-8")
    lines, faults = lock.listing(registry)
    assert lines == [
        "a" * 58 + "()  -  computed  A.",
        "b" * 59 + "()  -  computed  A.",
        "c()" + " " * 59 + "-  computed  A.",
    ]
    assert faults == []
    (registry.root / registry.package / "more.py").write_text(
        "".join(map(FACT.format, names)) + "@fact()\ndef ab(x):\n    ...\n", encoding="utf-8")  # fmt: skip
    lines, faults = lock.listing(Registry(registry.root, registry.package))
    assert len(lines) == 3 and len(faults) == 1 and "'x' has no annotation" in faults[0]


def test_locking_and_checking_by_command(site, monkeypatch, capsys):
    def said(*argv):
        code = lock.main([*argv])
        return code, capsys.readouterr().out

    monkeypatch.setattr("blocklib.facts.lock.registry_for", lambda root: site)
    monkeypatch.chdir(site.root)
    path = site.folder / "lock.json"
    assert said("--lock") == (0, "lock.json: 2 slow facts\n") and sorted(lock.load(path)) == [
        "slow_one?seed=3", "slow_one?seed=6"]  # fmt: skip
    assert said("--check") == (0, "2 slow facts recomputed, 0 differ\n")
    entries = lock.load(path)
    entries["slow_one?seed=3"]["value"] = 5
    lock.write(path, entries)
    assert said("--check") == (
        1, "slow_one?seed=3: locked 5 but recomputed 1\n2 slow facts recomputed, 1 differ\n")  # fmt: skip
    for page in (site.root / "docs").iterdir():
        page.write_text("", encoding="utf-8")
    assert said("--lock") == (0, "lock.json: 0 slow facts\n") and lock.load(path) == {}
    path.unlink()
    assert said("--lock") == (0, "lock.json: 0 slow facts\n") and not path.exists()
    (site.root / site.package / "more.py").write_text("@fact()\ndef ab(x):\n    ...\n", encoding="utf-8")
    monkeypatch.setattr("blocklib.facts.lock.registry_for", lambda root: Registry(site.root, site.package))
    assert lock.main([]) == 1 and "'x' has no annotation" in capsys.readouterr().err


def test_commands(capsys):
    assert lock.main([]) == 0
    assert "implicit_paths(blocks: int)" in capsys.readouterr().out
    assert main(["facts", "--what"]) == 2
