"""The formatter of every number the code prints; whatever it prints, :func:`blocklib.facts.reading.read` reads back.

Two rules keep it honest. The unit is chosen after rounding (999,960,000 is ``1.0B``, never ``1000.0M``), and digits
before the decimal point are never rounded away: three significant digits of 16,777,216 in 万 are ``1,678 万``. A value
that is no integer never prints as a bare integer, since a bare integer claims to be exact.
"""

from __future__ import annotations

from fractions import Fraction

from blocklib.facts.units import DECIMAL, parse_unit, spell
from blocklib.facts.values import (
    FactError,
    FactValue,
    Measured,
    Range,
    decimal_text,
    exact,
    exponent,
    leading_place,
    round_half_away,
    significant,
)

STYLES = ("auto", "plain", "magnitude", "letter", "percent", "scientific", "binary", "times")
_SUPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# (name, scale) from small to large; the first is no magnitude at all.
WORDS = {
    "en": [("", 1), (" million", 10**6), (" billion", 10**9), (" trillion", 10**12)],
    "zh": [("", 1), (" 万", 10**4), (" 亿", 10**8), (" 万亿", 10**12)],
}
LETTERS = [("", 1), ("K", 10**3), ("M", 10**6), ("B", 10**9), ("T", 10**12)]
_TIME = [(" ns", Fraction(1, 10**9)), (" µs", Fraction(1, 10**6)), (" ms", Fraction(1, 10**3)), (" s", Fraction(1))]
_BINARY = [(" B", 1), (" KiB", 2**10), (" MiB", 2**20), (" GiB", 2**30), (" TiB", 2**40), (" PiB", 2**50)]


def format_value(
    value: FactValue,
    unit: str | None = None,
    lang: str = "en",
    digits: int | None = None,
    style: str = "auto",
    places: int | None = None,
) -> str:
    """``value`` as text in ``lang`` (``"zh"`` or ``"en"``).

    ``unit``: a base unit (``"B"``, ``"FLOP/s"``, ``"s"``, ``"token"`` …) or None. ``digits``: significant digits
    (more where the integer part is longer); ``places``: digits after the point instead. ``style``: ``plain`` writes
    the number out; ``magnitude`` uses 万 亿 万亿 or million billion trillion; ``letter`` K M B T (in Chinese 万 亿);
    ``percent``; ``scientific`` (``4.74 × 10⁻⁶``); ``binary`` (KiB, MiB …, bytes only); ``times`` (``×``, 倍);
    ``auto`` chooses.
    A :class:`Range` shares its unit (``6.9–40.8%``); a :class:`Measured` is cut to the digits its noise supports.
    Raises :class:`FactError` for an unknown style, language or unit.
    """
    if lang not in WORDS:
        raise FactError(f"unknown language {lang!r}")
    if style not in STYLES:
        raise FactError(f"unknown style {style!r}", remedy=", ".join(STYLES))
    if style == "binary" and (unit is None or spell(unit)[0] != "B"):
        raise FactError(f"style 'binary' writes bytes, not {unit or 'a bare number'}")
    if unit is not None and parse_unit(unit)[1] != 1:
        raise FactError(f"{unit!r} is no base unit")
    if isinstance(value, Range):
        low, high = exact(value.low), exact(value.high)
        scale = _scale(max(abs(low), abs(high)), unit, lang, digits, style, places)
        ends = [_write(end, scale, digits, places) for end in (low, high)]
        dash = "–" if not ends[1].startswith("−") else " to " if lang == "en" else " 到 "
        return dash.join(ends) + scale[0]
    if isinstance(value, Measured) and exact(value.noise):
        number, noise = exact(value.value), exact(value.noise)
        return _measured(number, noise, _scale(max(abs(number), noise), unit, lang, digits, style, places))
    number = exact(value.value if isinstance(value, Measured) else value)
    scale = _scale(abs(number), unit, lang, digits, style, places)
    text = _write(number, scale, digits, places) + scale[0]
    return text.replace(" tokens", " token") if number == 1 and lang == "en" else text


