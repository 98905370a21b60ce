"""``python -m blocklib ledger`` and ``models``: the object and the table, speed, and every mistake in one line."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from blocklib.atlas import CHIP_IDS, MODEL_IDS, AtlasError, load, load_chip
from blocklib.atlas.command import model_of
from blocklib.cli import main
from blocklib.ledger import cache, flops, params
from blocklib.ledger.parts import ConfigError
from blocklib.ledger.reader import read
from blocklib.ledger.report import Question, report
from blocklib.ledger.table import counted, scaled, table
from blocklib.ledger.table import time as shown_time

ROOT = Path(__file__).resolve().parents[2]
LLAMA = {
    "model_type": "llama", "vocab_size": 99, "hidden_size": 16, "intermediate_size": 40, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True,
}  # fmt: skip


def answer(capsys, *argv: str) -> dict:
    assert main(["ledger", *argv, "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return json.loads(said.out)


def test_the_object_of_llama_3_8b(capsys):
    found = answer(capsys, "llama-3-8b")
    assert list(found) == ["model", "settings", "shape", "parameters", "weights", "kv_cache", "flops", "activations",
                           "steps", "communication", "conventions"]  # fmt: skip
    assert found["model"] == "Llama-3-8B"
    assert found["parameters"]["total"] == found["parameters"]["active"] == 8_030_261_248
    assert found["parameters"]["components"] == {
        "embedding": 525_336_576, "position": 0, "attention": 1_342_177_280, "ffn": 5_637_144_576, "norm": 266_240,
        "qk_norm": 0, "head": 525_336_576, "other": 0}  # fmt: skip
    assert found["kv_cache"]["bytes_per_token"] == 131_072 and found["kv_cache"]["bytes"] == 131_072 * 4096
    assert found["weights"]["bytes"] == 16_060_522_496
    decode = found["flops"]["decode"]
    assert decode["total"] == 2 * 7_504_658_432 + 4 * 32 * 4096 * 4096 == sum(decode.values()) - decode["total"]
    assert found["flops"]["training"]["total"] == 3 * found["flops"]["prefill"]["total"]
    assert found["flops"]["attention_equals_ffn_at"] == 21_504 and found["steps"]["total"] == 193
    assert found["communication"]["tensor_all_reduces"] == 64
    assert all(isinstance(sentence, str) for sentence in found["conventions"])


def test_options_change_what_they_name(capsys):
    found = answer(capsys, "mixtral-8x7b", "--seq-len=1,024", "--batch", "3", "--dtype", "fp8", "--chip", "H200 SXM")
    assert found["parameters"]["active"] == 12_879_925_248 and found["weights"]["bytes"] == 46_702_792_704
    assert found["settings"] == {"seq_len": 1024, "batch": 3, "dtype": "fp8", "kv_dtype": "bf16", "chip": "H200"}
    config = load("mixtral-8x7b").config
    assert found["flops"]["decode"]["total"] == 3 * flops.decode(config, 1024).total
    assert found["kv_cache"]["bytes"] == 3 * 1024 * 131_072
    roofline = found["roofline"]
    assert roofline["peak_flops_per_s"] == 1_978_900_000_000_000 and roofline["memory_bytes"] == 141_000_000_000
    assert roofline["decode_limit"] == "memory" and roofline["decode_seconds_at_least"] > 0
    assert answer(capsys, "llama-3-8b", "--dtype", "fp32")["kv_cache"]["bytes_per_token"] == 2 * 131_072
    assert answer(capsys, "llama-3-8b", "--kv-dtype", "fp8")["kv_cache"]["bytes_per_token"] == 131_072 // 2


def test_caches_by_kind(capsys):
    def kinds(model):
        return {kind: size for kind, size in answer(capsys, model)["kv_cache"]["by_kind"].items() if size}

    assert kinds("llama-3-8b") == {"growing": 131_072} and kinds("deepseek-v3") == {"latent": 70_272}
    assert kinds("mistral-7b") == {"sliding": 131_072}
    assert kinds("gemma-3-1b") == {"growing": 4 * 1024, "sliding": 22 * 1024}
    assert kinds("deepseek-v4-flash").keys() == {"compressed", "sliding"}
    hybrid = answer(capsys, "qwen3.8-27b")["kv_cache"]
    assert hybrid["by_kind"]["growing"] == 65_536 and hybrid["state_bytes_per_sequence"] > 150_994_944
    assert hybrid["bytes"] == hybrid["bytes_per_sequence"] + hybrid["state_bytes_per_sequence"]


def test_a_file_a_folder_and_a_name_agree(tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    by_file, by_folder = answer(capsys, str(path)), answer(capsys, str(tmp_path))
    assert by_file["model"] == str(path) and by_file | {"model": ""} == by_folder | {"model": ""}
    config = read(path)
    assert by_file["parameters"]["total"] == params.count(config).total
    assert by_file["kv_cache"]["bytes_per_token"] == cache.kv_bytes_per_token(config, "bf16")
    assert [model_of(name)[0] for name in ("llama-3-8b", "LLAMA-3-8B", "Meta-Llama-3-8B")] == ["Llama-3-8B"] * 3


def test_what_is_a_file(tmp_path, monkeypatch, capsys):
    """What exists, whatever it is called, and what looks like a path; and no character of a name reaches a terminal."""
    monkeypatch.chdir(tmp_path)
    for name in ("shape", "a\x1bb.json"):
        (tmp_path / name).write_text(json.dumps(LLAMA))
    assert model_of("shape")[0] == "shape" and model_of("./shape")[0] == "./shape"
    assert model_of("a\x1bb.json")[0] == "a\\x1bb.json"
    for name in ("none/shape", "none.json"):
        with pytest.raises(ConfigError, match="cannot be read"):
            model_of(name)
    with pytest.raises(AtlasError, match="no model and no file is called 'none'"):
        model_of("none")


def test_counts_have_ends(capsys):
    most = 1_099_511_627_776
    assert answer(capsys, "gpt2-small", "--seq-len", "1", "--batch", "1")["settings"]["seq_len"] == 1
    assert answer(capsys, "gpt2-small", "--batch", f"{most:,}")["settings"]["batch"] == most
    assert main(["ledger", "gpt2-small", "--batch", str(most + 1)]) == 2
    assert f"--batch must be an integer from 1 to {most}, found '{most + 1}'" in capsys.readouterr().err


def test_objects_are_indented_by_two(capsys):
    for argv in (["ledger", "gpt2-small", "--json"], ["models", "--json"]):
        assert main(argv) == 0
        assert re.match(r'\{\n  "(model|models)": ', capsys.readouterr().out)


@pytest.mark.parametrize("model", MODEL_IDS)
@pytest.mark.parametrize("chip", [None, "h100"])
def test_every_model_has_an_answer(model, chip, capsys):
    found = answer(capsys, model, *(["--chip", chip] if chip else []))
    config = load(model).config
    assert found["parameters"]["total"] == params.count(config).total == sum(found["parameters"]["components"].values())
    assert found["kv_cache"]["bytes_per_token"] == cache.kv_bytes_per_token(config, "bf16")
    assert sum(found["kv_cache"]["by_kind"].values()) == found["kv_cache"]["bytes_per_token"]
    for rows in ("prefill", "decode", "training"):
        if found["flops"][rows]:
            assert sum(found["flops"][rows].values()) == 2 * found["flops"][rows]["total"]
    text = table(found)
    assert f"{params.count(config).total:,}" in text and all(f"- {c}" in text for c in found["conventions"])
    assert ("roofline" in found) == bool(chip)


def test_conventions_concern_the_model(capsys):
    def said(*argv):
        return " ".join(answer(capsys, *argv)["conventions"])

    assert "tied head" in said("gpt2-small") and "tied head" not in said("llama-3-8b")
    assert "absorbed" in said("deepseek-v3") and "upper bound" in said("deepseek-v4-flash")
    assert "recurrent" in said("qwen3.8-27b") and "experts" not in said("qwen3.8-27b")
    assert "beyond the 1,024 learned positions" in said("gpt2-small", "--seq-len", "2048")
    assert answer(capsys, "gpt2-small")["settings"]["seq_len"] == 1024
    assert "4.25 bits" in said("gpt-oss-20b", "--dtype", "mxfp4") and "bounds" in said("gpt2-small", "--chip", "a100")
    assert "not itemised" in said("deepseek-v3") and "not itemised" not in said("mixtral-8x7b")
    assert "why" in answer(capsys, "t5-base")["activations"]
    encoder = answer(capsys, "bert-base-uncased", "--chip", "h100")
    assert encoder["flops"]["decode"] is None and encoder["kv_cache"]["bytes_per_token"] == 0
    assert "decode" not in " ".join(encoder["conventions"]) and "decode_limit" not in encoder["roofline"]


def test_the_table(capsys):
    assert main(["ledger", "llama-3-8b", "--chip", "h100"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"total +8,030,261,248  8\.03 billion\n", text)
    assert re.search(r"per token +131,072 B  131 kB\n", text) and re.search(r"prefill, at least +66\.6 ms", text)
    assert re.search(r"weights +16,060,522,496 B  16\.1 GB\n", text) and "active" not in text
    assert "393 tokens" in text and "never at this context" in text and text.isascii()
    assert main(["ledger", "mixtral-8x7b", "--chip", "h100"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"active +12,879,925,248  12\.9 billion\n", text) and "weights do not fit" in text


@pytest.mark.parametrize(
    ("value", "printed"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (999_499, "999 kB"), (999_960, "1 MB"),
                           (16_060_522_496, "16.1 GB"), (1e27, "1,000,000 ZB")],
)  # fmt: skip
def test_units_are_chosen_after_rounding(value, printed):
    assert scaled(value, "B") == printed


def test_counts_and_times_in_words():
    assert [counted(v) for v in (1, 999, 1000, 999_960, 8_030_261_248, 2_779_484_393_568)] == [
        "1", "999", "1 thousand", "1 million", "8.03 billion", "2.78 trillion"]  # fmt: skip
    assert [shown_time(s) for s in (12.34, 0.99999, 0.0048, 0.00000318)] == ["12.3 s", "1 s", "4.8 ms", "3.18 us"]


def test_the_list(capsys):
    assert main(["models"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n{model_id} " in text for model_id in MODEL_IDS) and "8,030,261,248" in text
    assert main(["models", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in found["models"]] == list(MODEL_IDS) and found["chips"] == list(CHIP_IDS)
    assert next(r for r in found["models"] if r["id"] == "mixtral-8x7b")["active"] == 12_879_925_248


WRONG = [
    ([], "name one model or config.json"), (["llama-3-8b", "gpt2-small"], "one model at a time"),
    (["lama-3-8b"], "did you mean Llama-3-8B"), (["zzzzzzzz"], "python -m blocklib models"),
    ([""], "no model and no file is called ''"), (["none.json"], "cannot be read"), (["no/such"], "cannot be read"),
    ([str(ROOT / "README.md")], "is not JSON"), ([str(ROOT / "tests")], "cannot be read"),
    (["/dev/zero"], "no regular file"), (["a\0b"], "a\\x00b"), (["x" * 5000], "…"), (["../\x1b[2Jx"], "cannot be read"),
    (["llama-3-8b", "--seq-len", "-4"], "--seq-len must be an integer from 1"),
    (["llama-3-8b", "--seq-len", "0"], "--seq-len must be"), (["llama-3-8b", "--seq-len", "4.5"], "--seq-len must be"),
    (["llama-3-8b", "--seq-len", "９"], "--seq-len must be"), (["llama-3-8b", "--seq-len", "9" * 5000], "--seq-len"),
    (["llama-3-8b", "--seq-len"], "--seq-len needs a value"), (["llama-3-8b", "--batch", "0"], "--batch must be"),
    (["llama-3-8b", "--batch", "1", "--batch", "2"], "--batch stands twice"),
    (["llama-3-8b", "--dtype", "bf61"], "did you mean bf16?"), (["llama-3-8b", "--dtype", ""], "unknown dtype ''"),
    (["llama-3-8b", "--kv-dtype", "int4"], "unknown dtype 'int4'"),
    (["llama-3-8b", "--chip", "h10"], "did you mean H100"), (["llama-3-8b", "--chip=", "--json"], "unknown chip ''"),
    (["llama-3-8b", "--chip", "h100", "--dtype", "fp32"], "no peak for fp32"),
    (["llama-3-8b", "--chip", "h" * 5000], "unknown chip"), (["llama-3-8b", "--dtype", "f" * 5000], "unknown dtype"),
    (["--" + "x" * 5000], "unknown option"), (["x" * 900, "y" * 900], "one model at a time"),
    (["llama-3-8b", "--seqlen", "4"], "did you mean --seq-len?"), (["--what"], "unknown option '--what'"),
]  # fmt: skip


@pytest.mark.parametrize(("argv", "words"), WRONG)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_mistake_is_one_line_and_code_2(argv, words, more, capsys):
    assert main(["ledger", *argv, *(more if "--json" not in argv else [])]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("error: ") and said.err.count("\n") == 1 and words in said.err
    assert "\x1b" not in said.err and len(said.err) < 700


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "is not JSON"), ("[1]", "must hold one JSON object"), ('{"model_type": "lama"}', "did you mean"),
     ("{}", "model_type is missing"), ("[" * 100_000, "nested too deep"), ('{"a": NaN}', "NaN"),
     (json.dumps(LLAMA | {"hidden_size": -16}), "hidden_size"), (json.dumps(LLAMA | {"wide": 1}), "'wide'"),
     (json.dumps(LLAMA | {"hidden_size": 2**40}), "hidden_size")],
)  # fmt: skip
def test_a_broken_file_is_one_line(text, words, tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(text)
    assert main(["ledger", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and words in said.err and "config.json" in said.err


def test_the_list_takes_nothing(capsys):
    assert main(["models", "llama"]) == 2 and "models takes no 'llama'" in capsys.readouterr().err
    assert main(["models", "--chip", "h100"]) == 2


def run(*argv: str, **more) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "blocklib", *argv], cwd=ROOT, capture_output=True, text=True, **more)


def test_as_a_process(tmp_path):
    """The answer of a process; processor time, since other work on the machine is not ours. Bytecode may be kept."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    kept["PYTHONPYCACHEPREFIX"] = str(tmp_path)
    done = run("ledger", "llama-3-8b", env=kept)
    assert done.returncode == 0 and "8,030,261,248" in done.stdout and done.stderr == ""
    best = 9.0
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("ledger", "llama-3-8b", env=kept)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert best < 0.3
    assert run("ledger", "nope").returncode == 2


def test_no_heavy_import():
    code = ("import sys; from blocklib.cli import main; main(['ledger', 'deepseek-v3', '--chip', 'h100'])\n"
            "print(sorted({'torch', 'numpy', 'matplotlib', 'mkdocs', 'markdown'} & set(sys.modules)))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_all_models_with_all_metrics_are_quick():
    machine = load_chip("h100").machine()
    models = [load(model_id) for model_id in MODEL_IDS]
    best = 9.0
    for _ in range(5):
        for model in models:  # what a config has worked out about itself is worked out again
            for name in [n for n in vars(model.config) if n not in model.config.__dataclass_fields__]:
                del vars(model.config)[name]
        begin = time.process_time()
        for model in models:
            report(model.name, model.config, Question(machine=machine))
        best = min(best, time.process_time() - begin)
    assert best < 0.2
