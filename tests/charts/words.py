"""Whether an exhibit's words keep apart and inside the picture, by the layout's own estimate."""

from __future__ import annotations

from blocklib.charts.discover import load
from blocklib.charts.layout import FIT, scene
from blocklib.charts.payload import margins
from blocklib.text import LANGS
from tests.charts.test_primer_exhibits import word_boxes


def collisions(id: str) -> list[str]:
    """Every pair of words that overlap and every word that leaves the picture: all states, languages and widths."""
    exhibit, found = load(id), []
    for narrow in (False, True):
        width = FIT[narrow]
        for lang in LANGS:
            frame = margins(exhibit, lang, narrow)
            for indices in exhibit.indices():
                drawn = scene(exhibit.at(indices).chart, lang, narrow, frame)
                boxes = list(word_boxes(drawn, width))
                where = f"{'narrow' if narrow else 'wide'}, {exhibit.setting(indices, lang)}"
                for i, (text, left, right, top, bottom) in enumerate(boxes):
                    if left < -2 or right > width + 2 or top < -2 or bottom > drawn.height + 2:
                        found.append(f"{where}: {text!r} leaves the picture")
                    for other, left2, right2, top2, bottom2 in boxes[i + 1 :]:
                        if min(right, right2) - max(left, left2) > 1 and min(bottom, bottom2) - max(top, top2) > 1:
                            found.append(f"{where}: {text!r} and {other!r}")
    return found
