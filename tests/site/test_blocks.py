"""An executed block runs alone and fails loudly, with its own line."""

from __future__ import annotations

import os
import sys
import textwrap

import pytest

from blocklib.problems import BlocklibError
from blocklib.site import blocks
from blocklib.site.blockhtml import own_comments, render_block
from blocklib.site.blocks import BlockError, included, output_of, read_snippet, run
from blocklib.site.cache import Store


def execute(tmp_path, source: str, lang: str = "en"):
    return run("snippets/t.py", textwrap.dedent(source), lang, tmp_path).result()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\nraise ValueError('too deep')", r"block snippets/t\.py:2: ValueError: too deep"),
        ("def f():\n    return 1 + 'a'\n\nf()", r"block snippets/t\.py:2: TypeError: unsupported operand"),
        ("import warnings\nwarnings.warn('old')\nprint(1)", r"block snippets/t\.py:2: UserWarning: old"),
        ("import warnings\nwarnings.warn('old', DeprecationWarning)\nprint(1)", r"t\.py:2: DeprecationWarning: old"),
        ("x = 1", r"block snippets/t\.py: prints nothing"),
        ("print('   ')", r"prints nothing"),
        ("print(1)\nimport sys\nsys.exit()", r"block snippets/t\.py:3: calls exit"),
        ("raise SystemExit(0)", r"t\.py:1: calls exit"),
        ("print(1)\nif True\n    pass", r"block snippets/t\.py:2: SyntaxError"),
        ("import no_such_module_here", r"t\.py:1: ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("import json\n\njson.loads('{')", r"t\.py:3: JSONDecodeError"),
    ],
)
def test_failures_name_the_blocks_own_line(tmp_path, source, message):
    with pytest.raises(BlockError, match=message):
        execute(tmp_path, source)


def test_control_a_sound_block_passes(tmp_path):
    assert execute(tmp_path, "print(2 ** 10)") == [["text", "1024\n"]]


def test_stdout_is_captured_however_it_is_written(tmp_path):
    source = """
        import sys, pprint
        sys.stdout.write("a\\n")
        pprint.pprint([1])
        print("b", "c", sep="-")
    """
    assert execute(tmp_path, source) == [["text", "a\n[1]\nb-c\n"]]


def test_no_state_passes_between_blocks(tmp_path):
    execute(tmp_path, "d = 4096\nprint(d)")
    with pytest.raises(BlockError, match="NameError"):
        execute(tmp_path, "print(d)")


def test_what_a_block_changes_is_taken_back(tmp_path):
    before = os.getcwd(), sys.path[:], sys.argv[:]
    source = """
        import os, sys, random
        os.chdir("/"); sys.path.append("/nowhere"); sys.argv.append("x"); os.environ["TL_LEAK"] = "1"
        random.seed(5)
        print("done")
    """
    execute(tmp_path, source)
    assert (os.getcwd(), sys.path, sys.argv) == before
    assert "TL_LEAK" not in os.environ


def test_random_numbers_do_not_depend_on_what_ran_before(tmp_path):
    source = "import random\nprint(random.random())"
    first = execute(tmp_path, source)
    execute(tmp_path, "import random\nprint([random.random() for _ in range(7)])")
    assert execute(tmp_path, source) == first


def test_torch_runs_on_one_thread_and_unseeded_blocks_repeat(tmp_path):
    source = "import torch\nprint(torch.get_num_threads(), torch.rand(2))"
    first = execute(tmp_path, source)
    execute(tmp_path, "import torch\ntorch.set_default_dtype(torch.float64)\nprint(torch.rand(3))")
    assert execute(tmp_path, source) == first
    assert first[0][1].startswith("1 ")


def test_a_torch_warning_is_an_error(tmp_path):
    with pytest.raises(BlockError, match=r"t\.py:2: UserWarning"):
        execute(tmp_path, "import torch\ntorch.tensor(torch.ones(2))\nprint(1)")


@pytest.mark.parametrize("fence", ["", "print(1)", '--8<-- "a.py"\nprint(1)', "--8<-- a.py"])
def test_a_fence_holds_one_include(fence):
    with pytest.raises(BlocklibError, match="an executed fence"):
        included(fence)


