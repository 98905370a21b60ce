"""A lesson's source: read as jupytext reads it, each language a page line for line, faults of form at their lines."""

from __future__ import annotations

import jupytext
import pytest

from blocklib.facts import lessons
from blocklib.facts.files import page_paths, read_text
from blocklib.problems import Problem
from blocklib.site import twins
from blocklib.text import LANGS
from tests.conftest import ROOT
from tests.site.a_lesson import LESSON, PATH


def where(lesson: lessons.Lesson) -> list[int]:
    return [line for line, _ in lesson.faults]


@pytest.mark.parametrize("path", [PATH, *lessons.lesson_paths(ROOT)])
def test_jupytext_reads_the_same_cells(path):
    source = LESSON if path == PATH else (ROOT / path).read_text("utf-8")
    ours = [("code" if cell.code else "markdown", cell.source) for cell in lessons.read(source).cells]
    theirs = [(cell.cell_type, cell.source) for cell in jupytext.reads(source, fmt="py:percent").cells]
    assert theirs[0][0] == "raw" and "title.zh" in theirs[0][1]
    assert ours == theirs[1:]


@pytest.mark.parametrize("path", [PATH, *lessons.lesson_paths(ROOT)])
def test_every_line_of_a_page_is_the_lesson_s(path):
    source = LESSON if path == PATH else (ROOT / path).read_text("utf-8")
    lines, lesson = source.split("\n"), lessons.read(source)
    kept = {lang: 0 for lang in LANGS}
    for lang in LANGS:
        for number, text in enumerate(lesson.page(lang).split("\n"), 1):
            before = lines[number - 1] if number <= len(lines) else ""
            if text and not text.startswith("```"):
                assert text in (before, before[2:]) or before.replace(f".{lang}:", ":")[2:] == text, (number, text)
                kept[lang] += 1
    cells = [c for c in lesson.cells if c.source.strip()]
    assert cells and min(kept.values()) > sum(c.source.count("\n") for c in lesson.code)


def test_a_page_has_its_own_language_and_all_code():
    page = lessons.read(LESSON).page("zh")
    assert page.startswith("---\ntitle: 一课\n\ndescription: 试一试。\n\n---\n")
    assert "导语" in page and "A lead" not in page and page.count('exec="on"') == 2
    assert [cell for cell in lessons.CELL.findall(page)] == ["1", "2"]
    assert '````python exec="on" cell="2"' in page  # a fence longer than any in the code


