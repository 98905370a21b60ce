"""docs/claims.toml: read whole, every fault with its line, and the file of this site without one."""

from __future__ import annotations

import pytest

from blocklib.claims.registry import GRADES, LEDGERS, Citation, ClaimError, load, nearest
from blocklib.facts.scan import scan
from blocklib.facts.unbound import find_unbound
from blocklib.text import LANGS
from tests.conftest import ROOT

GOOD = """\
# comment
[first-claim]
grade = "proved"
ledger = "both"
tests = [
    "tests/a/test_a.py::test_x",
    "tests/a/test_a.py::TestA::test_y",
]
sources = ["he2015, Table 2", "he2015, §4.1"]
how.zh = "随机输入。"
how.en = "Random inputs."
"""


def write(tmp_path, text):
    (tmp_path / "docs").mkdir(exist_ok=True)
    (tmp_path / "docs/claims.toml").write_text(text, encoding="utf-8")
    return load(tmp_path)


def test_reads_every_field(tmp_path):
    registry = write(tmp_path, GOOD)
    assert registry.problems == ()
    claim = registry["first-claim"]
    assert (claim.grade, claim.ledger, claim.line, claim.anchor) == ("proved", "both", 2, "claim-first-claim")
    assert claim.sources == (Citation("he2015", "Table 2"), Citation("he2015", "§4.1"))
    assert claim.how["zh"] == "随机输入。" and claim.how["en"] == "Random inputs."
    assert registry.tests == {test: ["first-claim"] for test in claim.tests}


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('grade = "proved"', 'grade = "prooved"', 3, "unknown grade 'prooved'"),
        ('grade = "proved"\n', "", 2, "grade is missing"),
        ('ledger = "both"', 'ledger = "run time"', 4, "unknown ledger 'run time'"),
        ("tests/a/test_a.py::test_x", "test_a::test_x", 5, "is not a test's name"),
        ("tests/a/test_a.py::TestA::test_y", "tests/a/test_a.py::test_x", 5, "twice"),
        ('"he2015, Table 2"', '"he2015"', 9, "names no place"),
        ('sources = ["he2015, Table 2", "he2015, §4.1"]', 'sources = "he2015, Table 2"', 9, "a list of strings"),
        ('how.zh = "随机输入。"\n', "", 2, "how.zh is missing"),
        ('"Random inputs."', '"""Random\ninputs."""', 11, "more than one line"),
        ("how.en", 'note = "x"\nhow.en', 11, "unknown field 'note'"),
        ("[first-claim]", "[First_Claim]", 2, "lower-case ASCII"),
        ("# comment", "stray = 1", 1, "expected a table"),
        ('ledger = "both"', 'ledger = "both', 4, "not valid TOML"),
    ],
)
def test_each_fault_has_its_line(tmp_path, old, new, line, message):
    assert GOOD.count(old) == 1
    problems = write(tmp_path, GOOD.replace(old, new)).problems
    assert [(p.path, p.line) for p in problems] == [("docs/claims.toml", line)]
    assert message in problems[0].message


def test_all_faults_at_once(tmp_path):
    text = GOOD.replace('"proved"', '"x"').replace('"both"', '"y"').replace("how.en", "how.fr")
    assert len(write(tmp_path, text).problems) == 3


@pytest.mark.parametrize(
    ("grade", "needs"),
    [("proved", "no test"), ("computed", "no test"), ("cited", "no source"), ("measured", "no experiment")],
)
def test_a_grade_needs_its_evidence(tmp_path, grade, needs):
    text = f'[a]\ngrade = "{grade}"\nledger = "both"\nhow.zh = "某"\nhow.en = "x"\n'
    assert [p.message for p in write(tmp_path, text).problems if needs in p.message]
    assert write(tmp_path, text.replace(grade, "convention")).problems == ()


def test_missing_and_unreadable_files(tmp_path):
    assert [p.message for p in load(tmp_path).problems] == ["the file is missing"]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/claims.toml").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in load(tmp_path).problems[0].message


BESIDE = "docs/design/qkv.claims.toml"


