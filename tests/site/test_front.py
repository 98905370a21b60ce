"""Front matter that the generator would drop in silence is a fault with its line."""

from __future__ import annotations

import pytest

from blocklib.site import front
from tests.conftest import ROOT


def found(tmp_path, text: str) -> list[str]:
    (tmp_path / "docs").mkdir(exist_ok=True)
    (tmp_path / "docs/x.en.md").write_text(text, "utf-8")
    return [str(problem) for problem in front.check(tmp_path)]


def test_the_site_s_own_pages():
    assert front.check(ROOT) == []


def test_a_sound_front_matter(tmp_path):
    assert found(tmp_path, "---\ntitle: A page\ndescription: What it is.\nclass: tl-home\n---\n\n# A page\n") == []


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('---\ntitle: A page\ndescription: "open\n---\n\n# x\n', 3, "is not YAML"),
        ("---\ntitle: A: page\ndescription: x\n---\n\n# x\n", 2, "is not YAML"),
        ("---\n- title\n---\n", 2, "name: value"),
        ("---\ntitle: A page\n---\n", 1, "without a description"),
        ("---\ntitle:\ndescription: x\n---\n", 1, "without a title"),
        ("# A page\n", 1, "no front matter"),
    ],
)
def test_a_planted_fault(tmp_path, text, line, says):
    (problem,) = found(tmp_path, text)
    assert problem.startswith(f"docs/x.en.md:{line}: ") and says in problem
