"""A fact names tests that exist and run; each way to break that is planted."""

from __future__ import annotations

import pytest

from blocklib.claims import vouchers
from tests.conftest import ROOT

FACT = '''"""Library."""

from blocklib.facts.registry import fact


@fact({tests})
def width() -> int:
    """Width.

    中文：宽度。
    """
    return 4096
'''
TEST = """import pytest


def test_width():
    assert 4096 == 2**12
{more}"""


def problems(tmp_path, tests: str, more: str = "") -> list[str]:
    for name, text in (("blocklib/lib.py", FACT.format(tests=tests)), ("tests/test_lib.py", TEST.format(more=more))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return [str(problem) for problem in vouchers.check(tmp_path)]


def test_the_project_s_own_facts_are_tested():
    assert vouchers.check(ROOT) == []


def test_a_fact_with_its_test_is_vouched_for(tmp_path):
    assert problems(tmp_path, 'tests=("tests/test_lib.py::test_width",)') == []


@pytest.mark.parametrize(
    ("tests", "more", "says"),
    [
        ("", "", "no test vouches for it"),
        ('tests=("tests/test_lib.py::test_widht",)', "", "did you mean 'tests/test_lib.py::test_width'?"),
        ('tests=("tests/none.py::test_width",)', "", "there is no test 'tests/none.py::test_width'"),
        (
            'tests=("tests/test_lib.py::test_idle",)',
            "\n\n@pytest.mark.skip\ndef test_idle():\n    pass\n",
            "never runs",
        ),
    ],
)
def test_a_planted_fault_is_found_at_the_fact(tmp_path, tests, more, says):
    (found,) = problems(tmp_path, tests, more)
    assert found.startswith("blocklib/lib.py:") and "fact width" in found and says in found


def test_a_cited_figure_needs_no_test(tmp_path):
    assert problems(tmp_path, 'grade="cited", origin="he2015, Table 2"') == []