def test_the_include_is_read():
    assert included('--8<-- "primer/x/y.py"\n') == "primer/x/y.py"


def test_missing_and_outside_snippets_are_refused(tmp_path):
    (tmp_path / "snippets").mkdir()
    (tmp_path / "secret.py").write_text("1")
    with pytest.raises(BlocklibError, match=r"missing snippet snippets/a\.py"):
        read_snippet(tmp_path, "a.py")
    with pytest.raises(BlocklibError, match="outside"):
        read_snippet(tmp_path, "../secret.py")


class TestCache:
    LABEL = 'from blocklib import show, Text\nshow(Text("宽度", "width"))\n'

    @pytest.fixture
    def runs(self, monkeypatch):
        counted = []
        real = blocks.run
        monkeypatch.setattr(blocks, "run", lambda *a: counted.append(a) or real(*a))
        return counted

    def out(self, tmp_path, source, lang="en", store=None):
        return output_of(tmp_path, "t.py", source, lang, store or Store(tmp_path / "cache")).parts

    def test_a_second_call_does_not_run(self, tmp_path, runs):
        first = self.out(tmp_path, "print(1)")
        assert self.out(tmp_path, "print(1)") == first and len(runs) == 1

    def test_one_run_serves_both_languages_unless_the_language_is_used(self, tmp_path, runs):
        self.out(tmp_path, "print(1)", "zh")
        self.out(tmp_path, "print(1)", "en")
        assert len(runs) == 1
        assert self.out(tmp_path, self.LABEL, "zh") == [["text", "宽度\n"]]
        assert self.out(tmp_path, self.LABEL, "en") == [["text", "width\n"]]
        assert self.out(tmp_path, self.LABEL, "zh") == [["text", "宽度\n"]]
        assert len(runs) == 3

    def test_an_edit_of_the_source_runs_again(self, tmp_path, runs):
        self.out(tmp_path, "print(1)")
        self.out(tmp_path, "print(1) ")
        assert len(runs) == 2

    def test_an_edit_of_an_imported_module_or_its_data_runs_again(self, tmp_path, runs):
        package = tmp_path / "blocklib"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "width.py").write_text("WIDTH = 1\n")
        (package / "sizes.toml").write_text("d = 1\n")
        (package / "other.py").write_text("")
        keys = [blocks.block_key(tmp_path, "from blocklib.width import WIDTH\n")]
        (package / "width.py").write_text("WIDTH = 2  # edited\n")
        keys.append(blocks.block_key(tmp_path, "from blocklib.width import WIDTH\n"))
        (package / "sizes.toml").write_text("d = 22\n")
        keys.append(blocks.block_key(tmp_path, "from blocklib.width import WIDTH\n"))
        assert len(set(keys)) == 3
        (package / "other.py").write_text("X = 1\n")
        assert blocks.block_key(tmp_path, "from blocklib.width import WIDTH\n") == keys[-1]

    def test_failures_are_not_stored(self, tmp_path, runs):
        for _ in range(2):
            with pytest.raises(BlockError):
                self.out(tmp_path, "1 / 0")
        assert len(runs) == 2


def test_two_language_comments_show_their_own_side():
    source = "d = 8  # 宽度 | width\n# plain\nx = 'a | b'  # 只有中文"
    assert own_comments(source, "zh") == "d = 8  # 宽度\n# plain\nx = 'a | b'  # 只有中文"
    assert own_comments(source, "en").splitlines()[0] == "d = 8  # width"


def test_markup_escapes_what_a_block_prints():
    parts = [["text", "<script>1 & 2\n"], ["table", ["<b>"], [["1,024"], ["<i>"]]], ["markdown", "m"]]
    html = render_block("x.py", "print('<')", parts, "zh", lambda text: f"<p>{text}</p>")
    assert "<script>" not in html and "&lt;script&gt;1 &amp; 2" in html and "&lt;i&gt;" in html
    assert '<span class="tl-result__tag">结果</span>' in html and "<p>m</p>" in html
    assert html.index("highlight") < html.index("tl-result")
