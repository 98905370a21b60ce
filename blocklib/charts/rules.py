"""What every exhibit must hold: each control moves the chart, the sentence and the table; the payload is small."""

from __future__ import annotations

from blocklib.charts.exhibit import Exhibit
from blocklib.charts.payload import MAX_BYTES, document, encoded
from blocklib.text import LANGS


def broken_rules(exhibit: Exhibit) -> list[str]:
    """All rules that ``exhibit`` breaks, one message each; an empty list when it keeps them."""
    out = []
    for lang in LANGS:
        here = document(exhibit, exhibit.defaults, lang)
        for k, control in enumerate(exhibit.controls):
            for i, label in enumerate(control.labels):
                if i == exhibit.defaults[k]:
                    continue
                there = document(exhibit, (*exhibit.defaults[:k], i, *exhibit.defaults[k + 1 :]), lang)
                for part, name in (("wide", "chart"), ("narrow", "narrow chart"), ("sentence", "sentence"),
                                   ("table", "table")):  # fmt: skip
                    if here[part] == there[part]:
                        out.append(
                            f"{exhibit.id} ({lang}): {control.name} at {label[lang]!r} does not change the {name}"
                        )
        _, size = encoded(exhibit, lang)
        if size > MAX_BYTES:
            out.append(f"{exhibit.id} ({lang}): {size:,} bytes of compressed payload; at most {MAX_BYTES:,}")
    return out
