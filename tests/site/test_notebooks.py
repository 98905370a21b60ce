"""Lessons: run like a notebook, cached like a block, a page like any other, and a notebook to download."""

from __future__ import annotations

import json
import re

import nbformat
import pytest

from blocklib.charts import Axis, Chart, Series, State, Table, shown
from blocklib.facts import lessons
from blocklib.site import cache, notebooks, notebooks_file, notebooks_run
from blocklib.site.display import Recorder, show
from blocklib.text import LANGS, Text
from tests.conftest import ROOT
from tests.site.a_lesson import LESSON, PATH
from tests.site.conftest import faults

# ---- running ---------------------------------------------------------------------------------------------


def lesson_of(*cells: str) -> lessons.Lesson:
    return lessons.read("# ---\n# title.zh: x\n# ---\n\n" + "".join(f"# %%\n{cell}\n\n" for cell in cells))


def ran(tmp_path, *cells: str, lang: str = "en") -> list[notebooks_run.Outcome]:
    return notebooks_run.run(tmp_path, PATH, lesson_of(*cells), lang)[0]


def printed(outcome: notebooks_run.Outcome) -> str:
    return "".join(part[1] for part in outcome.parts)


def test_cells_share_names_and_show_the_value_of_their_last_expression(tmp_path):
    found = ran(tmp_path, "x = 2", "x + 1", "print(x)\nx * 2", "x;", "None", "'a'")
    assert [printed(o) for o in found] == ["", "3\n", "2\n4\n", "", "", "'a'\n"]
    assert not any(o.fault for o in found)


def test_a_lesson_runs_alone(tmp_path):
    import os

    import torch

    before = os.getcwd(), torch.get_default_dtype(), dict(os.environ)
    found = ran(
        tmp_path, "import os, torch\nos.environ['X'] = '1'\ntorch.set_default_dtype(torch.float64)", "leaked = 1"
    )
    assert (os.getcwd(), torch.get_default_dtype(), dict(os.environ)) == before and not any(o.fault for o in found)
    assert "NameError" in ran(tmp_path, "leaked")[0].fault  # nothing passes from one run to the next


def test_every_failure_is_found_at_its_line_and_its_consequences_are_none(tmp_path):
    found = ran(tmp_path, "good = 1", "bad = 1 / 0", "print(bad)", "later = bad + 1", "later", "good / 0", "other")
    said = [(o.line, o.fault, o.waits) for o in found]
    assert said == [
        (6, "", ""), (9, "ZeroDivisionError: division by zero", ""), (0, "", "bad"), (0, "", "bad"), (0, "", "later"),
        (21, "ZeroDivisionError: division by zero", ""), (24, "NameError: name 'other' is not defined", ""),
    ]  # fmt: skip


def test_the_line_is_the_cell_s_own_even_when_the_library_raises(tmp_path):
    found = ran(tmp_path, "from blocklib.theory.paths import implicit_paths\n\nimplicit_paths(-1)")
    assert found[0].line == 8 and "DomainError" in found[0].fault


class TestCache:
    """The key covers code, what it imports, versions and, where it matters, the language."""

    def outcomes(self, tmp_path, lesson, lang, store):
        return [o.parts for o in notebooks_run.outcomes(tmp_path, PATH, lesson, lang, store)]

    def test_a_second_run_is_recalled_and_the_same(self, tmp_path, monkeypatch):
        store, lesson = (
            cache.Store(tmp_path / "c"),
            lesson_of("from blocklib import show, Text\nshow(Text('甲', 'a'))", "1"),
        )
        cold = {lang: self.outcomes(tmp_path, lesson, lang, store) for lang in LANGS}
        monkeypatch.setattr(notebooks_run, "run", lambda *a: pytest.fail("ran again"))
        assert {lang: self.outcomes(tmp_path, lesson, lang, store) for lang in LANGS} == cold
        assert cold["zh"] != cold["en"]

    def test_output_without_a_language_is_kept_once_and_failures_never(self, tmp_path):
        store = cache.Store(tmp_path / "c")
        self.outcomes(tmp_path, lesson_of("1 + 1"), "zh", store)
        runs = notebooks_run.run
        try:
            notebooks_run.run = lambda *a: pytest.fail("ran again")
            assert self.outcomes(tmp_path, lesson_of("1 + 1"), "en", store) == [[["text", "2\n"]]]
        finally:
            notebooks_run.run = runs
        bad = lesson_of("1 / 0")
        assert [notebooks_run.outcomes(tmp_path, PATH, bad, "zh", store)[0].fault for _ in range(2)][1]

    def test_prose_is_no_part_of_the_key_and_code_and_imports_are(self, tmp_path):
        (tmp_path / "blocklib").mkdir()
        (tmp_path / "blocklib/__init__.py").write_text("")
        (tmp_path / "blocklib/used.py").write_text("N = 1\n")
        lesson = lesson_of("from blocklib.used import N\nN")
        first = notebooks_run.stamp(tmp_path, lesson)
        moved = lessons.read(
            "\n".join(["# ---", "# title.zh: y", "# more: x", "# ---", "", "# %%", lesson.code[0].source, ""])
        )
        assert notebooks_run.stamp(tmp_path, moved) == first
        assert notebooks_run.stamp(tmp_path, lesson_of("from blocklib.used import N\nN + 1")) != first
        (tmp_path / "blocklib/used.py").write_text("N = 22\n")
        assert notebooks_run.stamp(tmp_path, lesson) != first


