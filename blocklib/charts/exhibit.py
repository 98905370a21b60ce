"""Exhibits: a function from the settings of a few controls to a chart, a sentence and a table."""

from __future__ import annotations

import itertools
import math
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from blocklib.charts.model import NUMBERS, Chart, ChartError, Label, Table, text_of
from blocklib.charts.numerals import num
from blocklib.problems import BlocklibError
from blocklib.text import Text

MAX_STATES = 2000
PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class State:
    """What an exhibit shows at one setting.

    sentence: plain text, ``**…**`` for bold; true with the picture removed.

    Raises:
        ChartError: the sentence is no text, or a ``**`` in it is not closed.
    """

    chart: Chart
    sentence: Text
    table: Table

    def __post_init__(self) -> None:
        sentence = text_of(self.sentence, "sentence")
        for words in sentence:
            if words.count("**") % 2:
                raise ChartError(f"sentence: unclosed ** in {words!r}")
        object.__setattr__(self, "sentence", sentence)


@dataclass(frozen=True)
class _Control:
    name: str
    label: Label

    kind = ""

    def _check(self, values: tuple, labels: tuple, default: Any) -> Any:
        if not self.name.isidentifier():
            raise ChartError(f"control {self.name!r}: the name must be a Python identifier")
        if len(values) < 2 or len(set(values)) != len(values):
            raise ChartError(f"control {self.name!r}: at least two different values expected")
        if len(labels) != len(values):
            raise ChartError(f"control {self.name!r}: {len(labels)} labels for {len(values)} values")
        default = values[0] if default is None else default
        if default not in values:
            raise ChartError(f"control {self.name!r}: default {default!r} is none of its values")
        return default

    def index(self, value: Any) -> int:
        """Position of ``value``; raises ChartError for a value the control does not have."""
        try:
            return self.values.index(value)  # type: ignore[attr-defined]
        except ValueError:
            raise ChartError(f"control {self.name!r} has no value {value!r}") from None


@dataclass(frozen=True)
class Range(_Control):
    """A slider over ``values`` (their order is the slider's); ``labels`` are shown beside it."""

    values: Sequence[Any] = ()
    labels: Sequence[Label] | None = None
    default: Any = None

    kind = "range"

    def __post_init__(self) -> None:
        values = tuple(self.values)
        labels = self.labels
        if labels is None:
            labels = [num(v) if isinstance(v, NUMBERS) else v for v in values]
        labels = tuple(text_of(v, f"control {self.name!r} label") for v in labels)
        object.__setattr__(self, "label", text_of(self.label, f"control {self.name!r}"))
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "default", self._check(values, labels, self.default))


@dataclass(frozen=True)
class Steps(Range):
    """A walk: like :class:`Range`, with a button to either side. ``labels`` name the steps."""

    kind = "steps"


@dataclass(frozen=True)
class Choice(_Control):
    """A switch of two to four ``options``, (value, label) pairs, drawn as one row of radios.

    Raises:
        ChartError: more than four options, two of one value, or a default that is none of them.
    """

    options: Sequence[tuple[Any, Label]] = ()
    default: Any = None

    kind = "choice"

    def __post_init__(self) -> None:
        options = tuple(self.options)
        object.__setattr__(self, "label", text_of(self.label, f"control {self.name!r}"))
        object.__setattr__(self, "options", options)
        if len(options) > 4:
            raise ChartError(f"control {self.name!r}: a switch has at most four options; use Range")
        object.__setattr__(self, "default", self._check(self.values, self.labels, self.default))

    @property
    def values(self) -> tuple:
        """The values, in the order of the options."""
        return tuple(value for value, _ in self.options)

    @property
    def labels(self) -> tuple[Text, ...]:
        """What the reader sees, in the same order."""
        return tuple(text_of(label, f"control {self.name!r} option") for _, label in self.options)


