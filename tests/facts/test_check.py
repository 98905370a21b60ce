"""The check as a whole: files that cannot be read, scopes, ledger rows, texts of blocks, the command."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from blocklib.cli import main
from blocklib.facts.check import check_pages, check_text, problem_of
from blocklib.facts.discover import FactError
from blocklib.facts.expand import expand
from blocklib.facts.files import find_root
from tests.facts.library import make_library, row_at
from tests.mutations.pages import make_site


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def lines(registry, **kwargs):
    return [(p.path, p.line) for p in check_pages(registry.root, registry=registry, **kwargs).problems]


def test_rows_are_the_ledger_of_the_page(site):
    report = check_pages(site.root, registry=site)
    numbers = report.numbers("docs/norm.zh.md")
    rows = {row.key: row for row in numbers.rows}
    assert list(rows)[:2] == ["norm_ops-kind-layernorm-d_model-4096", "norm_ops-kind-rmsnorm-d_model-4096"]
    paths = rows["implicit_paths-blocks-24"]
    assert paths.printed == [("1,678 万", 27), ("一千六百多万", 28), ("超过 1,600 万", 28), ("16,777,216", 31)]
    assert (paths.anchor, paths.fact.value, paths.fact.grade) == ("n-implicit_paths-blocks-24", 2**24, "computed")
    assert row_at(numbers, 8, "rms") is rows["norm_ops-kind-rmsnorm-d_model-4096"]
    assert row_at(numbers, 17, "fact:saving").fact.name == "saving" and row_at(numbers, 8, "ln") is None
    assert set(numbers.givens_at(20)) == {"d_model", "example"}
    assert numbers.givens_at(27)["blocks"].number == 24


def test_a_page_on_its_own(site):
    (site.root / "docs/sizes.en.md").write_text("[5](fact:implicit_paths?blocks=2)", encoding="utf-8")
    (site.root / "docs/norm.en.md").write_text("[5](fact:implicit_paths?blocks=2)", encoding="utf-8")
    assert lines(site, paths=["docs/sizes.en.md"]) == [("docs/sizes.en.md", 1)]
    assert lines(site, paths=["docs/sizes.zh.md"]) == []
    # A key that only the twin uses is used.
    assert lines(site, paths=["docs/norm.zh.md"]) == []


def test_only_the_pages_asked_for_are_read(site):
    assert sorted(check_pages(site.root, registry=site, paths=["docs/norm.en.md"]).pages) == [
        "docs/norm.en.md", "docs/norm.zh.md"]  # fmt: skip


def test_a_page_that_cannot_be_read_does_not_hide_its_twin(site):
    (site.root / "docs/norm.en.md").write_bytes(b"\xff\n")
    (site.root / "docs/norm.zh.md").write_text("28,672 { #a }", encoding="utf-8")
    assert lines(site, paths=["docs/norm.en.md", "docs/norm.zh.md"]) == [("docs/norm.en.md", 1), ("docs/norm.zh.md", 1)]


@pytest.mark.parametrize(("text", "said"), [
    ("It has 28,672 parts.", "printed 28,672 but nothing vouches for it; link it to a fact or a given"),
    ("# 28,672 { #a }", "printed 28,672 but nothing vouches for it (heading); link it to a fact or a given"),
    ("$28{,}672$", "write \\fact{…}{NAME?…} or \\given{…}{NAME}"),
])  # fmt: skip
def test_an_unbound_number_is_told_what_to_do_at_its_place(tmp_path, text, said):
    registry = make_library(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.en.md").write_text(text, encoding="utf-8")
    (problem,) = check_pages(registry.root, registry=registry).problems
    assert said in problem.message and ("formula" in problem.message) is text.startswith("$")


def test_what_cannot_be_read_is_a_problem(site):
    (site.root / "docs/sizes.en.md").write_bytes(b"# A { #a }\n\n\xff\xfe\n")
    (site.root / "docs/norm.facts").write_bytes(b"\xe4\xb8")
    report = check_pages(site.root, registry=site)
    found = [(p.path, p.line) for p in report.problems if "not UTF-8" in p.message]
    assert found == [("docs/norm.facts", 1), ("docs/sizes.en.md", 3)]


def test_a_folder_without_pages(tmp_path):
    registry = make_library(tmp_path)
    assert lines(registry) == []
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lost.facts").write_text("")
    assert lines(registry) == [("docs/lost.facts", 0)]


def test_line_ends_and_byte_order_mark_do_not_move_lines(site):
    for name in ("norm.en.md", "norm.zh.md", "norm.facts"):
        path = site.root / "docs" / name
        text = path.read_text(encoding="utf-8").replace("\n", "\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    report = check_pages(site.root, registry=site)
    assert report.problems == []
    numbers = report.numbers("docs/norm.en.md")
    assert numbers.rows[0].printed[0] == ("28,672", 7)
    assert '<a class="tl-num"' in expand(numbers.page.source, numbers)


@pytest.mark.parametrize("text, count", [
    ("GPT-2 showed in 2019 that H100 runs fp16; see §3 and Table 2.", 0), ("It has 3 parts.", 1),
    ("```\n28,672\n```\n\n`d = 4096` and [24 of them](a.md#x-24)", 1), ("about three thousand", 1), ("two of them", 0),
    ("<!-- 28,672 -->", 0), ("![x](a-28672.png)", 0), ("a[^24]\n\n[^24]: b", 0), ("> 28,672", 1), ("8.03B", 1),
    ("https://x.org/28672", 0), ("<https://x.org/28672>", 0), ("1. first\n2. second", 0), ("28,672\n{ .c24 }", 1),
    ("28,672 { .c24 }", 2), ("x { title=\"24\" }", 1), ("[x](a.md){ title=24 }", 1), ("<b title=24>x</b>", 1),
    ("&#50;8,672 and 8&nbsp;GB", 2), ("10<sup>6</sup> of them", 1), ("**28**,672", 1), ("`16,384 B`", 1), ("`x[128]`", 0),
])  # fmt: skip
def test_nothing_unbound(tmp_path, text, count):
    registry = make_library(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.en.md").write_text(text, encoding="utf-8")
    assert len(lines(registry)) == count, check_pages(tmp_path, registry=registry).problems


@pytest.mark.parametrize("text, clean", [
    ("[7](fact:a?x=1)–[64%](fact:b?x=1)", True), ("−[7](fact:a?x=1)", False), ("[7](fact:a?x=1)%", False),
    ("[7](fact:a?x=1) GiB", False), ("[7](fact:a?x=1) tokens", True), ("[7](fact:a?x=1) layers", True),
    ("[7](fact:a?x=1), [8](fact:a?x=2) and [9](fact:a?x=3)", True), ("[7](fact:a?x=1)K", False),
    ("[7](fact:a?x=1)0", False), ("1[7](fact:a?x=1)", False), ("[7](fact:a?x=1) 倍", False),
])  # fmt: skip
def test_units_and_magnitudes_stand_inside_the_link(text, clean):
    from blocklib.facts.scan import scan
    from blocklib.facts.unbound import find_unbound

    assert (find_unbound(scan(text, "p", "zh" if "倍" in text else "en")) == []) is clean


def test_the_text_of_a_block(site):
    numbers = check_pages(site.root, registry=site).numbers("docs/norm.en.md")
    text = "| a |\n|---|\n| [28,672][ln] |\n| [16,777,216](fact:implicit_paths?blocks=24) | 4096 |\n"
    printed = check_text(text, "docs/norm.en.md", "en", 19, numbers, site)
    assert printed.problems == [] and [row.printed for row in printed.rows] == [[("28,672", 19)], [("16,777,216", 19)]]
    assert expand(text, printed).count('<a class="tl-num"') == 2
    wrong = check_text(text.replace("28,672", "28,673"), "docs/norm.en.md", "en", 19, numbers, site)
    assert [(p.path, p.line) for p in wrong.problems] == [("docs/norm.en.md", 19)]
    assert "in line 3 of what the block prints: printed 28,673 but" in wrong.problems[0].message
    assert check_text("[0.5](fact:exact_share?part=0.5)", "docs/norm.en.md", "en", 19, numbers, site).problems == []
    alone = check_text("[16,384][rms]", "docs/norm.en.md", "en", 19, None, site)
    assert "unknown" in alone.problems[0].message


def test_a_block_prints_no_link_to_a_section_to_come(site):
    said = check_text("One.\n\n[x](later:lab#results)", "docs/norm.en.md", "en", 19, None, site).problems
    assert [(p.path, p.line) for p in said] == [("docs/norm.en.md", 19)] and "in line 3 of what" in said[0].message


def test_givens_of_a_section_reach_the_text_of_its_blocks_only(site):
    numbers = check_pages(site.root, registry=site).numbers("docs/norm.en.md")
    text = "[16,777,216](fact:implicit_paths?blocks)"
    assert check_text(text, "docs/norm.en.md", "en", 32, numbers, site).problems == []
    assert check_text(text, "docs/norm.en.md", "en", 9, numbers, site).problems != []


def test_errors_become_problems_at_their_place():
    assert str(problem_of(FactError("no", where="a/b.py:12", remedy="x"), "p")) == "a/b.py:12: no (x)"
    assert str(problem_of(FactError("no", where="a/b.toml"), "p")) == "a/b.toml: no"
    assert str(problem_of(FactError("no"), "p")) == "p: no"


def test_a_hundred_lines_take_milliseconds(site):
    check_pages(site.root, registry=site)
    begin = time.perf_counter()
    check_pages(site.root, registry=site)
    assert time.perf_counter() - begin < 0.5


def test_the_command_refuses_in_one_line(capsys, tmp_path):
    assert main(["check", "--root", str(tmp_path)]) == 2
    assert main(["check", "--root"]) == 2
    assert main(["check", "nothing.md"]) == 2
    assert main(["check", "--what"]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said and said.count("\n") == 4


def test_find_root(tmp_path, monkeypatch):
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "docs" / "deep")
    assert find_root(tmp_path.parent) == tmp_path
    monkeypatch.chdir(tmp_path.parent)
    assert find_root(tmp_path) == tmp_path


def test_the_check_imports_nothing_heavy(root):
    code = (
        "import sys; from blocklib.cli import main; main(['check']);"
        "heavy = {'torch', 'numpy', 'matplotlib', 'plotly', 'mkdocs'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1].split(" pages, ")[0].isdigit()
