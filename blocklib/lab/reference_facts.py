"""What pages quote of the reference model: its record, written beside the weights when its training ended."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import Any, Literal

from blocklib.facts.registry import fact
from blocklib.facts.values import Measured
from blocklib.lab.reference import FOLDER, RECORD
from blocklib.problems import BlocklibError

_WEIGHTS = ("tests/lab/test_reference.py::test_kept_weights_are_those_of_the_record",)


@cache
def record() -> dict[str, Any]:
    """The kept record.

    Raises:
        BlocklibError: it cannot be read.
    """
    try:
        found = json.loads((FOLDER / RECORD).read_text("utf-8"))
        if (
            not isinstance(found, dict)
            or not {"parameters", "validation", "validation_error", "config"} <= found.keys()
        ):
            raise ValueError("expected a record, a JSON object with the loss and the config")
        return found
    except (OSError, ValueError) as error:
        raise BlocklibError(
            f"cannot be read: {error}", where=f"data/reference/{RECORD}", remedy="python -m blocklib lab reference"
        ) from None


@fact(tests=_WEIGHTS)
def reference_count(item: Literal["parameters", "steps", "tokens", "vocab_size", "seq_len"]) -> int:
    """A count of the reference model: its parameters, the steps and tokens of its training, the entries of its
    vocabulary, or the tokens of the pieces it was trained on.

    中文：参考模型的一项计数：参数、训练步数、训练用的 token 数、词表大小，或训练时一段的 token 数。
    """
    kept = record()
    return kept[item] if item in kept else kept["config"][item]


@fact(tests=_WEIGHTS)
def reference_passes() -> Fraction:
    """Passes over the training text that the reference model has made.

    中文：参考模型把训练文本读过多少遍。
    """
    return Fraction(str(record()["passes"]))


@fact(grade="measured", tests=_WEIGHTS)
def reference_loss() -> Measured:
    """Validation loss of the reference model, one run, in nats per token of its own vocabulary; the noise is that of the
    held-out pieces.

    中文：参考模型的验证损失，只有一次运行，单位 nat/token（按它自己的词表）；噪声取各段留出文本之间的标准误。
    """
    return Measured(record()["validation"], record()["validation_error"])


@fact(tests=("tests/lab/test_reference.py::test_lines_of_the_record_are_those_of_the_corpus",))
def reference_floor(predictor: Literal["unigram", "bigram"]) -> float:
    """Validation loss of token frequencies, or of bigram frequencies, in the reference model's vocabulary.

    中文：按参考模型的词表，只看 token 频率、或只看前一个 token 时的验证损失。
    """
    return record()[f"{predictor}_floor"]
