"""How the project reports a fault: one exception family, and one line per fault on a page."""

from __future__ import annotations

from dataclasses import dataclass


class BlocklibError(Exception):
    """A user's mistake, said once: what was found, what was expected, where, and what to do.

    Commands print it without a traceback and exit with code 2.
    """

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None):
        self.message, self.where, self.remedy = message, where, remedy
        super().__init__(": ".join(filter(None, (where, message))) + (f" ({remedy})" if remedy else ""))


@dataclass(frozen=True, order=True)
class Problem:
    """One fault at one place; prints as ``docs/x.zh.md:12: message``. Line 0 means the whole file."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"
