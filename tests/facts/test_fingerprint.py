"""A hash changes with what a result can depend on, and with nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from blocklib.facts import fingerprint
from blocklib.facts.fingerprint import ROOT, closure, closure_hash, imports_of, versions
from blocklib.problems import BlocklibError


@pytest.fixture
def tree(tmp_path):
    files = {
        "pkg/__init__.py": "def __getattr__(name):\n    if name == 'show':\n        from pkg.site.display import show\n"
                           "        return show\n    if name == 'Text':\n        from pkg.text import Text\n",
        "pkg/text.py": "Text = str\n",
        "pkg/site/__init__.py": "",
        "pkg/site/display.py": "def show():\n    import pkg.late\n",
        "pkg/late.py": "",
        "pkg/a/__init__.py": "from . import init_needs\n",
        "pkg/a/init_needs.py": "",
        "pkg/a/one.py": "import json, os.path\nfrom .two import x\nfrom ..b import sub as s\n",
        "pkg/a/two.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pkg.unrelated\nx = 1\n",
        "pkg/a/data.toml": "k = 1\n",
        "pkg/a/rows/deep.json": "{}",
        "pkg/a/lock.json": "{}",
        "pkg/b/__init__.py": "",
        "pkg/b/sub.py": "import pkg.a.one\n",  # a cycle
        "pkg/b/note.md": "",
        "pkg/unrelated.py": "",
        "pkg/unrelated_data/x.toml": "",
        "other.py": "import pkg.a.two\n",
    }  # fmt: skip
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def names(tree, target):
    return {path.relative_to(tree).as_posix() for path in closure(target, tree)}


def test_closure_of_a_module(tree):
    assert names(tree, "pkg.a.one") == {
        "pkg/__init__.py", "pkg/a/__init__.py", "pkg/a/init_needs.py", "pkg/a/one.py", "pkg/a/two.py",
        "pkg/b/__init__.py", "pkg/b/sub.py", "pkg/a/data.toml", "pkg/a/rows/deep.json", "pkg/unrelated_data/x.toml",
    }  # fmt: skip


def test_closure_of_a_source(tree):
    assert "pkg/a/one.py" in names(tree, "import numpy\nimport pkg.b.sub as t\n")
    assert names(tree, "import torch\nx = 1\n") == set()
    assert names(tree, "import pkg.a.two.x\n") >= {"pkg/a/two.py"}
    assert names(tree, "from other import *\n") >= {"other.py", "pkg/a/two.py"}


def test_lazy_attributes_count_only_where_asked_for(tree):
    lazy = {"pkg/site/display.py", "pkg/site/__init__.py", "pkg/late.py"}
    assert lazy <= names(tree, "from pkg import show\n")
    assert not lazy & names(tree, "from pkg import Text\n") and "pkg/text.py" in names(tree, "from pkg import Text\n")
    assert not lazy & names(tree, "import pkg.b.sub\n")


def test_lazy_attributes_of_any_module_and_in_circles(tree):
    change(tree / "pkg/a/lazy.py", "def __getattr__(name):\n    from .two import x\n    from ..b.sub import y\n")
    assert {"pkg/a/two.py", "pkg/a/lazy.py"} <= names(tree, "from pkg.a.lazy import x\n")
    assert "pkg/b/sub.py" not in names(tree, "from pkg.a.lazy import x\n")
    change(tree / "one.py", "def __getattr__(name):\n    from two import ring\n")
    change(tree / "two.py", "def __getattr__(name):\n    from one import ring\n")
    assert names(tree, "from one import ring\n") == {"one.py", "two.py"}


def change(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("name, text, changes", [
    ("pkg/a/two.py", "x = 2\n", True), ("pkg/__init__.py", "", True), ("pkg/a/data.toml", "k = 2\n", True),
    ("pkg/a/new.json", "[]", True), ("pkg/a/rows/deep.json", "[]", True), ("pkg/b/sub.py", "", True),
    ("pkg/a/model.safetensors", "w", True), ("pkg/a/rows/text.txt.xz", "w", True),
    ("pkg/unrelated.py", "y = 1\n", False), ("pkg/a/lock.json", "[]", False), ("pkg/b/note.md", "x", False),
    ("pkg/site/display.py", "z = 1\n", False), ("pkg/b/new.py", "", False),
])  # fmt: skip
def test_what_changes_the_hash(tree, name, text, changes):
    before = closure_hash("pkg.a.one", tree)
    assert closure_hash("pkg.a.one", tree) == before
    change(tree / name, text)
    assert (closure_hash("pkg.a.one", tree) != before) is changes


def test_the_source_itself_counts(tree):
    assert closure_hash("x = 1\n", tree) != closure_hash("x = 2\n", tree)


def test_a_file_of_the_same_size_with_a_new_date_is_read_again(tree):
    before = closure_hash("pkg.a.one", tree)
    path = tree / "pkg/a/two.py"
    stamp = path.stat().st_mtime_ns
    path.write_text(path.read_text().replace("x = 1", "x = 2"))
    os.utime(path, ns=(stamp + 1, stamp + 1))
    assert closure_hash("pkg.a.one", tree) != before


def test_a_renamed_module_changes_the_hash(tree):
    change(tree / "m1.py", "")
    change(tree / "m2.py", "")
    assert closure_hash("m1", tree) != closure_hash("m2", tree)


def test_errors_name_the_place(tree):
    with pytest.raises(BlocklibError, match="no module 'pkg.none'"):
        closure("pkg.none", tree)
    change(tree / "pkg/broken.py", "def (\n")
    with pytest.raises(BlocklibError, match=r"broken.py:1: not valid Python"):
        closure("pkg.broken", tree)
    with pytest.raises(BlocklibError, match="^<source>:1: not valid Python"):
        imports_of("a\0b")


def test_every_import_statement_counts():
    source = "import a, b.c as d\nfrom e import f\nimport g\ndef h():\n    from .i import j\n"
    assert [(i.module, i.names, i.level, i.lazy) for i in imports_of(source)] == [
        ("a", (), 0, False), ("b.c", (), 0, False), ("e", ("f",), 0, False), ("g", (), 0, False),
        ("i", ("j",), 1, False)]  # fmt: skip


def test_an_unchanged_file_is_parsed_once(tree, monkeypatch):
    parsed = []
    real = fingerprint.imports_of
    monkeypatch.setattr(fingerprint, "imports_of", lambda source, name="": parsed.append(name) or real(source, name))
    monkeypatch.setattr(fingerprint, "_parsed", {})
    for _ in range(3):
        closure("pkg.a.two", tree)
    assert sorted(parsed) == sorted({*parsed}) and str(tree / "pkg/a/two.py") in parsed


def test_what_another_process_parsed_is_recalled_by_content(tree, monkeypatch):
    monkeypatch.setattr(fingerprint, "_parsed", {})
    before = [names(tree, target) for target in ("pkg.a.one", "import pkg\npkg.show()\n", "from pkg import show\n")]
    kept = json.loads(json.dumps(fingerprint.known_imports()))
    monkeypatch.setattr(fingerprint, "_parsed", {})
    fingerprint.recall(kept)
    monkeypatch.setattr(fingerprint, "imports_of", lambda source, name="": imports_of(source) if not name else 1 / 0)
    after = [names(tree, target) for target in ("pkg.a.one", "import pkg\npkg.show()\n", "from pkg import show\n")]
    assert after == before and "pkg/site/display.py" in after[2] - after[1]
    (tree / "pkg/a/two.py").write_text("import pkg.late\n")  # a content that nobody has parsed
    with pytest.raises(ZeroDivisionError):
        closure("pkg.a.one", tree)


def test_facts_do_not_hang_on_the_machinery_that_reads_pages():
    files = {path.relative_to(ROOT).as_posix() for path in closure("blocklib.theory.paths")}
    assert "blocklib/theory/paths.py" in files and not any(name.startswith("blocklib/facts/") for name in files)
    assert closure("from blocklib.facts.registry import Chip, Model, fact\n") == []
    used = {path.relative_to(ROOT).as_posix() for path in closure("from blocklib.facts.registry import evaluate\n")}
    assert "blocklib/facts/registry.py" in used


def test_warm_calls_are_fast():
    source = "from blocklib import show\nfrom blocklib.theory.paths import implicit_paths\n"
    closure_hash(source)
    begin = time.perf_counter()
    for _ in range(10):
        closure_hash(source)
    assert (time.perf_counter() - begin) / 10 < 0.03


def test_the_hash_does_not_depend_on_the_hash_seed():
    code = "from blocklib.facts.fingerprint import closure_hash; print(closure_hash('blocklib.theory.norm_ops'))"
    seen = {
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
                       capture_output=True, text=True).stdout for seed in ("1", "2")
    }  # fmt: skip
    assert len(seen) == 1


def test_versions_without_import():
    found = versions(("pytest", "no-such-package-here"))
    assert found["pytest"][0].isdigit() and found["no-such-package-here"] == "absent"
