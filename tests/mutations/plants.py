"""The plants: every mistake against which the site is guarded, with the places at which it must be reported."""

from __future__ import annotations

from tests.mutations import lessonfiles, lessonplants
from tests.mutations.plantfiles import FILES
from tests.mutations.plantsite import Edit, Fault, Plant

ZH, EN, FACTS = "docs/primer/account.zh.md", "docs/primer/account.en.md", "docs/primer/account.facts"
INDEX_ZH, INDEX_EN = "docs/index.zh.md", "docs/index.en.md"
CLAIMS, TESTS = "docs/claims.toml", "tests/evidence/test_paths.py"
BESIDE = ("docs/primer/evidence.claims.toml", "docs/primer/beside.claims.toml")
RUN_ZH, RUN_EN = "docs/primer/run.zh.md", "docs/primer/run.en.md"


def one(name: str, path: str, old: str, new: str, says: str) -> Plant:
    """A plant on one line, reported on that line."""
    return Plant(name, (Edit(path, old, new),), (Fault(path, new, says),))


def both(name: str, path: str, old: str, new: str, says: str) -> Plant:
    """The same edit in both languages, reported in both."""
    twin = path.replace(".zh.", ".en.")
    return Plant(name, (Edit(path, old, new), Edit(twin, old, new)), (Fault(path, new, says), Fault(twin, new, says)))


NUMBERS = [
    one("a digit in zh only", ZH, "[28,672][ln] 次运算", "[28,673][ln] 次运算", "printed 28,673 but the value is 28,672"),
    one("a digit in en only", EN, "takes [16,384][rms]", "takes [16,834][rms]", "printed 16,834 but the value is 16,384"),
    Plant(
        "a given changed",
        (Edit(ZH, "叠 [8](given:blocks)", "叠 [9](given:blocks)"), Edit(EN, "[Eight](given:blocks)", "[Nine](given:blocks)")),
        (Fault(ZH, "[256][paths]", "printed 256 but the value is 512"), Fault(EN, "[256][paths]", "but the value is 512")),
    ),
    Plant(
        "a given changed in zh only",
        (Edit(ZH, "叠 [6](given:blocks)", "叠 [7](given:blocks)"),),
        (
            Fault(ZH, "[64][paths]", "printed 64 but the value is 128"),
            Fault(ZH, "{ #fewest }", "section #fewest lacks given blocks = 6"),
            Fault(EN, "{ #fewest }", "section #fewest lacks given blocks = 7"),
        ),
    ),
    one("unbound in prose", ZH, "正文在这里。", "正文在这里，共 12,345 次。", "printed 12,345 but nothing vouches for it"),
    one("unbound in prose, en", EN, "Prose stands here.", "Prose stands here, 12,345 times.", "nothing vouches for it"),
    one("unbound in a table", ZH, "表格在这里", "表格在这里，12,346", "printed 12,346 but nothing vouches for it (table)"),
    one("unbound in a table, en", EN, "a cell", "a cell of 12,346", "nothing vouches for it (table)"),
    one("unbound in a heading", ZH, "## 表在这里", "## 表在这里，12,347 次", "nothing vouches for it (heading)"),
    one("unbound in a heading, en", EN, "## The table", "## The table of 12,347", "nothing vouches for it (heading)"),
    one("unbound in a caption", ZH, "图注在这里。", "图注在这里，12,348 次。", "nothing vouches for it (caption)"),
    one("unbound in a caption, en", EN, "A caption.", "A caption of 12,348.", "nothing vouches for it (caption)"),
    one("unbound in alt text", ZH, "![图在这里]", "![图在这里，12,349 次]", "nothing vouches for it (alt text)"),
    one("unbound in alt text, en", EN, "![A picture]", "![A picture of 12,349]", "nothing vouches for it (alt text)"),
    both("unknown fact", ZH, "fact:norm_ops_gap?d_model", "fact:norm_op_gap?d_model", "unknown fact 'norm_op_gap'"),
    one("unknown fact in the .facts file", FACTS, "fact:norm_core_ops?kind=layernorm", "fact:norm_cores?kind=layernorm", "'norm_cores'"),
    both("wrong parameter", ZH, "kind=rmsnorm&d_model)", "kind=rmsnrom&d_model)", "'rmsnrom' does not fit the parameter kind"),
    both("a parameter that is not there", ZH, "dtype=bf16&tokens=8192", "dtype=bf16&token=8192", "no parameter 'token'"),
    one("a wrong parameter in the .facts file", FACTS, "core_ops?kind=rmsnorm", "core_ops?kind=rmsnrom", "'rmsnrom' does not fit"),
    one("GB for GiB", ZH, "[4 GiB]", "[4 GB]", "printed 4 GB but the value is 4.3 GB (4 GiB)"),
    one("KB for KiB, en", EN, "[128 KiB]", "[128 KB]", "printed 128 KB but the value is 131 KB (128 KiB)"),
    one("unit missing", EN, "[4 GiB]", "[4,294,967,296]", "without a unit"),
    one("unit missing, zh", ZH, "[128 KiB]", "[131,072]", "without a unit"),
    one("wrong relation", ZH, "[超过 1,600 万]", "[不到 1,600 万]", "printed 不到 1,600 万 but"),
    one("wrong relation, en", EN, "[more than 16 million]", "[less than 16 million]", "printed less than 16 million but"),
    one("word and value disagree", ZH, "[一千六百多万]", "[一千七百多万]", "printed 一千七百多万 but"),
    one("word and value disagree, en", EN, "[over sixteen million]", "[over seventeen million]", "printed over seventeen million"),
    one("too many digits for a measured fact", ZH, "[15.8 毫秒]", "[15.83 毫秒]", "more digits than the noise supports"),
    one("too many digits for a measured fact, en", EN, "[15.8 ms]", "[15.83 ms]", "more digits than the noise supports"),
]  # fmt: skip

