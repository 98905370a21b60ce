"""The ledger as text, line by line: figures from the tables of models and from arithmetic written here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blocklib.atlas import load, load_chip
from blocklib.ledger.report import Question, report
from blocklib.ledger.roofline import Machine
from blocklib.ledger.table import counted, scaled, table, time


def lines(model: str, **asked) -> list[str]:
    return table(report(model, load(model).config, Question(**asked))).split("\n")


def section(text: list[str], title: str) -> dict[str, str]:
    """Row name -> what stands behind it, of one section."""
    rows = text[text.index(title) + 1 :]
    rows = rows[: rows.index("")] if "" in rows else rows
    return {row[2:34].strip(): " ".join(row[34:].split()) for row in rows}


def test_the_head_of_a_table():
    assert lines("gemma-3-1b", seq_len=1000, batch=2, kv_dtype="fp8")[:3] == [
        "gemma-3-1b: decoder, 26 layers (22 sliding, 4 full), d_model 1,152",
        "seq_len 1,000, batch 2, weights bf16, cache fp8", ""]  # fmt: skip


def test_windows_have_a_row_of_their_own_and_only_where_there_are_any():
    assert section(lines("gemma-3-1b", seq_len=1000, batch=2), "cache") == {
        "per token": "26,624 B 26.6 kB", "per token beyond windows": "4,096 B 4.1 kB",
        "per sequence": f"{22 * 1024 * 512 + 4 * 1024 * 1000:,} B 15.6 MB", "whole batch": "31,260,672 B 31.3 MB"}  # fmt: skip
    assert list(section(lines("llama-3-8b", seq_len=1), "cache")) == ["per token", "per sequence", "whole batch"]
    assert section(lines("bert-base-uncased", seq_len=512), "cache") == {"none": "0 B"}


def test_flops_by_part_and_of_training_the_sum_alone():
    text = lines("llama-3-8b", seq_len=1)
    assert list(section(text, "FLOPs, decode")) == ["projections", "scores", "values", "ffn", "head", "total"]
    assert section(text, "FLOPs, decode")["head"] == f"{2 * 128_256 * 4096:,} FLOP 1.05 GFLOP"
    assert list(section(text, "FLOPs, training")) == ["total"] and "FLOPs, decode" not in lines(
        "bert-base-uncased", seq_len=9
    )


def test_collectives_are_counted_and_bytes_are_bytes():
    rows = section(lines("llama-3-8b", seq_len=1), "training and devices")
    assert rows["tensor all reduces"] == "64" and rows["pipeline per token and boundary"] == "8,192 B 8.19 kB"
    assert rows["steps in sequence"] == "193" and "activations a token" in rows
    assert "activations a token" not in section(lines("deepseek-v3", seq_len=1), "training and devices")


def test_exact_numbers_get_a_size_from_a_thousand_up():
    gpt2 = replace(load("gpt2-small").config, other=999)
    for other, shown in ((999, "999"), (1000, "1,000 1 thousand")):
        text = table(report("g", replace(gpt2, other=other), Question(1))).split("\n")
        assert section(text, "parameters")["other"] == shown


def test_bounds():
    machine = load_chip("h100").machine()
    text = lines("gemma-3-1b", seq_len=1000, machine=machine)
    title = "roofline bounds on H100 (989 TFLOP/s, 3.35 TB/s, ridge 295.3 FLOP/B)"
    assert section(text, title) == {
        "decode step, at least": "602 us (memory)", "prefill, at least": "2.06 ms (compute)",
        "compute-bound from batch": "never at this context", "compute-bound up to context": "258 tokens",
        "cache equals weights at": "485,410 tokens", "tokens that fit": "2,629,215", "sequences that fit": "4,478"}  # fmt: skip
    assert section(lines("qwen3.8-27b", machine=machine), title)["compute-bound up to context"] == "never"
    slow = Machine("slow", 10**9, 10**12, 10**9)
    rows = section(lines("llama-3-8b", seq_len=100, machine=slow),
                   "roofline bounds on slow (1 GFLOP/s, 1 TB/s, ridge 0.0 FLOP/B)")  # fmt: skip
    assert rows["compute-bound up to context"] == "any" and rows["compute-bound from batch"] == "0.0"
    assert rows["tokens that fit"] == "weights do not fit" and rows["sequences that fit"] == "0"
    mistral = section(lines("mistral-7b", machine=machine), title)
    assert mistral["cache equals weights at"] == "never"
    encoder = lines("bert-base-uncased", seq_len=9, machine=machine)
    assert title in encoder and "decode step" not in "\n".join(encoder)


@pytest.mark.parametrize(("value", "shown"), [
    (0, "0 B"), (999, "999 B"), (999.6, "1 kB"), (1000, "1 kB"), (1234, "1.23 kB"), (10**24, "1,000 ZB"), (10**27, "1,000,000 ZB"),
    (5 * 10**21, "5 ZB"), (2 * 10**18, "2 EB"), (3 * 10**15, "3 PB"),
])  # fmt: skip
def test_sizes(value, shown):
    assert scaled(value, "B") == shown


@pytest.mark.parametrize(("seconds", "shown"), [
    (12.34, "12.3 s"), (1, "1 s"), (0.9996, "1 s"), (0.999, "999 ms"), (0.001, "1 ms"), (0.000999, "999 us"),
    (1.2349995e-4, "123 us"), (0, "0 us"), (1e-9, "0.001 us"),
])  # fmt: skip
def test_times(seconds, shown):
    assert time(seconds) == shown


@pytest.mark.parametrize(("value", "shown"), [
    (999, "999"), (1000, "1 thousand"), (999_600, "1 million"), (10**9 - 1, "1 billion"), (10**12, "1 trillion"), (12_340, "12.3 thousand"),
])  # fmt: skip
def test_counts(value, shown):
    assert counted(value) == shown
