"""The shape of the tree: who may import whom, how long a module runs, what the README shows, what nothing may contain."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import tree  # noqa: E402

# room -> rooms it may import; `site` may import everything, and nothing imports `site` but the front door.
MAY = {
    "facts": {"atlas"},  # a Model parameter is checked against the atlas by name
    "claims": {"facts"},
    "theory": {"facts"},
    "ledger": {"facts"},
    "atlas": {"facts", "ledger", "theory"},
    # claims: how they are graded, as data of exhibits; lab: what of it needs the standard library alone
    "charts": {"ledger", "atlas", "theory", "nn", "facts", "claims", "lab"},
    "nn": {"facts"},
    "lab": {"nn", "facts", "theory"},
}
STANDARD_ONLY = {"theory", "ledger", "atlas", "facts"}
PARSERS = {"claims": {"pybtex"}}
SHARED = {"text", "problems", "exact", "__version__", "show", "Text"}


def tracked(*patterns: str) -> list[Path]:
    out = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).is_file()]


def imports(source: str, package: tuple[str, ...] = ()):
    """Absolute dotted names that ``source`` imports anywhere, a from-import with its names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            name = ".".join(filter(None, (base, node.module)))
            yield from ([f"blocklib.{alias.name}" for alias in node.names] if name == "blocklib" else [name])


def arrow_faults(room: str, source: str) -> list[str]:
    faults = []
    for name in imports(source, ("blocklib", room)):
        top, *rest = name.split(".")
        if top == "blocklib" and rest and rest[0] not in SHARED | {room} and room != "site":
            if rest[0] not in MAY.get(room, set()):
                faults.append(f"{room} imports {name}")
        if room in STANDARD_ONLY | {"claims"} and top != "blocklib":
            if top not in sys.stdlib_module_names | PARSERS.get(room, set()):
                faults.append(f"{room} imports {top}, outside the standard library")
    return faults


@pytest.mark.parametrize(
    "path", tracked("blocklib/*/*.py", "blocklib/*/*/*.py"), ids=lambda p: str(p.relative_to(ROOT))
)
def test_arrows_between_rooms(path):
    room = path.relative_to(ROOT / "blocklib").parts[0]
    assert arrow_faults(room, path.read_text("utf-8")) == []


def test_arrows_control():
    assert arrow_faults("theory", "import torch") == ["theory imports torch, outside the standard library"]
    assert arrow_faults("nn", "from blocklib.site import display") == ["nn imports blocklib.site"]
    assert arrow_faults("theory", "from blocklib import nn") == ["theory imports blocklib.nn"]
    assert arrow_faults("theory", "from ..nn import block") == ["theory imports blocklib.nn"]
    assert arrow_faults("charts", "import math\nfrom blocklib.theory import paths") == []


def test_modules_are_at_most_400_lines():
    long = {str(p.relative_to(ROOT)): n for p in tracked("*.py")
            if (n := p.read_text("utf-8").count("\n")) > 400}  # fmt: skip
    assert long == {}


def test_every_module_says_what_it_is_for():
    bare = [str(p.relative_to(ROOT)) for p in tracked("blocklib/*.py", "scripts/*.py")
            if not ast.get_docstring(ast.parse(p.read_text("utf-8")))]  # fmt: skip
    assert bare == []


def test_readme_shows_the_tree():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert tree.tree() in readme, "run `python scripts/tree.py --write`"
    assert tree.unlisted() == set(), "name it in scripts/tree.py"


def test_readme_tree_control(tmp_path):
    room = tmp_path / "blocklib" / "new"
    room.mkdir(parents=True)
    (room / "__init__.py").write_text('"""A new room."""')
    assert "new/" in tree.tree(tmp_path) and "A new room" in tree.tree(tmp_path)


@pytest.mark.parametrize("verb", sorted(set(re.findall(r"`make ([a-z-]+)`", (ROOT / "README.md").read_text("utf-8")))))
def test_readme_names_only_verbs_that_exist(verb):
    assert re.search(rf"^{verb}:", (ROOT / "Makefile").read_text("utf-8"), re.M)


# Hosts of package registries, by the words in their names, and folders of one machine.
FOREIGN = re.compile(
    r"https?://[\w.-]*(?:npm|pypi|pythonhosted|pytorch|debian)[\w.-]*/|(?<![\w.])/work/|shared/(?:facts|design|seeds)"
)


def foreign(text: str) -> list[str]:
    return FOREIGN.findall(text)


def test_nothing_names_this_machine_or_a_package_host():
    me = Path(__file__).resolve()
    found = {
        str(p.relative_to(ROOT)): f for p in tracked() if p != me and (f := foreign(p.read_text("utf-8", "replace")))
    }
    assert found == {}


def test_foreign_control():
    assert foreign('"resolved": "https://' + 'registry.npm.example/katex"') and foreign("cd " + "/work/" + "main")


@pytest.mark.parametrize(
    "module",
    [
        "blocklib.check",
        "blocklib.facts.check",
        "blocklib.facts.registry",
        "blocklib.ledger",
        "blocklib.atlas",
        "blocklib.theory",
    ],
)
def test_no_torch_behind_the_standard_rooms(module):
    code = f"import sys, {module}; print(sorted({{'torch', 'numpy', 'matplotlib', 'mkdocs'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
