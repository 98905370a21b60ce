"""What the block of the page on residuals prints."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_jacobian(run_snippet, lang):
    _, *matrix, last = run_snippet("primer/residuals/jacobian.py", lang)
    identity = [["1.000" if i == j else "0.000" for j in range(4)] for i in range(4)]
    assert [line.split() for line in matrix] == identity
    assert last.endswith("True")
