"""The command line: every verb explains itself, and a wrong call is one line and exit code 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from blocklib.cli import VERBS, main

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("ask", ["-h", "--help"])
def test_every_verb_explains_itself(verb, ask, capsys):
    assert main([verb, ask]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"usage: python -m blocklib {verb}") and said.err == ""


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["chek"], "did you mean 'check'?"),
        (["zzz"], "unknown verb 'zzz'"),
        (["check", "--what"], "unknown option '--what'"),
        (["check", "--root"], "--root"),
        (["read"], "nothing to read"),
        (["fact"], "one expression"),
        (["fact", "--what"], "'--what' is no fact expression"),
        (["facts", "--lock", "--check"], "--lock --check"),
        (["twins", "--what"], "'--what'"),
        (["twins", "--sign"], "--sign needs a page"),
        (["twins", "--sign", "--what"], "unknown option '--what'"),
        (["twins", "--sign", "no/page"], "no page 'no/page'"),
    ],
)
def test_a_wrong_call_is_one_line(argv, words, capsys):
    assert main(argv) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("error: ") and said.err.count("\n") == 1 and words in said.err


@pytest.mark.parametrize(("argv", "code"), [([], 0), (["--help"], 0), (["help"], 0), (["read", "1,23"], 1), (["x"], 2)])
def test_the_process_ends_with_that_code(argv, code):
    done = subprocess.run([sys.executable, "-m", "blocklib", *argv], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code and "Traceback" not in done.stderr
    if not code:
        assert all(f"\n  {verb} " in done.stdout for verb in VERBS)


def test_ctrl_c_is_a_line_and_130(monkeypatch, capsys):
    from blocklib.atlas import command

    def stopped(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "models_main", stopped)
    assert main(["models"]) == 130
    assert capsys.readouterr().err == "stopped\n"
