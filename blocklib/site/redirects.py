"""Ids as promises: once published, an id of a claim, fact, heading or page stays, or a redirect names its heir.

docs/ids.toml lists what has been published (written when a pair is signed, never by hand);
docs/redirects.toml says where a retired id leads now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blocklib.claims.closure import uses
from blocklib.claims.pages import pages
from blocklib.claims.registry import load as load_claims
from blocklib.claims.registry import nearest
from blocklib.claims.tomlfile import TomlFile, read_toml
from blocklib.facts.files import load_refs
from blocklib.facts.items import Bound, Page
from blocklib.facts.pages import registry_for
from blocklib.facts.registry import parse_expr
from blocklib.problems import BlocklibError, Problem
from blocklib.text import LANGS

IDS = "docs/ids.toml"
REDIRECTS = "docs/redirects.toml"
KINDS = ("pages", "headings", "claims", "facts")
_HEAD = "# Ids that readers may have linked to. Written when a pair is signed; a retired id goes to redirects.toml.\n"


@dataclass(frozen=True)
class Ids:
    """The ids of the sources as they are; headings as ``page#id``."""

    pages: frozenset[str]
    headings: frozenset[str]
    claims: frozenset[str]
    facts: frozenset[str]


def current(root: Path) -> Ids:
    """What exists now: pages and their headings, claims, and every registered fact."""
    found = list(_scan(root))
    headings = {f"{page}#{ident}" for page, ids, _ in found for ident in ids}
    try:
        facts = set(registry_for(root).names())
    except BlocklibError:  # reported by the number check
        facts = set()
    names = frozenset(page for page, _, _ in found)
    return Ids(names, frozenset(headings), frozenset(load_claims(root).claims), frozenset(facts))


def _scan(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """(page, heading ids, names of bound facts) of every page, in the first language in which it stands."""
    found: dict[str, Page] = {}
    for lang in LANGS:
        for name, page in pages(root, lang):
            found.setdefault(name, page)
    for name, page in sorted(found.items()):
        refs, _ = load_refs(root, f"docs/{name}.facts")
        facts = []
        for item in page.items:
            if isinstance(item, Bound):
                ref = refs.get(item.target) if item.kind == "key" else None
                try:
                    facts.append(parse_expr(ref.expr if ref else item.target)[0])
                except BlocklibError:
                    continue
        yield name, [head.id for head in page.headings if head.id], facts


def load(root: Path) -> dict[str, dict[str, str]]:
    """The redirects by kind: old id → new id, chains followed to their end."""
    data = read_toml(root, REDIRECTS, required=False).data
    found: dict[str, dict[str, str]] = {}
    for kind in KINDS:
        table = {str(old): str(new) for old, new in data.get(kind, {}).items()}
        found[kind] = {old: _end(table, old) for old in table}
    return found


def _end(table: dict[str, str], old: str) -> str:
    seen = {old}
    new = table[old]
    while new in table and new not in seen:
        seen.add(new)
        new = table[new]
    return new


def aliases(root: Path, page: str) -> dict[str, list[str]]:
    """For the anchors of ``page``: id now → old ids that must lead there (headings and claims)."""
    redirects = load(root)
    found: dict[str, list[str]] = {}
    for old, new in redirects["headings"].items():
        if new.startswith(f"{page}#") and old.startswith(f"{page}#"):
            found.setdefault(new.split("#")[1], []).append(old.split("#")[1])
    for old, new in redirects["claims"].items():
        found.setdefault(f"claim-{new}", []).append(f"claim-{old}")
    return found


def check(root: Path) -> list[Problem]:
    """A published id that is gone without a redirect, and redirects that lead nowhere; sorted."""
    published = read_toml(root, IDS, required=False)
    moved = read_toml(root, REDIRECTS, required=False)
    problems = [*published.problems, *moved.problems]
    if problems:
        return problems
    now = current(root)
    problems += _check_redirects(moved, now)
    redirects = load(root)
    unread = load_claims(root).unread
    for kind, ident, line in _published(published):
        if kind == "claims" and ident in unread:
            continue
        alive = getattr(now, kind)
        if ident in alive or ident in redirects[kind]:
            continue
        page, _, anchor = ident.partition("#")
        if kind == "headings" and f"{redirects['pages'].get(page, page)}#{anchor}" in alive:
            continue
        remedy = f"bring it back or name its heir in {REDIRECTS}, [{kind}]"
        problems.append(Problem(published.path, line, f"published {kind[:-1]} {ident!r} is gone; {remedy}"))
    return sorted(set(problems))


def _published(file: TomlFile) -> Iterator[tuple[str, str, int]]:
    for kind in ("claims", "facts"):
        for ident in file.data.get(kind, []):
            yield kind, ident, file.line("", kind)
    for page, ids in file.data.get("headings", {}).items():
        line = file.line("headings", page)
        yield "pages", page, line
        for ident in ids:
            yield "headings", f"{page}#{ident}", line


def _check_redirects(file: TomlFile, now: Ids) -> Iterator[Problem]:
    for kind in sorted(set(file.data) - set(KINDS)):
        yield Problem(file.path, file.line(kind), f"unknown table [{kind}]; one of {', '.join(KINDS)}")
    for kind in KINDS:
        table = file.data.get(kind, {})
        for old, new in table.items():
            line = file.line(kind, old)
            alive = getattr(now, kind)
            if old in alive:
                yield Problem(file.path, line, f"{old!r} still exists; a redirect is for a retired id")
            if _end({str(k): str(v) for k, v in table.items()}, old) not in alive:
                yield Problem(
                    file.path, line, f"{old!r} leads to {new!r}, which does not exist{nearest(str(new), alive)}"
                )


def record(root: Path, signed: list[str]) -> None:
    """Add the ids of the pages ``signed`` to docs/ids.toml. Ids are added, never taken away."""
    data = read_toml(root, IDS, required=False).data
    claims, facts = set(data.get("claims", [])), set(data.get("facts", []))
    headings = {page: list(ids) for page, ids in data.get("headings", {}).items()}
    claims |= {use.claim for use in uses(root) if use.page in signed}
    for page, ids, names in _scan(root):
        if page in signed:
            facts |= set(names)
            known = headings.setdefault(page, [])
            known += [ident for ident in ids if ident not in known]
    lines = [_HEAD, "\n"]
    for kind, names in (("claims", claims), ("facts", facts)):
        lines += [f"{kind} = [\n", *(f'    "{name}",\n' for name in sorted(names)), "]\n\n"]
    lines.append("[headings]\n")
    for page, ids in sorted(headings.items()):
        lines.append(f'"{page}" = [' + ", ".join(f'"{ident}"' for ident in ids) + "]\n")
    (root / IDS).write_text("".join(lines), encoding="utf-8", newline="\n")
