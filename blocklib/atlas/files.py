"""How a data file of the atlas is refused: one sentence with the file's name, whatever is wrong with it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blocklib.problems import BlocklibError


class AtlasError(BlocklibError):
    """A model or chip that the atlas does not hold, or a data file that cannot be read."""


@contextmanager
def refusals(where: str) -> Iterator[None]:
    """Turns what reading a file raises into :class:`AtlasError`; ``where`` names the file."""
    try:
        yield
    except tomllib.TOMLDecodeError as error:
        raise AtlasError(f"not valid TOML: {error}", where=where) from error
    except KeyError as error:
        raise AtlasError(f"{error.args[0]!r} is missing", where=where) from error
    except TypeError as error:
        raise AtlasError(f"a table has the wrong shape: {error}", where=where) from error


def refuse_unused_sources(raw: dict[str, Any], where: str) -> None:
    """Raises :class:`AtlasError` for a source that no value names."""
    unused = set(raw["sources"]) - {entry["source"] for entry in raw["values"].values()}
    if unused:
        raise AtlasError(f"no value uses the source {sorted(unused)[0]!r}", where=where)
