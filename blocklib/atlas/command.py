"""The verbs ``ledger`` and ``models``: any model's exact account, and the list of models at hand."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from blocklib.atlas.chips import CHIP_IDS, find_chip, load_chip
from blocklib.atlas.models import MODEL_IDS, AtlasError, find, load
from blocklib.ledger import cache, params
from blocklib.ledger.config import Config
from blocklib.ledger.parts import shown
from blocklib.ledger.reader import read
from blocklib.ledger.report import Question, number, report
from blocklib.ledger.table import table
from blocklib.problems import UsageError, nearest

MOST = 2**40
SEQ_LEN = 4096
_VALUES = ("--seq-len", "--batch", "--dtype", "--kv-dtype", "--chip")


def ledger_main(argv: list[str]) -> int:
    """usage: python -m blocklib ledger CONFIG.json|MODEL [--seq-len T] [--batch B] [--dtype bf16] [--kv-dtype bf16]
           [--chip h100] [--json]

    Parameters, cache, FLOPs, activations and bounds of a model: a config.json (or the folder that holds it), or a
    model of the atlas by name. T is the length of the prompt and the context at decoding (4,096 unless given, or the
    model's learned positions where these are fewer). Formats of weights: fp32 bf16 fp16 fp8 int8 int4 mxfp4; the cache
    is in bf16 unless given (in the weights' format where that is fp32 or fp16). With --chip also roofline bounds.
    """
    names, given, as_json = _parsed(argv)
    if len(names) != 1:
        raise UsageError("name one model or config.json" if not names else f"one model at a time, found {shown(names)}")
    dtype = given.get("--dtype", "bf16")
    kv_dtype = given.get("--kv-dtype", dtype if dtype in ("fp32", "fp16") else "bf16")
    seq_len, batch = (_count(given, name) for name in ("--seq-len", "--batch"))
    Question(dtype=dtype, kv_dtype=kv_dtype)
    machine = load_chip(find_chip(given["--chip"])).machine(dtype) if "--chip" in given else None
    name, config = model_of(names[0])
    if seq_len is None:
        seq_len = min(SEQ_LEN, config.learned_positions or SEQ_LEN)
    found = report(name, config, Question(seq_len, batch or 1, dtype, kv_dtype, machine))
    print(json.dumps(found, indent=2) if as_json else table(found))
    return 0


def models_main(argv: list[str]) -> int:
    """usage: python -m blocklib models [--json]

    The models of the atlas: id, name, parameters in all and per token, cache bytes of one token in bf16.
    """
    names, given, as_json = _parsed(argv)
    if names or given:
        raise UsageError(f"models takes no {shown([*names, *given][0])}")
    rows = [_row(model_id) for model_id in MODEL_IDS]
    if as_json:
        print(json.dumps({"models": rows, "chips": list(CHIP_IDS)}, indent=2))
        return 0
    lines = [f"{'id':<20} {'name':<24} {'year':>4} {'parameters':>19} {'active':>17} {'cache B/token':>13}"]
    lines += [f"{row['id']:<20} {row['name']:<24} {row['year']:>4} {row['total']:>19,} {row['active']:>17,} "
              f"{row['kv_bytes_per_token']:>13,}" for row in rows]  # fmt: skip
    print("\n".join([*lines, "", f"chips: {', '.join(CHIP_IDS)}"]))
    return 0


def model_of(name: str) -> tuple[str, Config]:
    """What ``name`` means, a model of the atlas or a file, and its shape.

    Raises:
        AtlasError: it is neither; the nearest models are named.
        ConfigError: the file cannot be read, or holds no model that is supported.
    """
    if name.casefold() in MODEL_IDS:
        model = load(name.casefold())
        return model.name, model.config
    if os.path.exists(name) or not {"/", os.sep}.isdisjoint(name) or name.endswith(".json"):
        return name if name.isprintable() else ascii(name)[1:-1], read(Path(name))
    try:
        model = load(find(name))
    except AtlasError as error:
        close = (error.remedy or "").startswith("did you mean")
        remedy = error.remedy if close else "python -m blocklib models lists the models"
        raise AtlasError(f"no model and no file is called {shown(name)}", remedy=remedy) from error
    return model.name, model.config


def _row(model_id: str) -> dict[str, Any]:
    model = load(model_id)
    return {
        "id": model.id, "name": model.name, "organisation": model.organisation, "year": model.year,
        "total": params.count(model.config).total, "active": params.active(model.config).with_embeddings,
        "kv_bytes_per_token": number(cache.kv_bytes_per_token(model.config, "bf16")),
    }  # fmt: skip


def _parsed(argv: list[str]) -> tuple[list[str], dict[str, str], bool]:
    """Names, options with a value, and whether ``--json`` is among the arguments."""
    names: list[str] = []
    given: dict[str, str] = {}
    as_json, rest = False, list(argv)
    while rest:
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        if word == "--json":
            as_json = True
        elif option in _VALUES:
            if option in given:
                raise UsageError(f"{option} stands twice")
            if not equals and (not rest or rest[0].startswith("--")):
                raise UsageError(f"{option} needs a value")
            given[option] = value if equals else rest.pop(0)
        elif word.startswith("-") and word != "-":
            close = nearest(option, (*_VALUES, "--json"))
            raise UsageError(f"unknown option {shown(word)}" + (f"; did you mean {close[0]}?" if close else ""))
        else:
            names.append(word)
    return names, given, as_json


def _count(given: dict[str, str], option: str) -> int | None:
    if option not in given:
        return None
    text = given[option]
    plain = text.replace(",", "").replace("_", "")
    if not re.fullmatch(r"[0-9]{1,15}", plain, re.ASCII) or not 1 <= int(plain) <= MOST:
        raise UsageError(f"{option} must be an integer from 1 to {MOST}, found {shown(text)}")
    return int(plain)
