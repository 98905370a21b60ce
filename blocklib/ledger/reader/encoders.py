"""BERT and ALBERT (encoders), T5 and Marian (encoder–decoders; Marian has the shape of the original Transformer)."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from blocklib.ledger.config import Config, Layer, Linear
from blocklib.ledger.parts import FFN, Attention, ConfigError
from blocklib.ledger.reader.common import ANYWHERE, CONTEXT, FIXED, GATED, LM, NONE, PLAIN, layer_count, width_of_head
from blocklib.ledger.reader.fields import REQUIRED, Family, choice, count, flag, size

ALL = frozenset("qkvo")
_ENCODER = {
    "vocab_size": size(), "hidden_size": size(), "num_hidden_layers": size(), "num_attention_heads": size(),
    "intermediate_size": size(), "max_position_embeddings": size(512), "type_vocab_size": count(2),
    "tie_word_embeddings": flag(True),
}  # fmt: skip
_FIXED_ENCODER = FIXED | {"position_embedding_type": ("absolute",)}
_T5_ACT = dict(PLAIN) | {f"gated-{act}": kind for act, kind in GATED.items()}


def _heads(v: SimpleNamespace, d_model: int, inner: int) -> dict:
    """Pooler, masked-word head (transform, norm, biased table) or both; ``inner`` is the table's width."""
    pooler = () if v.head == "masked" else (Linear(d_model, d_model),)
    words = (Linear(d_model, inner),) if v.head in ("masked", "pretraining") else ()
    if words and not v.tie_word_embeddings:  # the class then keeps a second, unused bias
        words = (*words, Linear(0, v.vocab_size))
    pair = (Linear(d_model, 2),) if v.head == "pretraining" else ()
    return {
        "lm_head": bool(words), "lm_bias": bool(words), "extra_head": (*pooler, *words, *pair),
        "extra_head_norms": (inner,) if words else (), "tied": v.tie_word_embeddings,
    }  # fmt: skip


def _block(v: SimpleNamespace) -> Layer:
    width = width_of_head(v.hidden_size, v.num_attention_heads)
    attention = Attention(v.num_attention_heads, v.num_attention_heads, width, biases=ALL)
    return Layer(attention, FFN(v.intermediate_size, v.hidden_act, bias=True))


def _bert(v: SimpleNamespace) -> Config:
    return Config(
        v.vocab_size, v.hidden_size, (_block(v),) * layer_count(v.num_hidden_layers), "layernorm", kind="encoder",
        learned_positions=v.max_position_embeddings, token_types=v.type_vocab_size, outer_norms=(v.hidden_size,),
        **_heads(v, v.hidden_size, v.hidden_size),
    )  # fmt: skip


def _albert(v: SimpleNamespace) -> Config:
    if v.num_hidden_groups > v.num_hidden_layers:
        raise ConfigError(f"num_hidden_groups is {v.num_hidden_groups}, more than num_hidden_layers "
                          f"{v.num_hidden_layers}")  # fmt: skip
    applied = layer_count(v.num_hidden_layers * v.inner_group_num)
    return Config(
        v.vocab_size, v.hidden_size, (_block(v),) * applied, "layernorm", kind="encoder",
        learned_positions=v.max_position_embeddings, token_types=v.type_vocab_size, outer_norms=(v.embedding_size,),
        embedding_width=v.embedding_size, stored_layers=v.num_hidden_groups * v.inner_group_num,
        **_heads(v, v.hidden_size, v.embedding_size),
    )  # fmt: skip


def _t5(v: SimpleNamespace) -> Config:
    gated = v.feed_forward_proj.endswith("glu")
    if v.is_gated_act not in (None, gated):
        raise ConfigError(f"is_gated_act is {str(v.is_gated_act).lower()}, feed_forward_proj says otherwise")
    attention = Attention(v.num_heads, v.num_heads, v.d_kv)
    block = Layer(attention, FFN(v.d_ff, v.feed_forward_proj))
    decoder = v.num_decoder_layers or v.num_layers
    return Config(
        v.vocab_size, v.d_model, (replace(block, norms=3, cross=attention),) * layer_count(decoder), "rmsnorm",
        kind="encoder-decoder", encoder=(block,) * layer_count(v.num_layers), outer_norms=(v.d_model, v.d_model),
        relative_bias=2 * v.relative_attention_num_buckets * v.num_heads, lm_head=v.head == LM,
        tied=v.tie_word_embeddings,
    )  # fmt: skip


