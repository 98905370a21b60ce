"""All states of an exhibit in one small JSON file: the default state in full, the others as changes to it.

Form of the file::

    {"sizes": [6, 2],                 values per control; states in mixed radix, the last control fastest
     "start": [3, 0],                 the default's indices
     "base": {…},                     the default's document: wide and narrow figure, sentence, table, setting
     "paths": [["wide", "data", 0, "x"], …],
     "pool": [value, …],              every value that some state changes, each once
     "states": [[p, v, p, v, …], …]}  the changes of each state: document[paths[p]] = pool[v]
"""

from __future__ import annotations

import gzip
import json
from typing import Any

from blocklib.charts.discover import load
from blocklib.charts.exhibit import Exhibit
from blocklib.charts.frame import Frame
from blocklib.charts.model import NUMBERS, ChartError, Table
from blocklib.charts.numerals import num
from blocklib.charts.plotly import figure
from blocklib.charts.scene import Margin
from blocklib.text import Text

MAX_BYTES = 60_000
# A table's cells change one by one; a longer list of numbers (a line's points) changes as a whole.
_WHOLE = {"x", "y", "width", "base", "hovertext", "opacity", "range"}


def cell(value: Any, lang: str) -> str:
    """A table cell in ``lang``."""
    if isinstance(value, Text):
        return value[lang]
    return num(value) if isinstance(value, NUMBERS) else str(value)


def numeric(value: Any, lang: str) -> bool:
    """Is this cell set as an amount: right-aligned, tabular?"""
    if isinstance(value, NUMBERS):
        return True
    words = cell(value, lang).lstrip("+−-~≈<> ")
    return bool(words) and (words[0].isdigit() or words[0] in "—–")


def table_document(table: Table, lang: str) -> dict[str, Any]:
    """The table as strings: ``{"head": […], "rows": [[…], …], "amounts": […], "total": …}``.

    amounts: the columns that hold amounts; total: the row that closes the account, or None.
    """
    columns = range(len(table.head))
    amounts = [c for c in columns if c and all(numeric(row[c], lang) for row in table.rows)]
    return {
        "head": [h[lang] for h in table.head],
        "rows": [[cell(v, lang) for v in row] for row in table.rows],
        "amounts": amounts,
        "total": table.total,
    }


def margins(exhibit: Exhibit, lang: str, narrow: bool) -> Margin:
    """One frame for all states of an exhibit, so that the plot stands still while the controls move."""
    key = ("margins", lang, narrow)
    if key not in exhibit._memo:
        frame = None
        for indices in exhibit.indices():
            own = Frame(exhibit.at(indices).chart, lang, narrow).margin
            frame = own if frame is None else frame.join(own)
        exhibit._memo[key] = frame
    return exhibit._memo[key]


def document(exhibit: Exhibit, indices: tuple[int, ...], lang: str) -> dict[str, Any]:
    """Everything the page shows at one setting, in ``lang``."""
    state = exhibit.at(indices)
    wide, narrow = (figure(state.chart, lang, n, margins(exhibit, lang, n)) for n in (False, True))
    return {
        "wide": wide,
        "narrow": narrow,
        "sentence": state.sentence[lang],
        "table": table_document(state.table, lang),
        "setting": exhibit.setting(indices, lang),
    }


def changes(base: Any, new: Any, path: tuple = ()) -> list[tuple[tuple, Any]]:
    """What turns ``base`` into ``new``: (path, value) pairs, as deep as the two have the same shape."""
    if type(base) is type(new) and base == new:
        return []
    if isinstance(base, dict) and isinstance(new, dict) and base.keys() == new.keys():
        return [c for key in base for c in changes(base[key], new[key], (*path, key))]
    whole = bool(path) and path[-1] in _WHOLE
    if isinstance(base, list) and isinstance(new, list) and len(base) == len(new) and not whole:
        return [c for k in range(len(base)) for c in changes(base[k], new[k], (*path, k))]
    return [(path, new)]


def apply(payload: dict[str, Any], number: int) -> dict[str, Any]:
    """The document of state ``number``, as the page's script rebuilds it. The payload is not changed."""
    out = json.loads(json.dumps(payload["base"]))
    flat = payload["states"][number]
    for p, v in zip(flat[::2], flat[1::2], strict=True):
        *parents, last = payload["paths"][p]
        target = out
        for key in parents:
            target = target[key]
        target[last] = payload["pool"][v]
    return out


def build(exhibit: Exhibit, lang: str) -> dict[str, Any]:
    """The payload of ``exhibit`` in ``lang`` as a dict."""
    base = document(exhibit, exhibit.defaults, lang)
    paths: dict[tuple, int] = {}
    pool: dict[str, int] = {}
    states = []
    for indices in exhibit.indices():
        flat: list[int] = []
        for path, value in changes(base, document(exhibit, indices, lang)):
            flat.append(paths.setdefault(path, len(paths)))
            flat.append(pool.setdefault(_dump(value), len(pool)))
        states.append(flat)
    return {
        "sizes": [len(c.values) for c in exhibit.controls],
        "start": list(exhibit.defaults),
        "base": base,
        "paths": [list(p) for p in paths],
        "pool": [json.loads(v) for v in pool],
        "states": states,
    }


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encoded(exhibit: Exhibit, lang: str) -> tuple[str, int]:
    """The payload as it is written to its file, and its bytes as transferred (gzip)."""
    text = _dump(build(exhibit, lang))
    return text, payload_size(text)


def payload_size(text: str) -> int:
    """Bytes of a payload as transferred (gzip)."""
    return len(gzip.compress(text.encode("utf-8"), 9, mtime=0))


def payload_json(id: str, lang: str) -> str:
    """The payload file of exhibit ``id`` in ``lang``. Raises ChartError when it exceeds 60 kB of gzip."""
    exhibit = load(id)
    text, size = encoded(exhibit, lang)
    if size > MAX_BYTES:
        raise ChartError(
            f"exhibit {id!r}: {size:,} bytes of compressed payload in {exhibit.count} states; at most {MAX_BYTES:,}",
            where=exhibit.module,
            remedy="fewer control values, or fewer points a line",
        )
    return text
