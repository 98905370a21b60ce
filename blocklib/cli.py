"""The command line: one table of verbs, each a function ``main(argv) -> exit code`` in its own module.

Exit code 0: done, and all is well; 1: done, and something is wrong with what was asked about; 2: not done, and one
line on standard error says why; 130: stopped by Ctrl-C. The docstring of a verb's function is what ``VERB --help`` prints.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from inspect import getdoc

from blocklib.problems import BlocklibError, UsageError, nearest

VERBS = {
    "check": ("blocklib.check:main", "check numbers, claims, twins, terms and sources of all pages"),
    "ledger": (
        "blocklib.atlas.command:ledger_main",
        "exact ledger of a config.json or a model by name: parameters, cache, FLOPs, bounds",
    ),
    "models": ("blocklib.atlas.command:models_main", "list the models of the atlas"),
    "read": (
        "blocklib.facts.reading:read_main",
        "read a printed number: TEXT, or - for one a line from standard input",
    ),
    "fact": ("blocklib.facts.registry:fact_main", "evaluate one fact, e.g. 'implicit_paths?blocks=24'"),
    "facts": ("blocklib.facts.lock:main", "list the facts; --lock recomputes the slow ones"),
    "lab": ("blocklib.lab.command:main", "the training lab: run what is missing, its status, a re-run that compares"),
    "twins": ("blocklib.site.twins:main", "state of the page pairs; --sign PAGE after reconciling"),
}
HELP = {"-h", "--help"}


def usage() -> str:
    width = max(map(len, VERBS))
    rows = [f"  {verb:<{width}}  {what}" for verb, (_, what) in VERBS.items()]
    return "usage: python -m blocklib VERB [arguments]\n\n" + "\n".join(rows)


def main(argv: list[str] | None = None) -> int:
    """Run one verb; a user's mistake is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):  # messages hold Chinese, whatever the terminal claims to show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    verb, *rest = (sys.argv[1:] if argv is None else argv) or ["help"]
    if verb in HELP | {"help"}:
        print(usage())
        return 0
    ask = "python -m blocklib --help"
    try:
        if verb not in VERBS:
            close = nearest(verb, VERBS)
            raise UsageError(f"unknown verb {verb!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        ask = f"python -m blocklib {verb} --help"
        module, name = VERBS[verb][0].split(":")
        function = getattr(import_module(module), name)
        if HELP & set(rest):
            print(getdoc(function))
            return 0
        return function(rest)
    except UsageError as error:
        print(f"error: {error} (see {ask})", file=sys.stderr)
    except BlocklibError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read our lines has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 2
