"""What exhibits print agrees with plain decimal arithmetic, and reads back to the value."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocklib.charts import num, percent, power, short, signed


@pytest.mark.parametrize(
    ("value", "printed"),
    [(28672, "28,672"), (0, "0"), (0.9, "0.9"), (1.0, "1"), (9.8497, "9.850"), (3214.199, "3,214"), (-1.5, "−1.5"),
     (0.07976644, "0.07977"), (4.7383813e-6, "4.738 × 10⁻⁶"), (1e-5, "10⁻⁵"), (123456.7, "123,500"),
     (Fraction(1, 8), "0.125"), (Fraction(1, 3), "0.3333"), (2.5e12, "2.5 × 10¹²"), (0.99999, "1.000")],
)  # fmt: skip
def test_num(value, printed):
    assert num(value) == printed


@pytest.mark.parametrize(
    ("value", "zh", "en"),
    [(999_960_000, "10 亿", "1B"), (16_777_216, "1,680 万", "16.8M"), (8_030_000_000, "80.3 亿", "8.03B"),
     (20_000, "20,000", "20,000"), (0.5, "0.5", "0.5"), (250_000, "25 万", "250,000"), (1.2e12, "1.2 万亿", "1.2T")],
)  # fmt: skip
def test_short_chooses_the_magnitude_after_rounding(value, zh, en):
    assert (short(value, "zh"), short(value, "en")) == (zh, en)


def test_percent_power_signed():
    assert percent(3 / 7) == "42.9%" and percent(0.6) == "60.0%" and percent(Fraction(1, 73728)) == "0.00136%"
    assert power(1e-6) == "10⁻⁶" and power(602.2, 3) == "6.02 × 10²"
    assert signed(2) == "+2" and signed(-2) == "−2" and signed(0) == "0"


_BACK = str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789", ",")


@given(st.floats(-1e15, 1e15, allow_nan=False).filter(lambda v: abs(v) > 1e-12))
def test_num_reads_back_within_its_digits(value):
    text = num(value).translate(_BACK)
    mantissa, _, exponent = text.partition("10") if " × 10" in text else (text, "", "")
    if " × 10" in text:
        back = float(mantissa.rstrip(" ×")) * 10.0 ** int(exponent)
    elif "⁻" in num(value) or num(value).lstrip("−").startswith("10") and any(c in "⁰¹²³⁴⁵⁶⁷⁸⁹" for c in num(value)):
        back = (-1 if text.startswith("-") else 1) * 10.0 ** int(text.lstrip("-")[2:])
    else:
        back = float(text)
    assert back == pytest.approx(value, rel=5.1e-4)
