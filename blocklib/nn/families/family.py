"""What a family is: how its config becomes a model, and where its tensors go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.families.fields import INERT, MOST_HEADS, MOST_LAYERS, CheckpointError, Fields
from blocklib.nn.families.weights import Rule, Spare, linear
from blocklib.nn.model import DecoderLM

GATED_ACTIVATIONS = {
    "silu": "swiglu", "swish": "swiglu", "gelu": "geglu", "gelu_pytorch_tanh": "geglu_tanh", "gelu_new": "geglu_tanh",
    "relu": "reglu", "sigmoid": "glu", "linear": "bilinear",
}  # fmt: skip
LAYER_KINDS = ("full_attention", "sliding_attention")


@dataclass(frozen=True)
class Family:
    """Models that share a ``model_type``.

    Attributes:
        architecture: stem of its classes' names: Llama of LlamaForCausalLM.
        build: config fields to a model; reads every field that matters.
        rules: the model to its tensors in a checkpoint.
        inert: fields that change nothing, besides those of all families.
        prefix: what a checkpoint's names begin with, and may lack.
        spares: the model to tensors that a checkpoint may hold besides.
        head: name of the class for language models after the stem.
    """

    architecture: str
    build: Callable[[Fields], DecoderLM]
    rules: Callable[[DecoderLM], Iterable[Rule]]
    inert: frozenset[str] = frozenset()
    prefix: str = "model."
    spares: Callable[[DecoderLM], Iterable[Spare]] = lambda model: ()
    head: str = "ForCausalLM"

    def model(self, fields: Fields) -> DecoderLM:
        """The model of a config, without weights (on the meta device).

        Raises:
            CheckpointError: a field that is missing, wrong, unknown, or at odds with another.
        """
        fields.only("is_encoder_decoder", False)
        fields.only("pruned_heads", None, {})
        known = (f"{self.architecture}{self.head}", f"{self.architecture}Model")
        fields.only("architectures", None, *([name] for name in known))
        try:
            with torch.device("meta"):
                model = self.build(fields)
        except ValueError as error:  # heads that do not divide, an odd width to turn, …
            raise CheckpointError(str(error), where=fields.where) from None
        fields.finish(INERT | self.inert)
        return model.eval()


@dataclass(frozen=True)
class Shape:
    """The sizes that nearly every family names alike."""

    vocab_size: int
    d_model: int
    d_ff: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int


def read_shape(fields: Fields, kv_heads: int | None = None, head_dim: int | None = None) -> Shape:
    """The sizes of a config.

    Args:
        fields: of the config.
        kv_heads, head_dim: the family's own where the config names none; default the query heads, and d over them.

    Raises:
        CheckpointError: heads that do not divide the width, or KV heads that do not divide the heads.
    """
    d_model = fields.integer("hidden_size")
    n_heads = fields.integer("num_attention_heads", most=MOST_HEADS)
    named = fields.integer("head_dim", None, MOST_HEADS) if fields.given("head_dim") else head_dim
    if named is None and d_model % n_heads:
        raise fields.refuse("hidden_size", f"a multiple of num_attention_heads = {n_heads}")
    n_kv_heads = fields.integer("num_key_value_heads", None, MOST_HEADS) or kv_heads or n_heads
    if n_heads % n_kv_heads:
        raise fields.refuse("num_key_value_heads", f"a divisor of num_attention_heads = {n_heads}")
    return Shape(
        vocab_size=fields.integer("vocab_size"),
        d_model=d_model,
        d_ff=fields.integer("intermediate_size"),
        n_layers=fields.integer("num_hidden_layers", most=MOST_LAYERS),
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        head_dim=d_model // n_heads if named is None else named,
    )


def read_layers(fields: Fields, n_layers: int, window: int | None, default: Callable[[int], bool]) -> list[int | None]:
    """The window of every layer, None where it reads everything.

    Args:
        fields: of the config, which may name ``layer_types``.
        n_layers: number of layers.
        window: of the sliding ones.
        default: whether layer i slides where the config does not say.

    Raises:
        CheckpointError: unknown kinds, another number of them than layers, or sliding layers without a window.
    """
    kinds = fields.words("layer_types", n_layers, LAYER_KINDS)
    slides = [default(i) for i in range(n_layers)] if kinds is None else [kind == LAYER_KINDS[1] for kind in kinds]
    if any(slides) and window is None:
        raise fields.refuse("sliding_window", "a window, as there are sliding layers")
    return [window if slide else None for slide in slides]


def outer_rules(model: DecoderLM, prefix: str = "model.") -> Iterator[Rule]:
    """Embedding, final norm and, where it is not the embedding, head."""
    yield Rule(("embed.weight",), (f"{prefix}embed_tokens.weight",))
    yield Rule((f"final_norm.{_gain(model.final_norm)}",), (f"{prefix}norm.weight",))
    if model.head.weight is not model.embed.weight:
        yield Rule(("head.weight",), ("lm_head.weight",))


def attention_rules(attention: MultiHeadAttention, model: DecoderLM, ours: str, theirs: str) -> Iterator[Rule]:
    """The four projections and, where there are any, norms of queries and keys."""
    for name in "qkvo":
        yield from linear(model, f"{ours}.{name}", f"{theirs}.{name}_proj")
    if attention.qk_norm is not None:
        for name in "qk":
            gain = _gain(getattr(attention.qk_norm, name))
            yield Rule((f"{ours}.qk_norm.{name}.{gain}",), (f"{theirs}.{name}_norm.weight",))


def gated_rules(model: DecoderLM, ours: str, theirs: str) -> Iterator[Rule]:
    """The three matrices of a gated FFN."""
    for name in ("gate", "up", "down"):
        yield from linear(model, f"{ours}.{name}", f"{theirs}.{name}_proj")


def norm_rules(block: object, ours: str, theirs: str, names: dict[str, str]) -> Iterator[Rule]:
    """The norms of a block, our names to theirs."""
    for mine, other in names.items():
        yield Rule((f"{ours}.{mine}.{_gain(getattr(block, mine))}",), (f"{theirs}.{other}.weight",))


def usual_spares(model: DecoderLM, prefix: str = "model.") -> Iterator[Spare]:
    """A tied head stored a second time, and the frequencies that old checkpoints store with every layer."""
    if model.head.weight is model.embed.weight:
        yield Spare("lm_head.weight", lambda t, ours: _same(t, ours["embed.weight"]))
    for i, block in enumerate(model.blocks):
        frequencies = torch.tensor(block.attention.rope.frequencies, device="cpu")

        def agrees(t: Tensor, ours: dict[str, Tensor], frequencies: Tensor = frequencies) -> bool:
            # Some were stored in half precision.
            return t.shape == frequencies.shape and torch.allclose(t.float(), frequencies, rtol=1e-2)

        yield Spare(f"{prefix}layers.{i}.self_attn.rotary_emb.inv_freq", agrees)


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a.to(b.dtype), b)


def _gain(norm: object) -> str:
    return "gain" if hasattr(norm, "gain") else "weight"
