"""Members of every family that no published file shows: small sizes, ties, biases, head widths, layer patterns.

``MEMBERS`` maps a name to (class, config); the class is the Hugging Face class that counts it independently.
"""

from __future__ import annotations

from typing import Any

GPT2 = {"model_type": "gpt2", "vocab_size": 50, "n_positions": 16, "n_embd": 12, "n_layer": 3, "n_head": 3}
BERT = {"model_type": "bert", "vocab_size": 40, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 2,
        "intermediate_size": 20, "max_position_embeddings": 17, "type_vocab_size": 3}  # fmt: skip
ALBERT = BERT | {"model_type": "albert", "embedding_size": 5}
T5 = {"model_type": "t5", "vocab_size": 40, "d_model": 12, "d_kv": 5, "d_ff": 20, "num_layers": 2, "num_heads": 3}
MARIAN = {"model_type": "marian", "vocab_size": 40, "d_model": 12, "encoder_layers": 2, "encoder_ffn_dim": 20,
          "encoder_attention_heads": 3, "decoder_layers": 3, "decoder_ffn_dim": 24, "decoder_attention_heads": 2,
          "pad_token_id": 0, "max_position_embeddings": 11}  # fmt: skip
DENSE = {"vocab_size": 50, "hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 3,
         "num_attention_heads": 4, "pad_token_id": 0}  # fmt: skip
