"""The numbers of one page: where a given holds, what keys and names in formulas mean, and what nobody uses."""

from __future__ import annotations

import pytest

from blocklib.facts.fingerprint import ROOT
from blocklib.facts.pages import evaluate_page, registry_for
from blocklib.facts.refs import Refs, parse_facts
from blocklib.facts.registry import default
from blocklib.facts.scan import scan
from tests.facts.library import make_library

PATHS = "[16,777,216](fact:implicit_paths?blocks)"
FACTS = "[ln]: fact:norm_ops?kind=layernorm&d_model=4096\n"


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    return make_library(tmp_path_factory.mktemp("lib"))


def said(source: str, registry, facts: str | None = None) -> list[tuple[int, str]]:
    refs = Refs(None) if facts is None else parse_facts(facts, "docs/a.facts")
    numbers = evaluate_page(scan(source, "docs/a.en.md", "en"), refs, registry)
    return [(p.line, p.message) for p in numbers.problems]


@pytest.mark.parametrize("source", [
    f"[24](given:blocks) blocks, {PATHS} paths.", f"{PATHS} paths in [24](given:blocks) blocks.",
    f"[24](given:blocks) blocks.\n\n{PATHS} paths.", f"# A {{ #a }}\n\n[24](given:blocks)\n\n## B {{ #b }}\n\n{PATHS}",
    f"# [24](given:blocks) {{ #a }}\n\n{PATHS}", f"[3](given:blocks) [8](fact:implicit_paths?blocks)\n\n[24](given:blocks)\n\n{PATHS}",
    f"[24](given:blocks) {PATHS}\n\n[24](given:blocks) again.", "[8](given:example) is an example.",
    f"[24](given:blocks)\n\n{PATHS}\n\n[twenty-four](given:blocks)",
])  # fmt: skip
def test_where_a_given_holds(source, registry):
    assert said(source, registry) == []


@pytest.mark.parametrize(("source", "line", "words"), [
    (f"{PATHS}\n\nin [24](given:blocks)", 1, "given"), (f"{PATHS}\n\nin [24](given:blocks)", 3, "no fact uses the given 'blocks' (24)"),
    (f"# A {{ #a }}\n\n[24](given:blocks) {PATHS}\n\n# B {{ #b }}\n\n{PATHS}", 7, "given"),
    (f"## A {{ #a }}\n\n[24](given:blocks) {PATHS}\n\n# B {{ #b }}\n\n{PATHS}", 7, "given"),
    (f"[24](given:blocks) {PATHS}\n\n[25](given:blocks)", 3, "no fact uses the given 'blocks' (25)"),
    (f"[24](given:blocks) {PATHS}\n\n[24 s](given:blocks)", 3, "no fact uses"),
    (f"[24](given:blocks) {PATHS}\n\n[Llama](given:blocks)", 3, "no fact uses"),
    ("[5](given:)", 1, "the given '5' has no name: write given:NAME, or given:example"),
    ("[5](given:a-b)", 1, "the given '5' has the name 'a-b'"), ("[](given:blocks)", 1, "the given 'blocks' prints nothing"),
    (f"[about 24](given:blocks) {PATHS}", 1, "is a relation; what others depend on is exact"),
])  # fmt: skip
def test_where_it_does_not_and_what_nobody_uses(source, line, words, registry):
    assert any(at == line and words in message for at, message in said(source, registry))


def test_a_bad_given_does_not_hide_a_good_one(registry):
    problems = said(f"[5](given:) and [24](given:blocks) {PATHS}", registry)
    assert len(problems) == 1 and "has no name" in problems[0][1]


MODEL = "[131,072 B](fact:kv_bytes_per_token?model&dtype=bf16)"


@pytest.mark.parametrize(("again", "problems"), [
    ("[llama-3-8b](given:model)", 0), ("[LLAMA-3-8B](given:model)", 0), ("[Llama-3-70B](given:model)", 1),
])  # fmt: skip
def test_a_name_said_again_is_the_same_in_any_case(again, problems):
    assert len(said(f"[Llama-3-8B](given:model) {MODEL}\n\n{again}", default())) == problems


@pytest.mark.parametrize(("source", "facts", "words"), [
    ("[28,672][ln]", FACTS, None), ("[28,672][LN]", FACTS, None), ("[28,673][ln]", FACTS, "but the value is 28,672"),
    ("[4][nl]", FACTS, "the key [nl] is unknown in docs/a.facts (did you mean [ln]?)"),
    ("[4][k]", None, "the key [k] is unknown in docs/a.facts, which does not exist (it has no keys)"),
    ("[4][textbook_ffn_expansion]", None, "is unknown in docs/a.facts, which does not exist"),
    ("[4][textbook_ffn_expansion]", FACTS, "is unknown in docs/a.facts (did you mean"),
    ("$\\fact{4}{textbook_ffn_expansion}$", None, None), ("$\\fact{4}{textbook_ffn_expansion}$", FACTS, None),
    ("$\\fact{28{,}672}{ln}$", FACTS, None), ("$\\fact{4}{nope}$", FACTS, "the key [nope] is unknown in docs/a.facts"),
    ("$\\fact{4}{nope}$", None, "unknown fact 'nope'"), ("$\\fact{8}{implicit_paths?blocks=3}$", FACTS, None),
])  # fmt: skip
def test_keys_and_names(source, facts, words):
    problems = said(source, default(), facts)
    assert problems == [] if words is None else (len(problems) == 1 and words in problems[0][1]), problems


def test_givens_at_a_line(registry):
    source = f"[8](given:example)\n\n# [24](given:blocks) {{ #a }}\n\n{PATHS}\n\n# B {{ #b }}\n\nx\n"
    numbers = evaluate_page(scan(source, "docs/a.en.md", "en"), Refs(None), registry)
    assert numbers.problems == []
    assert [sorted(numbers.givens_at(line)) for line in (1, 2, 3, 5, 6, 7, 9)] == [
        ["example"], ["example"], ["blocks", "example"], ["blocks", "example"], ["blocks", "example"], ["example"], ["example"]]  # fmt: skip


def test_whose_library_a_page_is_checked_with(tmp_path):
    assert registry_for(ROOT) is default() and registry_for(tmp_path) is default()
    (tmp_path / "blocklib").mkdir()
    assert registry_for(tmp_path).root == tmp_path and registry_for(str(tmp_path)).root == tmp_path