def beside(tmp_path, text, page=True):
    """The registry with ``text`` as the claims of a page, which is there or not."""
    folder = tmp_path / "docs/design"
    folder.mkdir(parents=True)
    (tmp_path / BESIDE).write_text(text, encoding="utf-8")
    if page:
        (folder / "qkv.zh.md").write_text("# 三个投影 { #qkv }\n", encoding="utf-8")
    return write(tmp_path, GOOD)


def test_claims_beside_a_page_come_after_those_of_the_site(tmp_path):
    registry = beside(tmp_path, "\n" + GOOD.replace("first-claim", "a-claim"))
    assert registry.problems == () and list(registry.claims) == ["first-claim", "a-claim"]
    claim = registry["a-claim"]
    assert (claim.path, claim.line, registry.line(claim, "how.en")) == (BESIDE, 3, 12)
    assert (claim.page, registry["first-claim"].page) == ("design/qkv", "")
    assert registry.line(registry["first-claim"], "how.en") == 11
    assert len(registry.tests["tests/a/test_a.py::test_x"]) == 2


def test_files_of_pages_are_read_by_path(tmp_path):
    for name in ("ledgers/z", "b", "a/c"):
        file = tmp_path / f"docs/{name}.claims.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(GOOD.replace("first-claim", name.replace("/", "-")), encoding="utf-8")
    assert list(write(tmp_path, GOOD).files)[1:] == [f"docs/{name}.claims.toml" for name in ("a/c", "b", "ledgers/z")]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('grade = "proved"', 'grade = "prooved"', 3, "unknown grade 'prooved'"),
        ("how.en", 'note = "x"\nhow.en', 11, "unknown field 'note'"),
        ("# comment", "stray = 1", 1, "expected a table"),
        ('ledger = "both"', 'ledger = "both', 4, "not valid TOML"),
        ("a-claim", "first-claim", 2, "claim 'first-claim' stands already in docs/claims.toml:2"),
    ],
)
def test_each_fault_beside_a_page_has_that_file_and_line(tmp_path, old, new, line, message):
    text = GOOD.replace("first-claim", "a-claim")
    assert text.count(old) == 1
    problems = beside(tmp_path, text.replace(old, new)).problems
    assert [(p.path, p.line) for p in problems] == [(BESIDE, line)] and message in problems[0].message


def test_claims_of_a_file_that_is_not_text_are_unread_too(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "claims.toml").write_bytes(b'[a-claim]\ngrade = "proved"\nhow.en = "\xff"\n')
    assert load(tmp_path).unread == {"a-claim"}


def test_claims_of_a_broken_file_are_unread_not_unknown(tmp_path):
    registry = beside(tmp_path, GOOD.replace("first-claim", "a-claim").replace('"both"', '"both'))
    assert list(registry.claims) == ["first-claim"] and registry.unread == {"a-claim"}


def test_claims_beside_no_page(tmp_path):
    problems = beside(tmp_path, GOOD.replace("first-claim", "a-claim"), page=False).problems
    assert [str(p) for p in problems] == [
        f"{BESIDE}: claims beside no page: there is neither docs/design/qkv.zh.md nor docs/design/qkv.en.md"
    ]


def test_unknown_claim_names_the_nearest(tmp_path):
    with pytest.raises(ClaimError, match="did you mean 'first-claim'"):
        write(tmp_path, GOOD)["first-clam"]


def test_nearest_is_silent_for_strangers():
    assert nearest("zzz", ["first-claim"]) == ""


def test_the_vocabulary_of_grades():
    words = {name: (grade.label.zh, grade.label.en) for name, grade in GRADES.items()}
    assert words == {
        "proved": ("可证", "proved"),
        "computed": ("可算", "computed"),
        "measured": ("实测", "measured"),
        "cited": ("有据", "cited"),
        "convention": ("惯例", "convention"),
    }
    assert GRADES["cited"].badge("zh") == '<span class="tl-grade tl-grade--cited">有据</span>'
    assert [ledger.css for ledger in LEDGERS.values()] == ["tl-claim--train", "tl-claim--run", "tl-claim--both"]


def test_the_site_s_own_claims():
    registry = load(ROOT)
    assert registry.problems == ()
    for claim in registry.claims.values():
        for lang in LANGS:  # how a claim is known is one short line, with no number that nothing vouches for
            assert len(claim.how[lang]) <= 210, claim.id
            assert find_unbound(scan(claim.how[lang], "how", lang)) == [], claim.id
