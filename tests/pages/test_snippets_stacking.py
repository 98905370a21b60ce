"""The executed block of the page on stacking."""

from tests.pages.running import output


def test_paths():
    lines = output("primer/stacking/paths.py")
    assert lines[0].split()[-1] == str(2**4) and lines[1].endswith("True")
