"""The ledger of one model as a plain object and as a table: what ``python -m blocklib ledger`` prints.

The object holds exact integers (a fraction of a byte or token, where there is one, as a floating-point number), times
in seconds as floating-point numbers, and the conventions in words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from blocklib.exact import at_least
from blocklib.ledger import activations, cache, communication, flops, params, steps
from blocklib.ledger import bytes as sizes
from blocklib.ledger.config import Config
from blocklib.ledger.parts import CompressedAttention, ConfigError, GatedDelta, KimiDelta, LatentAttention, MoE
from blocklib.ledger.roofline import Machine, Roofline


@dataclass(frozen=True)
class Question:
    """What a ledger is asked for.

    Attributes:
        seq_len: tokens of a prompt, and the context at decoding.
        batch: sequences side by side.
        dtype, kv_dtype: formats of weights and cache.
        machine: for the roofline, None for none.

    Raises:
        DomainError: ``seq_len`` or ``batch`` is below 1.
        ConfigError: a format is unknown.
    """

    seq_len: int = 4096
    batch: int = 1
    dtype: str = "bf16"
    kv_dtype: str = "bf16"
    machine: Machine | None = None

    def __post_init__(self) -> None:
        at_least("seq_len", self.seq_len, 1)
        at_least("batch", self.batch, 1)
        sizes.format_of(self.dtype), cache.dtype_bytes(self.kv_dtype)


def report(name: str, config: Config, asked: Question) -> dict[str, Any]:
    """The ledger of ``config`` under ``name``, ready for JSON."""
    found = {
        "model": name,
        "settings": {"seq_len": asked.seq_len, "batch": asked.batch, "dtype": asked.dtype, "kv_dtype": asked.kv_dtype,
                     "chip": asked.machine.name if asked.machine else None},
        "shape": _shape(config),
        "parameters": _parameters(config),
        "weights": {"bytes": sizes.weight_bytes(config, asked.dtype)},
        "kv_cache": _kv_cache(config, asked),
        "flops": _flops(config, asked),
        "activations": _activations(config, asked),
        "steps": _steps(config),
        "communication": _communication(config),
    }  # fmt: skip
    if asked.machine is not None:
        found["roofline"] = _roofline(config, asked, asked.machine)
    return found | {"conventions": conventions(config, asked)}


def number(value: int | float | Fraction) -> int | float:
    """An exact number for JSON: an integer where it is one, else the nearest floating-point number."""
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else float(value)


def _shape(config: Config) -> dict[str, Any]:
    shape = {"kind": config.kind, "n_layers": config.n_layers, "d_model": config.d_model,
             "vocab_size": config.vocab_size, "mixers": dict(Counter(config.mixers))}  # fmt: skip
    return shape | ({"encoder_layers": len(config.encoder)} if config.encoder else {})


def _parameters(config: Config) -> dict[str, Any]:
    counted, active = params.count(config), params.active(config)
    return {"total": counted.total, "active": active.with_embeddings,
            "active_without_input_embedding": active.without_input_embedding,
            "components": counted.components}  # fmt: skip


def _kv_cache(config: Config, asked: Question) -> dict[str, Any]:
    held, size = cache.describe(config), cache.dtype_bytes(asked.kv_dtype)
    state = held.state * cache.dtype_bytes("fp32") + held.conv * size
    one = held.elements(asked.seq_len) * size + held.cross * asked.seq_len * size
    return {
        "bytes_per_token": number(held.per_token * size),
        "bytes_per_token_beyond_windows": number(held.growing_per_token * size),
        "by_kind": {
            "growing": held.growing * size,
            "latent": held.latent * size,
            "compressed": number(held.compressed * size),
            "sliding": sum(elements for _, elements in held.sliding) * size,
        },
        "windows": [[window, elements * size] for window, elements in held.sliding],
        "state_bytes_per_sequence": state,
        "source_bytes_per_token": held.cross * size,
        "bytes_per_sequence": number(one),
        "bytes": number(asked.batch * (one + state)),
    }


def _flops(config: Config, asked: Question) -> dict[str, Any]:
    def rows(counted: flops.Flops) -> dict[str, int]:
        whole = counted * asked.batch
        return {"total": whole.total, **{part: count for part, count in whole.components.items() if count}}

    decodes = config.kind != "encoder"
    crossing = flops.score_crossover(config)
    return {
        "prefill": rows(flops.forward(config, asked.seq_len)),
        "decode": rows(flops.decode(config, asked.seq_len)) if decodes else None,
        "training": rows(flops.training(config, asked.seq_len)),
        "weights_per_token": 2 * flops.matmul_params(config),
        "attention_equals_ffn_at": None if crossing is None else number(crossing),
    }


def _activations(config: Config, asked: Question) -> dict[str, Any]:
    dtype = asked.dtype if asked.dtype in ("fp32", "bf16", "fp16") else "bf16"
    try:
        kept = activations.saved(config, asked.seq_len)
    except ConfigError as error:
        return {"bytes_per_token": None, "why": error.message}
    one = kept.bytes(dtype)
    rows = {part: count for part, count in kept.rows.items() if count}
    return {"bytes_per_token": one, "bytes": one * asked.seq_len * asked.batch, "dtype": dtype,
            "elements_per_token": rows}  # fmt: skip


def _steps(config: Config) -> dict[str, int]:
    depth = steps.depth(config)
    return {"total": depth.total, **{part: count for part, count in vars(depth).items() if count}}


def _communication(config: Config) -> dict[str, Any]:
    tensor = communication.tensor_parallel(config, 2)
    found = {"tensor_all_reduces": tensor.all_reduces, "tensor_bytes_per_token": tensor.payload,
             "pipeline_bytes_per_token_and_boundary": communication.pipeline_bytes(config)}  # fmt: skip
    if any(isinstance(layer.ffn, MoE) for layer in config.groups):
        found["expert_bytes_per_token"] = communication.expert_parallel(config).total
    return found


def _roofline(config: Config, asked: Question, machine: Machine) -> dict[str, Any]:
    about = {"chip": machine.name, "peak_flops_per_s": machine.peak, "bandwidth_bytes_per_s": machine.bandwidth,
             "memory_bytes": machine.memory, "ridge_flop_per_byte": float(machine.ridge)}  # fmt: skip
    if config.kind == "encoder":
        return about
    line = Roofline(config, machine, asked.dtype, asked.kv_dtype)
    step, prompt = line.decode(asked.batch, asked.seq_len), line.prefill(asked.seq_len, asked.batch)
    enough, last = line.compute_bound_batch(asked.seq_len), line.last_compute_bound_context
    equal, fits, cached = line.tokens_where_cache_reaches(), line.tokens_that_fit(), line.cache_intensity
    return about | {
        "decode_seconds_at_least": float(step.seconds), "decode_limit": step.limit,
        "prefill_seconds_at_least": float(prompt.seconds), "prefill_limit": prompt.limit,
        "weights_flop_per_byte": float(line.weights_intensity(asked.batch)),
        "cache_flop_per_byte": None if cached is None else float(cached),
        "compute_bound_batch": None if enough is None else float(enough),
        "compute_bound_up_to_context": None if last == float("inf") else float(last),
        "compute_bound_at_any_context": last == float("inf"),
        "cache_equals_weights_at_tokens": None if equal is None else float(equal),
        "tokens_that_fit": None if fits is None else int(fits),
        "sequences_that_fit": line.sequences_that_fit(asked.seq_len),
    }  # fmt: skip


def conventions(config: Config, asked: Question) -> list[str]:
    """What the numbers of this report mean, in sentences; those that do not concern the model are left out."""
    experts = any(isinstance(layer.ffn, MoE) for layer in config.groups)
    mixers = [layer.mixer for layer in config.groups]
    latent = any(isinstance(m, LatentAttention) for m in mixers)
    compressed = any(isinstance(m, CompressedAttention) for m in mixers)
    recurrent = any(isinstance(m, GatedDelta | KimiDelta) for m in mixers)
    shared = not config.encoder and config.tied and config.lm_head
    itemised = _activations(config, asked)["bytes_per_token"] is not None
    form = sizes.format_of(asked.dtype)
    exact = f"{float(form.bits_per_weight):g} bits a weight"
    said = (
        ("parameters: learned tensors once each, norm gains, biases and learned positions in; buffers, vision towers "
         "and draft heads out", True),
        ("a tied head costs no parameters, its FLOPs are counted", shared),
        ("active: what one token passes through, the input embedding included; of the experts only those it visits",
         experts),
        (f"weights: every parameter in {asked.dtype}, {exact}; scales that a quantiser adds are out", form.bits < 16),
        (f"weights: every parameter in {asked.dtype}", form.bits >= 16),
        (f"cache in {asked.kv_dtype}; KB, MB, GB are powers of 1000", True),
        ("recurrent states in fp32, of fixed size per sequence", recurrent),
        ("FLOPs: a multiply-accumulate is two; matrix products only, of the whole batch", True),
        ("prefill: forward, each position sees itself and what is before it (half of the square), head at every "
         "position; decode: one token a sequence at context seq_len; training: 3 forward passes", config.kind != "encoder"),
        ("prefill: forward, every position sees all; training: 3 forward passes", config.kind == "encoder"),
        ("source and target are both seq_len long", bool(config.encoder)),
        ("latent attention: expanded in prefill and training, absorbed at decoding", latent),
        ("compressed attention: every compressed entry is read, as if its indexer chose all: an upper bound",
         compressed),
        ("recurrent mixers: token by token, 6 FLOPs per element of the state", recurrent),
        ("activations: what eager autograd keeps with fused norms and attention, nothing recomputed", itemised),
        ("activations of this model's mixers are not itemised: what they keep depends on the kernel", not itemised),
        ("steps: matrix products in sequence, one pass", True),
        ("communication: one pass, bf16; a ring of p devices sends 2(p-1)/p of the tensor bytes from each", True),
        ("experts: dispatch fp8, combine bf16, all experts elsewhere", experts),
        ("roofline: lower bounds at dense peak and full bandwidth with perfect overlap, no predictions; "
         "compute_bound_batch reads all stored weights; 90 % of the memory is usable", asked.machine is not None),
        ("a batch visits the experts that uniform independent routing would", experts and asked.machine is not None),
        (f"seq_len {asked.seq_len:,} is beyond the {config.learned_positions:,} learned positions",
         0 < config.learned_positions < asked.seq_len),
    )  # fmt: skip
    return [sentence for sentence, concerns in said if concerns]
