"""The arms: each one a configuration that differs from the base in what it asks about. One line adds another.

A stack is written as its sublayers in order: ``A`` attention, ``F`` FFN, ``P`` both side by side. Widths of the FFN are
chosen so that arms have the base's parameters; where a question forbids that, the mismatch is printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import cos, pi

from blocklib.problems import BlocklibError, nearest
from blocklib.text import Text

VERDICT_SEEDS = tuple(range(1, 9))  # fixed before the first run
SWEEP_SEED = 0  # chooses the rate and takes part in no verdict
BASE_RATE, RATE_STEP, LAST_SHARE = 2e-3, 1.5, 0.1
CURVE_EVERY = 100  # steps between points of the validation curve
COLLAPSE_MARGIN = 0.1  # nats below token frequencies that count as having learned something
CHOICES = {
    "place": ("pre", "post", "none"),
    "norm": ("rms", "rms0", "layer"),
    "ffn": ("swiglu", "gelu", "relu", "relu2"),
    "attention": ("plain", "tied-qk", "tied-kv", "shared-q", "gated"),
}


class ArmError(BlocklibError):
    """An arm that does not exist or contradicts itself."""


@dataclass(frozen=True)
class Arm:
    """One configuration of model, initialisation and optimiser. Fields that are not named have the base's value.

    Args:
        id: name of the arm; a promise, since pages and results cite it.
        label: what the reader sees.
        layout: sublayers in order.
        place, norm, ffn, attention: one of :data:`CHOICES` each: where the norm stands and which it is (``rms0`` has the
            gain 1 + w), which FFN, which attention.
        skip, ffn_write: factors on the residual path and on what FFNs write.
        shared: whether one attention and one FFN serve every place of the layout.
        causal: whether attention is masked in training.
        scaled_init: whether matrices that write to the stream start smaller, by the root of their number.
        embed_scale: factor on the embeddings before the first sublayer.
        gain_decay: weight decay on the norms' gains.
        first_rung: middle of the rates tried first, in steps of 1.5 from 2e-3.
        grid: further rungs of the sweep, for a table that crosses arms with rates; tried before an arm's own rate is
            chosen, and chosen only where the sweep reaches them.

    Raises:
        ArmError: fields that are unknown, too small or at odds; all of them at once.
    """

    id: str
    label: Text
    layout: str = "AFAFAFAF"
    vocab_size: int = 1024
    d_model: int = 128
    n_heads: int = 4
    n_kv_heads: int = 4
    d_ff: int = 344
    place: str = "pre"
    norm: str = "rms"
    ffn: str = "swiglu"
    attention: str = "plain"
    qk_norm: bool = False
    skip: float = 1.0
    ffn_write: float = 1.0
    shared: bool = False
    causal: bool = True
    scaled_init: bool = True
    embed_scale: float = 1.0
    warmup: int = 50
    gain_decay: float = 0.0
    first_rung: int = 0
    grid: tuple[int, ...] = ()
    steps: int = 1000
    batch: int = 8
    seq_len: int = 128

    def __post_init__(self):
        if faults := list(self._faults()):
            raise ArmError("; ".join(faults), where=f"arm {self.id!r}")

    def _faults(self) -> Iterator[str]:
        for name, allowed in CHOICES.items():
            if (value := getattr(self, name)) not in allowed:
                yield f"{name} {value!r}: expected one of {', '.join(allowed)}"
        if not self.layout or set(self.layout) - set("AFP"):
            yield f"layout {self.layout!r}: expected letters A, F and P"
        sizes = ("vocab_size", "d_model", "n_heads", "n_kv_heads", "d_ff", "steps", "batch", "seq_len")
        small = [name for name in sizes if getattr(self, name) < 1]
        yield from (f"{name} {getattr(self, name)}: expected at least 1" for name in small)
        if not 0 <= self.warmup < max(self.steps, 1):
            yield f"warmup {self.warmup}: expected fewer steps than the {self.steps} of training"
        if small:
            return
        if self.d_model % (2 * self.n_heads):
            yield f"d_model {self.d_model}: does not divide into {self.n_heads} heads of an even width"
        if self.n_heads % self.n_kv_heads:
            yield f"n_heads {self.n_heads}: expected a multiple of n_kv_heads, {self.n_kv_heads}; set both"

    def config(self) -> dict:
        """All that decides a run's numbers: what a result keeps, to be compared with the arm as it is now."""
        return {key: value for key, value in asdict(self).items() if key not in {"id", "label", "first_rung", "grid"}}


def rate(rung: int) -> float:
    """Peak learning rate of a rung: 2e-3 times 1.5 to its power."""
    return BASE_RATE * RATE_STEP**rung


def schedule(step: int, arm: Arm) -> float:
    """Share of the peak rate at a step, counted from zero: linear warm-up, then a cosine down to a tenth."""
    if step < arm.warmup:
        return (step + 1) / arm.warmup
    done = (step - arm.warmup) / max(arm.steps - arm.warmup, 1)
    return LAST_SHARE + (1 - LAST_SHARE) * 0.5 * (1 + cos(pi * done))


CROSSED = (-3, -1, 1, 4)  # place of the norm and warm-up meet the same rates, up to one hundredth
BASE = Arm("base", Text("基准", "base"), grid=CROSSED)


