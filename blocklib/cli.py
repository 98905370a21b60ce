"""The command line: one table of verbs, each a function ``main(argv) -> exit code`` in its own module."""

from __future__ import annotations

import sys
from importlib import import_module

from blocklib.problems import BlocklibError

VERBS = {
    "check": ("blocklib.facts.check:main", "check numbers, claims, twins, terms and sources of all pages"),
    "read": (
        "blocklib.facts.reading:read_main",
        "read a printed number: TEXT, or - for one a line from standard input",
    ),
    "fact": ("blocklib.facts.registry:fact_main", "evaluate one fact, e.g. 'implicit_paths?blocks=24'"),
    "facts": ("blocklib.facts.lock:main", "list the facts; --lock recomputes the slow ones"),
    "twins": ("blocklib.site.twins:main", "state of the page pairs; --sign PAGE after reconciling"),
}


def usage() -> str:
    width = max(map(len, VERBS))
    rows = [f"  {verb:<{width}}  {what}" for verb, (_, what) in VERBS.items()]
    return "usage: python -m blocklib VERB [arguments]\n\n" + "\n".join(rows)


def main(argv: list[str] | None = None) -> int:
    """Run one verb; a user's mistake is one line on standard error and exit code 2."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if argv[0] not in VERBS:
        print(f"unknown verb {argv[0]!r}\n\n{usage()}", file=sys.stderr)
        return 2
    module, function = VERBS[argv[0]][0].split(":")
    try:
        return getattr(import_module(module), function)(argv[1:])
    except BlocklibError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
