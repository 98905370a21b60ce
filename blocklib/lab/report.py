"""The lab's tables in both languages, made of the summary alone: what blocks of pages print and exhibits show.

Nothing here judges: verdicts and their words stand in the summary. An arm that has not finished says how far it is and
shows no number that could be taken for its result. Standard library only.
"""

from __future__ import annotations

from statistics import mean, stdev
from typing import Any

from blocklib.lab import speed, summary
from blocklib.lab.arms import ARMS, BASE, VERDICT_SEEDS, get, rate
from blocklib.lab.figures import decimals, p_value, signed
from blocklib.lab.questions import QUESTIONS
from blocklib.text import LANGS, Text

Cell = Text | str
Table = tuple[tuple[Cell, ...], list[tuple[Cell, ...]]]

NONE = "—"
ARM, RATE, SEEDS = Text("实验臂", "Arm"), Text("学习率", "Rate"), Text("种子", "Seeds")
LOSS, PARAMETERS = Text("验证损失", "Validation loss"), Text("参数", "Parameters")
GAP = Text("差", "Difference")
TRAINED = Text("训起来的种子", "Seeds that trained")
VERDICTS = {
    "above": Text("更高", "above"),
    "below": Text("更低", "below"),
    "same": Text("相同", "the same"),
    "open": Text("没有显出差别", "no difference shown"),
    "lost": Text("没有训起来", "did not train"),
    "unfinished": Text("还在跑", "still running"),
}


def verdict_word(row: dict[str, Any]) -> str:
    """Which of :data:`VERDICTS` a row of the summary is: a difference has a sign."""
    return row["kind"] if row["kind"] != "differs" else "above" if row["mean"] > 0 else "below"


def progress(ident: str) -> Text | None:
    """How far an unfinished arm is; None once it has finished."""
    row = summary.arm(ident)
    if row["complete"]:
        return None
    done, all_ = len(row["losses"]) + row["lost"], len(VERDICT_SEEDS)
    if not done:
        tried = len(row["sweep"])
        return (
            Text(f"还在跑：试了 {tried} 档学习率", f"still running: {tried} rates tried")
            if tried
            else Text("还没开始", "not begun")
        )
    return Text(f"还在跑：{all_} 个种子完成 {done} 个", f"still running: {done} of {all_} seeds")


def losses(ident: str) -> dict[str, float]:
    """Causal validation losses of a finished arm by seed; empty where runs are missing or some did not train."""
    row = summary.arm(ident)
    return row.get("masked", row["losses"]) if row["complete"] and not row["lost"] else {}


def mean_of(found: dict[str, float]) -> str:
    """The mean over seeds, to the digits that its standard error supports, or a dash."""
    values = list(found.values())
    return f"{mean(values):.{decimals(stdev(values) / len(values) ** 0.5)}f}" if len(values) > 1 else NONE


def loss(ident: str) -> str:
    """Mean of :func:`losses`, or a dash."""
    return mean_of(losses(ident))


def spread(ident: str) -> str:
    """Their standard deviation, to the digits that the standard error of a standard deviation supports, or a dash."""
    found = list(losses(ident).values())
    if not found:
        return NONE
    sd = stdev(found)
    return f"{sd:.{decimals(sd / (2 * (len(found) - 1)) ** 0.5)}f}"


def peak(ident: str) -> str:
    """Learning rate of a finished arm's verdict; a dash before the sweep is over."""
    return f"{summary.arm(ident)['rate']:.3g}" if summary.arm(ident)["complete"] else NONE


def seeds(ident: str) -> Cell:
    """How many of the verdict's seeds trained, or how far the arm is."""
    row = summary.arm(ident)
    return progress(ident) or f"{len(row['losses'])}/{len(VERDICT_SEEDS)}"


def comparisons(question: str) -> Table:
    """The comparisons of a question that could be tested, a row each; the others stand in :func:`sentences` alone."""
    rows = []
    for row in summary.load()["questions"][question]:
        if "mean" not in row:
            continue
        label, other = get(row["first"]).label, row["second"]
        name = label if other == BASE.id else Text(f"{label.zh}（对 {other}）", f"{label.en} (to {other})")
        digits = decimals(row["sd"] / row["pairs"] ** 0.5)
        numbers = (signed(row["mean"], digits), f"{row['floor']:.{digits}f}", p_value(row["p"]))
        rows.append((name, *numbers, VERDICTS[verdict_word(row)]))
    head = (ARM, Text("差，nat", "Difference"), Text("可分辨", "Resolvable"), Text("p（Holm）", "p (Holm)"), Text("判定", "Verdict"))  # fmt: skip
    return head, rows


def sentences(question: str) -> Text:
    """The verdicts of a question in words, a paragraph each."""
    rows = summary.load()["questions"][question]
    return Text(*("\n\n".join(row[lang] for row in rows) for lang in LANGS))


def arms_of(question: str) -> tuple[str, ...]:
    """The arms of a question, the references first, each once."""
    pairs = QUESTIONS[question].pairs
    return tuple(dict.fromkeys([second for _, second in pairs] + [first for first, _ in pairs]))


def levels(question: str) -> Table:
    """The arms of a question one by one: their own rate, seeds, loss and its spread."""
    rows = [(get(i).label, peak(i), seeds(i), loss(i), spread(i)) for i in arms_of(question)]
    return (ARM, RATE, TRAINED, LOSS, Text("种子间标准差", "SD over seeds")), rows