# ---- charts ----------------------------------------------------------------------------------------------


def a_state() -> State:
    return State(
        Chart([Series(Text("误差", "error"), x=[0, 1], y=[1, 2], role="c1")], x=Axis(categories=["a", "b"]),
              summary=Text("两根柱子。", "Two bars.")),
        Text("误差 **2**。", "The error is **2**."),
        Table((Text("格", "Cell"), Text("误差", "Error")), [("a", 1), ("b", 2)]),
    )  # fmt: skip


def test_a_shown_chart_is_an_exhibit_without_controls():
    with Recorder("zh") as recorder:
        show.chart(a_state(), Text("一张图", "A chart"))
    kind, html, payload = recorder.result()[0]
    html = shown.placed(html, "chart-1", "p.json", "plotly.js")
    assert kind == "chart" and recorder.used_language and "@" not in re.sub(r"@(?=\w+;)", "", html)
    assert 'id="ex-chart-1"' in html and 'role="img"' in html and "两根柱子" in html and "<form" not in html
    assert (
        "误差 <b>2</b>。" in html
        and html.count("<tr>") == 3
        and "tl-exhibit__no" not in html
        and "figcaption" not in html
    )
    assert json.loads(payload)["states"] == [[]] and not re.search(r"#[0-9a-fA-F]{6}\b", html)


def test_outside_a_page_a_chart_is_its_title_sentence_and_table(capsys, monkeypatch):
    monkeypatch.setenv("BLOCKLIB_LANG", "en")
    show.chart(a_state(), Text("一张图", "A chart"))
    assert capsys.readouterr().out.splitlines()[:3] == ["A chart", "The error is 2.", "Cell  Error"]
    with pytest.raises(Exception, match="takes a State"):
        show.chart("no chart", "t")


def test_in_jupyter_the_colours_are_those_of_the_light_sheet():
    css = (ROOT / "docs/assets/css/tokens.css").read_text("utf-8")
    light = dict(re.findall(r"--tl-([\w-]+):\s*(#[0-9A-Fa-f]{6});", css.split("@media")[0]))
    assert {k: v for k, v in shown.LIGHT.items() if k in light} == {k: light[k] for k in shown.LIGHT if k in light}
    assert set(shown.LIGHT) - set(light) == {"on-c", "sans"} and shown.LIGHT["on-c"] == light["ink"]
    assert "var(" not in shown.inked(shown.svg(a_state().chart, "en"))


# ---- the page --------------------------------------------------------------------------------------------


@pytest.fixture
def site(project):
    project.both("index", "[one](lab/first.md#again)")
    project.write(PATH, LESSON)
    return project


