"""The FFNs that a block may have: a dense one, or a mixture of experts."""

from __future__ import annotations

from dataclasses import dataclass

from blocklib.ledger.checks import ConfigError, check_flags, check_sizes, one_of

# activation -> matrices of an FFN: gated ones have a third
FFN_MATRICES = {
    "relu": 2, "gelu": 2, "silu": 2, "relu2": 2, "swiglu": 3, "geglu": 3, "reglu": 3, "situglu": 3,
}  # fmt: skip


@dataclass(frozen=True)
class FFN:
    """A dense feed-forward network: two matrices, or three with a gate.

    Attributes:
        d_ff: inner width.
        kind: activation, a key of :data:`FFN_MATRICES`.
        bias: each matrix carries a bias.
    """

    d_ff: int
    kind: str
    bias: bool = False

    def __post_init__(self) -> None:
        check_sizes(self, "d_ff")
        one_of("ffn", self.kind, tuple(FFN_MATRICES))
        check_flags(self, "bias")

    @property
    def matrices(self) -> int:
        """Weight matrices: two, or three with a gate."""
        return FFN_MATRICES[self.kind]


@dataclass(frozen=True)
class MoE:
    """A mixture of experts: a router sends each token to ``top_k`` of ``n_experts`` equal FFNs.

    Attributes:
        expert: one routed expert.
        n_experts, top_k: how many there are and how many a token visits.
        shared: an FFN that every token visits (several shared experts as one of their total width), or None.
        shared_gate: a scalar gate on the shared expert.
        router_bias: the router's logits have a trained bias (not the balancing bias, which is a buffer).
        latent: experts work in this width, between one projection down (with an RMSNorm) and one up; None for the
            width of the stream.

    Raises:
        ConfigError: a size not positive, ``top_k`` above ``n_experts``, or a shared gate and no shared expert.
    """

    expert: FFN
    n_experts: int
    top_k: int
    shared: FFN | None = None
    shared_gate: bool = False
    router_bias: bool = False
    latent: int | None = None

    def __post_init__(self) -> None:
        check_sizes(self, "n_experts", "top_k")
        check_flags(self, "shared_gate", "router_bias")
        if self.latent is not None:
            check_sizes(self, "latent")
        if self.top_k > self.n_experts:
            raise ConfigError(f"top_k must be at most n_experts, found {self.top_k} of {self.n_experts}")
        if self.shared_gate and self.shared is None:
            raise ConfigError("shared_gate needs a shared expert")

    @property
    def kind(self) -> str:
        """Activation of the experts."""
        return self.expert.kind

    @property
    def d_ff(self) -> int:
        """Inner width of one routed expert."""
        return self.expert.d_ff
