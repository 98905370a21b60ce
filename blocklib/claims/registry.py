"""The claims of the site, one table each: grade, ledger, evidence, how it is known.

They stand in docs/claims.toml or beside the page that argues them: those of docs/design/qkv.zh.md and
docs/design/qkv.en.md in docs/design/qkv.claims.toml. Ids are unique over all files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from blocklib import problems
from blocklib.claims.tomlfile import TomlFile, read_toml
from blocklib.facts.files import has_page
from blocklib.problems import BlocklibError, Problem
from blocklib.text import LANGS, Text

CLAIMS_FILE = "docs/claims.toml"
BESIDE = ".claims.toml"  # after the name of a page: its claims, beside it
IDENT = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")
_TEST = re.compile(r"tests/[\w/]+\.py(?:::\w+)+\Z")
_FIELDS = {"grade", "ledger", "tests", "sources", "experiments", "how"}


class ClaimError(BlocklibError):
    """A claim that does not exist or cannot be read."""


@dataclass(frozen=True)
class Grade:
    """How we know: the word in both languages, what it stands for, and the badge's CSS classes."""

    name: str
    label: Text
    meaning: Text

    @property
    def css(self) -> str:
        """The badge's CSS classes."""
        return f"tl-grade tl-grade--{self.name}"

    def badge(self, lang: str) -> str:
        """The badge as HTML: always the word, never an icon."""
        return f'<span class="{self.css}">{self.label[lang]}</span>'


GRADES: dict[str, Grade] = {
    grade.name: grade
    for grade in (
        Grade(
            "proved",
            Text("可证", "proved"),
            Text(
                "随机输入上的性质测试逐一通过；撤掉条件的反例必须失败。",
                "A property test holds over random inputs, and a control that drops the condition fails.",
            ),
        ),
        Grade(
            "computed",
            Text("可算", "computed"),
            Text(
                "由配置或给定的数算出的闭式，并与另一条独立算法对上。",
                "A closed form from a configuration or given numbers, with which an independent calculation agrees.",
            ),
        ),
        Grade(
            "measured",
            Text("实测", "measured"),
            Text(
                "本站实验室的实验，带随机种子与噪声底。",
                "An experiment of this site's lab, with seeds and a noise floor.",
            ),
        ),
        Grade(
            "cited",
            Text("有据", "cited"),
            Text("出自文献，写明摘要、表号或章节。", "A source, with the table, section or abstract it stands in."),
        ),
        Grade(
            "convention",
            Text("惯例", "convention"),
            Text("业内的通行做法，并非非此不可。", "What the field does, not what must be."),
        ),
    )
}


@dataclass(frozen=True)
class Ledger:
    """Which account a claim is entered in: training, run time, or both."""

    name: str
    label: Text
    entered: Text
    css: str


LEDGERS: dict[str, Ledger] = {
    ledger.name: ledger
    for ledger in (
        Ledger(
            "training",
            Text("训练账", "training ledger"),
            Text("记入训练账", "entered in the training ledger"),
            "tl-claim--train",
        ),
        Ledger(
            "runtime",
            Text("运行账", "run-time ledger"),
            Text("记入运行账", "entered in the run-time ledger"),
            "tl-claim--run",
        ),
        Ledger(
            "both",
            Text("两本账", "both ledgers"),
            Text("两本账都记", "entered in both ledgers"),
            "tl-claim--both",
        ),
    )
}


@dataclass(frozen=True)
class Citation:
    """A BibTeX key and the place in that work: a table, figure, section, equation or the abstract."""

    key: str
    place: str

    def __str__(self) -> str:
        return f"{self.key}, {self.place}" if self.place else self.key

    @classmethod
    def parse(cls, text: str) -> Citation:
        """``"he2015, Table 2"`` as key and place; the place is empty where the comma is missing."""
        key, _, place = text.partition(",")
        return cls(key.strip(), place.strip())


@dataclass(frozen=True)
class Claim:
    """One claim; the sentence itself stands on its page, in each language."""

    id: str
    grade: str
    ledger: str
    how: Text
    tests: tuple[str, ...] = ()
    sources: tuple[Citation, ...] = ()
    experiments: tuple[str, ...] = ()
    line: int = 0
    path: str = CLAIMS_FILE

    @property
    def anchor(self) -> str:
        """The id of the claim's block on its page."""
        return f"claim-{self.id}"

    @property
    def page(self) -> str:
        """The page beside which the claim is entered (``design/qkv``); "" for docs/claims.toml."""
        return self.path.removeprefix("docs/").removesuffix(BESIDE) if self.path.endswith(BESIDE) else ""


