"""The terms of the field in both languages: docs/terms.toml, held to in prose, and the rows of the glossary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from blocklib.claims import sources
from blocklib.claims.pages import pages
from blocklib.claims.registry import load as load_claims
from blocklib.claims.tomlfile import TomlFile, read_toml
from blocklib.problems import Problem
from blocklib.site import later
from blocklib.text import LANGS, Text

TERMS = "docs/terms.toml"
_FIELDS = {"id", "zh", "en", "forbidden_zh", "forbidden_en", "note"}
_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN = "A-Za-z0-9_"
_GAP = r"(?:[ \t\u00a0]+|[ \t]*\n[ \t]*)"


@dataclass(frozen=True)
class Term:
    """One pair. ``name`` may carry its full name in brackets (``FFN（前馈网络）``); ``note`` defines it."""

    id: str
    name: Text
    note: Text
    forbidden: dict[str, tuple[str, ...]]
    line: int

    def forms(self, lang: str) -> tuple[str, ...]:
        """The right forms in one language: the name, and a bracketed full name apart from it."""
        parts = [part.strip() for part in re.split(r"[（）()]", self.name[lang])]
        return tuple(dict.fromkeys(part for part in (self.name[lang], *parts) if part))


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms in the order of the file, and what is wrong with the file."""

    terms: tuple[Term, ...]
    problems: tuple[Problem, ...]


def load(root: Path) -> Terms:
    """Read docs/terms.toml under ``root``; each fault is one problem with its line, nothing is raised."""
    return _read(read_toml(root, TERMS))


@lru_cache(maxsize=4)
def _read(file: TomlFile) -> Terms:
    problems = list(file.problems)
    found: list[Term] = []
    for key in sorted(set(file.data) - {"term"}):
        problems.append(Problem(file.path, file.line(key), f"unknown table [{key}]; a term is [[term]]"))
    for index, table in enumerate(file.data.get("term", [])):
        found.append(_term(file, index, table, problems))
    for key in ("id", "zh", "en"):
        first: dict[str, Term] = {}
        for term in found:
            name = term.id if key == "id" else term.name[key]
            if name and name in first:
                line = first[name].line
                problems.append(Problem(file.path, term.line, f"{key} {name!r} stands already in line {line}"))
            first.setdefault(name, term)
    problems += _contradictions(file, found)
    return Terms(tuple(found), tuple(problems))


def _term(file: TomlFile, index: int, table: dict, problems: list[Problem]) -> Term:
    place = f"term#{index}"

    def fault(message: str, key: str | None = None) -> None:
        problems.append(Problem(file.path, file.line(place, key), message))

    ident = table.get("id", "")
    if not isinstance(ident, str) or not _ID.match(ident):
        fault(f"term {index + 1} needs an id of lower-case ASCII words joined by hyphens, found {ident!r}", "id")
    for key in sorted(set(table) - _FIELDS):
        fault(f"term {ident!r}: unknown field {key!r}", key)
    note = table.get("note") if isinstance(table.get("note"), dict) else {}
    for lang in LANGS:
        if not isinstance(table.get(lang), str) or not table[lang].strip():
            fault(f"term {ident!r}: {lang} is missing")
        if not isinstance(note.get(lang), str) or not note[lang].strip():
            fault(f"term {ident!r}: note.{lang} is missing: one line that defines it")
    forbidden = {}
    for lang in LANGS:
        forms = table.get(f"forbidden_{lang}", [])
        if not isinstance(forms, list) or not all(isinstance(form, str) and form.strip() for form in forms):
            fault(f"term {ident!r}: forbidden_{lang} is a list of strings", f"forbidden_{lang}")
            forms = []
        forbidden[lang] = tuple(forms)
    name = Text(*(str(table.get(lang, "")) for lang in LANGS))
    return Term(str(ident), name, Text(*(str(note.get(lang, "")) for lang in LANGS)), forbidden, file.line(place))


def _contradictions(file: TomlFile, found: list[Term]) -> Iterator[Problem]:
    """A form that one entry asks for and another refuses."""
    for index, term in enumerate(found):
        for lang in LANGS:
            for form in term.forbidden[lang]:
                clash = next((other for other in found if form in other.forms(lang)), None)
                if clash:
                    line = file.line(f"term#{index}", f"forbidden_{lang}")
                    yield Problem(file.path, line, f"term {term.id!r} forbids {form!r}, "
                                  f"the right form of {clash.id!r} in line {clash.line}")  # fmt: skip


