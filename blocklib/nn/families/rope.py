"""RoPE as checkpoints describe it: ``rope_parameters``, or the older ``rope_theta`` with ``rope_scaling``."""

from __future__ import annotations

from blocklib.nn.families.fields import CheckpointError, Fields
from blocklib.nn.frequencies import (
    linear_frequencies,
    llama3_frequencies,
    rope_frequencies,
    yarn_frequencies,
    yarn_magnitude,
)
from blocklib.nn.position import RoPE


def read_rope(fields: Fields, head_dim: int, theta: float = 10_000.0) -> RoPE:
    """The one RoPE of all layers.

    Args:
        fields: of the whole config.
        head_dim: width of a head; all of it turns.
        theta: the family's base where the config names none.

    Raises:
        CheckpointError: a kind that is not built, two descriptions at odds, or a field that none of them has.
    """
    context = fields.integer("max_position_embeddings", None)
    top = fields.number("rope_theta", None)
    group, old = fields.group("rope_parameters"), fields.group("rope_scaling")
    if group is not None and old is not None:
        raise CheckpointError("rope_parameters and rope_scaling are both given; expected one", where=fields.where)
    return rope_of(group or old, head_dim, theta if top is None else top, context, fixed=top is not None)


def rope_of(group: Fields | None, head_dim: int, theta: float, context: int | None, fixed: bool = False) -> RoPE:
    """RoPE from one description; None is the plain one.

    Args:
        group: the description.
        head_dim: width of a head.
        theta: base where the description names none.
        context: the config's ``max_position_embeddings``, the original context where none is named.
        fixed: whether the config names the base elsewhere, so that the description must agree.

    Raises:
        CheckpointError: an unknown kind, a base that contradicts the config's, or a number out of range.
    """
    if group is None:
        return RoPE(rope_frequencies(head_dim, theta))
    named = group.number("rope_theta", None)
    if named is not None:
        if fixed and named != theta:
            raise group.refuse("rope_theta", f"{theta:g} as at the top of the config")
        theta = named
    group.only("partial_rotary_factor", None, 1.0, 1)
    kinds = {kind: kind for kind in ("default", "linear", "llama3", "yarn")}
    key = "rope_type" if group.given("rope_type") else "type"
    kind = group.choice(key, kinds, "default")
    group.only("type", None, kind)
    frequencies, magnitude = rope_frequencies(head_dim, theta), 1.0
    if kind == "linear":
        frequencies = linear_frequencies(frequencies, group.number("factor"))
    elif kind == "llama3":
        frequencies = llama3_frequencies(
            frequencies,
            group.number("factor"),
            group.number("low_freq_factor"),
            group.number("high_freq_factor"),
            _original(group, context),
        )
    elif kind == "yarn":
        factor = group.number("factor")
        if theta <= 1:
            raise group.refuse("rope_theta", "a base above 1")
        frequencies = yarn_frequencies(
            frequencies,
            factor,
            _original(group, context),
            theta,
            group.number("beta_fast", None) or 32.0,
            group.number("beta_slow", None) or 1.0,
            group.flag("truncate", True),
        )
        magnitude = _magnitude(group, factor)
    group.finish()
    return RoPE(frequencies, magnitude)


def _original(group: Fields, context: int | None) -> int:
    original = group.integer("original_max_position_embeddings", None)
    if original is None and context is None:
        raise group.refuse("original_max_position_embeddings", "the context length before stretching")
    return context if original is None else original


def _magnitude(group: Fields, factor: float) -> float:
    explicit = group.number("attention_factor", None)
    weight, everywhere = group.number("mscale", None), group.number("mscale_all_dim", None)
    if explicit is not None:
        return explicit
    if weight is not None and everywhere is not None:
        return yarn_magnitude(factor, weight) / yarn_magnitude(factor, everywhere)
    return yarn_magnitude(factor)
