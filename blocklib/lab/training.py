"""One run: an arm at one learning rate and one seed, from first step to full evaluation, as one dictionary.

Everything random is keyed: initial matrices by (seed, name), the order of the data by the seed alone. Two arms with the
same seed read the same batches in the same order.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from blocklib.lab import corpus
from blocklib.lab.arms import COLLAPSE_MARGIN, CURVE_EVERY, Arm, rate, schedule
from blocklib.lab.stack import Stack, build, generator, parameters

CURVE_STRIDE = 11  # the curve reads every eleventh validation block: 128 of them, from all documents
EARLY = 100  # steps whose gradient norm is kept one by one
CHECKED = 20  # first steps whose loss is kept digit by digit, for the re-run
DECAY, BETAS, EPS, CLIP = 0.1, (0.9, 0.95), 1e-8, 1.0


def batches(arm: Arm, seed: int):
    """Endless pairs of inputs and targets, ``(B, T)`` each: non-overlapping pieces, shuffled, cut anew each pass."""
    data = corpus.tokens(arm.vocab_size).training
    order, length = generator(seed, "order"), arm.seq_len
    while True:
        offset = int(torch.randint(length, (1,), generator=order))
        pieces = (len(data) - 1 - offset) // length
        for chosen in torch.randperm(pieces, generator=order).split(arm.batch):
            if len(chosen) == arm.batch:
                rows = np.stack([data[(at := offset + int(i) * length) : at + length + 1] for i in chosen])
                block = torch.from_numpy(rows.astype(np.int64))
                yield block[:, :-1], block[:, 1:]


def validation_blocks(arm: Arm, stride: int = 1) -> tuple[Tensor, Tensor]:
    """Inputs and targets ``(N, T)`` of the held-out text in pieces of T; each ``stride``-th of them."""
    data = torch.from_numpy(corpus.tokens(arm.vocab_size).validation.astype(np.int64))
    count = (len(data) - 1) // arm.seq_len
    whole = count * arm.seq_len
    inputs, targets = data[:whole].view(count, -1), data[1 : whole + 1].view(count, -1)
    return inputs[::stride], targets[::stride]


@torch.no_grad()
def block_losses(model: Stack, blocks: tuple[Tensor, Tensor], chunk: int = 64) -> Tensor:
    """Mean loss of every block in nats per token, ``(N,)``."""
    losses = []
    for inputs, targets in zip(*(part.split(chunk) for part in blocks), strict=True):
        logits = model(inputs)
        losses.append(F.cross_entropy(logits.transpose(1, 2), targets, reduction="none").mean(1))
    return torch.cat(losses)


def subset_floor(arm: Arm) -> float:
    """Unigram floor of the blocks that the curve reads: the easier or harder part has its own."""
    counts = np.bincount(corpus.tokens(arm.vocab_size).training, minlength=arm.vocab_size) + 1.0
    targets = validation_blocks(arm, CURVE_STRIDE)[1].numpy()
    return float(-np.log(counts / counts.sum())[targets].mean())


def optimiser(model: Stack, peak: float) -> torch.optim.AdamW:
    """AdamW: matrices decayed (the embedding too), vectors by the arm's own ``gain_decay``."""
    weights = list(model.parameters())
    groups = [
        {"params": [w for w in weights if w.dim() > 1], "weight_decay": DECAY},
        {"params": [w for w in weights if w.dim() == 1], "weight_decay": model.arm.gain_decay},
    ]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=peak, betas=BETAS, eps=EPS, fused=True)