TWINS = [
    Plant("a twin deleted", (Edit("docs/primer/pair.en.md"),),
          (Fault("docs/primer/pair.zh.md", says="the twin docs/primer/pair.en.md is missing"),)),
    Plant("the other twin deleted", (Edit("docs/primer/other.zh.md"),),
          (Fault("docs/primer/other.en.md", says="the twin docs/primer/other.zh.md is missing"),)),
    Plant("a heading added on one side", (Edit(INDEX_EN, "## Note {", "## More { #more }\n\nMore.\n\n## Note {"),),
          (Fault(INDEX_ZH, "{ #top }", "heading #more is missing"),)),
    Plant("a stale signature", (Edit("docs/primer/run.en.md", "title: Run\n", "title: Running\n"),),
          (Fault("docs/primer/run.en.md", says="changed since the pair was signed"),), sign=False),
    *(Plant(f"a page that no check reads: {path}", (Edit(path, new="# Free { #free }\n\n12,345 of them.\n"),),
            (Fault(path, says="a page is named PAGE.zh.md or PAGE.en.md", whole=True),))
      for path in ("docs/free.markdown", "docs/assets/free.md", "docs/primer/free.mkd", "docs/free.html")),
    one("a term in its forbidden form", INDEX_ZH, "残差流在这里。", "残余流在这里。", "'残余流' is not a form used here"),
    one("a term in its forbidden form, en", INDEX_EN, "The residual stream", "The residue stream", "'residue stream' is not"),
]  # fmt: skip

AHEAD_ZH, AHEAD_EN, LATER = "docs/primer/ahead.zh.md", "docs/primer/ahead.en.md", "docs/later.toml"
AHEAD = [
    one("a section to come that is not listed", AHEAD_EN, "(later:lab#results)", "(later:lab#result)",
        "later:lab#result is not listed in docs/later.toml; did you mean 'lab#results'?"),
    Plant("a listed section that no page points to", (Edit(LATER, "# the end", '\n["lab#spare"]\nzh = "某"\nen = "x"'),),
          (Fault(LATER, '["lab#spare"]', "no page points to lab#spare"),)),
    Plant("a section to come that has come",
          (Edit(AHEAD_ZH, "primer/ahead#follow)。", "primer/ahead#follow)。\n\n## 后续 { #follow }\n"),
           Edit(AHEAD_EN, "primer/ahead#follow).", "primer/ahead#follow).\n\n## More { #follow }\n")),
          (*(Fault(path, "(later:primer/ahead#follow)", "is written by now; make it a link: [text](ahead.md#follow)")
             for path in (AHEAD_ZH, AHEAD_EN)), Fault(LATER, '["primer/ahead#follow"]', "is written, at"))),
]  # fmt: skip