def test_a_lesson_is_a_page_like_any_other(site):
    site.sign()
    done = site.build("--quiet", "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    for address, words, result in (("lab/first", "导语", "一半 128"), ("en/lab/first", "A lead", "half 128")):
        html = site.html(address)
        main = html[html.index("<article") : html.index("</article>")]
        assert words in main and result in main and main.count("tl-cell__no") == 2 and "<p>256" not in main
        assert main.count("tl-result__tag") == 2 and 'class="tl-num" href="#n-' in main and 'id="numbers"' in main
        assert ("数出来的" in main, "# counted" in main) == (address[:2] != "en", address[:2] == "en")
        assert not re.search(
            r"""(?:src|href)=["'](?:https?:)?//(?!books\.example)|<script src=""|<style|jp-|cdnjs""", html
        )
        assert len(html) < 60_000
        name = f"first.{'en' if address[:2] == 'en' else 'zh'}.ipynb"
        link = re.search(r'<p class="tl-download".*?href="([^"]+)" download', html)[1]
        assert (site.site / address / link).resolve() == (site.site / "assets/notebooks" / name).resolve()
    for lang in LANGS:
        folder = site.site / ("en" if lang == "en" else "")
        rows = json.loads((folder / "search/index.json").read_text("utf-8"))["docs"]
        assert any(row["u"] == "lab/first/#again" for row in rows)
    assert not list(site.site.rglob("*.py"))


def test_warm_bytes_are_cold_bytes(site):
    site.sign()

    def built():
        site.build("--quiet")
        return {p.relative_to(site.site): p.read_bytes() for p in site.site.rglob("*") if p.is_file()}

    cold = built()
    assert built() == cold
    site.write(PATH, LESSON.replace("show(Text(", "show(1, Text("))
    changed = built()
    assert {str(p) for p in cold if changed[p] != cold[p]} >= {
        "lab/first/index.html",
        "assets/notebooks/first.en.ipynb",
    }


def test_in_the_preview_a_failing_cell_stands_on_the_page(site):
    """What the preview shows is what a failed build has written."""
    site.write(PATH, LESSON.replace("counted = 2**8  # 数出来的 | counted", "counted = 2**8 / 0"))
    site.sign()
    done = site.build("--quiet")
    line = LESSON[: LESSON.index("counted = 2**8")].count("\n") + 1
    assert faults(done) == [f"{PATH}:{line}: cell 1: ZeroDivisionError: division by zero"] and done.returncode == 1
    html = site.html("en/lab/first")
    assert "ZeroDivisionError" in html and "Not run: it needs counted" in html and "tl-fault" in html
    assert "没有运行" in site.html("lab/first")


def test_which_files_are_notebooks_is_mkdocs_jupyter_s_to_say(site):
    settings = (site.root / "mkdocs.yml").read_text("utf-8")
    site.write("mkdocs.yml", re.sub(r".*mkdocs-jupyter.*\n", "", settings))
    site.sign()
    done = site.build("--quiet")
    assert done.returncode == 1 and "lab/first.md" in done.stderr


def test_a_notebook_with_outputs_is_refused(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/x.ipynb").write_text("{}")
    assert [(p.path, "percent file" in p.message) for p in notebooks.check(tmp_path)] == [("docs/x.ipynb", True)]


# ---- the download ----------------------------------------------------------------------------------------


def test_the_notebook_is_valid_has_one_language_and_no_outputs():
    for lang in LANGS:
        text = notebooks_file.notebook(lessons.read(LESSON), lang, {})
        made = nbformat.reads(text, as_version=4)
        nbformat.validate(made)
        assert made.metadata.kernelspec.name == "python3" and text == notebooks_file.notebook(
            lessons.read(LESSON), lang, {}
        )
        assert all(cell.get("outputs", []) == [] for cell in made.cells)
        words = "\n".join(cell.source for cell in made.cells)
        assert ("A lead, 256 of them." in words, "导语，256 条。" in words) == (lang == "en", lang == "zh")
        assert "fact:" not in words and "{ #" not in words and "tl-standfirst" not in words
        assert made.cells[0].source.startswith("# 一课" if lang == "zh" else "# A lesson")
        needs = next(cell for cell in made.cells if cell.cell_type == "code")
        assert f'"BLOCKLIB_LANG"] = "{lang}"' in needs.source and "import blocklib" in needs.source


def test_what_only_this_site_knows_becomes_plain_markdown():
    from blocklib.claims.registry import load

    claims = load(ROOT).claims
    text = """\
## 标题 { #x }

数 [28,672][ln]、[4,096](given:d)，见[那里](../a.md#b)，$\\fact{16{,}777{,}216}{implicit_paths?blocks=24}$。
{ .tl-standfirst }

/// claim | affine-misses-phrases
一句话。

两段。
///

/// margin
旁注。
///

/// exhibit | four-phrases
**图。** 说明。
///
"""
    plain = notebooks_file.plain_markdown(text, "zh", claims)
    assert (
        plain
        == """\
## 标题

数 28,672、4,096，见那里，$16{,}777{,}216$。


> **断言（可证）**
>
> 一句话。
>
> 两段。

> 旁注。

> **展品（网页上可操作）**
>
> **图。** 说明。"""
    )


def test_an_exhibit_and_a_claim_may_stand_on_a_page_and_in_a_lesson(site):
    blocks = "/// exhibit | growth\nA caption.\n///\n\n/// claim | usual\nIt is usual.\n///"
    entry = '[usual]\ngrade = "convention"\nledger = "both"\nhow.zh = "惯例。"\nhow.en = "By convention."\n'
    site.write("docs/claims.toml", entry)
    site.both("index", blocks)
    inside = "\n".join(f"# {line}".rstrip() for line in blocks.split("\n"))
    site.write(PATH, LESSON.replace("# { .tl-standfirst }", f"# {{ .tl-standfirst }}\n#\n{inside}"))
    site.sign()
    done = site.build("--quiet", "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    payloads = sorted(p.name for p in (site.site / "assets/exhibits").iterdir())
    assert payloads == ["growth.en.json", "growth.zh.json"]
    for address in ("", "lab/first"):
        html = site.html(address)
        figure = re.search(
            r'<figure class="tl-exhibit" id="ex-growth" data-exhibit="growth" data-payload="([^"]+)"', html
        )
        assert (site.site / address / figure[1]).resolve().is_file() and ">展品 4<" in html
        assert html.count('id="claim-usual"') == 1
    assert site.html("reference/claims").count('id="claim-usual"') == 1
