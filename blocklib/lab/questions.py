"""The questions that the arms answer: at most five comparisons each, chosen before the first run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from blocklib.lab import results
from blocklib.lab.arms import VERDICT_SEEDS, Arm, get
from blocklib.lab.queue import missing, own_rung, sweep
from blocklib.text import Text


@dataclass(frozen=True)
class Question:
    """What is asked, in a sentence and in a few words, and which arm is compared with which: pairs of ids, the second
    the reference."""

    id: str
    label: Text
    name: Text
    pairs: tuple[tuple[str, str], ...]


def _against(reference: str, *arms: str) -> tuple[tuple[str, str], ...]:
    return tuple((arm, reference) for arm in arms)


_ALL = (
    Question(
        "parts", Text("少了哪一件，块就不成块", "Which part can a block not do without?"), Text("去掉一件", "one part gone"),
        _against("base", "no-residual", "no-ffn", "no-attention", "no-norm"),
    ),
    Question(
        "activation", Text("换掉 SwiGLU 会怎样", "What does SwiGLU buy?"), Text("激活函数", "activation"), _against("base", "gelu", "relu", "relu2")
    ),
    Question(
        "ratio", Text("一比一的配比和先后次序，有多要紧", "How much do the ratio of sublayers and their order matter?"), Text("配比与次序", "ratio, order"),
        _against("base", "ratio-1-2", "ratio-2-1", "macaron", "sandwich-order", "parallel"),
    ),
    Question(
        "projections", Text("四个投影、四个头，都要吗", "Are four projections and four heads all needed?"), Text("投影与头", "projections"),
        _against("base", "tied-qk", "tied-kv", "one-head"),
    ),
    Question(
        "sharing", Text("各头能共用什么：K/V，还是 Q", "What can heads share: keys and values, or queries?"), Text("各头共用", "sharing"),
        (*_against("base", "mqa", "gqa-2", "shared-q"), ("shared-q", "mqa")),
    ),
    Question(
        "place", Text("归一化放在哪里，谁离不开预热", "Where does the norm go, and who needs warm-up?"), Text("归一化的位置", "norm's place"),
        (("pre-cold", "base"), ("post-warm", "base"), ("post-cold", "post-warm"), ("post-scaled", "post-warm"),
         ("pre-scaled", "base")),
    ),
    Question(
        "norm", Text("用哪一种归一化", "Which norm?"), Text("哪种归一化", "kind of norm"),
        (*_against("base", "layernorm", "gain-decay", "zero-gain-decay", "qk-norm"), ("gain-decay", "zero-gain-decay")),
    ),
    Question(
        "additions", Text("输出门与缩小的初始化，各值多少", "What do the output gate and the smaller start buy?"), Text("门与初始化", "gate, start"),
        _against("base", "output-gate", "plain-init"),
    ),
    Question(
        "depth", Text("该深一点，还是宽一点", "Deeper or wider?"), Text("深与宽", "depth, width"),
        _against("base", "depth-2", "depth-3", "depth-7", "shared-layers"),
    ),
    Question("mask", Text("训练时能不能不要因果掩码", "Can training do without the causal mask?"), Text("因果掩码", "causal mask"), _against("base", "no-mask")),
)  # fmt: skip
QUESTIONS = {question.id: question for question in _ALL}


@dataclass(frozen=True)
class Outcome:
    """What an arm's verdict runs came to: losses by seed of those that trained, and how many were lost."""

    arm: Arm
    rung: int
    losses: dict[int, float]
    lost: int
    complete: bool
    trains: bool

    @property
    def comparable(self) -> bool:
        """Whether every run of the verdict trained: only such an arm enters a test."""
        return self.complete and self.lost == 0


def outcome(ident: str, key: str = "validation") -> Outcome:
    """The verdict runs of an arm at its own rate.

    Args:
        ident: the arm.
        key: which loss: ``validation``, or ``validation_masked`` where the arm has it.
    """
    arm = get(ident)
    rung = own_rung(arm)
    found = {seed: results.read(arm, rung, seed) for seed in VERDICT_SEEDS}
    losses = {
        seed: record[key] for seed, record in found.items() if record is not None and record["outcome"] == "trained"
    }
    lost = sum(record is not None and record["outcome"] != "trained" for record in found.values())
    return Outcome(arm, rung, losses, lost, not missing(arm), sweep(arm)[1] is not None)


def named() -> Iterable[str]:
    """Every arm that a question asks about, the references too."""
    return dict.fromkeys(ident for question in QUESTIONS.values() for pair in question.pairs for ident in pair)
