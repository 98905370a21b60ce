"""How the project reports a fault: one exception family, and one line per fault on a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


class BlocklibError(Exception):
    """A user's mistake, said once: what was found, what was expected, where, and what to do.

    Commands print it without a traceback and exit with code 2.
    """

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None):
        self.message, self.where, self.remedy = message, where, remedy
        super().__init__(": ".join(filter(None, (where, message))) + (f" ({remedy})" if remedy else ""))


class UsageError(BlocklibError):
    """A command called with arguments that it does not take."""


@dataclass(frozen=True, order=True)
class Problem:
    """One fault at one place; prints as ``docs/x.zh.md:12: message``. Line 0 means the whole file."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


def nearest(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Up to ``most`` of the names in ``known`` that ``name`` may have meant, likeliest first; case does not matter.

    ``cutoff``: the least likeness (``difflib``'s ratio, 0 to 1); 0 always finds one.
    """
    folded = {option.casefold(): option for option in known}
    return [folded[found] for found in get_close_matches(name.casefold(), folded, most, cutoff)]
