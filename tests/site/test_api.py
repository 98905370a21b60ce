"""The API pages: what is public, how docstrings are set, and a page for every module in both languages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from blocklib.site import api, apidoc, apihtml, apipages
from tests.conftest import ROOT
from tests.site.test_search import ask

SOURCE = '''\
"""A module that has everything. It links :mod:`blocklib.nn.other`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from blocklib.nn.other import Base, helper

__all__ = ["LIMIT", "Kind", "Plain", "Shape", "helper", "plain", "turn"]

# The most that is taken.
LIMIT = 1e-06
Kind = Literal["a", "b"]  # what there is
HIDDEN = 1


@dataclass(frozen=True)
class Shape(Base):
    """A shape.

    Attributes:
        d_model: width of the stream.
    """

    d_model: int
    heads: tuple[int, ...] = ()  # widths of the heads

    @property
    def total(self) -> int:
        """Their sum."""
        return sum(self.heads)

    @classmethod
    def of(cls, text: str) -> Shape:
        """From text; as :meth:`Shape.total` and ``helper`` and ``text``."""
        return cls(int(text))

    def _private(self):
        return 0


class Plain:
    """Nothing else."""

    def __init__(self, size: int = 2):
        self.size = size

    @staticmethod
    def join(a, /, b, *rest, c: int = 1, **more) -> None:
        """All kinds of parameters."""


def plain() -> float:
    return math.pi


def turn(
    x: Shape, kind: Kind = "a", *, start: float = 1e-5, another_long_name: str = "a", and_one_more: int = 2
) -> dict[str, Base]:
    """Turns ``x``; see ``Shape`` and ``blocklib.nn.other.helper``.

    中文：转动
    一次 x。

    Args:
        x, kind: what to turn, a
            :class:`~blocklib.nn.planted.Shape`.

    Raises:
        ValueError: never.
    """


def _private():
    return 0


def unlisted():
    return 0