@contextmanager
def settings(threads: int = 1) -> Iterator[None]:
    """Torch as runs want it, and as it was afterwards: so many threads, and numbers too small to matter taken as zero,
    since they would slow a collapsed run tenfold."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)


@settings()
def run(arm: Arm, rung: int, seed: int, steps: int | None = None, on_step: Callable | None = None) -> dict[str, Any]:
    """Train and evaluate; a JSON-ready dictionary, the same whenever and wherever it is made up to rounding.

    ``outcome`` is ``trained``, ``collapsed`` (the model ends at token frequencies) or ``diverged`` (a loss that is no
    number); only a trained run has a ``validation`` loss that may enter a comparison. No run is stopped for being at token
    frequencies earlier: some leave late. ``steps`` cuts the run short without changing its schedule, for a re-run of the
    beginning. One thread: a run must not depend on how many there are.

    Args:
        arm: the configuration.
        rung: learning rate, see :func:`~blocklib.lab.arms.rate`.
        seed: of initialisation and data order.
        steps: stop after this many, without evaluation.
        on_step: called with model and step after each backward pass.
    """
    model = build(arm, seed)
    opt, stream = optimiser(model, rate(rung)), batches(arm, seed)
    curve_blocks = validation_blocks(arm, CURVE_STRIDE)
    record: dict[str, Any] = {
        "arm": arm.id, "rung": rung, "seed": seed, "rate": rate(rung), "parameters": parameters(arm), "outcome": "trained",
        "first_losses": [], "gradient_norms": [], "training": [], "curve": [],
    }  # fmt: skip
    recent: list[float] = []
    for step in range(arm.steps if steps is None else steps):
        inputs, targets = next(stream)
        for group in opt.param_groups:
            group["lr"] = rate(rung) * schedule(step, arm)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        opt.zero_grad()
        loss.backward()
        if step == arm.steps - 1:
            record["layer_gradients"] = layer_gradients(model)
        norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP))
        if on_step is not None:
            on_step(model, step)
        value = loss.item()
        if not math.isfinite(value) or not math.isfinite(norm):
            return record | {"outcome": "diverged", "stopped": step}
        opt.step()
        recent.append(value)
        if step < CHECKED:
            record["first_losses"].append(round(value, 6))
        if step < EARLY:
            record["gradient_norms"].append(round(norm, 4))
        if steps is None and (step + 1) % CURVE_EVERY == 0:
            record["training"].append(round(sum(recent) / len(recent), 4))
            recent.clear()
            seen = float(block_losses(model, curve_blocks).mean())
            record["curve"].append(round(seen, 4))
    return record if steps is not None else record | _ending(model)


def _ending(model: Stack) -> dict[str, Any]:
    arm = model.arm
    blocks = validation_blocks(arm)
    losses = block_losses(model, blocks)
    loss = float(losses.mean())
    data = corpus.tokens(arm.vocab_size)
    end: dict[str, Any] = {
        "validation": round(loss, 5),
        "validation_error": round(float(losses.std() / len(losses) ** 0.5), 5),
        "bits_per_byte": round(loss * len(data.validation) / data.validation_bytes / math.log(2), 5),
        "similarity": round(similarity(model, validation_blocks(arm, CURVE_STRIDE)[0][::8]), 4),
    }
    if not math.isfinite(loss):
        return {"outcome": "diverged", "stopped": arm.steps}
    if loss > corpus.unigram_floor(arm.vocab_size) - COLLAPSE_MARGIN:
        end["outcome"] = "collapsed"
    if not arm.causal:
        model.causal(True)
        end["validation_masked"] = round(float(block_losses(model, blocks).mean()), 5)
    return end


def layer_gradients(model: Stack) -> dict[str, float]:
    """Gradient norm of every sublayer's own parameters and of the embedding, before clipping."""
    parts = {"embed": model.embed}
    parts |= {f"attention.{i}": part for i, part in enumerate(model.attention)}
    parts |= {f"ffn.{i}": part for i, part in enumerate(model.ffn)}
    return {
        name: round(math.sqrt(sum(float(w.grad.square().sum()) for w in part.parameters() if w.grad is not None)), 5)
        for name, part in parts.items()
    }


@torch.no_grad()
def similarity(model: Stack, inputs: Tensor) -> float:
    """Mean cosine between two positions of a sequence, after the last sublayer, before the final norm; one means that
    all tokens have become alike. Positions are compared with their mean over the sequence left in."""
    states: list[Tensor] = []
    hook = model.final_norm.register_forward_pre_hook(lambda _, args: states.append(args[0]))
    model(inputs)
    hook.remove()
    unit = F.normalize(states[0], dim=-1)
    count = unit.shape[1]
    total = (unit @ unit.transpose(1, 2)).sum((1, 2)) - count
    return float((total / (count * (count - 1))).mean())


def environment() -> dict[str, str]:
    """What a run was made with: versions, processor features, corpus."""
    import tokenizers

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "tokenizers": tokenizers.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "corpus": corpus.about()["sha256"],
    }
