"""Terms: the file, the forms refused in prose, and what must raise no alarm."""

from __future__ import annotations

import re

import pytest

from blocklib.facts.registry import default
from blocklib.site.terms import Speller, check, load
from tests.conftest import ROOT
from tests.minisite import edit, line_of, write_site

ZH, EN = "docs/primer/paths.zh.md", "docs/primer/paths.en.md"
OWN = load(ROOT)


def wrong(text, lang):
    return [form for _, form, _ in Speller(OWN.terms, lang).find(text)]


def test_the_site_s_own_terms():
    assert OWN.problems == ()
    assert len(OWN.terms) >= 60
    assert all(term.note.zh and term.note.en for term in OWN.terms)


@pytest.mark.parametrize(
    ("lang", "text", "forms"),
    [
        ("zh", "残余流贯穿各块", ["残余流"]),
        ("zh", "用跳跃连接绕过去", ["跳跃连接"]),
        ("zh", "这叫\n前置归\n  一化", ["前置归\n  一化"]),
        ("zh", "层规范化比批标准化好", ["层规范化", "批标准化"]),
        ("zh", "LayerNorm 不写作 Layernorm", ["Layernorm"]),
        ("zh", "学习率 warmup 一下", ["warmup"]),
        ("en", "Layernorm and layer norms", ["Layernorm", "layer norms"]),
        ("en", "a FeedForward network", ["FeedForward"]),
        ("en", "the feed\nforward part", ["feed\nforward"]),
        ("en", "Normalization is normalized", ["Normalization", "normalized"]),
        ("en", "counted in FLOPS", ["FLOPS"]),
        ("en", "self attention over 4 heads", ["self attention"]),
    ],
)
def test_forms_that_are_refused(lang, text, forms):
    assert wrong(text, lang) == forms


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("zh", "LayerNorm（层归一化）与 RMSNorm 都是归一化"),
        ("zh", "残差流里的 token，经 KV 缓存（KV cache）取回"),
        ("zh", "分组查询注意力（GQA）只缓存少数几组 key 与 value"),
        ("en", "LayerNorm, RMSNorm and BatchNorm are norms; a feed-forward network (FFN) is not"),
        ("en", "Count in FLOPs, not in seconds; FLOP/s is a rate"),
        ("en", "self-attention, cross-entropy, warm-up, pre-norm, Pre-norm"),
        ("en", "prenormal and superlayernormal are other words"),
        ("en", "KV caches in SwiGLU models"),
    ],
)
def test_forms_that_are_right(lang, text):
    assert wrong(text, lang) == []


def test_code_links_ids_and_formulas_are_not_prose(tmp_path):
    site = write_site(tmp_path, sign=False)
    edit(site, EN, "An opening sentence.",
         "Call `layernorm(x)`, see [it](layernorm.md#layernorm), $\\text{layernorm}$, <span class=\"layernorm\">x</span>.\n\n"
         "```python\nlayernorm(x)\n```\n\n### Norm { #layernorm }")  # fmt: skip
    assert check(site) == []
    edit(site, EN, "Call", "Call layernorm,")
    assert [(p.path, p.line) for p in check(site)] == [(EN, line_of(site, EN, "Call layernorm"))]


def test_titles_of_cited_works_keep_their_spelling(tmp_path):
    site = write_site(tmp_path, sign=False)
    title = "Layernorm Networks Behave Like Ensembles"
    edit(site, "docs/sources.bib", "Residual Networks Behave Like Ensembles of Relatively Shallow Networks", title)
    edit(site, EN, "An opening sentence.", f"The paper “{title}” says so.")
    assert check(site) == []
    edit(site, EN, title, "Layernorm Networks")
    assert len(check(site)) == 1


def test_where_the_form_stands_and_what_to_write(tmp_path):
    site = write_site(tmp_path, sign=False)
    edit(site, ZH, "/// exhibit | path-counts", "/// exhibit | path-counts\n残余流\n")
    edit(site, "docs/claims.toml", "Most implementations do so.", "Most residue streams do so.")
    problems = check(site)
    assert [(p.path, p.line) for p in problems] == [
        ("docs/claims.toml", line_of(site, "docs/claims.toml", "residue streams")),
        (ZH, line_of(site, ZH, "残余流")),
    ]
    assert "'残差流'" in problems[1].message and "docs/terms.toml, line 1" in problems[1].message


def test_a_form_in_the_claims_beside_a_page(tmp_path):
    site = write_site(tmp_path, sign=False)
    text = (site / "docs/claims.toml").read_text()
    at = text.index("[add-then-norm]")
    (site / "docs/claims.toml").write_text(text[:at])
    beside = "docs/primer/paths.claims.toml"
    (site / beside).write_text(text[at:].replace("Most implementations", "Most residue streams"))
    assert [(p.path, p.line) for p in check(site)] == [(beside, 5)]


GOOD = '[[term]]\nid = "a"\nzh = "甲"\nen = "a term"\nforbidden_en = ["bad"]\nnote.zh = "某"\nnote.en = "x"\n'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GOOD.replace('id = "a"', 'id = "A b"'), 2, "lower-case ASCII"),
        (GOOD.replace('zh = "甲"\n', ""), 1, "zh is missing"),
        (GOOD.replace('note.en = "x"\n', ""), 1, "note.en is missing"),
        (GOOD.replace('["bad"]', '"bad"'), 5, "list of strings"),
        (GOOD.replace("forbidden_en", "forbiden_en"), 5, "unknown field"),
        (GOOD.replace('["bad"]', '["a term"]'), 5, "the right form of 'a'"),
        (GOOD + GOOD.replace("甲", "乙").replace("a term", "another"), 8, "id 'a' stands already in line 1"),
        (GOOD + GOOD.replace('"a"', '"b"').replace("a term", "another"), 8, "zh '甲' stands already in line 1"),
        (GOOD + "[terms]\n", 8, "unknown table"),
        (GOOD + "x\n", 8, "not valid TOML"),
    ],
)
def test_faults_of_the_file(tmp_path, text, line, message):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/terms.toml").write_text(text)
    problems = load(tmp_path).problems
    assert [(p.path, p.line) for p in problems] == [("docs/terms.toml", line)]
    assert message in problems[0].message


BARE = re.compile(r"(?<![A-Za-z-])(?:mask|head|norm|cache|skip|stream|block)(?![A-Za-z_])")


def test_what_a_number_is_keeps_to_the_terms():
    """The line of a fact is what its card says: the terms of the pages, and no English where Chinese has a word."""
    registry = default()
    for name in registry.names():
        about = registry.lookup(name).about
        assert not BARE.findall(about.zh), name
        assert not wrong(about.zh, "zh") + wrong(about.en, "en"), name
