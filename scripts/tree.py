"""The tree in README.md: what stands at the top, and each room of the library by the first line of its docstring.

``python scripts/tree.py`` prints it; ``--write`` puts it into README.md between its two markers. A test holds the two equal.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START, END = "<!-- tree: made by scripts/tree.py -->\n", "<!-- /tree -->"

TOP = {
    "mkdocs.yml": "the site: navigation, theme, Markdown extensions",
    "docs/": "a page is X.zh.md + X.en.md + X.facts + X.claims.toml side by side, a lesson one X.py; sources and terms as data",
    "snippets/": "the code that pages show and run, one file a block, used by both languages",
    "blocklib/": "the tested library",
    "scripts/": "thin commands and the MkDocs hook file",
    "tests/": "mirrors blocklib/, then claims_evidence/, pages/, site/, browser/ (Chromium), mutations/ (planted faults), mutants/",
    "Makefile": "the verbs: serve, test, test-all, build, check, fix, lock, lab, lab-check, bench, mutate, help",
    "pyproject.toml": "the package, its extras, tool settings",
    "requirements.txt": "exact pins of every Python package",
    "package.json": "exact pins of every npm package",
}
ORDINARY = {".ci", ".github", ".gitignore", ".npmrc", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE",
            "LICENSE-TEXT.md", "README.md", "package-lock.json"}  # fmt: skip


def first_line(package: Path) -> str:
    """First line of the package's docstring, without its full stop."""
    doc = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""
    return doc.partition("\n")[0].partition(". ")[0].rstrip(".").replace("``", "")


def tree(root: Path = ROOT) -> str:
    """The fenced tree."""
    rows = []
    for name, what in TOP.items():
        rows.append((name, what))
        if name == "blocklib/":
            rooms = sorted(p.parent for p in (root / "blocklib").glob("*/__init__.py"))
            rows += [(f"  {room.name}/", first_line(room)) for room in rooms]
    width = max(len(name) for name, _ in rows)
    return "```\n" + "\n".join(f"{name:<{width}}  {what}" for name, what in rows) + "\n```\n"


def unlisted(root: Path = ROOT) -> set[str]:
    """Top-level entries that git tracks and that neither the tree nor the list of ordinary files names."""
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    tops = {line.split("/")[0] for line in tracked if line}
    return tops - {name.rstrip("/") for name in TOP} - ORDINARY


def replaced(readme: str, block: str) -> str:
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    return before + START + block + END + after


if __name__ == "__main__":
    if "--write" in sys.argv:
        path = ROOT / "README.md"
        path.write_text(replaced(path.read_text("utf-8"), tree()), "utf-8")
    else:
        print(tree(), end="")
