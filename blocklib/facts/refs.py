"""The files ``PAGE.facts``: one reference a line, shared by both languages of a page.

# comment
[ln]: fact:norm_ops?kind=layernorm&d_model
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from blocklib.problems import Problem

_LINE = re.compile(r"\[([^\]]*)\]:\s*(\S+)(?:\s+(.*))?$")
_KEY = re.compile(r"[A-Za-z0-9][\w.:-]*", re.ASCII)


@dataclass(frozen=True)
class Ref:
    """One reference: ``key`` as written, ``expr`` without ``fact:``, line in the file."""

    key: str
    expr: str
    line: int


@dataclass
class Refs:
    """The references of a page by folded key; ``path`` is None where the page has no such file."""

    path: str | None = None
    by_key: dict[str, Ref] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def get(self, key: str) -> Ref | None:
        """The reference of that key, whatever its case; None where there is none."""
        return self.by_key.get(fold(key))


def fold(key: str) -> str:
    """Markdown's rule for labels: case and runs of blanks do not matter."""
    return " ".join(key.split()).casefold()


def parse_facts(text: str, path: str) -> Refs:
    """Read a ``.facts`` file; what is wrong becomes a problem with its line, never an exception."""
    refs = Refs(path)
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if not found or (found[3] and not found[3].startswith("#")):
            refs.problems.append(Problem(path, number, f"cannot read {line!r}; a line is [key]: fact:NAME?param=value"))
            continue
        key, target = found[1], found[2]
        if not _KEY.fullmatch(key):
            refs.problems.append(Problem(path, number, f"the key {key!r} must be ASCII letters, digits, _ . : or -"))
        elif not target.startswith("fact:"):
            message = f"[{key}] points to {target!r}; only fact:NAME?… stands in this file"
            refs.problems.append(Problem(path, number, message))
        elif known := refs.by_key.get(fold(key)):
            refs.problems.append(Problem(path, number, f"the key [{key}] is already defined on line {known.line}"))
        else:
            refs.by_key[fold(key)] = Ref(key, target.removeprefix("fact:"), number)
    return refs
