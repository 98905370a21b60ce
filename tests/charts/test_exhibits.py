"""Rules that hold for every exhibit of the site, and proof that a breach of each is noticed."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from blocklib.charts import ChartError
from blocklib.charts.discover import PACKAGE, discover, fingerprint, load
from blocklib.charts.html import bold, static_html
from blocklib.charts.payload import apply, build, changes, document, payload_json, payload_size
from blocklib.charts.primer.normalization import models_with, steps, widths
from blocklib.charts.rules import broken_rules
from blocklib.charts.svg import svg
from blocklib.text import LANGS
from tests.charts.samples import GOOD, NUMBER, WAY, sample, state

ALL = sorted(discover())


@pytest.mark.parametrize("id", ALL)
def test_every_control_moves_chart_sentence_and_table_and_the_payload_is_small(id):
    assert broken_rules(load(id)) == []


@pytest.mark.parametrize("id", ALL)
def test_numbers_and_ids_are_the_registered_ones(id):
    ref, exhibit = discover()[id], load(id)
    assert exhibit.id == id and exhibit.module == ref.module
    assert ref.path.read_text(encoding="utf-8").splitlines()[ref.line - 1].startswith("@exhibit(")
    for lang in LANGS:
        sentence = exhibit.state().sentence[lang]
        assert re.search(r"\*\*.+?\*\*", sentence), "the sentence states a value in bold"
    assert len({load(other).number for other in ALL}) == len(ALL)


@pytest.mark.parametrize("id", ALL)
def test_markup_is_whole_and_its_colours_are_tokens(id):
    for lang in LANGS:
        html = static_html(id, lang, "<b>c</b>", payload_url="p.json")
        check = Balance()
        check.feed(html)
        assert check.open == [] and "\n\n" not in html
        assert len(check.ids) == len(set(check.ids))
        assert not re.search(r"#[0-9a-fA-F]{6}\b", html)


class Balance(HTMLParser):
    VOID = {"input", "path", "circle", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.order = [], [], []

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.ids += [named["id"]] if "id" in named else []
        self.order.append(named.get("class") or tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_markup_follows_the_component_order():
    check = Balance()
    check.feed(static_html("norm-ops", "en", "caption", payload_url="p.json"))
    parts = [c for c in check.order if c in ("tl-exhibit", "tl-exhibit__title", "tl-controls", "tl-plot", "tl-live",
                                             "tl-data", "figcaption")]  # fmt: skip
    assert parts == ["tl-exhibit", "tl-exhibit__title", "tl-controls", "tl-plot", "tl-live", "tl-data", "figcaption"]


@pytest.mark.parametrize("lang", LANGS)
def test_static_markup_shows_the_default_state(lang):
    html = static_html("norm-ops", lang, "c")
    for words in ("28,672", "16,384", "12,288", "42.9%", "4,096"):
        assert words in html
    assert "data-payload" not in html and '<form class="tl-controls" hidden' in html
    assert html.count('role="img"') == 2 and 'role="status"' in html


def test_bold_escapes_everything_else():
    assert bold("**1 < 2** & <i>") == "<b>1 &lt; 2</b> &amp; &lt;i&gt;"


@pytest.mark.parametrize("exhibit", [GOOD, load("norm-ops")], ids=lambda e: e.id)
@pytest.mark.parametrize("lang", LANGS)
def test_playback_equals_the_states_computed_afresh(exhibit, lang):
    payload = json.loads(json.dumps(build(exhibit, lang)))
    for number, indices in enumerate(exhibit.indices()):
        assert apply(payload, number) == json.loads(json.dumps(document(exhibit, indices, lang)))
    assert payload["start"] == list(exhibit.defaults)
    assert len(payload["states"]) == exhibit.count


def test_changes_are_as_deep_as_the_shapes_agree():
    assert changes({"a": [1, 2], "b": 1}, {"a": [1, 3], "b": 1}) == [(("a", 1), 3)]
    assert changes({"a": [1, 2]}, {"a": [1]}) == [(("a",), [1])]
    assert changes({"a": {"b": 1}}, {"a": {"c": 1}}) == [(("a",), {"c": 1})]


def test_payload_is_one_small_line_of_json():
    text = payload_json("norm-ops", "zh")
    assert json.loads(text)["sizes"] == [6, 2] and "\n" not in text
    assert 1000 < payload_size(text) < 20_000


# -- negative controls -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (lambda number: state(1, words=str(number), rows=number), "chart"),
        (lambda number: state(number, words="same"), "sentence"),
        (lambda number: state(number, rows=1), "table"),
    ],
)
def test_a_control_that_leaves_a_part_unmoved_is_reported(function, part):
    faults = broken_rules(sample(function, NUMBER))
    assert len(faults) >= 4 and all(f"does not change the {part}" in f or "narrow chart" in f for f in faults)


def test_the_good_sample_breaks_no_rule():
    assert broken_rules(GOOD) == []


def test_a_heavy_payload_is_reported(monkeypatch):
    monkeypatch.setattr("blocklib.charts.rules.MAX_BYTES", 100)
    assert "compressed payload" in " ".join(broken_rules(GOOD))
    monkeypatch.setattr("blocklib.charts.payload.MAX_BYTES", 100)
    with pytest.raises(ChartError, match="compressed payload in 12 states"):
        payload_json("norm-ops", "en")


def test_a_function_that_returns_no_state_is_named():
    with pytest.raises(ChartError, match="returned int, not State"):
        sample(lambda number: number, NUMBER).state()


# -- discovery ---------------------------------------------------------------------------------------------


def test_discovery_reads_source_and_imports_nothing(tmp_path):
    (tmp_path / "page.py").write_text('raise SystemExit\n\n@exhibit(\n    "one", number=1)\ndef f(): ...\n')
    (tmp_path / "__init__.py").write_text('"""@exhibit("not-one")"""\n    @exhibit("nor-this")\n')
    found = discover(tmp_path, "pkg")
    assert list(found) == ["one"] and (found["one"].module, found["one"].line) == ("pkg.page", 3)
    (tmp_path / "other.py").write_text('@exhibit("one", number=2)\ndef f(): ...\n')
    with pytest.raises(ChartError, match="defined twice"):
        discover(tmp_path, "pkg")


def test_an_unknown_exhibit_names_the_nearest():
    with pytest.raises(ChartError, match="did you mean 'norm-ops'"):
        load("norm-op")


def test_the_fingerprint_covers_the_exhibit_its_theory_and_the_renderers(tmp_path, monkeypatch):
    from blocklib.facts.fingerprint import closure

    files = {p.name for p in closure(f"import {discover()['norm-ops'].module}\nimport blocklib.charts.html\n")}
    assert {"normalization.py", "norm_ops.py", "svg.py", "layout.py", "llama-3-8b.toml"} <= files
    assert re.fullmatch(r"[0-9a-f]{64}", fingerprint("norm-ops"))
    assert PACKAGE.name == "charts"


# -- the worked example ------------------------------------------------------------------------------------


def test_norm_ops_at_six_widths_against_the_literature_convention():
    exhibit = load("norm-ops")
    assert widths() == (768, 1024, 1600, 4096, 8192, 12288)
    core = {768: 1536, 1024: 2048, 1600: 3200, 4096: 8192, 8192: 16384, 12288: 24576}
    for d in widths():
        for count, (ln, rms) in {"all": (7 * d, 4 * d), "core": (5 * d, 3 * d)}.items():
            made = exhibit.state(d_model=d, count=count)
            total = made.table.rows[made.table.total]
            assert total[1:] == (ln, rms)
            assert f"**{ln:,}**" in made.sentence.en and f"**{rms:,}**" in made.sentence.zh
            assert sum(row[2] for row in steps(d, count == "core")) == ln
        assert f"**{core[d]:,}**" in exhibit.state(d_model=d, count="core").sentence.en
    assert models_with("layernorm", 12288) == [("GPT-3", 12288)]


def test_norm_ops_draws_real_models_as_points():
    chart = load("norm-ops").state().chart
    points = [s for s in chart.series if s.mark == "points"]
    assert sum(len(s.x) for s in points) >= 6
    assert any("7B" in label.en for s in points for label in s.labels or () if label)
    assert "7B" in svg(chart, "zh") and len(WAY.values) == 2
