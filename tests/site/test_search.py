"""The index holds what a reader reads; the worker finds words of both languages, names and numbers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from blocklib.site.math import find_node
from blocklib.site.search import LIMIT, Section, entries, index_json, sections

ROOT = Path(__file__).resolve().parents[2]

CONTENT = """
<h1 id="top">残差<a class="headerlink" href="#top">#</a></h1>
<p>第一段，<a class="tl-num" href="#n-x">16,777,216</a> 条路径。<span class="katex"><span class="katex-mathml"><math><mi>x</mi><annotation>noise</annotation></math></span><span class="katex-html" aria-hidden="true">noise</span></span></p>
<h2 id="paths">路径 <em>之和</em></h2>
<div class="tl-run-block"><div class="highlight"><pre><code>hidden_code = 1</code></pre></div></div>
<ul><li>甲</li><li>乙 &amp; 丙</li></ul>
<figure class="tl-exhibit"><p class="tl-live">图中句子</p><details class="tl-data"><table><tr><td>999</td></tr></table></details>
<svg><text>svgtext</text></svg><figcaption>图注</figcaption></figure>
<h3 id="deep">更深</h3><p>末段<br>换行</p>
<h2 id="numbers">本页数字</h2><div data-search-exclude><table><tr><td>账目</td></tr></table></div>
"""


def test_pages_are_cut_at_headings_and_keep_what_is_read():
    found = sections(CONTENT)
    assert [(s.anchor, s.title) for s in found] == [
        ("", "残差"), ("paths", "路径 之和"), ("deep", "更深"), ("numbers", "本页数字"),
    ]  # fmt: skip
    assert found[0].text == "第一段，16,777,216 条路径。x"  # a formula keeps its characters, once
    assert found[1].text == "甲 乙 & 丙 图中句子 图注"
    assert found[2].text == "末段 换行"
    assert found[3].text == ""


@pytest.mark.parametrize("hidden", ["noise", "hidden_code", "999", "svgtext", "账目", "#"])
def test_code_charts_and_ledgers_are_left_out(hidden):
    assert not any(hidden in s.title + s.text for s in sections(CONTENT))


def test_entries_carry_addresses_and_headings():
    rows = entries("primer/x/", "残差", [Section("", "残差", "a"), Section("paths", "路径", "b")])
    assert [(e.u, e.p, e.h) for e in rows] == [("primer/x/", "残差", ""), ("primer/x/#paths", "残差", "路径")]
    assert entries("./", "首页", [Section("", "首页", "")])[0].u == ""
    assert json.loads(index_json(rows))["docs"][1] == {"u": "primer/x/#paths", "p": "残差", "h": "路径", "t": "b"}


def ask(**request):
    command = [find_node(), str(ROOT / "tests/site/search_query.cjs"), str(ROOT / "docs/assets/js/search-worker.js"),
               str(ROOT / "node_modules/minisearch/dist/cjs/index.cjs")]  # fmt: skip
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


DOCS = [
    {
        "u": "a/",
        "p": "残差",
        "h": "",
        "t": "残差流把每层的输出加回去。Llama-3-8B 有 80.3 亿个参数，KV 缓存每词元 128 KiB。",
    },
    {"u": "b/#x", "p": "归一化", "h": "层归一化", "t": "两本账：implicit_paths 给出 16,777,216 条路径；流水账不算。"},
    {
        "u": "c/",
        "p": "Normalisation",
        "h": "",
        "t": "The residual stream of Llama-3-8B (8.03B parameters) has 24 layers; pre-norm.",
    },
    {"u": "d/", "p": "Other", "h": "", "t": "Nothing of the kind: streams of water, 18 paths."},
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("残差流", "a/"), ("KV 缓存", "a/"), ("kv缓存", "a/"), ("80.3 亿", "a/"), ("８０.３ 亿", "a/"), ("缓存", "a/"), ("词元", "a/"),
        ("两本账", "b/"), ("账", "b/"), ("implicit_paths", "b/"), ("implicit", "b/"), ("16,777,216", "b/"), ("16777216", "b/"),
        ("层归一化", "b/"), ("8.03B", "c/"), ("residual stream", "c/"), ("Residual Streams", "c/"), ("normalis", "c/"),
        ("pre-norm", "c/"), ("norm", "c/"), ("residul stream", "c/"), ("layer", "c/"), ("path", "d/"), ("Llama-3-8B 参数", "a/"),
    ],
)  # fmt: skip
def test_queries_find_their_page(query, first):
    (answer,) = ask(docs=DOCS, queries=[query])["answers"]
    assert answer and answer[0]["url"] == first, answer


@pytest.mark.parametrize("query", ["", "   ", "，。", "zzzxqv", "残账流", "16,777,217", "残差 zzzxqv", "()[]*+?\\"])
def test_queries_that_must_find_nothing(query):
    assert ask(docs=DOCS, queries=[query])["answers"] == [[]]


def test_found_words_are_marked_in_a_part_of_the_text():
    long = {"u": "e/", "p": "长文", "h": "", "t": "前" * 300 + "这里是残差流所在" + "后" * 300}
    answer = ask(docs=[long], queries=["残差流"])["answers"][0][0]["items"][0]["snippet"]
    text = "".join(piece for piece, _ in answer)
    assert len(text) < 120 and text.startswith("…") and text.endswith("…")
    assert [piece for piece, marked in answer if marked] == ["残差流"]
    answer = ask(docs=DOCS, queries=["16777216"])["answers"][0][0]["items"][0]["snippet"]
    assert ["16,777,216", True] in answer


def test_hits_are_gathered_by_page():
    docs = [{"u": f"p/#{i}", "p": "页", "h": f"节{i}", "t": "残差"} for i in range(3)] + [
        {"u": "q/", "p": "别页", "h": "", "t": "残差"}
    ]
    (answer,) = ask(docs=docs, queries=["残差"])["answers"]
    assert sorted((page["url"], len(page["items"])) for page in answer) == [("p/", 3), ("q/", 1)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("KV 缓存", ["kv", "缓", "存", "缓存"]),
        ("8.03B", ["8.03b"]),
        ("80.3 亿", ["80.3", "亿"]),
        ("16,777,216.", ["16777216"]),
        ("implicit_paths", ["implicit_paths", "implicit", "path"]),
        ("用GQA的模型", ["用", "gqa", "的", "模", "型", "的模", "模型"]),
        ("“残差”，流。", ["残", "差", "残差", "流"]),
    ],
)
def test_tokens(text, tokens):
    assert set(ask(tokens=[text])["tokens"][0]) == set(tokens)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_term_that_stands_in_a_page_finds_a_page(built_site, lang):
    import tomllib

    path = built_site / ("en/" if lang == "en" else "") / "search" / "index.json"
    data = path.read_text("utf-8")
    assert len(data.encode()) <= LIMIT
    docs = json.loads(data)["docs"]
    everything = "\n".join(f"{d['p']}\n{d['h']}\n{d['t']}" for d in docs).lower()
    terms = [t[lang] for t in tomllib.loads((ROOT / "docs/terms.toml").read_text("utf-8"))["term"]]
    wanted = [term for term in terms if term.lower() in everything]
    assert len(wanted) > 10
    answers = ask(docs=docs, queries=wanted)["answers"]
    assert [term for term, answer in zip(wanted, answers, strict=True) if not answer] == []
