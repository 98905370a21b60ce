"""A config built out of torch's own layers on the meta device: the oracle for parameter counts.

Only ``nn.Linear``, ``nn.Embedding``, ``nn.LayerNorm`` and ``nn.RMSNorm`` do the counting.
"""

from __future__ import annotations

import torch
from torch import nn

from blocklib.ledger.config import Config


def numel(*modules: nn.Module) -> int:
    """Parameters of the modules, shared tensors once."""
    return sum(p.numel() for p in nn.ModuleList(modules).parameters())


def built(config: Config) -> dict[str, int]:
    """Component name to the parameters of the layers that make it up (full attention only)."""
    c = config
    norm = nn.LayerNorm if c.norm == "layernorm" else nn.RMSNorm
    gate = 2 if c.output_gate else 1
    with torch.device("meta"):
        embed = nn.Embedding(c.vocab_size, c.d_model)
        head = nn.Linear(c.d_model, c.vocab_size, bias=False)
        if c.tied:
            head.weight = embed.weight
        attention, ffn, norms, qk_norms = [], [], [norm(c.d_model)], []
        for _ in range(c.n_layers):
            attention += [
                nn.Linear(c.d_model, c.n_heads * c.head_dim * gate, bias="q" in c.biases),
                nn.Linear(c.d_model, c.n_kv_heads * c.head_dim, bias="k" in c.biases),
                nn.Linear(c.d_model, c.n_kv_heads * c.head_dim, bias="v" in c.biases),
                nn.Linear(c.n_heads * c.head_dim, c.d_model, bias="o" in c.biases),
            ]
            into = 2 if c.ffn == "swiglu" else 1
            ffn += [nn.Linear(c.d_model, c.d_ff, bias="ffn" in c.biases) for _ in range(into)]
            ffn.append(nn.Linear(c.d_ff, c.d_model, bias="ffn" in c.biases))
            norms += [norm(c.d_model), norm(c.d_model)]
            if c.qk_norm:
                qk_norms += [nn.RMSNorm(c.head_dim), nn.RMSNorm(c.head_dim)]
        position = [nn.Embedding(c.learned_positions, c.d_model)] if c.learned_positions else []
    return {
        "embedding": numel(embed), "position": numel(*position), "attention": numel(*attention), "ffn": numel(*ffn),
        "norm": numel(*norms), "qk_norm": numel(*qk_norms), "head": numel(embed, head) - numel(embed), "other": 0,
    }  # fmt: skip