'''
OTHER = '"""Another."""\n\n\nclass Base:\n    """A base."""\n\n\ndef helper():\n    """Helps."""\n'
AT = "blocklib.nn.planted"


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> api.Library:
    root = tmp_path_factory.mktemp("planted")
    folder = root / "blocklib" / "nn"
    (folder / "_hidden").mkdir(parents=True)
    (root / "blocklib/__init__.py").write_text("")
    (root / "blocklib/text.py").write_text('"""Words."""\n')
    (root / "blocklib/command.py").write_text('"""Not one of the shared ones."""\n')
    (folder / "__init__.py").write_text('"""A room."""\n')
    (folder / "planted.py").write_text(SOURCE)
    (folder / "other.py").write_text(OTHER)
    (folder / "_secret.py").write_text('"""Private."""\n')
    (folder / "_hidden/__init__.py").write_text('"""Private."""\n')
    return api.Library(root)


def test_public_modules_room_by_room(library):
    assert list(library.modules) == ["blocklib.nn", "blocklib.nn.other", AT, "blocklib.text"]
    assert [api.room_of(path) for path in library.modules] == ["nn", "nn", "nn", ""]


def test_public_names_in_the_order_of_the_source(library):
    module = library.modules[AT]
    assert [item.name for item in api.members(module)] == ["LIMIT", "Kind", "Shape", "Plain", "plain", "turn"]
    assert [item.name for item in api.members(module["Shape"])] == ["d_model", "heads", "total", "of"]
    assert [item.name for item in api.members(module["Plain"])] == ["join"]
    assert api.taken_over(module) == ["blocklib.nn.other.helper"]
    assert [item.name for item in api.members(module) if not api.is_described(item)] == ["LIMIT", "Kind"]
    assert library.places[f"{AT}.Shape.total"] == AT and f"{AT}.unlisted" not in library.places


def test_comments_beside_and_above(library):
    module = library.modules[AT]
    said = {item.name: api.comment(item) for item in (module["LIMIT"], module["Kind"], module["Shape.heads"])}
    assert said == {"LIMIT": "The most that is taken.", "Kind": "what there is", "heads": "widths of the heads"}


@pytest.fixture(scope="module", params=["zh", "en"])
def page(request, library):
    """Language, and the planted module's page in it."""
    writer = apihtml.Writer(library, request.param, {f"{AT}.turn": "turned"})
    return request.param, writer.page(library.modules[AT])


def text_of(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html).replace("&gt;", ">").replace("&#x27;", "'").replace("&quot;", '"')


def test_signatures(page):
    signatures = [text_of(found) for found in re.findall(r'<div class="tl-api__sig">.*?</div>', page[1], re.S)]
    assert signatures == [
        "class Shape(d_model: int, heads: tuple[int, ...] = ())",
        "total: int",
        "of(text: str) -> Shape",
        "class Plain(size: int = 2)",
        "join(a, /, b, *rest, c: int = 1, **more) -> None",
        "plain() -> float",
        "turn(\n    x: Shape,\n    kind: Kind = 'a',\n    *,\n    start: float = 1e-5,\n    another_long_name: str = 'a',\n"
        "    and_one_more: int = 2,\n) -> dict[str, Base]",
    ]


def test_names_lead_to_their_places(page):
    assert f'x: <a href="../nn-planted/#{AT}.Shape">Shape</a>,' in page[1]
    assert page[1].count('<a href="../nn-other/#blocklib.nn.other.Base">Base</a>') == 2  # a base, an annotation
    assert '<a href="../nn-other/"><code>blocklib.nn.other</code></a>' in page[1]
    assert f'<a href="../nn-planted/#{AT}.Shape.total"><code>Shape.total</code></a>' in page[1]
    assert '<a href="../nn-other/#blocklib.nn.other.helper"><code>helper</code></a>' in page[1]
    assert f'turn, a <a href="../nn-planted/#{AT}.Shape"><code>Shape</code></a>' in page[1]
    assert "<dt><code>x, kind</code></dt>" in page[1] and "<code>text</code>" in page[1]  # parameters lead nowhere
    assert '<a href="../../numbers/#fact-turned">' in page[1]


def test_headings_have_stable_ids(page):
    ids = re.findall(r'<h(\d) id="([^"]+)"', page[1])
    assert ids == [
        ("2", f"{AT}.Shape"), ("3", f"{AT}.Shape.total"), ("3", f"{AT}.Shape.of"), ("2", f"{AT}.Plain"),
        ("3", f"{AT}.Plain.join"), ("2", f"{AT}.plain"), ("2", f"{AT}.turn"), ("2", f"{AT}-constants"),
    ]  # fmt: skip
    assert f'<dt id="{AT}.LIMIT"><code>LIMIT = 1e-6</code></dt>' in page[1]


def test_what_stands_round_is_in_the_language_of_the_page(page):
    lang, html = page
    words = ["类", "类方法", "静态方法", "属性", "参数", "抛出", "字段", "本模块的内容", "源码", "基类"]
    if lang == "zh":
        assert all(word in html for word in words) and '<p lang="zh-Hans">转动一次 x。</p>' in html
        assert html.count('lang="en"') >= 5
    else:
        assert not re.search("[\u4e00-\u9fff]", html) and "lang=" not in html
    assert f'<dt id="{AT}.Shape.d_model"><code>d_model: int</code></dt><dd>width of the stream.</dd>' in html
    assert "<dd>widths of the heads</dd>" in html


@pytest.mark.parametrize(("source", "html"), [
    ("A ``code`` span.", "<p>A <code>code</code> span.</p>"),
    ("2 * d * d and x_i_j and 2*3*4", "<p>2 * d * d and x_i_j and 2*3*4</p>"),
    ("**bold**, *word* and ``a * b * c``, f(*args, **kwargs)",
     "<p><strong>bold</strong>, <em>word</em> and <code>a * b * c</code>, f(*args, **kwargs)</p>"),
    ("a < b & <script>x</script> [x](y.md)", "<p>a &lt; b &amp; &lt;script&gt;x&lt;/script&gt; [x](y.md)</p>"),
    ("Says::\n\n    x = 1 < 2\n", "<p>Says:</p>\n<pre><code>x = 1 &lt; 2\n</code></pre>"),
    ("Either\n- one\n- two", "<p>Either</p>\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>"),
    ("Head\n====\n\nText", '<p class="tl-api__head">Head</p>\n<p>Text</p>'),
    ("# not a heading", "<p># not a heading</p>"),
    ("See :class:`Known`, :func:`~a.b.Known` and :mod:`x`.",
     '<p>See <a href="at-Known"><code>Known</code></a>, <a href="at-a.b.Known"><code>Known</code></a> and <code>x</code>.</p>'),
    ("Calls ``Known()``.", '<p>Calls <a href="at-Known"><code>Known()</code></a>.</p>'),
])  # fmt: skip
def test_docstrings_as_html(source, html):
    assert apidoc.markdown(source, lambda name: f"at-{name}" if "Known" in name else "") == html


def test_sections_of_a_docstring():
    doc = apidoc.parse(
        "First.\n\nSecond.\n中文：第一\n句。\n\nArgs:\n    a: one\n        goes on.\n    b, c: two.\n\nRaises:\n"
        "    ValueError: always.\n    never: else\n\nReturns:\n    A pair:\n    of two.\n\nAfter."
    )
    assert (doc.text, doc.chinese) == ("First.\n\nSecond.\n\nAfter.", "第一句。")
    assert doc.sections == {
        "Args": [("a", "one goes on."), ("b, c", "two.")],
        "Raises": [("ValueError", "always."), ("never", "else")],
        "Returns": [("", "A pair: of two.")],
    }


@pytest.mark.parametrize(("source", "first"), [
    ("One ``thing``. Another.\n\nMore.", "One thing."),
    ("Eq. 3 of :func:`~a.b.c` and\n:class:`D`.", "Eq. 3 of c and D."),
    ("", ""),
])  # fmt: skip
def test_first_sentences(source, first):
    assert apidoc.summary(source) == first


# ---- the built site -----------------------------------------------------------------------------------


@cache
def own() -> api.Library:
    return api.Library(ROOT)


@pytest.mark.parametrize("prefix", ["", "en/"])
def test_every_public_module_has_its_page(built_site, prefix):
    index = (built_site / f"{prefix}reference/api/index.html").read_text("utf-8")
    found = {page.parent.name for page in (built_site / f"{prefix}reference/api").glob("*/index.html")}
    assert found == {path.removeprefix("blocklib.").replace(".", "-") for path in own().modules} and len(found) > 100
    for path, module in own().modules.items():
        short = path.removeprefix("blocklib.")
        slug = short.replace(".", "-")
        html = (built_site / f"{prefix}reference/api/{slug}/index.html").read_text("utf-8")
        assert f"<code>{short}</code></a></dt>" in index
        assert f'<h1 id="{path}">{path}' in html and f"<title>{path} - " in html
        for item in api.members(module):
            assert f'id="{item.path}"' in html
        assert "tl-api-" not in html.replace("tl-api__", "") and f'data-page="reference/api/{slug}/"' in html
        assert f'{prefix}reference/api/{slug}/">' in html  # canonical


def test_menus_mark_the_index_for_its_modules(built_site):
    html = (built_site / "reference/api/nn-norm/index.html").read_text("utf-8")
    assert re.search(r'<a href="\.\./" class="tl-nav__link[^"]*" aria-current="true">接口</a>', html)
    other = (built_site / "reference/about/index.html").read_text("utf-8")
    assert "接口</a>" in other and not re.search(r'aria-current="(?:true|page)">接口', other)
    assert html.count("md-tabs__item--active") == other.count("md-tabs__item--active") == 1


def test_pages_stand_in_the_sitemap_and_the_one_with_placeholders_nowhere(built_site):
    assert not list(built_site.rglob("*tl-api-module*"))
    sitemap = built_site / "sitemap.xml"
    assert "/en/reference/api/nn-norm/<" in sitemap.read_text() and "tl-api-module" not in sitemap.read_text()
    assert "tl-api-module" not in (built_site / "search/index.json").read_text("utf-8")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_search_has_an_entry_a_module_and_prose_comes_first(built_site, lang):
    folder = built_site / ("search" if lang == "zh" else "en/search")
    docs = json.loads((folder / "index.json").read_text("utf-8"))["docs"]
    modules = [doc for doc in docs if re.match(r"reference/api/[a-z]", doc["u"])]
    assert [doc["p"] for doc in modules] == list(own().modules)
    assert sum(len(json.dumps(doc, ensure_ascii=False).encode()) for doc in modules) < 80_000
    *names, prose = ask(docs=docs, queries=["ZeroCentredRMSNorm", "blocklib.nn.norm", "RMSNorm"])["answers"]
    assert [found[0]["url"] for found in names] == ["reference/api/nn-norm/"] * 2
    first = [hit["url"].startswith("reference/api/") for hit in prose]
    assert not any(first[:5])  # what pages say stands before the names of the code


def test_pages_are_made_without_importing_what_they_describe():
    code = (
        "import sys; from pathlib import Path; from blocklib.site import apipages; "
        f"made = apipages.make(Path({str(ROOT)!r}), []); "
        "print(len(made['modules']), [m for m in ('torch', 'numpy', 'matplotlib', 'plotly', 'mkdocs') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split(" ", 1)[1].strip() == "[]", done.stdout


def test_what_they_say_is_kept_until_the_library_changes(tmp_path):
    before = apipages.sources_stamp(ROOT)
    copy = tmp_path / "blocklib"
    copy.mkdir()
    (copy / "a.py").write_text('"""A."""\n')
    one = apipages.sources_stamp(tmp_path)
    (tmp_path / "page.md").write_text("prose")
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__/a.py").write_text("x")
    assert apipages.sources_stamp(tmp_path) == one
    (copy / "a.py").write_text('"""B."""\n')
    assert apipages.sources_stamp(tmp_path) != one and apipages.sources_stamp(ROOT) == before


def test_facts_lead_to_the_list_where_it_has_them(built_site):
    html = (built_site / "reference/api/theory-paths/index.html").read_text("utf-8")
    assert '<a href="../../numbers/#fact-implicit_paths"><code>implicit_paths</code></a>' in html
    listed = set(re.findall(r'id="fact-(\w+)"', Path(built_site / "reference/numbers/index.html").read_text("utf-8")))
    linked = {name for page in (built_site / "reference/api").glob("*/index.html")
              for name in re.findall(r"numbers/#fact-(\w+)", page.read_text("utf-8"))}  # fmt: skip
    assert "implicit_paths" in linked and linked <= listed