class Speller:
    """Finds forbidden forms in running text of one language."""

    def __init__(self, terms: Iterable[Term], lang: str, allowed: Iterable[str] = ()):
        self.lang = lang
        terms = list(terms)
        # Latin terms stand in Chinese prose too, so their wrong spellings are wrong there as well.
        langs = LANGS if lang == "zh" else ("en",)
        self.wrong: dict[str, Term] = {}
        for term in terms:
            for one in langs:
                for form in term.forbidden[one]:
                    if one == lang or not _HAN.search(form):
                        self.wrong.setdefault(form, term)
        right = {form for term in terms for form in term.forms(lang)} | set(allowed)
        # One pass for most text: only if some form occurs at all are the single patterns tried.
        self._any = re.compile("|".join(_pattern(form) for form in self.wrong) or r"(?!)")
        self._each = [(form, re.compile(_pattern(form))) for form in self.wrong]
        # A forbidden form is allowed inside a right form or a title; few of those can hold a given form.
        self._holders = {form: [one for one in right if form.casefold() in one.casefold()] for form in self.wrong}
        self._clean: set[str] = set()  # texts without any form: nearly all of them, at every check of a preview

    def find(self, text: str) -> list[tuple[int, str, Term]]:
        """(offset, the form as it stands, its term) of each forbidden form in ``text``, in order."""
        if text in self._clean:
            return []
        if not self._any.search(text):
            self._clean.add(text)
            return []
        found: dict[tuple[int, int], tuple[int, str, Term]] = {}
        for form, pattern in self._each:
            for match in pattern.finditer(text):
                if not self._allowed(form, match.start(), match.end(), text):
                    found[match.span()] = (match.start(), match[0], self.wrong[form])
        spans = sorted(found, key=lambda span: (span[0], -span[1]))
        kept: list[tuple[int, int]] = []
        for span in spans:  # of overlapping forms the longest is the one to name
            if not kept or span[0] >= kept[-1][1]:
                kept.append(span)
        return [found[span] for span in kept]

    def _allowed(self, form: str, start: int, end: int, text: str) -> bool:
        """Inside a right form or a cited title, or in brackets as the other language's name: ``KV 缓存（KV cache）``."""
        if text[start - 1 : start] in ("（", "(") and text[end : end + 1] in ("）", ")"):
            other = "en" if self.lang == "zh" else "zh"
            if text[start:end] in self.wrong[form].forms(other):
                return True
        # A plural of a right form is right: "KV caches".
        spans = (found.span() for one in self._holders[form] for found in re.finditer(_spelled(one) + "s?", text))
        return any(left <= start and end <= right for left, right in spans)


def _spelled(form: str) -> str:
    """``form`` as a pattern: blanks match a line break, and a Chinese word may be broken across lines."""
    pieces = []
    for word in form.split():
        chars = [re.escape(char) for char in word]
        joined = chars[0]
        for before, char in zip(word, word[1:], strict=False):
            joined += (r"(?:\n[ \t]*)?" if _HAN.match(before) and _HAN.match(char) else "") + re.escape(char)
        pieces.append(joined)
    return _GAP.join(pieces)


def _pattern(form: str) -> str:
    """A forbidden form: in small letters it matches any case, and Latin ends must be ends of words."""
    pattern = _spelled(form)
    if re.search(r"[A-Za-z]", form):
        before = f"(?<![{_LATIN}])" if re.match(r"[A-Za-z0-9]", form) else ""
        after = f"s?(?![{_LATIN}])" if re.search(r"[A-Za-z0-9]$", form) else ""
        pattern = before + (f"(?i:{pattern})" if form == form.lower() else pattern) + after
    return pattern


def check(root: Path) -> list[Problem]:
    """Faults of docs/terms.toml and every forbidden form in prose, sorted, each with the form to use."""
    terms = load(root)
    problems = list(terms.problems)
    spellers = _spellers(terms, sources.load(root))
    for _, page in pages(root):
        for run in page.runs:
            if run.kind == "prose":
                for offset, form, term in spellers[page.lang].find(run.text):
                    problems.append(Problem(page.path, page.line(run.at[offset]), _message(form, term, page.lang)))
    registry = load_claims(root)
    for claim in registry.claims.values():
        for lang in LANGS:
            line = registry.line(claim, f"how.{lang}")
            for _, form, term in spellers[lang].find(claim.how[lang]):
                problems.append(Problem(claim.path, line, _message(form, term, lang)))
    listing = later.load(root)
    for ident, title in listing.sections.items():
        for lang in LANGS:
            for _, form, term in spellers[lang].find(title[lang]):
                line = listing.file.line(ident, lang)
                problems.append(Problem(later.LATER, line, _message(form, term, lang)))
    return sorted(set(problems))


@lru_cache(maxsize=4)
def _spellers(terms: Terms, library: sources.Library) -> dict[str, Speller]:
    titles = [source.title for source in library.entries.values()]
    return {lang: Speller(terms.terms, lang, titles) for lang in LANGS}


def _message(form: str, term: Term, lang: str) -> str:
    shown = " ".join(form.split())
    return f"{shown!r} is not a form used here; write {term.name[lang]!r} ({TERMS}, line {term.line})"
