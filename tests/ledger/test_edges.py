"""Cases at the edges of the ledger, each of which a small fault would get wrong."""

from __future__ import annotations

from blocklib.atlas.models import load
from blocklib.ledger import bytes, flops
from blocklib.ledger.config import Config, Layer, Linear
from blocklib.ledger.parts import FFN, Attention


def test_no_token_has_no_logits():
    assert bytes.logits_bytes(load("llama-3-8b").config, 0) == 0


def test_one_matrix_of_a_head_belongs_to_the_words_and_one_to_the_pooler():
    block = Layer(Attention(2, 2, 4), FFN(32, "gelu"))
    config = Config(11, 8, (block,), "layernorm", True, kind="encoder", lm_head=True,
                    extra_head=(Linear(8, 8), Linear(8, 8)))  # fmt: skip
    assert flops.forward(config, 5).head == 2 * (5 * (11 * 8 + 8 * 8) + 8 * 8)
