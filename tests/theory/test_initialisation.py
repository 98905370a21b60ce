"""Initial sizes of residual projections against the published value."""

from __future__ import annotations

import pytest

from blocklib.exact import DomainError
from blocklib.theory.initialisation import residual_init_std


def test_the_known_value():
    """Four blocks and 0.02, as nanoGPT and GPT-2 divide: 0.02/√8 = 0.0070711; twelve blocks: 0.0040825."""
    assert float(residual_init_std("0.02", 4)) == pytest.approx(0.0070710678, rel=1e-8)
    assert float(residual_init_std("0.02", 12)) == pytest.approx(0.0040824829, rel=1e-8)
    assert float(residual_init_std("0.02", 4)) ** 2 * 8 == pytest.approx(0.0004, rel=1e-12)


@pytest.mark.parametrize(("std", "blocks"), [("0.02", 0), ("0", 4), ("-1", 4)])
def test_outside_the_domain(std, blocks):
    with pytest.raises(DomainError):
        residual_init_std(std, blocks)
