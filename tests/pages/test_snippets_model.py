"""The executed block of the page on the whole model."""

from tests.pages.running import output


def test_six_lines():
    lines = output("primer/model/six_lines.py")
    assert "(1, 8)" in lines[0] and "(1, 8, 50)" in lines[0] and lines[1].endswith("True")
