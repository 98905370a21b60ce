"""What pages quote of the lab; every measured value carries the noise that limits its digits."""

from __future__ import annotations

from math import sqrt
from statistics import mean, quantiles, stdev
from typing import Literal

from blocklib.facts.registry import fact
from blocklib.facts.values import Measured
from blocklib.lab import speed, summary
from blocklib.lab.arms import ARMS, VERDICT_SEEDS, get

_TESTS = ("tests/lab/test_summary.py::test_kept_summary_is_that_of_the_runs",)


def _measured(values: list[float]) -> Measured:
    return Measured(mean(values), stdev(values) / sqrt(len(values)))


def _spread(values: list[float]) -> Measured:
    sd = stdev(values)
    return Measured(sd, sd / sqrt(2 * (len(values) - 1)))


def _median(low: float, middle: float, high: float, count: int) -> Measured:
    """From the quartiles of so many values; its standard error is that of a normal distribution's median."""
    return Measured(middle, 0.93 * (high - low) / sqrt(count))


@fact(grade="measured", tests=_TESTS)
def lab_loss(arm: str) -> Measured:
    """Validation loss of this arm, mean over its eight seeds, in nats per token; the noise is its standard error.

    中文：该实验臂八个种子的平均验证损失，单位 nat/token；噪声取均值的标准误。
    """
    return _measured(list(summary.finished(arm)["losses"].values()))


@fact(grade="measured", tests=("tests/lab/test_summary.py::test_masked_losses_are_those_in_the_files",))
def lab_masked_loss(arm: str) -> Measured:
    """Validation loss of an arm trained without the causal mask, read with it, mean over its seeds, in nats per token.

    中文：训练时不加因果掩码的实验臂，加上掩码读验证集的损失，对各种子取平均，单位 nat/token。
    """
    row = summary.finished(arm)
    if "masked" not in row:
        raise summary.SummaryError(f"arm {arm!r} is trained with the mask: it has one loss", remedy="use lab_loss")
    return _measured(list(row["masked"].values()))


@fact(grade="measured", tests=_TESTS)
def lab_spread(arm: str) -> Measured:
    """Standard deviation of this arm's validation loss over seeds, in nats per token: the noise floor of one run.

    中文：该实验臂验证损失在种子之间的标准差，单位 nat/token，即单次运行的噪声底。
    """
    losses = list(summary.finished(arm)["losses"].values())
    return _spread(losses)


@fact(grade="measured", tests=("tests/lab/test_summary.py::test_spread_of_the_rest_leaves_out_the_odd_one",))
def lab_spread_of_rest(arm: str) -> Measured:
    """As ``lab_spread``, without the one run that lies furthest from the mean: how much of the spread is that run's.

    中文：同上，去掉离平均最远的那一次：标准差里有多少出自那一次。
    """
    losses = list(summary.finished(arm)["losses"].values())
    middle = mean(losses)
    return _spread(sorted(losses, key=lambda loss: abs(loss - middle))[:-1])


@fact(grade="measured", tests=_TESTS)
def lab_difference(arm: str, reference: str) -> Measured:
    """Loss of this arm minus that of the reference, paired by seed, in nats per token; a question's comparison reads
    both ways.

    中文：该实验臂的损失减去参照臂的损失，按种子配对，单位 nat/token；同一项比较，反过来读也行。
    """
    try:
        row, sign = summary.verdict(arm, reference), 1
    except summary.SummaryError:
        row, sign = summary.verdict(reference, arm), -1
    if "mean" not in row:
        raise summary.SummaryError(f"{arm} against {reference}: {row['en']}")
    return Measured(sign * row["mean"], row["sd"] / sqrt(row["pairs"]))


@fact(grade="measured", tests=("tests/lab/test_summary.py::test_share_is_the_difference_over_the_reference",))
def lab_share(arm: str, reference: str) -> Measured:
    """``lab_difference`` as a share of the reference's mean loss.

    中文：同上，占参照臂平均损失的比例。
    """
    gap, loss = lab_difference(arm, reference), lab_loss(reference).value
    return Measured(gap.value / loss, gap.noise / loss)


@fact(grade="measured", tests=_TESTS)
def lab_floor(arm: str, reference: str) -> Measured:
    """The smallest mean difference that these paired runs would tell from zero, in nats per token.

    中文：这些配对运行能与零区分开的最小平均差，单位 nat/token。
    """
    row = summary.verdict(arm, reference)
    if "floor" not in row:
        raise summary.SummaryError(f"{arm} against {reference}: {row['en']}")
    return Measured(row["floor"], row["floor"] / sqrt(2 * (row["pairs"] - 1)))


@fact(grade="measured", tests=("tests/lab/test_summary.py::test_typical_spread_is_the_median_over_comparisons",))
def lab_typical_spread() -> Measured:
    """Standard deviation of paired differences, in nats per token: the median over all comparisons that were tested.

    中文：配对差的标准差，取所有做了检验的对照的中位数，单位 nat/token。
    """
    found = [row["sd"] for rows in summary.load()["questions"].values() for row in rows if "sd" in row]
    low, middle, high = quantiles(found, n=4)
    return _median(low, middle, high, len(found))


