"""The executed block of the page on the whole block."""

from tests.pages.running import output


def test_six_stages():
    lines = output("primer/block/six_stages.py")
    assert [name for name in ("norm_attention", "attention", "add_attention", "norm_ffn", "ffn", "add_ffn")
            if any(line.split()[:1] == [name] for line in lines)] == [
        "norm_attention", "attention", "add_attention", "norm_ffn", "ffn", "add_ffn"]  # fmt: skip
    assert sum("(1, 4, 6)" in line for line in lines) == 6
    assert float(lines[-1].split()[-1]) < 1e-6
