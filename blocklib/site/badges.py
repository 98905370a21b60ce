"""Grades of claims, quoted on other pages: the author prints the grade, the entry vouches for it.

    scores become symmetric [proved](claim:tied-scores-symmetric)

The reader sees the badge, linked to the claim. An unknown claim, or a grade that is no longer the claim's, is a
fault with file and line, so that what a page concludes cannot outlive what it rests on.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path

from blocklib.claims import closure
from blocklib.claims.pages import pages
from blocklib.claims.registry import GRADES, Registry, load, nearest
from blocklib.facts.items import OPAQUE, Badge
from blocklib.problems import Problem
from blocklib.site import redirects

Places = dict[str, str]
"""Claim → the page on which it stands first, by path."""


def places(root: Path) -> Places:
    """Where every claim stands; claims that stand on no page are left out."""
    return {use.claim: use.page for use in reversed(closure.uses(root))}


def links(page: str, lang: str, registry: Registry, stand: Places) -> dict[str, tuple[str, str, str]]:
    """Claim → its badge's CSS classes, the claim's address as seen from ``page`` (``design/closing``), and its title.

    The address is that of the source, ``qkv.md#claim-ID``; the title says how the claim is known.
    """
    folder = posixpath.dirname(page) or "."
    return {
        ident: (
            GRADES[claim.grade].css,
            f"{posixpath.relpath(f'{stand[ident]}.md', folder)}#{claim.anchor}",
            claim.how[lang],
        )
        for ident, claim in registry.claims.items()
        if ident in stand
    }


def check(root: Path) -> list[Problem]:
    """Quoted grades of claims that do not exist, and grades that are not the claim's; sorted."""
    registry, heirs = load(root), redirects.load(root)["claims"]
    return sorted(
        Problem(page.path, page.line(badge.start), says)
        for _, page in pages(root)
        for badge in page.badges
        for says in _faults(badge, page.lang, registry, heirs)
    )


def _faults(badge: Badge, lang: str, registry: Registry, heirs: dict[str, str]) -> Iterator[str]:
    claim = registry.claims.get(badge.target)
    if claim is None:
        if badge.target in heirs:
            yield f"claim {badge.target!r} is now {heirs[badge.target]!r}"
        elif badge.target not in registry.unread:
            yield (
                f"quotes claim {badge.target!r}, which {registry.names()} does not have"
                f"{nearest(badge.target, registry.claims)}"
            )
        return
    grade = GRADES[claim.grade].label[lang]
    if badge.text != grade:
        shown = badge.text.replace(OPAQUE, "…")
        yield f"printed {shown!r} but claim {claim.id!r} is graded {grade!r}; write [{grade}](claim:{claim.id})"
