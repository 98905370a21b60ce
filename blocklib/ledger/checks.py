"""What every part of a shape is checked with: sizes, flags, names, and the one way to refuse them."""

from __future__ import annotations

from blocklib.problems import BlocklibError

MAX_SIZE = 2**32


class ConfigError(BlocklibError):
    """A model shape that cannot be: a field missing, of the wrong type, or at odds with another."""


def is_size(value: object, least: int = 1) -> bool:
    """Whether ``value`` is an integer (no bool) from ``least`` up to :data:`MAX_SIZE`."""
    return type(value) is int and least <= value <= MAX_SIZE


def check_sizes(owner: object, *names: str, least: int = 1) -> None:
    """Refuse attributes of ``owner`` that are no size. Raises :class:`ConfigError`."""
    for name in names:
        found = getattr(owner, name)
        if not is_size(found, least):
            kind = "a positive integer" if least == 1 else f"an integer from {least} up"
            big = f" (at most {MAX_SIZE})" if isinstance(found, int) and found > MAX_SIZE else ""
            raise ConfigError(f"{name} must be {kind}{big}, found {shown(found)}")


def check_flags(owner: object, *names: str) -> None:
    """Refuse attributes of ``owner`` that are not true or false. Raises :class:`ConfigError`."""
    for name in names:
        if not isinstance(getattr(owner, name), bool):
            raise ConfigError(f"{name} must be true or false, found {shown(getattr(owner, name))}")


def one_of(what: str, value: object, known: tuple[str | None, ...]) -> None:
    """Refuse a value that is not among the known. Raises :class:`ConfigError`."""
    if not (value is None or isinstance(value, str)) or value not in known:
        raise ConfigError(f"unknown {what} {shown(value)}; known: {', '.join(map(str, known))}")


def shown(value: object) -> str:
    """``value`` for a message, cut short."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return "an integer of more than 30 digits"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer too long to print, or a list too deep, somewhere inside
        text = f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= 60 else f"{text[:57]}…"
