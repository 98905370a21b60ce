"""A scene: boxes, paths, dots and words in one language at one size, ready to be drawn.

Both renderers draw the scene and decide nothing themselves, so the static picture and the live one carry the
same content. Coordinates are the data's; distances from them (margins, shifts) are in px.
"""

from __future__ import annotations

from dataclasses import dataclass, field

WIDE, NARROW = 646, 328  # widths of the two static pictures, px
FIT = {False: 520, True: 300}  # the least widths at which words inside bars must still fit


@dataclass(frozen=True)
class Margin:
    """Room around the plot area, px."""

    left: int
    right: int
    top: int
    bottom: int

    def join(self, other: Margin) -> Margin:
        """The larger of each side: states share one frame, so the plot does not jump under the slider."""
        return Margin(*(max(a, b) for a, b in zip(self._sides(), other._sides(), strict=True)))

    def _sides(self) -> tuple[int, int, int, int]:
        return self.left, self.right, self.top, self.bottom


@dataclass
class Boxes:
    """Filled rectangles of one series: bars or cells."""

    name: str
    cx: list[float]
    width: list[float]
    base: list[float]
    height: list[float]
    role: str
    alpha: tuple[float, ...] | None = None
    notes: list[str] | None = None
    rim: float = 1.5  # width of the outline; thin boxes get a thin one, or they would be all outline


@dataclass
class Path:
    """One line through points in data coordinates; None in ``y`` is a gap."""

    name: str
    x: list[float]
    y: list[float | None]
    role: str
    width: float = 2.0
    dash: bool = False
    hover: bool = False


@dataclass
class Dots:
    """Round marks of one series."""

    name: str
    x: list[float]
    y: list[float]
    role: str
    hollow: bool
    notes: list[str] | None = None


@dataclass
class Words:
    """One line of text. ``px``/``py``: x/y is a fraction of the plot area instead of data."""

    text: str
    x: float
    y: float
    anchor: str = "middle"
    dx: float = 0
    dy: float = 0
    size: float = 12
    bold: bool = False
    role: str = "ink-2"
    px: bool = False
    py: bool = False
    halo: bool = False  # may cross a line: keeps a rim of paper around itself


@dataclass
class Scene:
    """Everything to be drawn: sizes in px, the ranges ``x`` and ``y`` in the units of the data."""

    width: int
    height: int
    margin: Margin
    x: tuple[float, float]
    y: tuple[float, float]
    xlog: bool
    ylog: bool
    square: bool
    marks: list[Boxes | Path | Dots] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)

    @property
    def plot_height(self) -> int:
        """Height between the margins, in px."""
        return self.height - self.margin.top - self.margin.bottom


def measure(text: str, size: float) -> float:
    """Estimated width of ``text`` in px, after Arial and its kin; the reader's font is not known."""
    em = 0.0
    for c in text:
        if ord(c) > 0x2E7F:
            em += 1.0
        elif c in " ,.:;'|!ijl()·":
            em += 0.31
        elif c.isupper() or c in "mw%+−×":
            em += 0.7
        else:
            em += 0.555
    return em * size


def ink_on(role: str, alpha: float = 1.0) -> str:
    """The ink that is legible on a box of this role."""
    if role == "ghost" or alpha < 0.5:
        return "ink"
    if role in ("train", "run"):
        return f"on-{role}"
    return "on-c" if role in ("c2", "c3") else "paper"


def ink_for(role: str) -> str:
    """The ink of words about a series: its own colour where that is legible as text, else ink."""
    return role if role in ("train", "run", "c0", "c1") else "ink"


def stroke(role: str) -> str:
    """Lines and dots need contrast that the ghost fill lacks."""
    return "line-2" if role == "ghost" else role
