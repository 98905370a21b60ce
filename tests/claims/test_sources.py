"""docs/sources.bib: read by one library and checked against another; exported, formatted, its faults found."""

from __future__ import annotations

import re

import bibtexparser
import pytest

from blocklib.claims import sources
from tests.conftest import ROOT
from tests.minisite import FILES, write_site

ENTRY = FILES["docs/sources.bib"]


def load(tmp_path, text):
    (tmp_path / "docs").mkdir(exist_ok=True)
    (tmp_path / "docs/sources.bib").write_text(text, encoding="utf-8")
    return sources.load(tmp_path)


def test_reference_in_both_languages(tmp_path):
    source = load(tmp_path, ENTRY).entries["veit2016"]
    link = '<a href="https://arxiv.org/abs/1605.06431">'
    title = "Residual Networks Behave Like Ensembles of Relatively Shallow Networks</a>"
    assert source.reference("en") == (
        f"Andreas Veit, Michael Wilber and Serge Belongie. <cite>{link}{title}</cite>. 2016, arXiv:1605.06431."
    )
    assert (
        source.reference("zh")
        == f"Andreas Veit、Michael Wilber、Serge Belongie。《{link}{title}》。2016，arXiv:1605.06431。"
    )


@pytest.mark.parametrize(
    ("authors", "en", "zh"),
    [
        ("Lu, Ann", "Lu 2016", "Lu 2016"),
        ("Lu, Ann and Bo, Cy", "Lu and Bo 2016", "Lu 与 Bo 2016"),
        ("Lu, Ann and Bo, Cy and De, Ed", "Lu et al. 2016", "Lu 等 2016"),
        ("Lu, Ann and others", "Lu et al. 2016", "Lu 等 2016"),
        ("{Kimi Team}", "Kimi Team 2016", "Kimi Team 2016"),
        (r"Kaiser, {\L}ukasz and R{\'e}, Christopher", "Kaiser and Ré 2016", "Kaiser 与 Ré 2016"),
        ("de Jong, Michiel", "de Jong 2016", "de Jong 2016"),
    ],
)
def test_short_labels(tmp_path, authors, en, zh):
    text = ENTRY.replace("Veit, Andreas and Wilber, Michael and Belongie, Serge", authors)
    source = load(tmp_path, text).entries["veit2016"]
    assert (source.label("en"), source.label("zh")) == (en, zh)


def test_export_reads_back_and_keeps_our_notes_back(tmp_path):
    source = load(tmp_path, ENTRY).entries["veit2016"]
    assert "annote" not in source.bibtex()
    again = load(tmp_path, source.bibtex()).entries["veit2016"]
    assert (again.title, again.authors, again.link) == (source.title, source.authors, source.link)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("  year = {2016},\n", "", 1, "year is missing"),
        ("{2016}", "{in press}", 1, "is not a year"),
        ("  author = {Veit, Andreas and Wilber, Michael and Belongie, Serge},\n", "", 1, "author is missing"),
        ("  eprint = {1605.06431},\n", "  url = {ftp://x},\n", 1, "no way to find it"),
        ("title = {Residual", "title = {{Residual", 9, "not valid BibTeX"),
    ],
)
def test_faults_have_their_lines(tmp_path, old, new, line, message):
    write_site(tmp_path, sign=False)
    assert ENTRY.count(old) == 1
    (tmp_path / "docs/sources.bib").write_text(ENTRY.replace(old, new))
    problems = [p for p in sources.check(tmp_path) if p.path == "docs/sources.bib"]
    assert message in problems[0].message and (problems[0].line == line or "BibTeX" in message)


def test_doi_and_url_are_links(tmp_path):
    doi = load(tmp_path, ENTRY.replace("eprint = {1605.06431}", "doi = {10.1/x}")).entries["veit2016"]
    assert doi.link == "https://doi.org/10.1/x"
    url = load(tmp_path, ENTRY.replace("eprint = {1605.06431}", "url = {https://a.b/c}")).entries["veit2016"]
    assert url.link == "https://a.b/c"


def test_cited_figures_count_as_citations(tmp_path):
    write_site(tmp_path, sign=False)
    cited = tmp_path / "blocklib/facts/cited.toml"
    cited.parent.mkdir(parents=True)
    cited.write_text('[a]\nsource = "veit2016"\n\n[b]\nsource = "veit2017"\nplace = "Table 1"\n')
    assert [(p.line, p.message) for p in sources.check(tmp_path)] == [
        (2, "fact a: veit2016 without a table or section"),
        (5, "fact b: no entry 'veit2017' in docs/sources.bib; did you mean 'veit2016'?"),
    ]


def test_the_site_s_own_sources_by_another_reader():
    text = (ROOT / "docs/sources.bib").read_text(encoding="utf-8")
    library = sources.load(ROOT)
    assert library.problems == ()
    other = {e.key: {f.key: f.value for f in e.fields} for e in bibtexparser.parse_string(text).entries}
    assert set(other) == set(library.entries)
    for key, source in library.entries.items():
        assert source.raw["year"] == other[key]["year"]
        assert source.title == re.sub(r"[{}]", "", " ".join(other[key]["title"].split()))
        assert len(source.authors) == other[key]["author"].count(" and ") + 1
