"""What pages quote of the lab's set-up: the base arm's recipe, the corpus, and the rules of the verdicts."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from functools import cache
from math import prod
from pathlib import Path
from typing import Literal

from blocklib.facts.registry import fact
from blocklib.lab import power, report, summary
from blocklib.lab.arms import ARMS, BASE, COLLAPSE_MARGIN, get, rate, schedule
from blocklib.lab.questions import QUESTIONS

_STACK = ("tests/lab/test_stack.py::test_base_has_the_counted_parameters",)
_RULES = ("tests/lab/test_power.py::test_constants_are_those_of_the_verdicts",)
_CORPUS = (
    "tests/lab/test_corpus.py::test_no_document_is_in_both_parts",
    "tests/lab/test_corpus.py::test_text_has_the_recorded_size_and_hash",
)


@fact(tests=_STACK)
def lab_recipe(
    item: Literal["vocab_size", "d_model", "n_layers", "n_heads", "d_ff", "steps", "batch", "seq_len", "warmup"],
) -> int:
    """A size or a count of the lab's base arm.

    中文：实验室基准实验臂的一项尺寸或次数。
    """
    return BASE.layout.count("A") if item == "n_layers" else getattr(BASE, item)


@fact(tests=("tests/lab/test_stack.py::test_parameters_are_matched",))
def lab_inner_width(arm: str) -> int:
    """Inner width of this arm's FFNs.

    中文：该实验臂 FFN 的内部宽度。
    """
    return get(arm).d_ff


@fact(tests=("tests/lab/test_stack.py::test_embeddings_are_scaled",))
def lab_embedding_scale(arm: str) -> float:
    """Factor on this arm's embeddings before the first sublayer.

    中文：该实验臂的 embedding 进入第一个子层之前乘的倍数。
    """
    return get(arm).embed_scale


@fact(tests=("tests/lab/test_queue.py::test_three_rates_come_first",))
def lab_rung(rung: int) -> float:
    """Peak learning rate of a rung of the sweep: 2e-3 times 1.5 to its power.

    中文：扫描中某一档的峰值学习率：2e-3 乘以 1.5 的该次幂。
    """
    return rate(rung)


@fact(tests=("tests/lab/test_training.py::test_decay_alone_leaves_so_much_of_a_gain",))
def lab_decay_left(arm: str) -> float:
    """What weight decay alone leaves of a gain at the end of a run at the arm's own rate, as a share of its start: the
    product of ``1 − rate · decay`` over all steps.

    中文：按该实验臂自己的学习率，单靠 weight decay，训练结束时增益还剩最初的几分之几：各步「1 − 学习率 × 衰减」之积。
    """
    found, peak = get(arm), summary.arm(arm)["rate"]
    return prod(1 - peak * schedule(step, found) * found.gain_decay for step in range(found.steps))


@fact(tests=_RULES)
def lab_margin() -> Fraction:
    """Margin within which two arms are called the same, in nats per token.

    中文：判为相同的容许差，单位 nat/token。
    """
    return Fraction(str(power.MARGIN))


@fact(tests=("tests/lab/test_training.py::test_arm_that_learns_nothing_has_collapsed",))
def lab_collapse_margin() -> Fraction:
    """Nats per token below the line of token frequencies that a run must reach to count as trained.

    中文：验证损失要比 token 频率线低多少，才算训起来，单位 nat/token。
    """
    return Fraction(str(COLLAPSE_MARGIN))


@fact(tests=_RULES)
def lab_level() -> Fraction:
    """Level of the tests: the share of questions without any difference that may still report one.

    中文：检验水平：本无差别的问题里，仍会报告差别的最大比例。
    """
    return Fraction(str(power.LEVEL))


@fact(tests=("tests/lab/test_power.py::test_a_difference_is_found_as_often_as_the_noncentral_t_says",))
def lab_chance(
    effect: Fraction, sd: Fraction, seeds: int, comparisons: int, verdict: Literal["differs", "same", "open"]
) -> float:
    """Share of repeats that would give this verdict on a true difference, from paired runs whose differences spread by sd.

    中文：真正的差为给定值、配对差的标准差为 sd 时，重复实验中得出该结论的比例。
    """
    return getattr(power.chances(float(effect), float(sd), seeds, comparisons), verdict)


@fact(tests=("tests/lab/test_statistics.py::test_questions_ask_at_most_five_things_about_known_arms",))
def lab_comparisons() -> int:
    """Comparisons that the lab makes, over all its questions.

    中文：实验室所有问题的对照总数。
    """
    return sum(len(question.pairs) for question in QUESTIONS.values())


@fact(tests=("tests/lab/test_statistics.py::test_questions_ask_at_most_five_things_about_known_arms",))
def lab_questions() -> int:
    """Questions of the lab.

    中文：实验室的问题数。
    """
    return len(QUESTIONS)


@fact(formula="largest |parameters / base − 1|", tests=("tests/lab/test_stack.py::test_parameters_are_matched",))
def lab_worst_match(among: Literal["matched", "all"]) -> float:
    """Largest relative mismatch of parameters with the base: over all arms, or over those that a question allows to be matched.

    中文：参数与基准的最大相对差：就全部实验臂而言，或只就可以对齐的实验臂而言。
    """
    return max(abs(report.mismatch(i)) for i, arm in ARMS.items() if among == "all" or not arm.shared)


@cache
def _about() -> dict:
    return tomllib.loads((Path(__file__).parent / "data" / "corpus.toml").read_text("utf-8"))


@fact(tests=_CORPUS)
def lab_documents(part: Literal["all", "validation"]) -> int:
    """Addresses in the corpus, or those of them that are held out.

    中文：语料里的演讲篇数，或其中留出的篇数。
    """
    count, held = _about()["documents"], _about()["held_out"]
    return count if part == "all" else len(range(held["first"], count, held["every"]))


@fact(unit="B", tests=("tests/lab/test_corpus.py::test_text_has_the_recorded_size_and_hash",))
def lab_corpus_bytes() -> int:
    """Bytes of the corpus, as UTF-8 text.

    中文：语料的 UTF-8 字节数。
    """
    return _about()["bytes"]
