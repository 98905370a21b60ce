"""What the blocks of the page on pre- and post-norm print."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_two_ends(run_snippet, lang):
    rows = {line.split()[0]: line.split()[1:] for line in run_snippet("primer/pre_post_norm/two_ends.py", lang)[2:]}
    assert rows["post-norm"][2] == "1.0"  # the page says that the total hardly moves …
    assert 4 < float(rows["pre-norm"][2]) < 6  # … while pre-norm lets it grow, as √(1 + 24) does
    for last, first, ratio in rows.values():
        assert float(first) / float(last) == pytest.approx(float(ratio), abs=0.06)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_stream(run_snippet, lang):
    rows = [line.split() for line in run_snippet("primer/pre_post_norm/stream.py", lang)[2:]]
    assert [(row[0], row[2]) for row in rows] == [("12", "5.0"), ("24", "7.0"), ("96", "13.9")]
    for _, measured, closed_form in rows:
        assert float(measured) == pytest.approx(float(closed_form), rel=0.03)