def _arm(ident: str, zh: str, en: str, first_rung: int = 1, **changes) -> Arm:
    # The sweep starts around the base's own rate, which its sweep has shown.
    return replace(BASE, **{"id": ident, "label": Text(zh, en), "first_rung": first_rung, "grid": (), **changes})


_ALL = (
    BASE,
    # What must be there
    _arm("no-residual", "去掉残差", "no residual", skip=0.0, first_rung=0),
    _arm("no-ffn", "去掉 FFN，十二层 attention", "no FFN, twelve attention layers", layout="A" * 12, first_rung=0),
    _arm("no-attention", "去掉 attention，六层 FFN", "no attention, six FFNs", layout="F" * 6, first_rung=0),
    _arm("no-norm", "去掉归一化", "no norm", place="none", first_rung=0),
    # Activation
    _arm("gelu", "GELU", "GELU", ffn="gelu", d_ff=516),
    _arm("relu", "ReLU", "ReLU", ffn="relu", d_ff=516),
    _arm("relu2", "平方 ReLU", "squared ReLU", ffn="relu2", d_ff=516),
    # The ratio of the two sublayers, and their order
    _arm("ratio-1-2", "1 层 attention 配 2 层 FFN", "1 attention to 2 FFNs", layout="AFF" * 3, d_ff=258),
    _arm("ratio-2-1", "2 层 attention 配 1 层 FFN", "2 attentions to 1 FFN", layout="AAF" * 3),
    _arm("macaron", "Macaron", "Macaron", layout="FAF" * 4, d_ff=172, ffn_write=0.5),
    _arm("sandwich-order", "三明治次序", "sandwich order", layout="AAAFAFFF"),
    _arm("parallel", "并行块", "parallel block", layout="P" * 4),
    # Projections
    _arm("tied-qk", "W_Q = W_K", "W_Q = W_K", attention="tied-qk", d_ff=387),
    _arm("shared-q", "各头共用一个 Q", "one Q for all heads", attention="shared-q", d_ff=376),
    _arm("mqa", "各头共用 K/V（MQA）", "K/V shared by all heads (MQA)", n_kv_heads=1, d_ff=408),
    _arm("gqa-2", "GQA，两组", "GQA, two groups", n_kv_heads=2, d_ff=387),
    _arm("tied-kv", "K = V", "K = V", attention="tied-kv", d_ff=387),
    _arm("one-head", "一个头", "one head", n_heads=1, n_kv_heads=1),
    # Norm: place and warm-up, kind, decay of the gain
    _arm("pre-cold", "pre-norm，不预热", "pre-norm, no warm-up", warmup=0, first_rung=-1, grid=CROSSED),
    _arm("post-warm", "post-norm，预热", "post-norm, warm-up", place="post", first_rung=-3, grid=CROSSED),
    _arm("post-cold", "post-norm，不预热", "post-norm, no warm-up", place="post", warmup=0, first_rung=-3, grid=CROSSED),
    _arm(
        "post-scaled", "post-norm，embedding 放大 √d", "post-norm, embeddings × √d",
        place="post", embed_scale=128**0.5, first_rung=-2, grid=CROSSED[:3],
    ),
    _arm("pre-scaled", "pre-norm，embedding 放大 √d", "pre-norm, embeddings × √d", embed_scale=128**0.5, grid=CROSSED[:3]),
    _arm("layernorm", "LayerNorm", "LayerNorm", norm="layer"),
    _arm("gain-decay", "增益也做 weight decay", "gain decayed to 0", gain_decay=0.1),
    _arm("zero-gain-decay", "零中心增益加 weight decay", "gain decayed to 1", norm="rms0", gain_decay=0.1),
    _arm("qk-norm", "QK-norm", "QK-norm", qk_norm=True),
    # The rest of the block, and its stacking
    _arm("output-gate", "输出门", "output gate", attention="gated", d_ff=301),
    _arm("plain-init", "残差初始化不缩小", "residual writes not scaled", scaled_init=False),
    _arm("no-mask", "训练时不加因果掩码", "trained without the causal mask", causal=False),
    _arm("depth-2", "2 层，宽 176", "2 layers, width 176", layout="AF" * 2, d_model=176, d_ff=468),
    _arm("depth-3", "3 层，宽 144", "3 layers, width 144", layout="AF" * 3, d_model=144, d_ff=406),
    _arm("depth-7", "7 层，宽 96", "7 layers, width 96", layout="AF" * 7, d_model=96, d_ff=280),
    _arm("shared-layers", "四层共用一份权重", "four layers share their weights", shared=True),
)  # fmt: skip


def _by_id(arms: Iterable[Arm]) -> dict[str, Arm]:
    found: dict[str, Arm] = {}
    for arm in arms:
        if arm.id in found:  # the second would take over the first one's results
            raise ArmError("two arms have this id", where=f"arm {arm.id!r}", remedy="rename one")
        found[arm.id] = arm
    return found


ARMS = _by_id(_ALL)


@cache
def get(ident: str) -> Arm:
    """The arm of this id; raises :class:`ArmError` naming the nearest."""
    if ident not in ARMS:
        close = nearest(ident, ARMS)
        raise ArmError(
            f"no arm {ident!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
            remedy="python -m blocklib lab status names them all",
        )
    return ARMS[ident]