def _scale(size: Fraction, unit: str | None, lang: str, digits: int | None, style: str, places: int | None):
    """(suffix, factor, style) for a value of this size: the first rung on which it does not round up to the next."""
    tail = _unit_text(unit, lang)
    if style == "percent":
        return ("%" + tail, Fraction(1, 100), style)
    if style == "times":
        return ((" 倍" if lang == "zh" else "×") + tail, Fraction(1), style)
    if style in ("plain", "scientific"):
        return (tail, Fraction(1), style)
    if style == "auto":
        if unit is None:
            small = size and (size < Fraction(1, 10**4) or size >= 10**16)
            return ("", Fraction(1), "scientific" if small else "plain")
        style = _auto(size, unit)
    if style == "plain":
        return (tail, Fraction(1), style)
    above, below = spell(unit) if unit else ("", "")
    if style == "binary":
        rungs = [(name + below, scale) for name, scale in _BINARY]
    elif style == "prefix":
        rungs = [
            (f" {p}{above}{'s' if above == 'FLOP' and not below else ''}{below}", 1000**n)
            for p, n in DECIMAL.items()
            if p != "k"
        ]
    elif style == "time":
        rungs = [(name + below, scale) for name, scale in _TIME]
    else:
        letters = style == "letter" and lang == "en"
        rungs = [(name + tail, scale) for name, scale in (LETTERS if letters else WORDS[lang])]
    return _climb(size, rungs, digits, places) + (style,)


def _auto(size: Fraction, unit: str) -> str:
    """Bytes in binary where that is short and exact, else decimal prefixes; seconds by prefix; FLOPs by prefix."""
    above = spell(unit)[0]
    if above == "B":
        short = any(scale <= size < scale * 1024 and (size / scale * 1000).denominator == 1 for _, scale in _BINARY[1:])
        return "binary" if short and "/" not in unit else "prefix"
    return {"FLOP": "prefix", "s": "time"}.get(above, "plain")


def _climb(size: Fraction, rungs, digits, places):
    for index, (name, scale) in enumerate(rungs):
        scale = Fraction(scale)
        chosen = (name, scale)
        if index + 1 == len(rungs):
            break
        following = Fraction(rungs[index + 1][1])
        step = Fraction(1, 10 ** _places(size / scale, digits, places, scale))
        # A bare integer is written out exactly, so only a rounded rung can round up to the next one.
        if round_half_away(size / scale, step) * scale < following:
            break
    return chosen


def _places(number: Fraction, digits: int | None, places: int | None, factor: Fraction) -> int:
    """Digits after the point."""
    bare = factor == 1
    if bare and number.denominator == 1:
        return 0
    if places is None:
        if digits is None:
            text = decimal_text(number)
            short = text is not None and len(text.partition(".")[2]) <= (6 if bare else 3)
            if short and number:
                return max(len(text.partition(".")[2]), 1 if bare else 0)
            digits = 3 if not bare or abs(number) < 1000 else 5
        places = -significant(number, digits)[1] if number else digits - 1
    return max(places, 1 if bare else 0)


def _write(number: Fraction, scale, digits: int | None, places: int | None) -> str:
    _, factor, style = scale
    if style == "scientific":
        return _scientific(number, digits)
    number = number / factor
    text = fixed(number, _places(abs(number), digits, places, factor))
    # Beyond this the reader refuses to count zeros, and so would a person.
    return text if len(text) <= 40 else _scientific(number, digits)


def fixed(number: Fraction, places: int) -> str:
    """``number`` rounded half away from zero to ``places`` digits, grouped by commas, with a true minus sign."""
    rounded = round_half_away(number, Fraction(1, 10**places))
    whole, rest = divmod(abs(rounded.numerator) * 10**places // rounded.denominator, 10**places)
    text = f"{whole:,}" + (f".{rest:0{places}}" if places else "")
    return ("−" if rounded < 0 else "") + text


def ten_to(power: int) -> str:
    """``10⁻⁶``."""
    return "10" + str(power).translate(_SUPER)


def _scientific(number: Fraction, digits: int | None) -> str:
    if not number:
        return "0"
    digits = digits or 3
    rounded, _ = significant(number, digits)
    power = exponent(rounded)
    return f"{fixed(rounded / Fraction(10) ** power, digits - 1)} × {ten_to(power)}"


def _measured(number: Fraction, noise: Fraction, scale) -> str:
    """To the place of the noise's first digit; zeros before the point are moved into an exponent, not invented."""
    suffix, factor, style = scale
    place = leading_place(noise) / factor
    if place > 1 or style == "scientific":
        rounded = round_half_away(number, leading_place(noise))
        if not rounded:
            # Lost in its noise: the zero says only how coarse it is.
            return f"0 × {ten_to(exponent(place))}{suffix}" if place > 1 else "0" + suffix
        digits = len(str((rounded / leading_place(noise)).numerator).lstrip("-"))
        return _scientific(rounded / factor, digits) + suffix
    return fixed(number / factor, len(str(place.denominator)) - 1) + suffix


def _unit_text(unit: str | None, lang: str) -> str:
    if unit is None:
        return ""
    above, below = spell(unit)
    if above == "FLOP" and not below:
        above = "FLOPs"
    if above == "token" and lang == "en":
        above = "tokens"
    return f" {above}{below}"
