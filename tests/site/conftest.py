"""A small bilingual project in a folder of its own, built by the real MkDocs with the real templates."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PAGE = """---
title: {title}
description: {title}.
---

# {title} {{ #top }}

{text}
"""


@dataclass
class Project:
    """Writes pages and snippets, builds, and reads what came out."""

    root: Path

    @property
    def site(self) -> Path:
        return self.root / "site"

    def page(self, name: str, zh: str, en: str, facts: str = "") -> None:
        for lang, text in (("zh", zh), ("en", en)):
            self.write(f"docs/{name}.{lang}.md", PAGE.format(title=f"{name} {lang}", text=text))
        if facts:
            self.write(f"docs/{name}.facts", facts)

    def both(self, name: str, text: str) -> None:
        self.page(name, text, text)

    def snippet(self, name: str, source: str) -> None:
        self.write(f"snippets/{name}", source)

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        return target

    def sign(self) -> None:
        """Sign all pairs, as their author would."""
        from blocklib.facts.files import page_paths
        from blocklib.site.twins import sign

        pages = sorted(p.removeprefix("docs/").removesuffix(".zh.md") for p in page_paths(self.root) if ".zh." in p)
        assert sign(self.root, pages) == []

    def env(self, **more: str) -> dict[str, str]:
        return {
            **os.environ, "NO_MKDOCS_2_WARNING": "1", "BLOCKLIB_CACHE": str(self.root / ".cache"),
            "SOURCE_COMMIT": "abc123", "SITE_URL": "https://books.example/two/", **more,
        }  # fmt: skip

    def build(self, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mkdocs", "build", *options]
        return subprocess.run(command, cwd=self.root, env=self.env(**env), capture_output=True, text=True, timeout=120)

    def html(self, address: str) -> str:
        return (self.site / address / "index.html").read_text("utf-8")


def faults(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The fault lines of a failed build."""
    lines = done.stderr.splitlines()
    start = next((i for i, line in enumerate(lines) if "fault(s):" in line), len(lines))
    return [line for line in lines[start + 1 :] if line.startswith(("docs/", "mkdocs.yml", "package.json"))]


def make_project(root: Path) -> Project:
    project = Project(root)
    shutil.copytree(ROOT / "docs/assets", root / "docs/assets")
    # Not under the name of the package, which a folder without code would hide.
    shutil.copytree(ROOT / "blocklib/site/theme", root / "theme")
    (root / "node_modules").symlink_to(ROOT / "node_modules")
    (root / "snippets").mkdir()
    (root / "scripts").mkdir()
    shutil.copy2(ROOT / "scripts/mkdocs_hooks.py", root / "scripts")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8").replace("blocklib/site/theme", "theme")
    start, end = settings.index("\nnav:"), settings.index("\nnot_in_nav:")
    settings = settings[:start] + settings[end:].replace(
        "not_in_nav: |\n", "not_in_nav: |\n  reference/*.md\n  more.md\n"
    ).replace("watch: [blocklib, snippets]", "watch: [snippets]")
    project.write("mkdocs.yml", settings)
    for name in ("claims.toml", "terms.toml", "sources.bib"):
        project.write(f"docs/{name}", "")
    return project


@pytest.fixture
def project(tmp_path) -> Project:
    return make_project(tmp_path)