def mismatch(ident: str) -> float:
    """Parameters of an arm over those of the base, minus one."""
    return summary.arm(ident)["parameters"] / summary.arm(BASE.id)["parameters"] - 1


def matching() -> Table:
    """Parameters of every arm, and how far they are from the base's."""
    rows = [(arm.label, f"{summary.arm(i)['parameters']:,}", f"{signed(100 * mismatch(i), 2)}%") for i, arm in ARMS.items()]  # fmt: skip
    return (ARM, PARAMETERS, Text("与基准之差", "Against the base")), rows


def first_gradient(ident: str) -> str:
    """Largest gradient norm of the first hundred steps, mean over the runs there are; a dash where there are none."""
    row = summary.arm(ident)
    return mean_of(row.get("first_gradients", {})) if row["complete"] else NONE


def similarity(ident: str) -> str:
    """Mean cosine between two positions of the last stream, over the runs that trained; a dash where there are none."""
    row = summary.arm(ident)
    return mean_of(row.get("similarity", {})) if row["complete"] else NONE


def layer_gradients(*idents: str) -> Table:
    """Gradient norms of the embedding and of each sublayer in the last step, for arms of the base's layout, means over
    the runs that trained."""
    found = [summary.arm(ident) for ident in idents]
    parts = ["embed", *(f"{kind}.{layer}" for layer in range(BASE.layout.count("A")) for kind in ("attention", "ffn"))]
    rows = [
        (
            _part(part),
            *(mean_of(row.get("layer_gradients", {}).get(part, {})) if row["complete"] else NONE for row in found),
        )
        for part in parts
    ]
    return (Text("在哪里", "Where"), *(PLACES.get(ident, get(ident).label) for ident in idents)), rows


def _part(part: str) -> Cell:
    """``ffn.0`` is the FFN of the first layer."""
    kind, _, layer = part.partition(".")
    return f"{'FFN' if kind == 'ffn' else kind} {int(layer) + 1}" if layer else "embedding"


def tokens_per_second(ident: str) -> str | None:
    """Speed over the base's, from the quiet pass; None where there has been none, a dash where this arm is not in it."""
    measured = speed.load()
    if measured is None:
        return None
    row = measured["arms"].get(ident)
    return NONE if row is None else f"{row['median']:.2f}"


def swept(ident: str) -> bool:
    """Whether an arm's sweep is over: seeds of the verdict follow it."""
    row = summary.arm(ident)
    return row["complete"] or bool(row["losses"])


def sweep_loss(ident: str, rung: int) -> Cell:
    """Loss of the one run of the sweep at a rung, or that it did not train; a dash where the rung was not tried."""
    found = summary.arm(ident)["sweep"]
    if str(rung) not in found:
        return NONE
    value = found[str(rung)]
    return Text("没训起来", "did not train") if value is None else f"{value:.3f}"


def rates() -> Table:
    """The sweep at the base's rate and at each arm's own: one seed a cell, so no verdict.

    Left out are arms whose sweep is not over, and the one trained without a mask: its sweep reads another loss.
    """
    own = summary.arm(BASE.id)["rung"]
    base = summary.arm(BASE.id)["sweep"].get(str(own))
    rows = []
    for ident, arm in ARMS.items():
        if ident == BASE.id or base is None or not (arm.causal and swept(ident) and swept(BASE.id)):
            continue
        rung = summary.arm(ident)["rung"]
        pair = [summary.arm(ident)["sweep"].get(str(r)) for r in (own, rung)]
        gaps = [NONE if value is None else signed(value - base, 3) for value in pair]
        rows.append((arm.label, sweep_loss(ident, own), gaps[0], f"{rate(rung):.3g}", sweep_loss(ident, rung), gaps[1]))
    head = (
        ARM, Text("基准的学习率", "At the base's rate"), GAP, Text("自己的学习率", "Own rate"), Text("损失", "Loss"), GAP
    )  # fmt: skip
    return head, rows


PLACES = {  # in few words, for a table with a column each
    "base": Text("pre，预热", "pre, warm"),
    "pre-cold": Text("pre，不预热", "pre, cold"),
    "pre-scaled": Text("pre，放大", "pre, scaled"),
    "post-warm": Text("post，预热", "post, warm"),
    "post-cold": Text("post，不预热", "post, cold"),
    "post-scaled": Text("post，放大", "post, scaled"),
}


def warm_up() -> Table:
    """Norm's place, warm-up and rate: the sweep's runs, a row for every rate that any of these arms tried."""
    tried = sorted({int(rung) for ident in PLACES for rung in summary.arm(ident)["sweep"]})
    rows = [(f"{rate(rung):.3g}", *(sweep_loss(ident, rung) for ident in PLACES)) for rung in tried]
    return (RATE, *PLACES.values()), rows


def say(*pairs: tuple[str, str]) -> Text:
    """The verdicts on these pairs of arm and reference in words, a paragraph each."""
    rows = [summary.verdict(first, second) for first, second in pairs]
    return Text(*("\n\n".join(row[lang] for row in rows) for lang in LANGS))


def standing() -> Table:
    """How far the lab is: verdicts of each question by kind."""
    rows = []
    for ident, question in QUESTIONS.items():
        words = [verdict_word(row) for row in summary.load()["questions"][ident]]
        tested = sum(word in ("above", "below", "same", "open") for word in words)
        counts = (tested, words.count("lost"), words.count("unfinished"))
        rows.append((question.label, *map(str, counts)))
    head = (Text("问题", "Question"), Text("有判定", "Verdict"), Text("没训起来", "Lost"), Text("还在跑", "Running"))
    return head, rows
