"""Serial depth: how many matrix products must wait for one another, whatever the width of the machine.

Products that need only what is already there count as one step: queries, keys and values; the two matrices into a
gated FFN; all experts. Norms, softmax and activations lie between steps and are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from blocklib.exact import at_least
from blocklib.ledger.config import Config, Layer
from blocklib.ledger.parts import (
    Attention,
    CompressedAttention,
    ConfigError,
    GatedDelta,
    KimiDelta,
    LatentAttention,
    Mixer,
    MoE,
)
from blocklib.ledger.passes import Form


@dataclass(frozen=True)
class Steps:
    """Matrix products in sequence, in one pass.

    Attributes:
        embedding: a projection out of a factorised table.
        encoder: the encoder's stack, before the decoder can finish.
        mixers, ffns: sublayers of the main stack; where both run side by side, the longer one stands among the mixers.
        head: what leads to the logits.
    """

    embedding: int
    encoder: int
    mixers: int
    ffns: int
    head: int

    @property
    def total(self) -> int:
        """Sum of the rows."""
        return sum(vars(self).values())


def depth(config: Config, *, form: Form = "absorbed", parallel: bool | None = None) -> Steps:
    """Serial depth of one pass, the same for one decoded token and for a prompt (but for the encoder).

    Args:
        form: of latent attention.
        parallel: whether attention and FFN read the stream side by side; None takes the blocks that share one norm
            to be so. (GPT-NeoX's are parallel with a norm each, which its sizes do not show.)
    """
    encoder = sum(times * sum(_block(layer, form, parallel)) for layer, times in config.encoder_groups.items())
    mixers = ffns = 0
    for layer, times in config.groups.items():
        mixer, ffn = _block(layer, form, parallel)
        mixers, ffns = mixers + times * mixer, ffns + times * ffn
    transform = any(matrix.inputs for matrix in config.extra_head)
    head = config.lm_head + transform
    return Steps(config.embedding_width is not None, encoder, mixers, ffns, head)


def token_forwards(tokens: int, cached: bool) -> int:
    """Tokens passed through the model to generate ``tokens``: each once with a cache, all earlier ones again without.

    Raises:
        DomainError: ``tokens`` is negative.
    """
    at_least("tokens", tokens, 0)
    return tokens if cached else tokens * (tokens + 1) // 2


def serial_steps(config: Config, prompt: int, generated: int, *, form: Form = "absorbed") -> int:
    """Matrix products in sequence from a prompt to its last generated token: one pass for all of the prompt, which
    gives the first token, one for each further token.

    Raises:
        DomainError: the prompt is empty, or ``generated`` below one.
    """
    at_least("prompt", prompt, 1)
    at_least("generated", generated, 1)
    steps = depth(config, form=form)
    return steps.encoder + generated * (steps.total - steps.encoder)


def _block(layer: Layer, form: str, parallel: bool | None) -> tuple[int, int]:
    mixer, ffn = _mixer(layer.mixer, form), 2
    if layer.cross is not None:
        mixer += _mixer(layer.cross, form)
    if isinstance(layer.ffn, MoE):  # router, in, out; with a width of its own, down beside the router and up at the end
        ffn = 3 if layer.ffn.latent is None else 4
    side_by_side = layer.norms == 1 if parallel is None else parallel
    return (max(mixer, ffn), 0) if side_by_side else (mixer, ffn)


def _mixer(mixer: Mixer, form: str) -> int:
    if isinstance(mixer, Attention):
        return 4  # q k v, scores, values, output
    if isinstance(mixer, LatentAttention):
        query = 1 if mixer.q_rank is None else 2
        if form == "absorbed":  # W_UK after the query, W_UV after the mixing
            return query + 1 + 2 + 1 + 1
        return 2 + 2 + 1  # the latent and its expansion take two, the query no longer
    if isinstance(mixer, CompressedAttention):  # q in two, scores, values, output in two; an indexer chooses first
        return 6 + (1 if mixer.index_heads else 0)
    if isinstance(mixer, GatedDelta):
        return 1 + 3 + 1  # projections; state read, written, read; output
    if isinstance(mixer, KimiDelta):
        return 2 + 3 + 1  # decays come through a low rank
    raise ConfigError(f"{mixer!r} is no mixer")
