"""Charts as data, drawn by two renderers, and the interactive exhibits made of them.

How to write an exhibit
=======================

An exhibit is one function from the settings of its controls to a :class:`State`: a chart, a sentence and a
table. Everything else (static SVG, Plotly figure, controls, payload, tests) follows from it. Put it into
``blocklib/charts/primer/<page>.py`` (underscores for hyphens); it is found by its decorator, at the start
of a line, its first argument the id as a literal in double quotes::

    from blocklib.charts import Axis, Chart, Choice, Range, Series, State, Table, exhibit
    from blocklib.text import Text
    from blocklib.theory.growth import compound_factor

    @exhibit(
        "growth", number=4, title=Text("每层放大一点，二十四层后是多少", "A little gain per layer, …"),
        controls=(
            Range("factor", Text("每层倍数", "Factor per layer"), values=(0.9, 1.0, 1.1, 1.4), default=1.1),
            Choice("scale", Text("纵轴", "Axis"), options=(("log", Text("对数", "log")), …), default="log"),
        ),
    )
    def growth(factor: float, scale: str) -> State: ...

See ``primer/normalization.py`` for a whole one. ``Range`` is a slider, ``Steps`` a walk with back and next,
``Choice`` a switch of two to four; ``labels`` are what the reader sees, ``values`` what the function gets.
Numbers are set by ``num`` (0.07977), ``short`` (16.8M, 1,680 万), ``percent`` and ``signed``. A table may name
the row that sums those above it: ``Table(…, total=4)``.

Rules that the tests hold for every exhibit
-------------------------------------------
* Each control, moved from its default to any other value, changes the chart, the sentence **and** the table.
* The sentence states every value that the picture shows and is true with the picture removed. It is plain
  text; ``**…**`` makes bold, nothing else is markup. Bold the values.
* At most 2,000 states and 60 kB of compressed payload a language. Values that many states share cost nothing.
* Nothing is random or slow: the function runs once for each combination of settings, at build time.
* Numbers come from the tested library, never from a literal typed into the exhibit.
* ``pytest tests/charts -k ID`` checks one exhibit; ``broken_rules(load(ID))`` lists what it breaks.
* Every label is a :class:`~blocklib.text.Text`; a plain ``str`` means "the same in both languages".

Choosing marks and roles
------------------------
``bar`` vertical bars · ``hbar`` horizontal bars (categories on y, the first on top) · ``line`` · ``step``
· ``points`` · ``cells`` unit squares at whole x, y (grids, boxes of a diagram) · ``links`` straight links,
given as consecutive pairs of points · ``rule`` a dashed reference line at one x or one y · ``label`` text.

Roles are meanings, not colours: ``train`` and ``run`` for the two ledgers and only for them; ``ghost`` for
what both sides share; ``c1``, ``c2``, ``c3``, then ``c0`` where no ledger is involved; ``ink`` for the
picture of a thing. One ledger split into parts: that ledger for the part under discussion, ``ghost`` for
the rest.

Label directly: ``labels`` on bars and points, ``end`` on lines, ``totals`` on the chart. There is no
legend. A bar's label is left out where the bar is too short for it; the table has the value. A numeric
axis has at most four ticks; leave ``ticks`` out and they are chosen. Set ``range`` where states must share
their axes. On a categorical axis positions are 0, 1, 2, …; series may stand between them (0.4).
"""

from __future__ import annotations

from blocklib.charts.exhibit import Choice, Exhibit, Range, State, Steps, exhibit
from blocklib.charts.model import Axis, Chart, ChartError, Series, Table
from blocklib.charts.numerals import num, percent, power, short, signed

__all__ = [
    "Axis",
    "Chart",
    "ChartError",
    "Choice",
    "Exhibit",
    "Range",
    "Series",
    "State",
    "Steps",
    "Table",
    "exhibit",
    "num",
    "percent",
    "power",
    "short",
    "signed",
]
