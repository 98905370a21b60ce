"""Facts found and described without importing: how far names are followed, what is not looked at, what is read twice."""

from __future__ import annotations

import ast
import os

import pytest

from blocklib.facts import discover
from blocklib.facts.discover import FactError, describe, find_sites

DOC = '    """A.\n\n    中文：甲。\n    """\n'


def described(root, source: str, name: str = "f"):
    (root / "pkg").mkdir(exist_ok=True)
    (root / "pkg" / "m.py").write_text(source, encoding="utf-8")
    return describe(name, find_sites(root, "pkg")[name], root)


def chain(last: str, length: int, first: str = "N") -> str:
    """``N0 = last; N1 = N0; …``: the last name needs ``length`` steps."""
    return f"{first}0 = {last}\n" + "".join(f"{first}{i} = {first}{i - 1}\n" for i in range(1, length))


def test_constants_are_followed_through_eight_names(tmp_path):
    fact = "@fact(unit=N{})\ndef f():\n" + DOC
    assert described(tmp_path, chain("'B'", 8) + fact.format(7)).unit == "B"
    for source in (chain("'B'", 9) + fact.format(8), "N0 = N1\nN1 = N0\n" + fact.format(0)):
        with pytest.raises(FactError, match="must be a literal or a constant"):
            described(tmp_path, source)


# How an annotation leads to a chain of aliases, and how many steps that takes.
WAYS = {
    "plain": ("", "N{}", 0), "text": ("", "'N{}'", 1), "optional": ("", "N{} | None", 1),
    "annotated alias": ("Other: T = list\nZ: T = N{}\n", "Z", 1), "alias": ("Z = N{}\n", "Z", 1),
    "import": ("from pkg.other import N{}\n", "N{}", 1), "import as": ("from pkg.other import N{} as Z\n", "Z", 1),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_aliases_are_followed_through_four_steps(tmp_path, way):
    before, annotation, steps = WAYS[way]
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/other.py").write_text(chain("int", 6), encoding="utf-8")

    def source(last: int) -> str:
        local = "" if way.startswith("import") else chain("int", 6)
        return local + f"{before}@fact()\ndef f(x: {annotation}):\n".replace("{}", str(last)) + DOC

    assert described(tmp_path, source(3 - steps)).params[0].kind == "int"
    with pytest.raises(FactError, match="parameter 'x' has"):
        described(tmp_path, source(4 - steps))


@pytest.mark.parametrize("parameters", ["*args: int", "**more: int", "x: int, /", "x: int, /, *args: int, **more: int"])
def test_parameters_are_named_ones(tmp_path, parameters):
    with pytest.raises(FactError, match="named ones"):
        described(tmp_path, f"@fact()\ndef f({parameters}):\n" + DOC)


def test_parameters_with_and_without_defaults(tmp_path):
    spec = described(tmp_path, "@fact()\ndef f(a: int, b: int = 2, *, c: str, d: str = 'x'):\n" + DOC)
    assert [(p.name, p.kind, p.required or p.default) for p in spec.params] == [
        ("a", "int", True), ("b", "int", 2), ("c", "str", True), ("d", "str", "x")]  # fmt: skip


def test_hidden_folders_and_caches_are_not_looked_into(tmp_path):
    for folder in ("pkg", "pkg/.hidden", "pkg/__pycache__", "pkg/deep"):
        (tmp_path / folder).mkdir()
        name = folder.rpartition("/")[2].strip("._")
        (tmp_path / folder / "m.py").write_text(f"@fact()\ndef in_{name}():\n" + DOC, encoding="utf-8")
    assert sorted(find_sites(tmp_path, "pkg")) == ["in_deep", "in_pkg"]


def test_a_module_is_parsed_once_and_again_when_it_changes(tmp_path, monkeypatch):
    assert described(tmp_path, "@fact(unit='B')\ndef f():\n" + DOC).unit == "B"
    parsed = []
    real = ast.parse
    monkeypatch.setattr(discover.ast, "parse", lambda *args, **more: parsed.append(args) or real(*args, **more))
    site = find_sites(tmp_path, "pkg")["f"]
    assert describe("f", site, tmp_path).unit == "B" and parsed == []
    path = tmp_path / "pkg/m.py"
    stamp = path.stat().st_mtime_ns
    path.write_text(path.read_text("utf-8").replace("'B'", "'s'"), encoding="utf-8")
    os.utime(path, ns=(stamp + 1, stamp + 1))
    assert describe("f", site, tmp_path).unit == "s" and len(parsed) == 1
