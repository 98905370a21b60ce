"""Serial depth against modules that run under a mode which carries, with every tensor, how many products led to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from blocklib.exact import DomainError
from blocklib.ledger import steps
from blocklib.ledger.config import Config, ConfigError, Layer, Linear, uniform
from blocklib.ledger.parts import FFN, Attention, CompressedAttention, GatedDelta, KimiDelta, LatentAttention, MoE
from blocklib.nn.attention import GatedAttention, MultiHeadAttention
from blocklib.nn.block import ParallelBlock, PreNormBlock
from blocklib.nn.ffn import FeedForward, SwiGLU
from blocklib.nn.mla import MultiHeadLatentAttention
from blocklib.nn.model import DecoderLM
from blocklib.nn.moe import Experts, SoftmaxThenTopK
from blocklib.nn.moe import MoE as Mixture

PRODUCTS = {"mm", "addmm", "bmm", "baddbmm"}


class Depth(TorchDispatchMode):
    """Products of matrices on the longest path to each tensor."""

    def __init__(self):
        super().__init__()
        self.of: dict[int, int] = {}
        self.alive = []  # an id is only good while its tensor lives

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        before = max((self.of.get(id(t), 0) for t in tensors), default=0)
        for made in tree_flatten(out)[0]:
            if isinstance(made, torch.Tensor):
                self.of[id(made)] = before + (func.overloadpacket.__name__ in PRODUCTS)
                self.alive.append(made)
        return out


def traced(module: nn.Module, *inputs: torch.Tensor) -> int:
    with torch.no_grad(), Depth() as depth:
        out = module(*inputs)
    return depth.of[id(out)]


def one(mixer, ffn=None, **fields) -> Config:
    return Config(17, 16, (Layer(mixer, ffn or FFN(24, "gelu")),), "rmsnorm", True, **fields)


HEADS = Attention(4, 2, 4)
X = torch.randn(1, 3, 16)


@pytest.mark.parametrize(
    ("module", "config"),
    [
        (MultiHeadAttention(16, 4, 2), one(HEADS)),
        (GatedAttention(16, 4, 2), one(replace(HEADS, gate=True))),
        (MultiHeadLatentAttention(16, 2, 8, None, 4, 2, 4), one(LatentAttention(2, None, 8, 4, 2, 4))),
        (MultiHeadLatentAttention(16, 2, 8, 6, 4, 2, 4), one(LatentAttention(2, 6, 8, 4, 2, 4))),
    ],
)
def test_mixers(module, config):
    form = {"form": "expanded"} if isinstance(module, MultiHeadLatentAttention) else {}
    assert traced(module, X) == steps.depth(config, **form).mixers
    if form:
        module.absorbed = True
        assert traced(module, X) == steps.depth(config, form="absorbed").mixers


@pytest.mark.parametrize("shared", [None, FFN(24, "gelu")])
@pytest.mark.parametrize(
    ("module", "ffn"),
    [(FeedForward(16, 24), FFN(24, "gelu")), (SwiGLU(16, 24), FFN(24, "swiglu")),
     (None, MoE(FFN(24, "swiglu"), 4, 2))],
)  # fmt: skip
def test_ffns(module, ffn, shared):
    if module is None:
        inner = None if shared is None else FeedForward(16, 24)
        module, ffn = Mixture(16, Experts(4, 16, 24), SoftmaxThenTopK(2), inner), replace(ffn, shared=shared)
    assert traced(module, X) == steps.depth(one(HEADS, ffn)).ffns


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("shared_norm", [None, False, True])
def test_models(layers, shared_norm):
    def block():
        parts = MultiHeadAttention(16, 4, 2), FeedForward(16, 24)
        return PreNormBlock(16, *parts) if shared_norm is None else ParallelBlock(16, *parts, shared_norm=shared_norm)

    config = uniform(vocab_size=17, d_model=16, n_layers=layers, n_heads=4, n_kv_heads=2, head_dim=4, d_ff=24,
                     ffn="gelu", norm="layernorm", tied=True)  # fmt: skip
    model = DecoderLM(17, 16, [block() for _ in range(layers)])
    if shared_norm:
        config = replace(config, layers=tuple(replace(layer, norms=1) for layer in config.layers))
    parallel = {None: None, False: True, True: None}[shared_norm]
    assert traced(model, torch.zeros(1, 3, dtype=torch.long)) == steps.depth(config, parallel=parallel).total
    # Side by side, the FFN's two products hide behind attention's four.
    assert steps.depth(config).total == layers * (4 if shared_norm else 6) + 1


class State(nn.Module):
    def __init__(self, low_rank):
        super().__init__()
        self.first = nn.Linear(4, 4) if low_rank else nn.Identity()
        self.k, self.o = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):  # (1, 4): a key that is also query and value
        k, decay = self.k(x), self.k(self.first(x)).sigmoid()
        state = torch.ones(4, 4) * decay
        state = state + k.T @ (k - k @ state)
        return self.o(k @ state)


@pytest.mark.parametrize("mixer", [GatedDelta(2, 4, 4, 4, 4), KimiDelta(2, 4, 4, 4)])
def test_recurrent_mixers(mixer):
    module = State(low_rank=isinstance(mixer, KimiDelta))
    assert traced(module, torch.randn(1, 4)) == steps.depth(one(mixer)).mixers


def test_longer_tails_and_heads():
    wide = one(HEADS, MoE(FFN(24, "swiglu"), 4, 2, latent=8))
    assert steps.depth(wide).ffns == 4
    plain, indexed = (CompressedAttention(4, 4, 8, 2, 4, 8, 4, n, n) for n in (0, 2))
    assert steps.depth(one(plain)).mixers == 6 and steps.depth(one(indexed)).mixers == 7
    # Side by side the longer sublayer counts: four products of a latent mixture, four of attention; then six.
    assert steps.depth(wide, parallel=True) == steps.Steps(0, 0, 4, 0, 1)
    assert steps.depth(one(plain, wide.layers[0].ffn), parallel=True).total == 6 + 1
    masked = one(HEADS, kind="encoder", embedding_width=4, extra_head=(Linear(16, 4),))
    assert steps.depth(masked) == steps.Steps(1, 0, 4, 2, 2) and steps.depth(masked).total == 9
    assert steps.depth(one(HEADS, lm_head=False, kind="encoder")).head == 0


def test_an_encoder_decoder_waits_for_its_encoder():
    block = Layer(HEADS, FFN(24, "relu"))
    config = Config(17, 16, (replace(block, norms=3, cross=HEADS),) * 2, "rmsnorm", True, kind="encoder-decoder",
                    encoder=(block,) * 3)  # fmt: skip
    depth = steps.depth(config)
    assert (depth.encoder, depth.mixers, depth.ffns, depth.head) == (18, 16, 4, 1)
    assert steps.serial_steps(config, 5, 1) == depth.total
    assert steps.serial_steps(config, 5, 4) == depth.total + 3 * 21


def test_generating():
    config = one(HEADS)
    assert steps.serial_steps(config, 100, 10) == 10 * 7 == 10 * steps.depth(config).total
    assert steps.serial_steps(config, 1, 10) == steps.serial_steps(config, 1000, 10)
    assert [steps.token_forwards(n, False) for n in (0, 1, 2, 5)] == [0, 1, 3, 15] == [
        sum(range(n + 1)) for n in (0, 1, 2, 5)]  # fmt: skip
    assert steps.token_forwards(7, True) == 7 and isinstance(steps.token_forwards(3, False), int)
    for call in (lambda: steps.token_forwards(-1, True), lambda: steps.serial_steps(config, 0, 1),
                 lambda: steps.serial_steps(config, 1, 0)):  # fmt: skip
        with pytest.raises(DomainError):
            call()
    with pytest.raises(ConfigError, match="is no mixer"):
        steps._mixer("x", "absorbed")