GQA = DENSE | {"num_key_value_heads": 2}
LLAMA, MISTRAL = GQA | {"model_type": "llama"}, GQA | {"model_type": "mistral"}
QWEN2, QWEN3 = GQA | {"model_type": "qwen2"}, GQA | {"model_type": "qwen3"}
OLMO2, COHERE = GQA | {"model_type": "olmo2"}, GQA | {"model_type": "cohere"}
GEMMA2, GEMMA3 = GQA | {"model_type": "gemma2"}, GQA | {"model_type": "gemma3_text"}
NANO = GQA | {"model_type": "nanochat"}
NEOX = DENSE | {"model_type": "gpt_neox"}
BLOOM = {"model_type": "bloom", "vocab_size": 50, "hidden_size": 12, "n_layer": 3, "n_head": 4}
FALCON = {k: v for k, v in DENSE.items() if k != "intermediate_size"} | {"model_type": "falcon"}
MIXTRAL = GQA | {"model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 2}
QWEN3_MOE = GQA | {"model_type": "qwen3_moe", "head_dim": 6, "num_experts": 5, "moe_intermediate_size": 7,
                   "num_experts_per_tok": 2}  # fmt: skip
GPT_OSS = GQA | {"model_type": "gpt_oss", "num_local_experts": 5, "head_dim": 6}
V2 = DENSE | {"model_type": "deepseek_v2", "q_lora_rank": 7, "kv_lora_rank": 6, "qk_nope_head_dim": 5,
              "qk_rope_head_dim": 4, "v_head_dim": 3, "n_routed_experts": 6, "n_shared_experts": 2,
              "num_experts_per_tok": 2, "moe_intermediate_size": 8, "first_k_dense_replace": 1}  # fmt: skip
V3 = V2 | {"model_type": "deepseek_v3", "n_group": 2, "topk_group": 1}
V4 = {"model_type": "deepseek_v4", "vocab_size": 50, "hidden_size": 12, "num_hidden_layers": 5,
      "num_attention_heads": 4, "moe_intermediate_size": 8, "head_dim": 16, "q_lora_rank": 7,
      "num_experts_per_tok": 2, "n_routed_experts": 6, "o_groups": 2, "o_lora_rank": 3, "index_n_heads": 2,
      "index_head_dim": 8, "hc_mult": 3, "pad_token_id": 0}  # fmt: skip
NEXT = GQA | {"model_type": "qwen3_next", "head_dim": 8, "num_hidden_layers": 5, "linear_conv_kernel_dim": 3,
              "linear_key_head_dim": 5, "linear_value_head_dim": 6, "linear_num_key_heads": 2,
              "linear_num_value_heads": 4, "moe_intermediate_size": 7, "shared_expert_intermediate_size": 9,
              "num_experts": 6, "num_experts_per_tok": 2}  # fmt: skip
Q35 = {k: v for k, v in NEXT.items() if "expert" not in k and "moe" not in k} | {"model_type": "qwen3_5_text"}
Q35_MOE = {k: v for k, v in NEXT.items() if k != "intermediate_size"} | {"model_type": "qwen3_5_moe_text"}


def _wrapped(kind: str, text: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {"model_type": kind, "text_config": text} | top


MEMBERS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "gpt2 untied, own inner width": ("GPT2LMHeadModel", GPT2 | {"tie_word_embeddings": False, "n_inner": 31}),
    "gpt2 bare": ("GPT2Model", GPT2 | {"architectures": ["GPT2Model"]}),
    "gpt2 by the other names": ("GPT2LMHeadModel", {
        "model_type": "gpt2", "vocab_size": 50, "max_position_embeddings": 16, "hidden_size": 12,
        "num_hidden_layers": 3, "num_attention_heads": 3}),
    "gpt1": ("OpenAIGPTLMHeadModel", GPT2 | {"model_type": "openai-gpt"}),
    "gpt1 without positions given": ("OpenAIGPTLMHeadModel", {
        k: v for k, v in GPT2.items() if k != "n_positions"} | {"model_type": "openai-gpt"}),
    "bert": ("BertModel", BERT),
    "bert masked": ("BertForMaskedLM", BERT | {"architectures": ["BertForMaskedLM"]}),
    "bert masked untied": ("BertForMaskedLM", BERT | {
        "architectures": ["BertForMaskedLM"], "tie_word_embeddings": False}),
    "bert pretraining": ("BertForPreTraining", BERT | {"architectures": ["BertForPreTraining"]}),
    "bert defaults": ("BertModel", {k: v for k, v in BERT.items() if k not in ("type_vocab_size",
                                                                            "max_position_embeddings")}),
    "albert": ("AlbertModel", ALBERT),
    "albert groups": ("AlbertModel", ALBERT | {"num_hidden_groups": 2, "inner_group_num": 2}),
    "albert masked untied": ("AlbertForMaskedLM", ALBERT | {
        "architectures": ["AlbertForMaskedLM"], "tie_word_embeddings": False}),
    "albert masked": ("AlbertForMaskedLM", ALBERT | {"architectures": ["AlbertForMaskedLM"]}),
    "t5": ("T5ForConditionalGeneration", T5),
    "t5 gated, deeper decoder": ("T5ForConditionalGeneration", T5 | {
        "feed_forward_proj": "gated-gelu", "num_decoder_layers": 4, "relative_attention_num_buckets": 8}),
    "t5 bare": ("T5Model", T5 | {"architectures": ["T5Model"]}),
    "marian": ("MarianMTModel", MARIAN),
    "marian two tables": ("MarianMTModel", MARIAN | {
        "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 33}),
    "marian untied": ("MarianMTModel", MARIAN | {
        "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 33, "tie_word_embeddings": False}),
    "neox": ("GPTNeoXForCausalLM", NEOX),
    "neox tied, no biases in attention": ("GPTNeoXForCausalLM", NEOX | {
        "attention_bias": False, "tie_word_embeddings": True, "use_parallel_residual": False}),
    "bloom": ("BloomForCausalLM", BLOOM),
    "bloom untied, older name": ("BloomForCausalLM", {
        "model_type": "bloom", "vocab_size": 50, "n_embed": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
        "tie_word_embeddings": False}),
    "falcon 7b shape": ("FalconForCausalLM", FALCON),
    "falcon 40b shape": ("FalconForCausalLM", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon 11b shape": ("FalconForCausalLM", FALCON | {
        "new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1, "ffn_hidden_size": 17}),
    "falcon rw shape": ("FalconForCausalLM", FALCON | {
        "multi_query": False, "parallel_attn": False, "bias": True, "alibi": True, "tie_word_embeddings": False}),
    "falcon new, all heads": ("FalconForCausalLM", FALCON | {"new_decoder_architecture": True}),
    "llama": ("LlamaForCausalLM", LLAMA),
    "llama mha by default": ("LlamaForCausalLM", DENSE | {"model_type": "llama"}),
    "llama tied, biased, wide heads": ("LlamaForCausalLM", LLAMA | {
        "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True, "head_dim": 10}),
    "llama bare": ("LlamaModel", LLAMA | {"architectures": ["LlamaModel"]}),
    "mistral": ("MistralForCausalLM", MISTRAL),
    "mistral wide heads, no window": ("MistralForCausalLM", MISTRAL | {"head_dim": 10, "sliding_window": None}),
    "qwen2": ("Qwen2ForCausalLM", QWEN2),
    "qwen2 tied, sliding": ("Qwen2ForCausalLM", QWEN2 | {
        "tie_word_embeddings": True, "use_sliding_window": True, "max_window_layers": 1, "sliding_window": 9}),
    "qwen3": ("Qwen3ForCausalLM", QWEN3),
    "qwen3 biased, narrow heads": ("Qwen3ForCausalLM", QWEN3 | {
        "attention_bias": True, "head_dim": 6, "tie_word_embeddings": True}),
    "olmo2": ("Olmo2ForCausalLM", OLMO2),
    "olmo2 tied, biased": ("Olmo2ForCausalLM", OLMO2 | {"attention_bias": True, "tie_word_embeddings": True}),
    "cohere": ("CohereForCausalLM", COHERE),
    "cohere qk norm, untied, biased": ("CohereForCausalLM", COHERE | {
        "use_qk_norm": True, "tie_word_embeddings": False, "attention_bias": True}),
    "nanochat": ("NanoChatForCausalLM", NANO),
    "nanochat tied, biased": ("NanoChatForCausalLM", NANO | {"tie_word_embeddings": True, "attention_bias": True}),
    "gemma2": ("Gemma2ForCausalLM", GEMMA2),
    "gemma2 untied, narrow heads": ("Gemma2ForCausalLM", GEMMA2 | {"tie_word_embeddings": False, "head_dim": 6,
                                                                   "attention_bias": True}),
    "gemma3": ("Gemma3ForCausalLM", GEMMA3),
    "gemma3 own pattern": ("Gemma3ForCausalLM", GEMMA3 | {"sliding_window_pattern": 2, "head_dim": 6}),
    "mixtral": ("MixtralForCausalLM", MIXTRAL),
    "mixtral wide heads, tied": ("MixtralForCausalLM", MIXTRAL | {"head_dim": 8, "tie_word_embeddings": True}),
    "qwen3 moe": ("Qwen3MoeForCausalLM", QWEN3_MOE),
    "qwen3 moe mixed": ("Qwen3MoeForCausalLM", QWEN3_MOE | {
        "mlp_only_layers": [1], "decoder_sparse_step": 1, "attention_bias": True}),
    "qwen3 moe every other": ("Qwen3MoeForCausalLM", QWEN3_MOE | {"decoder_sparse_step": 2, "num_hidden_layers": 5}),
    "gpt-oss": ("GptOssForCausalLM", GPT_OSS),
    "gpt-oss no biases in attention": ("GptOssForCausalLM", GPT_OSS | {"attention_bias": False}),
    "deepseek v2": ("DeepseekV2ForCausalLM", V2),
    "deepseek v2 lite shape": ("DeepseekV2ForCausalLM", V2 | {
        "q_lora_rank": None, "attention_bias": True, "mlp_bias": True, "first_k_dense_replace": 2}),
    "deepseek v3": ("DeepseekV3ForCausalLM", V3),
    "deepseek v3 biased": ("DeepseekV3ForCausalLM", V3 | {"attention_bias": True}),
    "deepseek v3 biased, no dense layer": ("DeepseekV3ForCausalLM", V3 | {
        "attention_bias": True, "first_k_dense_replace": 0, "q_lora_rank": None, "tie_word_embeddings": True}),
    "deepseek v4": ("DeepseekV4ForCausalLM", V4),
    "deepseek v4 own pattern": ("DeepseekV4ForCausalLM", V4 | {
        "layer_types": ["sliding_attention", "compressed_sparse_attention", "compressed_sparse_attention",
                        "heavily_compressed_attention", "sliding_attention"],
        "compress_rates": {"compressed_sparse_attention": 3, "heavily_compressed_attention": 5}, "mlp_bias": True}),
    "deepseek v4 older names": ("DeepseekV4ForCausalLM", V4 | {
        "compress_ratios": [0, 0, 4, 128, 4, 0], "compress_rate_csa": 2, "num_hash_layers": 1}),
    "qwen3 next": ("Qwen3NextForCausalLM", NEXT),
    "qwen3 next mixed": ("Qwen3NextForCausalLM", NEXT | {
        "mlp_only_layers": [0, 3], "full_attention_interval": 2, "tie_word_embeddings": True}),
    "qwen3.5 text": ("Qwen3_5ForCausalLM", Q35),
    "qwen3.5 text listed, biased": ("Qwen3_5ForCausalLM", Q35 | {
        "layer_types": ["full_attention", "linear_attention", "full_attention", "full_attention",
                        "linear_attention"], "attention_bias": True}),
    "qwen3.5 moe text": ("Qwen3_5MoeForCausalLM", Q35_MOE),
}  # fmt: skip

# Wrappers around a text model: counted by the class of the text model alone.
WRAPPED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "gemma3 with images": ("Gemma3ForCausalLM", GEMMA3, _wrapped("gemma3", GEMMA3, vision_config={"hidden_size": 8})),
    "qwen3.5 with images": ("Qwen3_5ForCausalLM", Q35, _wrapped("qwen3_5", Q35, tie_word_embeddings=False)),
    "qwen3.5 moe, tied above": ("Qwen3_5MoeForCausalLM", Q35_MOE | {"tie_word_embeddings": True},
                                _wrapped("qwen3_5_moe", Q35_MOE, tie_word_embeddings=True)),
}  # fmt: skip
