"""Shapes in the ledger's own words, for models whose published files no other family here reads.

``{"model_type": "blocklib", "vocab_size": …, "d_model": …, "norm": …, "tied": …, "mixers": {NAME: {"kind": …, sizes}},
"ffns": {NAME: {sizes}}, "layers": [[MIXER, FFN, times], …]}``. A mixer's ``kind`` is a key of
:data:`~blocklib.ledger.parts.MIXER_KINDS`; an FFN with ``n_experts`` is a mixture. A fourth entry of a layer gives
``norms`` and ``other``; further keys are fields of :class:`~blocklib.ledger.config.Config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blocklib.ledger.config import MAX_LAYERS, Config, Layer
from blocklib.ledger.parts import FFN, MIXER_KINDS, ConfigError, MoE, is_size, shown

NAME = "blocklib"
_DIRECT = ("vocab_size", "d_model", "norm", "tied", "learned_positions", "other", "embedding_width")


def build(raw: Mapping[str, Any]) -> Config:
    """The shape that such an object describes.

    Raises:
        ConfigError: a name is unknown or missing, or a part refuses its sizes.
    """
    for name in raw.keys() - {"model_type", "mixers", "ffns", "layers", *_DIRECT}:
        raise ConfigError(f"field {shown(name)} is unknown for {NAME}")
    mixers = {name: _mixer(name, part) for name, part in _table(raw, "mixers").items()}
    ffns = {name: _ffn(name, part) for name, part in _table(raw, "ffns").items()}
    layers: list[Layer] = []
    for row in _get(raw, "layers", list):
        if not isinstance(row, list) or len(row) not in (3, 4) or not all(isinstance(n, str) for n in row[:2]):
            raise ConfigError(
                f"a row of layers is [mixer, ffn, times] or [mixer, ffn, times, more], found {shown(row)}"
            )
        if row[0] not in mixers or row[1] not in ffns:
            raise ConfigError(f"layers name {shown(row[:2])}, which mixers and ffns do not define")
        if not is_size(row[2]) or len(layers) + row[2] > MAX_LAYERS:
            raise ConfigError(f"the layers of {shown(row)} are no number up to {MAX_LAYERS} together")
        more = row[3] if len(row) == 4 else {}
        layers += [_make(Layer, "layers", {"mixer": mixers[row[0]], "ffn": ffns[row[1]]}, more)] * row[2]
    return _make(Config, "the config", {"layers": tuple(layers)}, {k: raw[k] for k in _DIRECT if k in raw})


def _mixer(name: str, part: Any) -> Any:
    kind = part.get("kind") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in MIXER_KINDS:
        raise ConfigError(f"mixer {shown(name)} needs a kind of {', '.join(MIXER_KINDS)}")
    sizes = {key: value for key, value in part.items() if key != "kind"}
    if isinstance(sizes.get("biases"), list):
        sizes["biases"] = frozenset(map(str, sizes["biases"]))
    return _make(MIXER_KINDS[kind], name, {}, sizes)


def _ffn(name: str, part: Any) -> FFN | MoE:
    if not isinstance(part, dict):
        raise ConfigError(f"ffn {shown(name)} must be an object, found {shown(part)}")
    if "n_experts" not in part:
        return _make(FFN, name, {}, part)
    nested = {key: _ffn(f"{name}.{key}", part[key]) for key in ("expert", "shared") if part.get(key) is not None}
    return _make(MoE, name, nested, {key: value for key, value in part.items() if key not in ("expert", "shared")})


def _make(made: type, name: str, parts: dict[str, Any], sizes: Any) -> Any:
    if not isinstance(sizes, dict):
        raise ConfigError(f"{shown(name)} must be an object, found {shown(sizes)}")
    try:
        return made(**parts, **sizes)
    except TypeError as error:
        raise ConfigError(f"{shown(name)}: {str(error).replace(f'{made.__name__}.__init__()', 'it')}") from error


def _table(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    return _get(raw, name, dict)


def _get(raw: Mapping[str, Any], name: str, kind: type) -> Any:
    if not isinstance(raw.get(name), kind):
        raise ConfigError(f"{name} is missing" if name not in raw else f"{name} must be {kind.__name__}")
    return raw[name]