FORM = {
    "no front matter": (LESSON.replace("# ---\n", "", 1), [1], "begins with `# ---`"),
    "front matter left open": (LESSON.replace("# ---\n\n", "\n", 1), [1], "never closed"),
    "a language that is none": (LESSON.replace("title.en", "title.fr"), [3], "title.fr: names no language"),
    "a line without comment": (LESSON.replace("# 导语，", "导语，"), [11], "begins with `# `"),
    "an unknown cell": (LESSON.replace('# %% [markdown] lang="zh"', "# %% [markdown]", 1), [8, 14], "begins no cell"),
    "an empty cell": (LESSON.replace("counted = 2**8  # 数出来的 | counted\ncounted\n", "").replace(
        "from blocklib import Text, show\n\n", "", 1), [20], "cell 1 is empty"),
    "cells without a line between": (LESSON.replace("counted\n\n# %%", "counted\n# %%", 1), [25], "an empty line belongs"),
    "text before the first cell": (LESSON.replace("# ---\n\n#", "# ---\nx = 1\n#", 1), [7], "stands in no cell"),
    "two in one language": (LESSON.replace('lang="en"', 'lang="zh"', 1), [8, 14], "no twin"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORM)
def test_faults_of_form_have_their_lines(name):
    source, expected, says = FORM[name]
    lesson = lessons.read(source)
    assert where(lesson) == expected and says in str(lesson.faults)


def test_control_a_good_lesson_has_no_fault():
    assert lessons.read(LESSON).faults == ()
    assert all(lessons.read(read_text(ROOT, path)[0]).faults == () for path in lessons.lesson_paths(ROOT))


def test_a_lesson_stands_for_two_pages(tmp_path):
    (tmp_path / "docs/lab").mkdir(parents=True)
    (tmp_path / PATH).write_text(LESSON, "utf-8")
    assert page_paths(tmp_path) == ["docs/lab/first.en.md", "docs/lab/first.zh.md"]
    told = lessons.told(
        tmp_path, [Problem("docs/lab/first.zh.md", 3, "as in docs/lab/first.en.md:4; docs/lab/first.en.md lacks it")]
    )
    assert [str(p) for p in told] == [f"{PATH}:3: as in {PATH}:4; {PATH} (en) lacks it"]
    (tmp_path / "docs/lab/first.zh.md").write_text("# 一 { #a }\n", "utf-8")
    assert [p.path for p in twins.page_files(tmp_path)[1]] == [
        "docs/lab/first.zh.md"
    ]  # a page and a lesson of one name


def test_code_and_the_other_language_leave_a_signature_alone():
    def hashes(source):
        return [twins.content_hash(lessons.read(source).prose(lang)) for lang in LANGS]

    zh, en = hashes(LESSON)
    assert hashes(LESSON.replace("2**8", "2**9")) == [zh, en]
    assert hashes(LESSON.replace("A lead", "A longer\n# lead")) == [
        zh,
        hashes(LESSON.replace("A lead", "A longer\n# lead"))[1],
    ]
    assert hashes(LESSON.replace("导语", "引子"))[1] == en and hashes(LESSON.replace("导语", "引子"))[0] != zh
    assert hashes(LESSON.replace("A try", "A test"))[1] != en


SHORT = """# ---
# title.zh: 一
# title.en: One
# ---

# %% [markdown] lang="zh"
# 甲
# 乙

# %% [markdown] lang="en"
# A
# B

# %%
x = "```"

# %% [markdown] lang="zh"
# 丙

# %% [markdown] lang="en"
# C"""


def test_a_short_lesson_to_the_letter():
    lesson = lessons.read(SHORT)
    code = '````python exec="on" cell="1"\nx = "```"\n````\n'
    assert lesson.page("zh") == "---\ntitle: 一\n\n---\n\n\n甲\n乙\n" + "\n" * 5 + code + "\n丙\n"
    assert lesson.page("en") == "---\n\ntitle: One\n---\n" + "\n" * 6 + "A\nB\n\n" + code + "\n" * 4 + "C\n"
    assert [(c.lang, c.number, c.line, c.end) for c in lesson.cells] == [
        ("zh", 0, 7, 10), ("en", 0, 11, 14), ("", 1, 15, 17), ("zh", 0, 18, 20), ("en", 0, 21, 22)]  # fmt: skip
    assert lesson.faults == ()
    assert '\n```python exec="on" cell="1"\nx = "a"\n```\n' in lessons.read(SHORT.replace('"```"', '"a"')).page("zh")


@pytest.mark.parametrize(("source", "faults"), [
    ("# ---\n# ---\n\n# %%\nx = 1\n", []), ("# ---\nx\n# title.fr: a\ny\n# ---\n\n# %%\nx = 1", [2, 3, 4]),
    ("# ---\n# ---\n\n# %%\nx = 1\n\n# %%", [7]), ("# ---\n# ---\n\n# %%\n\n\n", [4]),
])  # fmt: skip
def test_front_matter_and_empty_cells(source, faults):
    assert where(lessons.read(source)) == faults


def test_only_pages_of_lessons_are_told_by_another_name(tmp_path):
    (tmp_path / "docs/lab").mkdir(parents=True)
    (tmp_path / PATH).write_text(LESSON, "utf-8")
    said = "docs/other.en.md:4 and docs/other.zh.md; docs/lab/first.en.md: no"
    assert [p.message for p in lessons.told(tmp_path, [Problem("docs/other.en.md", 3, said)])] == [
        f"docs/other.en.md:4 and docs/other.zh.md; {PATH} (en): no"]  # fmt: skip
