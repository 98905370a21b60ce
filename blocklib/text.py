"""Bilingual text: every label that a reader sees exists in both languages from the start."""

from __future__ import annotations

from typing import NamedTuple

LANGS = ("zh", "en")


class Text(NamedTuple):
    """A string in Chinese and in English; ``text["zh"]`` and ``text["en"]`` read it."""

    zh: str
    en: str

    def __getitem__(self, key):  # type: ignore[override]
        if key in LANGS:
            return getattr(self, key)
        return tuple.__getitem__(self, key)  # NamedTuple has no zero-argument super()

    @classmethod
    def same(cls, value: str) -> Text:
        """The same characters in both languages (names, symbols)."""
        return cls(value, value)
