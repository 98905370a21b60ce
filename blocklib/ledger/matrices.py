"""One block taken apart into its matrices: what :func:`blocklib.ledger.params.layer_params` sums, by name.

Names are those of the usual projections; what a gate, a convolution or a norm adds has a row of its own. Only what
belongs together is one row: gains of two norms, the two scalars that Gated DeltaNet makes for each head.
"""

from __future__ import annotations

from functools import singledispatch

from blocklib.ledger.config import Config, Layer
from blocklib.ledger.params import norm
from blocklib.ledger.parts import FFN, Attention, ConfigError, GatedDelta, MoE

# Row names, in the order in which a token meets them.
MIXER_ROWS = ("query", "output_gate", "key", "value", "write_and_decay", "convolution", "decay_terms", "sinks",
              "qk_gains", "gain", "output", "mixer_biases")  # fmt: skip
FFN_ROWS = ("router", "shared", "gate", "up", "down", "ffn_biases")


def block_rows(config: Config, layer: Layer) -> dict[str, int]:
    """Parameters of one block by matrix, in the order of a pre-norm block; rows without parameters are left out.

    Raises:
        ConfigError: the block has a mixer that is not taken apart here, cross-attention, or unnamed parameters.
    """
    if layer.cross is not None or layer.other:
        raise ConfigError("only a block of mixer, FFN and norms is taken apart")
    rows = (
        {"norms": layer.norms * norm(config)}
        | mixer_rows(layer.mixer, config.d_model)
        | ffn_rows(layer.ffn, config.d_model)
    )
    return {name: count for name, count in rows.items() if count}


@singledispatch
def mixer_rows(mixer: object, d_model: int) -> dict[str, int]:
    """Parameters of a mixer by matrix, rows in the order of :data:`MIXER_ROWS`.

    Raises:
        ConfigError: the mixer is not taken apart here.
    """
    raise ConfigError(f"{getattr(mixer, 'kind', mixer)!r} attention is not taken apart into matrices")


@mixer_rows.register
def _(mixer: Attention, d_model: int) -> dict[str, int]:
    query, kv = mixer.query_width, mixer.kv_width
    gains = {None: 0, "head": 2 * mixer.head_dim, "heads": query + kv, "full": query + kv}[mixer.qk_norm]
    biased = {"q": query * (1 + mixer.gate), "k": kv, "v": kv, "o": d_model}
    return _ordered({
        "query": d_model * query, "output_gate": d_model * query * mixer.gate, "key": d_model * kv, "value": d_model * kv,
        "sinks": mixer.n_heads * mixer.sinks, "qk_gains": gains, "output": query * d_model,
        "mixer_biases": sum(biased[site] for site in mixer.biases),
    }, MIXER_ROWS)  # fmt: skip


@mixer_rows.register
def _(mixer: GatedDelta, d_model: int) -> dict[str, int]:
    key, value = mixer.key_width, mixer.value_width
    return _ordered({
        "query": d_model * key, "key": d_model * key, "value": d_model * value, "output_gate": d_model * value,
        "write_and_decay": 2 * d_model * mixer.v_heads, "convolution": mixer.conv * (2 * key + value),
        "decay_terms": 2 * mixer.v_heads, "gain": mixer.v_dim, "output": value * d_model,
    }, MIXER_ROWS)  # fmt: skip


def ffn_rows(ffn: FFN | MoE, d_model: int) -> dict[str, int]:
    """Parameters of an FFN by matrix, rows in the order of :data:`FFN_ROWS`; of a mixture, ``gate``, ``up`` and
    ``down`` are those of all routed experts together.

    Raises:
        ConfigError: the experts work in a width of their own.
    """
    if isinstance(ffn, FFN):
        return _ordered(_dense(ffn, d_model, 1), FFN_ROWS)
    if ffn.latent is not None:
        raise ConfigError("experts with a width of their own are not taken apart")
    shared = 0 if ffn.shared is None else sum(_dense(ffn.shared, d_model, 1).values()) + d_model * ffn.shared_gate
    router = ffn.n_experts * (d_model + ffn.router_bias)
    return _ordered({"router": router, "shared": shared} | _dense(ffn.expert, d_model, ffn.n_experts), FFN_ROWS)


def _dense(ffn: FFN, d_model: int, copies: int) -> dict[str, int]:
    matrix, gated = copies * d_model * ffn.d_ff, ffn.matrices == 3
    biases = copies * ((ffn.matrices - 1) * ffn.d_ff + d_model) * ffn.bias
    return {"gate": matrix * gated, "up": matrix, "down": matrix, "ffn_biases": biases}


def _ordered(rows: dict[str, int], order: tuple[str, ...]) -> dict[str, int]:
    return {name: rows.get(name, 0) for name in order}
