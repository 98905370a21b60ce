"""The ledger as text: one line a row, exact integers with separators, and their size in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

_UNITS = ("", "k", "M", "G", "T", "P", "E", "Z")


def table(found: dict[str, Any]) -> str:
    """The report of :func:`blocklib.ledger.report.report` for reading; ASCII but for the model's name."""
    return "\n".join(_lines(found))


def scaled(value: float, unit: str) -> str:
    """Three digits and a decimal prefix: ``16.1 GB``; the prefix is chosen after rounding."""
    size = 0
    digits = float(f"{value:.3g}")
    while digits >= 1000 and size < len(_UNITS) - 1:
        digits, size = float(f"{digits / 1000:.3g}"), size + 1
    return f"{digits:,.3g} {_UNITS[size]}{unit}" if digits < 1000 else f"{digits:,.0f} {_UNITS[size]}{unit}"


def counted(value: float) -> str:
    """Three digits and a word: ``8.03 billion``."""
    for power, word in ((12, "trillion"), (9, "billion"), (6, "million"), (3, "thousand")):
        digits = float(f"{value:.3g}") / 10**power
        if digits >= 1:
            return f"{digits:,.4g} {word}"
    return f"{value:,}"


def time(seconds: float) -> str:
    """Seconds with three digits in s, ms or us."""
    for factor, unit in ((1, "s"), (1000, "ms")):
        if float(f"{seconds * factor:.3g}") >= 1:
            return f"{float(f'{seconds * factor:.3g}'):,g} {unit}"
    return f"{float(f'{seconds * 1e6:.3g}'):,g} us"


def _lines(found: dict[str, Any]) -> Iterator[str]:
    asked, shape = found["settings"], found["shape"]
    mixers = ", ".join(f"{count} {kind}" for kind, count in shape["mixers"].items())
    yield f"{found['model']}: {shape['kind']}, {shape['n_layers']} layers ({mixers}), d_model {shape['d_model']:,}"
    yield (f"seq_len {asked['seq_len']:,}, batch {asked['batch']:,}, weights {asked['dtype']}, "
           f"cache {asked['kv_dtype']}")  # fmt: skip
    parameters = found["parameters"]
    yield from _section("parameters", [
        *((name, count, "") for name, count in parameters["components"].items() if count),
        ("total", parameters["total"], ""),
        *([("active", parameters["active"], "")] if parameters["active"] != parameters["total"] else []),
        ("weights", found["weights"]["bytes"], "B"),
    ])  # fmt: skip
    cache = found["kv_cache"]
    alike = cache["bytes_per_token"] == cache["bytes_per_token_beyond_windows"]
    rows = [(name.replace("_", " ").replace("bytes ", ""), value, "B") for name, value in cache.items() if value
            and name not in ("windows", "by_kind", "bytes", *(["bytes_per_token_beyond_windows"] if alike else []))]  # fmt: skip
    yield from _section("cache", [*rows, ("whole batch", cache["bytes"], "B")] if rows else [("none", 0, "B")])
    work = found["flops"]
    for name in ("prefill", "decode", "training"):
        if work[name]:
            parts = [(part, count, "FLOP") for part, count in work[name].items() if part != "total"]
            whole = ("total", work[name]["total"], "FLOP")
            yield from _section(f"FLOPs, {name}", [*(parts if name != "training" else []), whole])
    kept = found["activations"]
    more = [("activations a token", kept["bytes_per_token"], "B")] if kept["bytes_per_token"] is not None else []
    sent = [(name.replace("_", " ").replace("bytes ", ""), value, "" if "reduces" in name else "B")
            for name, value in found["communication"].items()]  # fmt: skip
    yield from _section("training and devices", [*more, ("steps in sequence", found["steps"]["total"], ""), *sent])
    yield from _bounds(found.get("roofline"))
    yield ""
    yield "conventions"
    yield from (f"  - {sentence}" for sentence in found["conventions"])


def _section(title: str, rows: Iterable[tuple[str, float, str]]) -> Iterator[str]:
    yield ""
    yield title
    for name, value, unit in rows:
        exact = f"{value:,}" + (f" {unit}" if unit else "")
        about = f"  {scaled(value, unit) if unit else counted(value)}" if value >= 1000 else ""
        yield f"  {name:<32} {exact:>34}{about}"


def _bounds(line: dict[str, Any] | None) -> Iterator[str]:
    if line is None:
        return
    yield ""
    yield f"roofline bounds on {line['chip']} ({scaled(line['peak_flops_per_s'], 'FLOP/s')}, " \
          f"{scaled(line['bandwidth_bytes_per_s'], 'B/s')}, ridge {line['ridge_flop_per_byte']:.1f} FLOP/B)"  # fmt: skip
    if "decode_limit" not in line:
        return
    batch, last, equal = (line[name] for name in ("compute_bound_batch", "compute_bound_up_to_context",
                                                  "cache_equals_weights_at_tokens"))  # fmt: skip
    fits = line["tokens_that_fit"]
    never = "never" if last == 0 else "any" if last is None else f"{last:,.0f} tokens"
    for name, text in (
        ("decode step, at least", f"{time(line['decode_seconds_at_least'])} ({line['decode_limit']})"),
        ("prefill, at least", f"{time(line['prefill_seconds_at_least'])} ({line['prefill_limit']})"),
        ("compute-bound from batch", "never at this context" if batch is None else f"{batch:,.1f}"),
        ("compute-bound up to context", never),
        ("cache equals weights at", "never" if equal is None else f"{equal:,.0f} tokens"),
        ("tokens that fit", "weights do not fit" if fits is None else f"{fits:,}"),
        ("sequences that fit", f"{line['sequences_that_fit']:,}"),
    ):
        yield f"  {name:<32} {text:>34}"
