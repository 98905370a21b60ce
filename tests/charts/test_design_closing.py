"""The exhibits of the essay's opening and closing against torch, the bibliography and the entries of the claims."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml
from torch import nn

from blocklib.atlas.models import load as model
from blocklib.charts.design import closing, doubts
from blocklib.charts.discover import fingerprint, load, reads
from blocklib.claims import sources
from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.text import LANGS


def cells(ident, **settings):
    return load(ident).state(**settings).table.rows


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("name", ["llama-7b", "llama-3-8b"])
def test_what_goes_with_each_doubt_by_counting_modules(name):
    config = model(name).config
    d, mixer, d_ff = config.d_model, config.layers[0].mixer, config.layers[0].ffn.d_ff
    whole = MultiHeadAttention(d, mixer.n_heads, mixer.n_kv_heads, mixer.head_dim).to("meta")
    gated, plain = SwiGLU(d, d_ff).to("meta"), FeedForward(d, d_ff).to("meta")
    gone = {
        "projections": count(whole) - count(whole.o), "norms": 2 * d, "ffn": count(gated),
        "gate": count(gated) - count(plain),
    }  # fmt: skip
    block = count(whole) + count(gated) + 2 * d
    for doubt, expected in gone.items():
        *_, total = cells("doubts-at-stake", doubt=doubt, model=name)
        assert total[1:] == (block, expected, 0), doubt
    merged = MultiHeadAttention(d, 1, 1, mixer.n_heads * mixer.head_dim).to("meta")
    assert cells("doubts-at-stake", doubt="heads", model=name)[-1][3] == count(merged) - count(whole)
    assert cells("doubts-at-stake", doubt="ratio", model=name)[-1][3] == count(gated)


def test_merged_heads_with_biases():
    config = model("qwen2.5-7b").config
    mixer = config.layers[0].mixer
    q, kv = mixer.n_heads * mixer.head_dim, mixer.n_kv_heads * mixer.head_dim
    assert sum(doubts.added("heads", "qwen2.5-7b").values()) == 2 * (q - kv) * (config.d_model + 1)


def test_a_block_that_no_bar_can_hold_is_refused(monkeypatch):
    monkeypatch.setitem(doubts.ROWS, "norms", ())
    with pytest.raises(KeyError, match="norms"):
        doubts.bars(model("llama-7b").config)


# ---- the closing ----------------------------------------------------------------------------------------


def test_every_page_of_the_essay_is_counted(root):
    pages = {p.name.removesuffix(".en.md") for p in (root / "docs/design").glob("*.en.md")}
    assert set(closing.CHAPTERS) == pages

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!ENV", lambda loader, node: None)
    nav = yaml.load((root / "mkdocs.yml").read_text("utf-8"), Loader)["nav"]
    listed = next(item["design"] for item in nav if isinstance(item, dict) and "design" in item)
    assert [page.removeprefix("design/").removesuffix(".md") for page in listed] == list(closing.CHAPTERS)


@pytest.mark.parametrize("by", ["grade", "ledger"])
def test_claims_are_counted_as_they_are_entered(root, by):
    rows = cells("evidence-by-chapter", by=by)
    for slug, row in zip(closing.CHAPTERS, rows, strict=False):
        entries = tomllib.loads((root / f"docs/design/{slug}.claims.toml").read_text("utf-8"))
        assert row[-1] == len(entries) == sum(row[1:-1]), slug
    head = load("evidence-by-chapter").state(by=by).table.head
    kinds = {label.en: kind for kind, (label, _) in closing.KINDS[by].items()}
    for column, label in enumerate(head[1:-1], 1):
        listed = [
            len(re.findall(rf'^{by} = "{kinds[label.en]}"$', file.read_text("utf-8"), re.M))
            for file in (root / "docs/design").glob("*.claims.toml")
        ]
        assert rows[-1][column] == sum(listed) > 0


def test_the_essay_keeps_its_promises():
    grades = sum(closing.tally("grade").values(), closing.Counter())
    assert grades.total() >= 60 and grades["proved"] >= 25


# Years in which these were first posted or published, from the works themselves.
YEARS = {"vaswani2017": 2017, "shaw2018": 2018, "raffel2020": 2019, "press2021": 2021, "lan2019": 2019, "press2020": 2019,
         "radford2019": 2019, "olmo2": 2025, "gemma2": 2024, "lepikhin2020": 2020, "qwen38": 2026, "ainslie2023": 2023}  # fmt: skip


@pytest.mark.parametrize("key", YEARS)
def test_years_of_first_appearance(key):
    assert closing.year(key) == YEARS[key]


def test_every_move_has_a_source_and_begins_with_the_first_paper(root):
    library = sources.load(root).entries
    for part, (_, tried) in closing.MOVES.items():
        assert set(tried) <= set(library), part
        assert closing.moves(part)[0][2] == "vaswani2017"
        assert all(closing.FIRST <= when <= closing.LAST for when, _, _ in closing.moves(part)), part


def test_only_what_had_been_tried_by_then_is_shown():
    rows = cells("moved-since-2017", part="kv", until=2019)
    assert [row[1] for row in rows[:2]] == ["2017", "2019"] and all(int(row[1]) <= 2019 for row in rows)
    later = cells("moved-since-2017", part="kv", until=2024)
    assert len(later) > len(rows) and len([row for row in later if row[0].en.endswith("K and V")]) == 4
    for lang in LANGS:
        assert "MLA" not in load("moved-since-2017").state(part="kv", until=2023).sentence[lang]
        assert "MLA" in load("moved-since-2017").state(part="kv", until=2024).sentence[lang]


# ---- files outside the library ------------------------------------------------------------------------------


def test_what_an_exhibit_reads_is_part_of_its_fingerprint(tmp_path):
    module = tmp_path / "module.py"
    (tmp_path / "docs/a").mkdir(parents=True)
    for name in ("a/one.toml", "a/two.toml", "x.bib"):
        (tmp_path / "docs" / name).write_text(name)
    module.write_text('READS = ("docs/a/*.toml", "docs/x.bib")  # both\n')
    assert [file.name for file in reads(module, tmp_path)] == ["one.toml", "two.toml", "x.bib"]
    module.write_text('NOTHING = 1\n    READS = ("docs/x.bib",)\n')
    assert reads(module, tmp_path) == []


def test_the_fingerprint_moves_with_them(monkeypatch):
    before = fingerprint("evidence-by-chapter")
    assert fingerprint("evidence-by-chapter") == before
    monkeypatch.setattr("blocklib.charts.discover.reads", lambda path: [path])
    assert fingerprint("evidence-by-chapter") != before
    monkeypatch.undo()
    assert fingerprint("doubts-at-stake") == fingerprint("doubts-at-stake") != before
