"""The command on a small project of its own: what survives is told, what is listed passes, what is stale is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "mutate.py"
FILES = {
    "pyproject.toml": '[tool.mutate]\nmodules = ["blocklib/*.py"]\ntests = ["tests"]\nmessages = []\nassertions = []\n'
                      'operators = ["operator_number", "operator_swap_op"]\nleave = ["of_time"]\nleast = 0.75\n',
    "blocklib/__init__.py": "",
    "blocklib/toy.py": "LIMIT = 3\n\n\ndef inside(n):\n    return 0 <= n < LIMIT\n\n\n"
                       "def spare(n):\n    return n + 1\n",
    "tests/test_toy.py": "from blocklib.toy import inside, spare\n\n\ndef test_inside():\n    assert inside(0) and inside(2)\n"
                         "    assert not inside(3)\n\n\ndef test_of_time():\n    assert spare(1) == 2\n",
}  # fmt: skip


def mutate(root: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), "--jobs", "2", *argv], cwd=root, capture_output=True, text=True,
                          env={**os.environ, "MUTATE_ROOT": str(root)})  # fmt: skip


def test_from_survivors_to_a_record(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    record = tmp_path / "tests" / "mutants"
    record.mkdir()
    first = mutate(tmp_path)
    assert (first.returncode, first.stderr) == (1, "")
    told = [part for part in first.stdout.split("\n\n") if "[[survivor]]" in part]
    assert len(told) == 2 and "blocklib/toy.py: 4 of 6 killed" in first.stdout
    assert not (record / "totals.toml").exists() and "75%" in first.stdout
    entries = ["[[survivor]]" + part.partition("[[survivor]]")[2] for part in told]
    assert sorted(line for entry in entries for line in entry.splitlines() if line.startswith("mutant")) == [
        'mutant = "return n + 2"', 'mutant = "return n - 1"']  # fmt: skip

    listed = "\n\n".join(entries).replace('reason = ""', 'reason = "no test looks"')
    (record / "survivors.toml").write_text(listed + "\n\n" + listed.replace("n + 2", "n + 3").split("\n\n")[0], "utf-8")
    (tmp_path / "pyproject.toml").write_text(FILES["pyproject.toml"].replace("0.75", "0.6"), "utf-8")
    stale = mutate(tmp_path, "blocklib/toy.py")
    assert stale.returncode == 1 and "survives no more" in stale.stdout and "is not listed" not in stale.stdout

    (record / "survivors.toml").write_text(listed, encoding="utf-8")
    done = mutate(tmp_path)
    assert done.returncode == 0 and "66.7% of 6 mutants killed" in done.stdout
    assert '"blocklib/toy.py" = { mutants = 6, killed = 4 }' in (record / "totals.toml").read_text("utf-8")
