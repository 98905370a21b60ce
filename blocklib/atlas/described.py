"""A shape in the words of a model file: what ``[values]`` may state, so that file and config can be compared."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from blocklib.ledger.config import Attention, CompressedAttention, Config, ConfigError, KimiDelta, LatentAttention


def described(config: Config) -> dict[str, Any]:
    """Value name -> value, for every value that this shape has.

    Sizes that layers do not share (key/value heads of latent attention) have no entry; ``layers`` lists the kinds of
    all mixers where they differ. Parts are tables of their own: ``latent``, ``compressed``, ``gated_delta``,
    ``kimi_delta``, ``experts``.
    """
    found: dict[str, Any] = {"n_layers": config.n_layers, "d_model": config.d_model}
    if config.encoder:
        found["encoder_layers"] = len(config.encoder)
    for name in ("n_heads", "n_kv_heads", "head_dim", "d_ff"):
        try:
            found[name] = getattr(config, name)
        except ConfigError:
            continue
    found |= {"vocab_size": config.vocab_size, "ffn": config.ffn, "norm": config.norm, "tied": config.tied}
    if isinstance(config.softmax, Attention):
        found["biases"] = [site for site in ("q", "k", "v", "o", "ffn") if site in config.biases]
    optional = {
        "learned_positions": config.learned_positions, "token_types": config.token_types,
        "relative_bias": config.relative_bias, "embedding_width": config.embedding_width,
        "stored_layers": config.stored_layers, "qk_norm": config.qk_norm, "output_gate": config.output_gate,
        "layers": list(config.mixers) if len(set(config.mixers)) > 1 else None,
        "other": config.other + sum(times * layer.other for layer, times in config.groups.items()),
    }  # fmt: skip
    found |= {name: value for name, value in optional.items() if value}
    return found | _parts(config)


def _parts(config: Config) -> dict[str, Any]:
    found: dict[str, Any] = {}
    windows = sorted({layer.mixer.window for layer in config.groups if layer.mixer.window is not None})
    if windows:
        found["window"] = windows[0]
    for layer in config.groups:
        mixer = layer.mixer
        if isinstance(mixer, LatentAttention):
            found["latent"] = _sizes(mixer, "n_heads", "bias", "gate")
        elif isinstance(mixer, KimiDelta):
            found["kimi_delta"] = _sizes(mixer)
        elif isinstance(mixer, CompressedAttention):
            shared = _sizes(mixer, "n_heads", "head_dim", "window", "rate", "index_heads", "index_dim")
            found.setdefault("compressed", shared)
            if mixer.rate is not None:
                found["compressed"][f"{mixer.kind.replace(' ', '_')}_rate"] = mixer.rate
            if mixer.index_heads:
                found["compressed"] |= {"index_heads": mixer.index_heads, "index_dim": mixer.index_dim}
    if config.gated_delta is not None:
        found["gated_delta"] = _sizes(config.gated_delta)
    if config.moe is not None:
        moe = config.moe
        found["experts"] = {"n_experts": moe.n_experts, "top_k": moe.top_k, "d_ff": moe.d_ff}
        found["experts"] |= {"shared_d_ff": moe.shared.d_ff} if moe.shared else {}
        found["experts"] |= {"latent": moe.latent} if moe.latent else {}
    return found


def _sizes(part: Any, *without: str) -> dict[str, Any]:
    return {name: value for name, value in asdict(part).items() if name not in without}
