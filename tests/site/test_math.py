"""Formulas are set at build time, by one process, with faults at their line."""

from __future__ import annotations

import pytest

from blocklib.problems import BlocklibError
from blocklib.site import math
from blocklib.site.cache import Store
from blocklib.site.math import Fault, Formulas, formula_line, link_numbers
from tests.conftest import ROOT


@pytest.fixture
def formulas(tmp_path):
    made = Formulas(ROOT, Store(tmp_path))
    yield made
    made.close()


def inline(tex: str) -> str:
    return f'<p>a <span class="arithmatex">\\({tex}\\)</span> b</p>'


def test_formulas_become_html_and_mathml(formulas):
    html, faults = formulas.render(
        inline("x^2 &lt; \\sqrt{y}") + '\n<div class="arithmatex">\\[\n\\frac{1}{2}\n\\]</div>'
    )
    assert faults == []
    assert html.count("<math") == 2 and html.count('class="katex-html" aria-hidden="true"') == 2
    assert "arithmatex" not in html and '<div class="tl-math">' in html and "<script" not in html


def test_one_process_serves_all_and_none_starts_when_warm(formulas, tmp_path):
    page = inline("a") + inline("b") + inline("a")
    cold, _ = formulas.render(page)
    assert formulas.started == 1
    warm = Formulas(ROOT, Store(tmp_path))
    assert warm.render(page)[0] == cold and warm.started == 0


@pytest.mark.parametrize(
    "tex",
    [
        "\\nosuch",
        "x^",
        "\\frac{1}",
        "\\href{https://example.org}{8}",
        "\\url{http://x}",
        "\\includegraphics{a}",
        "字",
        "é",
    ],
)
def test_refused_formulas_are_faults_and_stay_as_source(formulas, tex):
    html, faults = formulas.render(inline("ok") + inline(tex))
    assert len(faults) == 1 and faults[0].tex == tex and faults[0].message
    assert f"<code>{tex}</code>" in html and "<math" in html and "href" not in html.split("<code>")[0]


def test_a_bound_number_in_a_formula_is_a_link_a_keyboard_reaches(formulas):
    html, faults = formulas.render(inline("2^{24} = \\href{\\#n-paths}{16{,}777{,}216}"))
    assert faults == []
    assert '<a class="tl-num" href="#n-paths">' in html
    assert '<span class="katex-mathml" aria-hidden="true">' in html and 'class="katex-html" aria-hidden' not in html
    assert "<mn href" not in html and "<mrow href" not in html


def test_formulas_without_numbers_keep_their_mathml():
    plain = '<span class="katex-mathml"></span><span class="katex-html" aria-hidden="true"></span>'
    assert link_numbers(plain) == plain


def test_lines_are_found_by_occurrence():
    source = "one $x$\n\ntwo\n$\\bad$ and\n$\\bad$"
    assert formula_line(source, Fault("\\bad", 1, "")) == 4
    assert formula_line(source, Fault("\\bad", 2, "")) == 5
    assert formula_line(source, Fault("absent", 1, "")) == 0


def test_a_missing_package_says_what_to_do(tmp_path):
    with pytest.raises(BlocklibError, match="KaTeX is not installed.*npm ci"):
        Formulas(tmp_path, Store(tmp_path)).render(inline("x"))


def test_a_missing_node_says_what_to_do(monkeypatch, formulas):
    monkeypatch.setenv("NODE", "/no/such/node")
    with pytest.raises(BlocklibError, match="NODE=/no/such/node is not a program"):
        formulas.render(inline("never_seen_before"))


def test_a_process_that_dies_is_reported(formulas, monkeypatch, tmp_path):
    worker = tmp_path / "worker.cjs"
    worker.write_text("throw new Error('planted')")
    monkeypatch.setattr(math, "WORKER", worker)
    with pytest.raises(BlocklibError, match="KaTeX's process ended"):
        formulas.render(inline("z"))
    assert formulas.process is None


@pytest.mark.parametrize(("before", "after"), [("", "，"), ("（", "）。"), ("(", "), "), ("", "; ")])
def test_a_mark_clings_to_its_formula(formulas, before, after):
    html, _ = formulas.render(f'<p>见 {before}<span class="arithmatex">\\(x\\)</span>{after}后</p>')
    assert f'<span class="tl-keep">{before}<span class="katex">' in html
    assert f"</span>{after.strip()}</span>{after[len(after.strip()) :]}后" in html
    assert "tl-keep" not in formulas.render(inline("x"))[0]
