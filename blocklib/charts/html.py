"""An exhibit's markup as it stands in the page before any script runs: a picture, a sentence and a table."""

from __future__ import annotations

import re
from html import escape

from blocklib.charts.discover import load
from blocklib.charts.exhibit import Choice, Exhibit, Range, Steps
from blocklib.charts.frame import Frame
from blocklib.charts.payload import margins, table_document
from blocklib.charts.svg import svg
from blocklib.text import Text

EXHIBIT, RESET = Text("展品", "Exhibit"), Text("复位", "Reset")
DATA, BACK, FORTH = Text("数据表", "Data table"), Text("上一步", "Back"), Text("下一步", "Next")


def bold(text: str) -> str:
    """``**…**`` as ``<b>``, everything else escaped."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text, quote=False))


def _range(c: Range, lang: str, live: str) -> str:
    at = c.index(c.default)
    labels = [label[lang] for label in c.labels]
    attrs = (
        f'type="range" name="{c.name}" min="0" max="{len(labels) - 1}" step="1" value="{at}" '
        f'aria-valuetext="{escape(labels[at])}" aria-describedby="{live}" '
        f'data-labels="{escape("|".join(labels))}"'
    )
    longest = max(sum(2 if ord(ch) > 0x2E7F else 1 for ch in label) for label in labels)
    # the value stands in aria-valuetext; an <output> would be a second live region, and speak at every step
    field = (
        f'<label class="tl-range"><span>{escape(c.label[lang])}</span><input {attrs}>'
        f'<span class="tl-range__value" style="min-width:{longest * 0.56:.1f}em" aria-hidden="true">'
        f"{escape(labels[at])}</span></label>"
    )
    if not isinstance(c, Steps):
        return field
    back, forth = (
        f'<button class="tl-btn" type="button" data-step="{way}" data-for="{c.name}" '
        f'aria-label="{word[lang]}">{sign}</button>'
        for way, word, sign in ((-1, BACK, "‹"), (1, FORTH, "›"))
    )
    return f'<div class="tl-steps">{back}{field}{forth}</div>'


def _choice(c: Choice, lang: str, live: str) -> str:
    at = c.index(c.default)
    radios = "".join(
        f'<label><input type="radio" name="{c.name}" value="{k}" aria-describedby="{live}"'
        f"{' checked' if k == at else ''}><span>{escape(label[lang])}</span></label>"
        for k, label in enumerate(c.labels)
    )
    return f'<fieldset><legend>{escape(c.label[lang])}</legend><span class="tl-seg">{radios}</span></fieldset>'


def _controls(exhibit: Exhibit, lang: str, live: str) -> str:
    if not exhibit.controls:
        return ""
    parts = [_choice(c, lang, live) if isinstance(c, Choice) else _range(c, lang, live) for c in exhibit.controls]
    reset = f'<button class="tl-btn" type="reset">{RESET[lang]}</button>'
    return f'<form class="tl-controls" hidden autocomplete="off">{"".join(parts)}{reset}</form>\n'


def _table(exhibit: Exhibit, lang: str) -> str:
    table = table_document(exhibit.at(exhibit.defaults).table, lang)
    amounts = set(table["amounts"])
    mark = [' class="n"' if c in amounts else "" for c in range(len(table["head"]))]
    heads = zip(table["head"], mark, strict=True)
    head = "".join(f'<th scope="col"{m}>{escape(h, quote=False)}</th>' for h, m in heads)
    rows = []
    for k, (first, *rest) in enumerate(table["rows"]):
        closed = ' class="tl-total"' if k == table["total"] else ""
        cells = "".join(f"<td{m}>{escape(v, quote=False)}</td>" for v, m in zip(rest, mark[1:], strict=True))
        rows.append(f'<tr{closed}><th scope="row">{escape(first, quote=False)}</th>{cells}</tr>')
    setting = exhibit.setting(exhibit.defaults, lang)
    note = (f"（{setting}）" if lang == "zh" else f" ({setting})") if setting else ""
    label = escape(f"{DATA[lang]}{'：' if lang == 'zh' else ': '}{exhibit.title[lang]}")
    return (
        f'<details class="tl-data"><summary>{DATA[lang]}<span>{escape(note, quote=False)}</span></summary>'
        f'<div class="tl-data__scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="tl-numbers"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        f"</div></details>"
    )


def static_html(id: str, lang: str, caption_html: str, *, payload_url: str = "", plotly_url: str = "") -> str:
    """The whole ``<figure>`` of exhibit ``id`` in ``lang`` at its default setting, free of blank lines.

    caption_html: inner HTML of the caption. payload_url: where the script finds :func:`payload_json`'s file;
    without one the exhibit stays static. plotly_url: the chart bundle, unless a ``<meta name="tl-plotly">`` of
    the page names it. Raises ChartError for an unknown id.
    """
    return figure_html(load(id), lang, caption_html, payload_url=payload_url, plotly_url=plotly_url)


def figure_html(
    exhibit: Exhibit, lang: str, caption_html: str = "", *, payload_url: str = "", plotly_url: str = ""
) -> str:
    """The ``<figure>`` of any exhibit; one with number 0 has only its title, and without a caption there is none."""
    id, chart = exhibit.id, exhibit.at(exhibit.defaults).chart
    anchor, live = f"ex-{id}", f"ex-{id}-live"
    number = f'<span class="tl-exhibit__no">{EXHIBIT[lang]} {exhibit.number}</span> ' if exhibit.number else ""
    frames = {narrow: margins(exhibit, lang, narrow) for narrow in (False, True)}
    wide, narrow = (svg(chart, lang, n, frames[n]) for n in (False, True))
    heights = [Frame(chart, lang, n, frames[n]).scene.height for n in (False, True)]
    data = f' data-payload="{escape(payload_url)}"' if payload_url else ""
    data += f' data-plotly="{escape(plotly_url)}"' if plotly_url else ""
    return (
        f'<figure class="tl-exhibit" id="{anchor}" data-exhibit="{id}"{data} aria-labelledby="{anchor}-t">\n'
        f'<div class="tl-exhibit__title" id="{anchor}-t">{number}'
        f"<span>{escape(exhibit.title[lang], quote=False)}</span></div>\n"
        f"{_controls(exhibit, lang, live)}"
        f'<div class="tl-plot" style="--h:{heights[0]}px;--hn:{heights[1]}px">{wide}{narrow}</div>\n'
        f'<p class="tl-live" id="{live}" role="status" aria-live="polite">'
        f"{bold(exhibit.at(exhibit.defaults).sentence[lang])}</p>\n"
        f"{_table(exhibit, lang)}\n"
        + (f"<figcaption>{caption_html}</figcaption>\n" if caption_html else "")
        + "</figure>"
    )