def _marian(v: SimpleNamespace) -> Config:
    def block(heads: int, d_ff: int) -> Layer:
        attention = Attention(heads, heads, width_of_head(v.d_model, heads), biases=ALL)
        return Layer(attention, FFN(d_ff, v.activation_function, bias=True))

    encoder, decoder = block(v.encoder_attention_heads, v.encoder_ffn_dim), block(v.decoder_attention_heads,
                                                                                  v.decoder_ffn_dim)  # fmt: skip
    target = v.decoder_vocab_size or v.vocab_size
    shared = v.share_encoder_decoder_embeddings
    if shared and target != v.vocab_size:
        raise ConfigError(f"decoder_vocab_size is {target}, but both sides share a table of {v.vocab_size} rows")
    return Config(
        target, v.d_model, (replace(decoder, norms=3, cross=decoder.mixer),) * layer_count(v.decoder_layers),
        "layernorm", kind="encoder-decoder", encoder=(encoder,) * layer_count(v.encoder_layers), outer_norms=(),
        source_vocab=0 if shared else v.vocab_size, lm_head=v.head == LM, tied=v.tie_word_embeddings,
    )  # fmt: skip


FAMILIES = (
    Family(
        "bert", {"BertModel": "pooler", "BertForMaskedLM": "masked", "BertForPreTraining": "pretraining"},
        build=_bert, read=_ENCODER | {"hidden_act": choice(PLAIN, "gelu")}, fixed=_FIXED_ENCODER,
        inert=ANYWHERE | {
            f"pooler_{name}": "a pooler of another library"
            for name in ("fc_size", "num_attention_heads", "num_fc_layers", "size_per_head", "type")
        } | {"directionality": "the encoder is bidirectional"},
    ),
    Family(
        "albert", {"AlbertModel": "pooler", "AlbertForMaskedLM": "masked"}, build=_albert, fixed=_FIXED_ENCODER,
        read=_ENCODER | {
            "embedding_size": size(128), "num_hidden_groups": size(1), "inner_group_num": size(1),
            "hidden_act": choice(PLAIN, "gelu_new"),
        },
        inert=ANYWHERE | {name: "left over from the first code" for name in (
            "down_scale_factor", "gap_size", "net_structure_type", "layers_to_keep", "num_memory_blocks")},
    ),
    Family(
        "t5", {"T5ForConditionalGeneration": LM, "T5Model": NONE}, build=_t5,
        fixed=FIXED | {"is_encoder_decoder": (True,), "dense_act_fn": tuple(PLAIN)},
        read={
            "vocab_size": size(), "d_model": size(), "d_kv": size(64, "head_dim"), "d_ff": size(), "num_layers": size(),
            "num_decoder_layers": size(None), "num_heads": size(), "relative_attention_num_buckets": size(32),
            "feed_forward_proj": choice(_T5_ACT, "relu"), "is_gated_act": flag(None),
            "tie_word_embeddings": flag(True),
        },
        inert=ANYWHERE | CONTEXT | {
            "relative_attention_max_distance": "spaces the buckets; their number counts",
            "n_positions": "longest context of training; no table is as long as it",
            "scale_decoder_outputs": "scales without parameters",
        },
    ),
    Family(
        "marian", {"MarianMTModel": LM, "MarianModel": NONE}, build=_marian,
        fixed=FIXED | {
            "is_encoder_decoder": (True,), "add_final_layer_norm": (False,), "normalize_embedding": (False,),
            "normalize_before": (False,), "static_position_embeddings": (True,), "add_bias_logits": (False,),
        },
        read={
            "vocab_size": size(), "decoder_vocab_size": size(None), "d_model": size(),
            "encoder_layers": size(REQUIRED, "num_hidden_layers"), "encoder_ffn_dim": size(),
            "encoder_attention_heads": size(), "decoder_layers": size(), "decoder_ffn_dim": size(),
            "decoder_attention_heads": size(), "activation_function": choice(PLAIN, "gelu"),
            "share_encoder_decoder_embeddings": flag(True), "tie_word_embeddings": flag(True),
        },
        inert=ANYWHERE | CONTEXT | {
            "scale_embedding": "scales without parameters", "extra_pos_embeddings": "positions are computed",

        },
    ),
)  # fmt: skip
