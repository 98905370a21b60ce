"""The numbers of one page: each link to a fact evaluated with the givens of its section, and compared.

A given holds from where it stands to the end of its section; in the sentence or cell where it stands it also
holds for what stands before it. A later given of the same name overrides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blocklib.facts.fingerprint import ROOT
from blocklib.facts.items import Bound, Given, Page
from blocklib.facts.refs import Refs, fold
from blocklib.facts.registry import Evaluated, GivenValue, Registry, default, nearest, parse_expr
from blocklib.problems import BlocklibError, Problem

FREE = "example"  # the name of a given on which nothing depends
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass
class Row:
    """A row of the page's ledger of numbers: a fact, and every (text, line) in which the page prints it."""

    fact: Evaluated
    printed: list[tuple[str, int]] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The fact's key: its name and parameters."""
        return self.fact.key

    @property
    def anchor(self) -> str:
        """``n-…``, the id of the row and the target of every link to it."""
        return "n-" + self.fact.key


@dataclass
class PageNumbers:
    """What the site needs of one page (or of one text printed by a block): rows, resolved links, problems."""

    page: Page
    refs: Refs
    by_expr: dict[str, Row] = field(default_factory=dict)
    resolved: dict[int, Row] = field(default_factory=dict)  # source offset of the link → row
    values: dict[int, GivenValue] = field(default_factory=dict)  # source offset of the given → value
    problems: list[Problem] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Path of the page, relative to the root."""
        return self.page.path

    @property
    def lang(self) -> str:
        """Language of the page."""
        return self.page.lang

    @property
    def rows(self) -> list[Row]:
        """Distinct facts in the order in which the page first prints them."""
        return list(self.by_expr.values())

    def row(self, item: Bound) -> Row | None:
        """The row of a link; None where the link is at fault."""
        return self.resolved.get(item.start)

    def givens_at(self, line: int) -> dict[str, GivenValue]:
        """The givens that hold on a line (for the text that a block on this line prints)."""
        section = sum(1 for heading in self.page.headings if heading.line <= line) - 1
        here = [given for given in self._givens() if self.page.line(given.start) <= line]
        return {given.name: self.values[given.start] for given in here if self._holds(given, section)}

    def _givens(self) -> Iterable[Given]:
        return (i for i in self.page.items if isinstance(i, Given) and i.start in self.values)

    def _holds(self, given: Given, section: int) -> bool:
        return given.place.section <= section < self.page.section_end(given.place.section)

    def in_scope(self, item: Bound | Given) -> dict[str, Given]:
        """The givens that hold where an item stands, by name."""
        found: dict[str, Given] = {}
        for given in self._givens():
            if given.start < item.start and self._holds(given, item.place.section):
                found[given.name] = given
        for given in self._givens():
            if given.place.block == item.place.block and given.start > item.start:
                found.setdefault(given.name, given)
        return found


def registry_for(root: Path) -> Registry:
    """The registry of the library that stands under ``root``, else the one that is running."""
    root = Path(root)
    if root.resolve() == ROOT or not (root / "blocklib").is_dir():
        return default()
    return Registry(root)


def evaluate_page(page: Page, refs: Refs, registry: Registry, bad_refs: Iterable[str] = (),
                  outer: dict[str, GivenValue] | None = None) -> PageNumbers:  # fmt: skip
    """Resolve, evaluate and compare every link of a page.

    ``bad_refs``: folded keys whose fault is reported in the .facts file; ``outer``: givens from outside (for the
    text printed by a block). All faults are in ``problems`` of the result; nothing is raised for them.
    """
    numbers = PageNumbers(page, refs)
    _read_givens(numbers)
    used: set[int] = set()
    bad = set(bad_refs)
    for item in page.items:
        if isinstance(item, Bound):
            expr = _expression(item, numbers, bad)
            if expr is None:  # what it would have used is not known
                used.update(given.start for given in numbers.in_scope(item).values())
            else:
                _check_bound(item, expr, numbers, registry, used, outer or {})
    _unused(numbers, used)
    return numbers


def _problem(numbers: PageNumbers, item: Bound | Given, message: str) -> None:
    numbers.problems.append(Problem(numbers.path, numbers.page.line(item.start), message))


def _read_givens(numbers: PageNumbers) -> None:
    from blocklib.facts.reading import read

    for item in numbers.page.items:
        if not isinstance(item, Given):
            continue
        if not _NAME.fullmatch(item.name):
            what = "has no name" if not item.name else f"has the name {item.name!r}"
            _problem(numbers, item, f"the given {item.text!r} {what}: write given:NAME, or given:{FREE}")
            continue
        value = GivenValue(item.text)
        try:
            reading = read(item.text, numbers.lang)
        except BlocklibError:
            reading = None
        if reading is not None:
            if reading.relation != "=":
                _problem(numbers, item, f"the given {item.text!r} is a relation; what others depend on is exact")
            elif not hasattr(reading.value, "low"):
                value = GivenValue(item.text, reading.value, reading.unit)
        elif not item.text:
            _problem(numbers, item, f"the given {item.name!r} prints nothing")
        numbers.values[item.start] = value


def _expression(item: Bound, numbers: PageNumbers, bad: set[str]) -> str | None:
    if item.kind == "fact":
        return item.target
    ref = numbers.refs.get(item.target)
    if ref:
        return None if fold(item.target) in bad else ref.expr
    if item.math and not numbers.refs.by_key:
        return item.target
    if item.math and _is_fact(item.target):
        return item.target
    table = numbers.refs.path or re.sub(r"\.\w+\.md$", ".facts", numbers.path) + ", which does not exist"
    keys = [known.key for known in numbers.refs.by_key.values()]
    _problem(numbers, item, f"printed {item.text} but the key [{item.target}] is unknown in {table} "
             f"({nearest(item.target, keys, '[{}]') if keys else 'it has no keys'})")  # fmt: skip
    return None


def _is_fact(name: str) -> bool:
    try:
        return bool(default().lookup(name))
    except BlocklibError:
        return False


def _check_bound(item: Bound, expr: str, numbers: PageNumbers, registry: Registry, used: set[int],
                 outer: dict[str, GivenValue]) -> None:  # fmt: skip
    from blocklib.facts.compare import compare
    from blocklib.facts.reading import read

    scope = numbers.in_scope(item)
    givens: dict[str, Any] = {**outer, **{name: numbers.values[g.start] for name, g in scope.items()}}
    try:
        bare = [name for name, value in parse_expr(expr)[1].items() if value is None]
        used.update(scope[name].start for name in bare if name in scope)
        fact = registry.evaluate(expr, givens)
    except BlocklibError as error:
        _problem(numbers, item, f"printed {item.text} but {error}")
        return
    row = numbers.by_expr.setdefault(fact.expr, Row(fact))
    numbers.resolved[item.start] = row
    row.printed.append((item.text, numbers.page.line(item.start)))
    try:
        reason = compare(read(item.text, numbers.lang), fact.value, fact.unit)
    except BlocklibError as error:
        reason = f"printed {item.text} but {error}"
    if reason:
        _problem(numbers, item, f"{reason} [{fact.expr}]")


def _unused(numbers: PageNumbers, used: set[int]) -> None:
    """A given that says the same again as one that holds shares its use."""
    group: dict[int, int] = {}
    givens = [given for given in numbers._givens() if given.name != FREE]
    for given in givens:
        before = numbers.in_scope(given).get(given.name)
        same = before is not None and before.start < given.start and _same(numbers, before, given)
        group[given.start] = group[before.start] if same else given.start
    alive = {group[start] for start in used if start in group}
    for given in givens:
        if group[given.start] not in alive:
            _problem(
                numbers, given, f"no fact uses the given {given.name!r} ({given.text}) in its section; "
                f"use it, or write given:{FREE}"
            )  # fmt: skip


def _same(numbers: PageNumbers, one: Given, other: Given) -> bool:
    a, b = numbers.values[one.start], numbers.values[other.start]
    if a.number is None and b.number is None:
        return a.text.casefold() == b.text.casefold()
    return (a.number, a.unit) == (b.number, b.unit)
