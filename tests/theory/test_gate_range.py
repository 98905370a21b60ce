"""Where a gated channel leaves its format, against the formats themselves."""

from __future__ import annotations

import math

import pytest
import torch

from blocklib.exact import DomainError
from blocklib.theory.gate_range import LARGEST, gate_overflow
from blocklib.theory.gates import swiglu

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp8": torch.float8_e4m3fn}


@pytest.mark.parametrize("dtype", TYPES)
def test_where_formats_end(dtype):
    assert float(LARGEST[dtype]) == torch.finfo(TYPES[dtype]).max
    x = float(gate_overflow(dtype))
    product = x * (x / (1 + math.exp(-x)))
    assert product == pytest.approx(torch.finfo(TYPES[dtype]).max, rel=1e-12)


def test_known_values_and_half_precision_itself():
    assert f"{gate_overflow('fp16'):.2f}" == "255.94" and f"{gate_overflow('fp8'):.1f}" == "21.2"
    assert 1.8e19 < gate_overflow("bf16") < 1.9e19
    for x, finite in ((255.9, True), (256.25, False)):
        value = torch.tensor(x, dtype=torch.float16)
        assert torch.isfinite(torch.nn.functional.silu(value) * value).item() == finite
    assert float(swiglu(gate_overflow("fp16"), gate_overflow("fp16"))) == pytest.approx(65504, rel=1e-20)


def test_other_formats_are_refused():
    with pytest.raises(DomainError):
        gate_overflow("fp4")