ROOM = ("docs/room/index.zh.md", "docs/room/index.en.md")
CLOSING_ZH, CLOSING_EN = "docs/primer/closing.zh.md", "docs/primer/closing.en.md"
QUOTED = [
    one("a quoted grade that is not the claim's", CLOSING_ZH, "再说一遍[可证]", "再说一遍[可算]",
        "printed '可算' but claim 'paths-share' is graded '可证'; write [可证](claim:paths-share)"),
    Plant("a quoted claim that is not there",
          (Edit(CLOSING_ZH, "权重共用[可证](claim:paths-share)", "权重共用[可证](claim:path-share)"),
           Edit(CLOSING_EN, "are shared [proved](claim:paths-share)", "are shared [proved](claim:path-share)")),
          tuple(Fault(path, "(claim:path-share)", "quotes claim 'path-share', which docs/claims.toml or any page's "
                ".claims.toml does not have; did you mean 'paths-share'?") for path in (CLOSING_ZH, CLOSING_EN))),
    Plant("a table of chapters that leaves out a page",
          tuple(Edit(path, "](two.md)", "](https://two.example/)") for path in ROOM),
          tuple(Fault(path, "/// chapters", "the table leaves out room/two") for path in ROOM)),
]  # fmt: skip

MENU = "is in no menu; name {} under nav in mkdocs.yml, or under not_in_nav if that is meant"
NAV = [
    Plant("a page in no menu", (Edit("mkdocs.yml", "      - room/two.md\n"),),
          (Fault("docs/room/two.zh.md", says=MENU.format("room/two.md")),)),
    Plant("a page misspelt in the menu", (Edit("mkdocs.yml", "- room/one.md", "- primer/run.md"),),
          (Fault("docs/room/one.zh.md", says=MENU.format("room/one.md")),)),
    Plant("a lesson in no menu", (Edit("mkdocs.yml", "      - lab/plot.md\n", "      - index.md\n"),),
          (Fault(lessonfiles.LESSON, says=MENU.format("lab/plot.md")),)),
    Plant("a room without a title", (Edit("mkdocs.yml", "  - design:\n", "  - newroom:\n"),),
          (Fault("mkdocs.yml", "- newroom:", "the section 'newroom' has no title; give it one in both languages in SECTIONS, "
                 "blocklib/site/languages.py"),)),
    Plant("a title in one language", (Edit("mkdocs.yml", "- primer/beside.md", "- Beside: primer/beside.md"),),
          (Fault("mkdocs.yml", "- Beside:", "'Beside' is a title in one language; write primer/beside.md alone"),)),
]  # fmt: skip

SUMMARY = """\
{"corpus": {}, "arms": {"base": {"complete": true, "lost": 0}, "gelu": {"complete": true, "lost": 0}},
 "questions": {"activation": [
  {"first": "gelu", "second": "base", "kind": "differs", "mean": 0.08, "en": "GELU is 0.08 nats above base."}]}}
"""
EVIDENCE = [
    Plant("a claim without a test",
          (Edit(BESIDE[0], 'grade = "convention"', 'grade = "computed"'),),
          (Fault(BESIDE[0], "[addition-first]", "graded computed but has no test"),)),
    Plant("an unknown field beside a page", (Edit(BESIDE[0], 'ledger = "both"', 'ledger = "both"\nnote = "x"'),),
          (Fault(BESIDE[0], 'note = "x"', "unknown field 'note'"),)),
    Plant("broken TOML beside a page", (Edit(BESIDE[1], 'ledger = "runtime"', 'ledger = "runtime'),),
          (Fault(BESIDE[1], 'ledger = "runtime', "not valid TOML"),)),
    Plant("claims beside no page", (Edit("docs/primer/gone.claims.toml", new="# none yet\n"),),
          (Fault("docs/primer/gone.claims.toml", says="claims beside no page", whole=True),)),
    Plant("a claim whose test is gone", (Edit(TESTS, "def test_share():", "def test_shared():"),),
          (Fault(CLAIMS, "tests = [", "test_share does not exist"),
           Fault(TESTS, '("paths-share")', "do not list tests/evidence/test_paths.py::test_shared"),
           Fault("blocklib/theory/step_time.py", "def step_time", "there is no test"))),
    Plant("a measured claim that the lab contradicts",
          (Edit("blocklib/lab/summary.json", new=SUMMARY),
           Edit(CLAIMS, 'grade = "proved"', 'grade = "proved"\nexperiments = ["gelu below base"]')),
          (Fault(CLAIMS, "experiments =", "the lab says 'above': GELU is 0.08 nats above base."),)),
    Plant("a test marker without a claim",
          (Edit(TESTS, "import pytest\n", 'import pytest\n\n\n@pytest.mark.claim("no-claim")\ndef test_more():\n    pass\n'),),
          (Fault(TESTS, '"no-claim"', "marker names claim 'no-claim'"),)),
]  # fmt: skip


