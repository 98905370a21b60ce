"""Tests as evidence, read by ``ast``: every way a marker can stand, and pytest as the independent oracle."""

from __future__ import annotations

import subprocess
import sys

from blocklib.claims.evidence import collect

SOURCE = '''\
import pytest
from pytest import mark

pytestmark = [pytest.mark.claim("all-of-it"), pytest.mark.timeout(3)]


@pytest.mark.claim("one")
@mark.claim("two", control=True)
def test_function():
    pass


@pytest.mark.claim("group")
class TestGroup:
    pytestmark = pytest.mark.claim("inner")

    def test_method(self):
        pass

    class TestDeep:
        async def test_deep(self):
            pass


@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.claim("param"))])
def test_param(x):
    pass


if True:

    def test_conditional():
        pass


@pytest.mark.xfail(False, reason="conditional")
def test_may_fail():
    pass


@pytest.mark.skip(reason="x")
def test_skipped():
    pass


TEXT = """
@pytest.mark.claim("in a string")
def test_not_real(): pass
"""
'''


def read(tmp_path, source, name="test_x.py"):
    file = tmp_path / "tests/room" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    return collect(tmp_path)


def test_every_way_a_marker_can_stand(tmp_path):
    found = read(tmp_path, SOURCE)
    assert found.problems == ()
    got = {
        name.removeprefix("tests/room/test_x.py::"): [(m.claim, m.control, m.line) for m in test.markers]
        for name, test in found.tests.items()
    }
    every = ("all-of-it", False, 4)
    assert got == {
        "test_function": [every, ("one", False, 7), ("two", True, 8)],
        "TestGroup::test_method": [every, ("group", False, 13), ("inner", False, 15)],
        "TestGroup::TestDeep::test_deep": [every, ("group", False, 13), ("inner", False, 15)],
        "test_param": [every, ("param", False, 25)],
        "test_conditional": [every],
        "test_may_fail": [every],
        "test_skipped": [every],
    }
    assert [name.split("::")[1] for name, test in found.tests.items() if test.idle] == ["test_skipped"]


def test_pytest_collects_the_same(tmp_path):
    names = set(read(tmp_path, SOURCE).tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    claim: x\n    timeout: x\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"],
                          cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    collected = {line.split("[")[0] for line in done.stdout.splitlines() if "::" in line}
    assert collected == names


def test_faults_have_their_lines(tmp_path):
    source = (
        'import pytest\n\nNAME = "x"\n\n\n@pytest.mark.claim(NAME)\ndef test_a():\n    pass\n\n\n'
        '@pytest.mark.claim("x", control=NAME)\ndef test_b():\n    pass\n\n\n'
        '@pytest.mark.claim("x")\ndef helper():\n    pass\n\n\ndef test_a():\n    pass\n'
    )
    problems = read(tmp_path, source).problems
    assert [(p.line, p.message.split(" ")[0]) for p in sorted(problems)] == [
        (6, "a"), (11, "control="), (16, "marker"), (21, "test_a"),
    ]  # fmt: skip


def test_a_marker_in_a_file_that_is_not_collected(tmp_path):
    problems = read(
        tmp_path, 'import pytest\n\n\n@pytest.mark.claim("x")\ndef test_a():\n    pass\n', "helper.py"
    ).problems
    assert [(p.path, p.line) for p in problems] == [("tests/room/helper.py", 4)]


def test_broken_python_is_one_line(tmp_path):
    problems = read(tmp_path, "# mark.claim\ndef f(:\n").problems
    assert [(p.path, p.line) for p in problems] == [("tests/room/test_x.py", 2)]


def test_files_without_markers_are_read_only_when_listed(tmp_path):
    assert read(tmp_path, "def test_a():\n    pass\n").tests == {}
    assert list(collect(tmp_path, {"tests/room/test_x.py::test_a"}).tests) == ["tests/room/test_x.py::test_a"]