@dataclass(frozen=True)
class Registry:
    """All claims by id, in the order of ``files`` and within each file, and everything that is wrong with them."""

    claims: dict[str, Claim]
    problems: tuple[Problem, ...]
    files: dict[str, TomlFile]

    def __getitem__(self, ident: str) -> Claim:
        """The claim ``ident``; raises :class:`ClaimError` naming the nearest id."""
        if ident not in self.claims:
            raise ClaimError(f"no claim {ident!r} in {self.names()}{nearest(ident, self.claims)}")
        return self.claims[ident]

    @cached_property
    def unread(self) -> frozenset[str]:
        """Ids entered in files that could not be read: they are not missing, and the file is reported."""
        broken = (file for file in self.files.values() if file.problems)
        return frozenset(place for file in broken for place in file.places if isinstance(place, str))

    def names(self) -> str:
        """The files in words, for messages."""
        return CLAIMS_FILE if len(self.files) == 1 else f"{CLAIMS_FILE} or any page's {BESIDE}"

    def line(self, claim: Claim, key: str) -> int:
        """The line of a claim's field in ``claim.path``, else of the claim."""
        return self.files[claim.path].line(claim.id, key)

    @cached_property
    def tests(self) -> dict[str, list[str]]:
        """The test names that claims list, each with the claims that list it."""
        listed: dict[str, list[str]] = {}
        for claim in self.claims.values():
            for test in claim.tests:
                listed.setdefault(test, []).append(claim.id)
        return listed


def nearest(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the likeliest known name, or nothing."""
    close = problems.nearest(name, known)
    return f"; did you mean {close[0]!r}?" if close else ""


def load(root: Path) -> Registry:
    """Read docs/claims.toml under ``root``, then every ``PAGE.claims.toml`` by path.

    Faults are collected, one message each with its own file and line; nothing is raised.
    """
    beside = sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob(f"*{BESIDE}"))
    files = {path: read_toml(root, path) for path in (CLAIMS_FILE, *beside)}
    problems: list[Problem] = []
    claims: dict[str, Claim] = {}
    for path, file in files.items():
        problems += file.problems
        page = path.removesuffix(BESIDE)
        if path.endswith(BESIDE) and not has_page(root, page):
            problems.append(Problem(path, 0, f"claims beside no page: there is neither {page}.zh.md nor {page}.en.md"))
        for ident, table in file.data.items():
            if not isinstance(table, dict):
                message = f"expected a table [{ident}], found a single value"
                problems.append(Problem(path, file.line("", ident), message))
                continue
            claim = _Reader(file, ident, table, problems).claim()
            if ident in claims:
                first = claims[ident]
                message = f"claim {ident!r} stands already in {first.path}:{first.line}"
                problems.append(Problem(path, claim.line, message))
            claims.setdefault(ident, claim)
    return Registry(claims, tuple(problems), files)


class _Reader:
    """Reads one table; each fault goes to ``problems`` with the line of its key."""

    def __init__(self, file: TomlFile, ident: str, table: dict[str, Any], problems: list[Problem]):
        self.file, self.ident, self.table, self.problems = file, ident, table, problems

    def fault(self, message: str, key: str | None = None) -> None:
        where = self.file.line(self.ident, key)
        self.problems.append(Problem(self.file.path, where, f"claim {self.ident!r}: {message}"))

    def claim(self) -> Claim:
        if not IDENT.match(self.ident):
            self.fault("an id is lower-case ASCII words joined by hyphens")
        for key in sorted(set(self.table) - _FIELDS):
            self.fault(f"unknown field {key!r}{nearest(key, _FIELDS)}", key)
        grade = self.choice("grade", GRADES)
        ledger = self.choice("ledger", LEDGERS)
        tests = self.strings("tests")
        for test in tests:
            if not _TEST.match(test):
                self.fault(f"{test!r} is not a test's name; expected tests/ROOM/test_FILE.py::test_NAME", "tests")
        sources = tuple(Citation.parse(text) for text in self.strings("sources"))
        for source in sources:
            if not source.place:
                self.fault(
                    f"source {source.key!r} names no place; write {source.key + ', Table 2'!r}, "
                    "a section or the abstract",
                    "sources",
                )
        experiments = self.strings("experiments")
        if grade in ("proved", "computed") and not tests:
            self.fault(f"graded {grade} but has no test")
        if grade == "cited" and not sources:
            self.fault("graded cited but names no source")
        if grade == "measured" and not experiments:
            self.fault("graded measured but names no experiment")
        line = self.file.line(self.ident)
        return Claim(self.ident, grade, ledger, self.how(), tests, sources, experiments, line, self.file.path)

    def choice(self, key: str, known: dict[str, Any]) -> str:
        value = self.table.get(key)
        if value is None:
            self.fault(f"{key} is missing; one of {', '.join(known)}")
        elif value not in known:
            self.fault(f"unknown {key} {value!r}; one of {', '.join(known)}", key)
        return str(value) if value in known else next(reversed(known))

    def strings(self, key: str) -> tuple[str, ...]:
        value = self.table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            self.fault(f"{key} is a list of strings, found {value!r}", key)
            return ()
        for item in sorted({item for item in value if value.count(item) > 1}):
            self.fault(f"{key} names {item!r} twice", key)
        return tuple(dict.fromkeys(value))

    def how(self) -> Text:
        value = self.table.get("how", {})
        value = value if isinstance(value, dict) else {}
        for lang in LANGS:
            if not isinstance(value.get(lang), str) or not value[lang].strip():
                self.fault(f"how.{lang} is missing: one line on how it is known", f"how.{lang}")
            elif "\n" in value[lang]:
                self.fault(f"how.{lang} is more than one line", f"how.{lang}")
        return Text(*(str(value.get(lang, "")).strip() for lang in LANGS))