def block(name: str, snippet: str, says: str, *edits: Edit, run: bool = True) -> Plant:
    """A faulty block, reported at its fence on both pages."""
    fence = f'--8<-- "primer/run/{snippet}.py"'
    return Plant(name, edits, tuple(Fault(page, fence, says, above=1) for page in (RUN_ZH, RUN_EN)), run)


def snippet(name: str, source: str) -> Edit:
    """The snippet of this name with another source."""
    return Edit(f"snippets/primer/run/{name}.py", FILES[f"snippets/primer/run/{name}.py"], source)


BLOCKS = [
    block("a block raising", "raises", "snippets/primer/run/raises.py:2: ValueError: planted",
          snippet("raises", "print(1)\nraise ValueError('planted')\n")),
    block("a block raising in a tab", "tabbed", "snippets/primer/run/tabbed.py:1: ZeroDivisionError",
          snippet("tabbed", "print(1 / 0)\n")),
    block("a block printing nothing", "silent", "snippets/primer/run/silent.py: prints nothing", snippet("silent", "x = 1\n")),
    block("a block exiting", "exits", "snippets/primer/run/exits.py:2: calls exit",
          snippet("exits", "print(1)\nraise SystemExit(0)\n")),
    block("a block ending the process", "leaves", "snippets/primer/run/leaves.py:3: calls exit",
          snippet("leaves", "import os\nprint(1)\nos._exit(0)\n")),
    block("a block warning", "warns", "snippets/primer/run/warns.py:3: UserWarning: planted",
          snippet("warns", "import warnings\nprint(1)\nwarnings.warn('planted', stacklevel=1)\n")),
    block("a block that prints without end", "floods", "snippets/primer/run/floods.py:2: prints more than 200,000 characters",
          snippet("floods", "while True:\n    print('x' * 999)\n")),
    block("a block printing an escape", "escapes", "snippets/primer/run/escapes.py:1: prints the control character '\\x1b'",
          snippet("escapes", "print('\\x1b[1mbold')\n")),
    block("a block printing an address", "address", "snippets/primer/run/address.py:1: prints an address in memory",
          snippet("address", "print(object())\n")),
    block("a block writing a file", "writes", "snippets/primer/run/writes.py:2: writes out.txt into the tree",
          snippet("writes", "print(1)\nopen('out.txt', 'w').close()\n")),
    block("a block losing a thread's exception", "threads", "snippets/primer/run/threads.py:2: ZeroDivisionError",
          snippet("threads", "import threading\nthreading.Thread(target=lambda: 1 / 0).start()\nprint(1)\n")),
    block("a block that is no Python", "broken", "snippets/primer/run/broken.py:1: SyntaxError", snippet("broken", "print(\n")),
    block("a number wrong in what a block prints", "quotes", "printed 129 KiB but the value is 128 KiB",
          snippet("quotes", FILES["snippets/primer/run/quotes.py"].replace("128 KiB", "129 KiB"))),
    block("a missing snippet", "absent", "missing snippet snippets/primer/run/absent.py",
          Edit("snippets/primer/run/absent.py"), run=False),
]  # fmt: skip

LIBRARY = [
    Plant("a module that is no Python", (Edit("blocklib/nn/planted.py", new='"""New."""\n\n\ndef f(:\n    pass\n'),),
          (Fault("blocklib/nn/planted.py", "def f(:", "no Python, so the API pages lack it: invalid syntax"),), True),
]  # fmt: skip

ALL = [*NUMBERS, *TWINS, *AHEAD, *QUOTED, *NAV, *EVIDENCE, *BLOCKS, *LIBRARY, *lessonplants.PLANTS]

# The bytes of one element of bf16: each number that counts bytes moves, on the pages and in what a block prints.
CONSTANT = Plant(
    "a library constant changed",
    (Edit("blocklib/ledger/cache.py", '"bf16": 2', '"bf16": 4'),),
    (
        *(Fault(page, text, says) for page in (ZH, EN) for text, says in (
            ("[128 KiB]", "printed 128 KiB but the value is 256 KiB"),
            ("[4 GiB]", "printed 4 GiB but the value is 8 GiB"),
            ("[1 GiB]", "printed 1 GiB but the value is 2 GiB"),
        )),
    ),
)  # fmt: skip
CONSTANT_IN_BLOCK = block("the same constant in a block", "quotes", "printed 128 KiB but the value is 256 KiB")
CONSTANT_IN_CELL = Plant("the same constant in a cell", (), (
    Fault(lessonfiles.LESSON, "from blocklib import Text, show", "printed 128 KiB but the value is 256 KiB", above=1),
), True)  # fmt: skip