@fact(tests=_TESTS)
def lab_rate(arm: str) -> float:
    """Peak learning rate at which this arm is judged: a setting, the best of the rates that its sweep tried.

    中文：评判该实验臂所用的峰值学习率，是一项设置：扫过的各档里最好的一档。
    """
    return summary.arm(arm)["rate"]


@fact(grade="measured", tests=_TESTS)
def lab_lost(arm: str) -> int:
    """Runs of this arm's verdict that did not train.

    中文：该实验臂用于评判的运行里没有训起来的次数。
    """
    return summary.arm(arm)["lost"]


@fact(grade="measured", tests=("tests/lab/test_summary.py::test_runs_on_the_line_are_counted_from_the_files",))
def lab_on_the_line(step: int, counted: Literal["on", "left"]) -> int:
    """Runs, of all arms, rates and seeds, that at this step still predict like token frequencies, or those of them
    that no longer do at the end.

    中文：到这一步仍停在 token 频率线上的运行次数，所有实验臂、学习率与种子都算；或其中最后离开了的次数。
    """
    found = summary.load()["line"]
    if str(step) not in found:
        raise summary.SummaryError(f"the curves have no point at step {step}", remedy=f"one of {', '.join(found)}")
    return found[str(step)][counted]


@fact(grade="measured", tests=_TESTS)
def lab_similarity(arm: str) -> Measured:
    """Mean cosine between two positions of the last stream of this arm, after training, over its seeds.

    中文：该实验臂训练后，最末残差流中两个位置的平均余弦，对各种子取平均。
    """
    return _measured(list(summary.finished(arm)["similarity"].values()))


@fact(grade="measured", tests=_TESTS)
def lab_first_gradient(arm: str) -> Measured:
    """Largest gradient norm of the first hundred steps of this arm, before clipping, mean over its seeds.

    中文：该实验臂前一百步里最大的梯度范数（截断之前），对各种子取平均。
    """
    return _measured(list(summary.finished(arm)["first_gradients"].values()))


@fact(grade="measured", tests=("tests/lab/test_speed.py::test_fact_is_the_median_and_its_noise",))
def lab_speed(arm: str) -> Measured:
    """Tokens per second of this arm in training over those of the base, on one thread: median over rounds.

    中文：该实验臂训练时每秒的 token 数，与基准之比，单线程，取各轮的中位数。
    """
    measured = speed.load()
    if measured is None or arm not in measured["arms"]:
        raise summary.SummaryError(f"the speed of arm {arm!r} was not measured", remedy="python -m blocklib lab speed")
    row = measured["arms"][arm]
    return _median(row["low"], row["median"], row["high"], measured["rounds"])


@fact(tests=("tests/lab/test_stack.py::test_base_has_the_counted_parameters",))
def lab_parameters(arm: str) -> int:
    """Parameters of this arm, the tied head once.

    中文：该实验臂的参数量，与 embedding 绑定的输出头只计一次。
    """
    return summary.arm(arm)["parameters"]


@fact(tests=("tests/lab/test_queue.py::test_seeds_of_the_verdict_follow_at_the_best_rate",))
def lab_seeds() -> int:
    """Seeds of every verdict.

    中文：每次评判所用的种子数。
    """
    return len(VERDICT_SEEDS)


@fact(tests=("tests/lab/test_stack.py::test_parameters_are_matched",))
def lab_arms() -> int:
    """Arms of the lab.

    中文：实验臂的总数。
    """
    return len(ARMS)


@fact(tests=("tests/lab/test_training.py::test_validation_covers_the_held_out_text",))
def lab_tokens_per_run(arm: str) -> int:
    """Tokens that one run of this arm is trained on.

    中文：该实验臂一次运行训练用的 token 数。
    """
    found = get(arm)
    return found.steps * found.batch * found.seq_len


@fact(tests=("tests/lab/test_corpus.py::test_unigram_floor_is_the_best_constant",))
def lab_unigram_floor() -> float:
    """Validation loss of the best constant prediction, token frequencies, in nats per token.

    中文：只按 token 频率作常数预测时的验证损失，单位 nat/token。
    """
    return summary.load()["corpus"]["unigram_floor"]


@fact(tests=("tests/lab/test_corpus.py::test_bigram_floor_reads_one_token_back",))
def lab_bigram_floor() -> float:
    """Validation loss of interpolated bigram frequencies, in nats per token.

    中文：插值后的 bigram 频率给出的验证损失，单位 nat/token。
    """
    return summary.load()["corpus"]["bigram_floor"]


@fact(tests=("tests/lab/test_corpus.py::test_tokens_decode_to_the_documents",))
def lab_training_tokens() -> int:
    """Tokens of the training part of the corpus.

    中文：语料训练部分的 token 数。
    """
    return summary.load()["corpus"]["training_tokens"]


@fact(tests=("tests/lab/test_corpus.py::test_tokens_decode_to_the_documents",))
def lab_validation_tokens() -> int:
    """Tokens of the held-out part of the corpus.

    中文：语料留出部分的 token 数。
    """
    return summary.load()["corpus"]["validation_tokens"]
