"""`show` records in a page and prints in a terminal."""

from __future__ import annotations

import subprocess
import sys

import pytest

from blocklib import show
from blocklib.site.display import Recorder, plain_table, text_width
from blocklib.text import Text

WIDTH = Text("宽度", "width")


def recorded(lang: str, call) -> Recorder:
    import contextlib

    recorder = Recorder(lang)
    with recorder, contextlib.redirect_stdout(recorder):
        call()
    return recorder


@pytest.mark.parametrize(("lang", "line"), [("zh", "宽度 4096\n"), ("en", "width 4096\n")])
def test_labels_appear_in_the_readers_language(lang, line):
    recorder = recorded(lang, lambda: show(WIDTH, 4096))
    assert recorder.result() == [["text", line]]
    assert recorder.used_language


def test_output_without_labels_does_not_depend_on_the_language():
    recorder = recorded("zh", lambda: (print("a"), show(1, "b"), show.table(["x"], [[1]])))
    assert recorder.result() == [["text", "a\n1 b\n"], ["table", ["x"], [["1"]]]]
    assert not recorder.used_language


def test_parts_keep_the_order_of_prints_tables_and_markdown():
    def block():
        print("first")
        show.table(["n"], [[1], [2]])
        show.markdown("**bold**")
        sys.stdout.write("last")

    kinds = [part[0] for part in recorded("en", block).result()]
    assert kinds == ["text", "table", "markdown", "text"]


def test_asking_for_the_language_counts_as_using_it():
    assert recorded("en", lambda: print(show.lang)).used_language


def test_blank_output_is_no_output():
    assert recorded("en", lambda: print("  \n")).result() == []


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="row 2 has 1 cells, the head has 2"):
        show.table(["a", "b"], [[1, 2], [3]])


def test_plain_tables_align_chinese_and_figures():
    lines = plain_table(["名称", "n"], [["注意力", "4"], ["FFN", "16"]]).splitlines()
    assert [text_width(line) for line in lines] == [text_width(lines[0])] * 4
    assert lines[2].endswith(" 4") and lines[3].endswith("16")


@pytest.mark.parametrize(("lang", "word"), [("zh", "宽度"), ("en", "width")])
def test_a_script_run_from_a_clone_prints_plain_text(tmp_path, lang, word):
    script = tmp_path / "s.py"
    script.write_text(
        'from blocklib import show, Text\nshow(Text("宽度", "width"), 8)\nshow.table(["d"], [[8]])\nshow.markdown("[8](given:x)")\n',
        "utf-8",
    )
    import os

    env = {**os.environ, "BLOCKLIB_LANG": lang, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, encoding="utf-8", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{word} 8", "d", "-", "8", "[8](given:x)"]