@dataclass(frozen=True)
class Exhibit:
    """A registered exhibit. ``number`` is its number on the site; ``module`` the module that defines it."""

    id: str
    number: int
    title: Text
    controls: tuple[Range | Choice, ...]
    function: Callable[..., State]
    module: str
    _memo: dict = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def count(self) -> int:
        """Number of states."""
        return math.prod(len(c.values) for c in self.controls)

    @cached_property
    def defaults(self) -> tuple[int, ...]:
        """Index of each control's default."""
        return tuple(c.index(c.default) for c in self.controls)

    def indices(self) -> Iterator[tuple[int, ...]]:
        """All settings as index tuples, the last control fastest: the order of the payload's states."""
        return itertools.product(*(range(len(c.values)) for c in self.controls))

    def at(self, indices: Sequence[int]) -> State:
        """The state at these control positions (computed once per process).

        Raises:
            ChartError: the function fails, or returns something else than a State.
        """
        key = tuple(indices)
        if key not in self._memo:
            settings = {c.name: c.values[i] for c, i in zip(self.controls, key, strict=True)}
            try:
                state = self.function(**settings)
            except BlocklibError:
                raise
            except Exception as error:
                raise ChartError(f"exhibit {self.id!r}: {said(error)}", where=place(error, self.module)) from error
            if not isinstance(state, State):
                found = type(state).__name__
                raise ChartError(f"exhibit {self.id!r} returned {found}, not State", where=self.module)
            self._memo[key] = state
        return self._memo[key]

    def state(self, **settings: Any) -> State:
        """The state at ``settings``, defaults filled in. Raises ChartError for unknown names or values."""
        unknown = settings.keys() - {c.name for c in self.controls}
        if unknown:
            raise ChartError(f"exhibit {self.id!r} has no control {sorted(unknown)[0]!r}")
        return self.at([c.index(settings.get(c.name, c.default)) for c in self.controls])

    def setting(self, indices: Sequence[int], lang: str) -> str:
        """The setting in words, for the table's summary: ``宽度 4,096，口径 含仿射``."""
        parts = [f"{c.label[lang]} {c.labels[i][lang]}" for c, i in zip(self.controls, indices, strict=True)]
        return ("，" if lang == "zh" else ", ").join(parts)


def place(error: BaseException, otherwise: str) -> str:
    """The innermost line of the library that an error came through, as ``blocklib/charts/x.py:12``."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(PACKAGE)]
    if not frames:
        return otherwise
    return f"{Path(frames[-1].filename).relative_to(PACKAGE.parent).as_posix()}:{frames[-1].lineno}"


def said(error: BaseException) -> str:
    """An error in one line: ``KeyError: 'width'``."""
    return " ".join(f"{type(error).__name__}: {error}".split())


REGISTRY: dict[str, Exhibit] = {}


def exhibit(id: str, *, number: int, title: Text, controls: Sequence[Range | Choice] = ()) -> Callable:
    """Register the decorated function as exhibit ``id``.

    The function takes one keyword argument per control and returns a :class:`State`. Raises ChartError when
    the id is no slug or taken, a control is named twice, or there are more than 2,000 states.
    """

    def register(function: Callable[..., State]) -> Callable[..., State]:
        module = function.__module__
        if not id or not all(part.isalnum() and part.islower() or part.isdigit() for part in id.split("-")):
            raise ChartError(f"exhibit id {id!r}: lower-case words joined by hyphens expected", where=module)
        made = Exhibit(id, number, text_of(title, "title"), tuple(controls), function, module)
        if id in REGISTRY and REGISTRY[id].module != module:
            raise ChartError(f"exhibit {id!r} is defined in {REGISTRY[id].module} and in {module}")
        names = [c.name for c in made.controls]
        if len(set(names)) != len(names):
            raise ChartError(f"exhibit {id!r}: two controls of one name", where=module)
        if made.count > MAX_STATES:
            raise ChartError(
                f"exhibit {id!r}: {made.count} states; at most {MAX_STATES}",
                where=module,
                remedy="fewer values on a control",
            )
        REGISTRY[id] = made
        return function

    return register
