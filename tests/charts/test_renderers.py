"""The static picture and the Plotly figure carry the same words; colours are tokens; bytes do not vary."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from blocklib.charts import Chart, ChartError, Series
from blocklib.charts.layout import Layout, scene
from blocklib.charts.plotly import figure
from blocklib.charts.scale import linear_ticks, log_ticks
from blocklib.charts.scene import FIT, NARROW, WIDE, Words
from blocklib.charts.svg import TOKENS, _compact, svg
from blocklib.text import LANGS
from tests.charts.samples import EVERY_MARK

ROOT = Path(__file__).resolve().parents[2]
CASES = [(name, lang, narrow) for name in EVERY_MARK for lang in LANGS for narrow in (False, True)]


def words_of_svg(text: str) -> list[str]:
    return sorted(unescape(w) for w in re.findall(r"<text[^>]*>([^<]*)</text>", text))


def words_of_figure(fig: dict) -> list[str]:
    return sorted(unescape(a["text"]) for a in fig["layout"]["annotations"])


def intended(name: str, lang: str) -> set[str]:
    """Every direct label that the author asked for, straight from the chart."""
    chart, out = EVERY_MARK[name], set()
    for s in chart.series:
        out |= {t[lang] for t in (s.labels or ()) if t} | ({s.end[lang]} if s.end else set())
    for axis in (chart.x, chart.y):
        out |= {c[lang] for c in axis.categories or ()}
    return out | {t[lang] for t in chart.totals or () if t}


@pytest.mark.parametrize(("name", "lang", "narrow"), CASES)
def test_both_renderers_print_the_same_words(name, lang, narrow):
    drawn = words_of_svg(svg(EVERY_MARK[name], lang, narrow))
    assert drawn == words_of_figure(figure(EVERY_MARK[name], lang, narrow))
    # Long names are set on several lines: compare without blanks.
    printed = "".join(words_of_svg(svg(EVERY_MARK[name], lang, narrow))).replace(" ", "")
    for label in intended(name, lang):
        assert all(part.replace(" ", "") in printed for part in label.split(" ")), label


@pytest.mark.parametrize(("name", "lang", "narrow"), CASES)
def test_colours_are_tokens_in_both(name, lang, narrow):
    picture = svg(EVERY_MARK[name], lang, narrow)
    ElementTree.fromstring(picture)
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb\(", picture)
    assert set(re.findall(r"var\(--tl-([\w-]+)\)", picture)) - {"sans"} <= set(TOKENS)
    assert " id=" not in picture and "DejaVu" not in picture

    def colours(value, key=""):
        if isinstance(value, dict):
            for k, v in value.items():
                yield from colours(v, k)
        elif isinstance(value, list):
            for v in value:
                yield from colours(v, key)
        elif key.endswith("color"):
            yield value

    found = set(colours(figure(EVERY_MARK[name], lang, narrow)))
    assert found - {"rgba(0,0,0,0)"} <= {f"@{t}" for t in TOKENS}


def test_tokens_exist_in_the_style_sheets():
    css = "".join((ROOT / "docs/assets/css" / f).read_text() for f in ("tokens.css", "exhibits.css"))
    for token in TOKENS:
        assert f"--tl-{token}:" in css, token


def test_a_colour_that_is_no_token_is_refused():
    with pytest.raises(ChartError, match="#ff0000 is no token"):
        _compact('<svg xmlns="http://www.w3.org/2000/svg"><path d="M 0 0" style="fill: #ff0000"/></svg>')


@pytest.mark.parametrize("lang", LANGS)
def test_the_picture_has_a_role_and_says_what_is_seen(lang):
    root = ElementTree.fromstring(svg(EVERY_MARK["cells"], lang))
    assert root.get("role") == "img" and root.get("aria-label") == EVERY_MARK["cells"].summary[lang]
    assert root.get("viewBox").split()[2] == str(WIDE)


@pytest.mark.parametrize(("name", "lang", "narrow"), CASES)
def test_text_stays_legible_and_inside(name, lang, narrow):
    root = ElementTree.fromstring(svg(EVERY_MARK[name], lang, narrow))
    width, height = (float(v) for v in root.get("viewBox").split()[2:])
    assert width == (NARROW if narrow else WIDE)
    for t in root.iter("text"):
        assert float(t.get("font-size")) >= 11
        assert -1 <= float(t.get("x")) <= width + 1 and 8 <= float(t.get("y")) <= height


def test_stacked_bars_meet_and_labels_that_do_not_fit_are_left_out():
    boxes = [m for m in scene(EVERY_MARK["hbars"], "en").marks if hasattr(m, "cx")]
    (a, b) = boxes
    assert a.cx[0] + a.width[0] / 2 == b.cx[0] - b.width[0] / 2 == 3
    tight = Chart([Series("s", x=[1, 100], y=[0, 0], mark="hbar", stack="s", labels=["far too long", "fits"])],
                  summary=EVERY_MARK["hbars"].summary)  # fmt: skip
    assert [w.text for w in scene(tight, "en").words if "o" in w.text or w.text == "fits"] == ["fits"]


def test_labels_at_lines_ends_are_pushed_apart():
    lines = [Series(f"s{i}", x=[0, 1], y=[0, 1 + i / 1000], mark="line", end=f"line {i}") for i in range(4)]
    laid = Layout(Chart(lines, summary=EVERY_MARK["lines"].summary), "en", False)
    s = laid.build()
    ends = [w for w in s.words if w.text.startswith("line ")]
    span = s.y[1] - s.y[0]
    at = sorted((w.y - s.y[0]) / span * s.plot_height + w.dy for w in ends)
    assert all(b - a >= 14.9 for a, b in zip(at, at[1:], strict=False))
    assert [w.text for w in sorted(ends, key=lambda w: w.dy + w.y)] == [f"line {i}" for i in range(4)]


def test_the_first_category_of_y_stands_on_top():
    low, high = scene(EVERY_MARK["hbars"], "en").y
    assert low > high
    assert isinstance(scene(EVERY_MARK["hbars"], "en").words[0], Words)


def test_a_box_after_a_line_is_drawn_over_it_by_plotly_too():
    data = figure(EVERY_MARK["cells"], "en")["data"]
    assert [t["type"] for t in data] == ["scatter", "bar"]
    assert data[1]["zorder"] > data[0].get("zorder", 0)


@pytest.mark.parametrize(("low", "high"), [(0, 28672), (-2, 2.6), (0, 1), (0.5, 24.5), (-1e-3, 1e-3), (0, 3e12)])
def test_linear_ticks_are_few_round_and_inside(low, high):
    found = linear_ticks(low, high, 4)
    assert 2 <= len(found) <= 4 and all(low <= t <= high for t in found)
    gaps = {round((b - a) / (found[1] - found[0]), 9) for a, b in zip(found, found[1:], strict=False)}
    assert gaps == {1.0}


def test_log_ticks():
    assert log_ticks(1e-6, 1e4, 4) == [1e-6, 1e-3, 1, 1000]
    assert log_ticks(1, 100, 4) == [1, 10, 100]
    assert all(2 <= t <= 9 for t in log_ticks(2, 9, 4))
    assert FIT[True] < FIT[False]


def test_bytes_do_not_depend_on_the_hash_seed():
    code = ("from tests.charts.samples import EVERY_MARK as E; from blocklib.charts.svg import svg;"
            "from blocklib.charts.payload import build; from tests.charts.samples import GOOD; import json;"
            "print(*(svg(c, l, n) for c in E.values() for l in ('zh', 'en') for n in (0, 1)), "
            "json.dumps(build(GOOD, 'zh')))")  # fmt: skip
    out = [subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
                          env=os.environ | {"PYTHONHASHSEED": seed}) for seed in ("1", "2")]  # fmt: skip
    assert out[0].stdout == out[1].stdout and len(out[0].stdout) > 5000
    assert "Glyph" not in out[0].stderr
