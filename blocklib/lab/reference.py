"""The reference model: the course's shape of 3.7 million parameters, trained by the lab's recipe for about an hour.

    python -m blocklib lab reference [--minutes M]

It is no arm and enters no verdict: one run, one seed, more than one pass over the text. Pages and notebooks use it where
they need a model that has learned something. Its state is kept every few minutes under ``.cache/lab``, so that it can be
stopped and started at will; the end result does not depend on that. What it leaves under ``data/reference`` is a
checkpoint in the usual layout, fp16, which :func:`blocklib.nn.load` and Hugging Face's libraries read.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

from blocklib.lab import results
from blocklib.lab.arms import BASE, COLLAPSE_MARGIN, Arm, rate, schedule
from blocklib.problems import BlocklibError
from blocklib.text import Text

FOLDER = Path(__file__).parent / "data" / "reference"
STATE = Path(__file__).parents[2] / ".cache" / "lab" / "reference.pt"
RECORD = "record.json"
THREADS, KEEP_SECONDS, CURVE_EVERY = 2, 180.0, 250
SEED, RUNG = 0, 0  # the rate is the base recipe's 2e-3: a run this long is not swept

# 8,000 steps of 2,048 tokens: per step 5.3 times the base's time on one thread, so about an hour on two.
REFERENCE = replace(
    BASE, id="reference", label=Text("参考模型", "reference model"), vocab_size=2048, d_model=256, d_ff=688,
    seq_len=256, steps=8000, warmup=400,
)  # fmt: skip


class StateError(BlocklibError):
    """A kept state that this training cannot go on from."""


def train(arm: Arm = REFERENCE, folder: Path = FOLDER, state: Path = STATE, minutes: float = math.inf) -> Iterator[str]:
    """Train to the end or for ``minutes``, from the kept state where there is one; a line now and then.

    At the end the checkpoint is written to ``folder`` and the state goes.

    Args:
        arm: the configuration; the shape of :data:`REFERENCE`, or a small stand-in.
        folder: where the checkpoint goes.
        state: where the run is kept meanwhile.
        minutes: time after which it stops, its state kept.

    Raises:
        StateError: the kept state is broken, or of another configuration.
    """
    from blocklib.lab import training

    with training.settings(THREADS):
        yield from _trained(arm, folder, state, minutes)


def _trained(arm: Arm, folder: Path, state: Path, minutes: float) -> Iterator[str]:
    from blocklib.lab import training

    run = _Run(arm, state)
    blocks = training.validation_blocks(arm, training.CURVE_STRIDE)
    stream = islice(training.batches(arm, SEED), run.step, None)
    kept = began = monotonic()
    yield f"{arm.id}: step {run.step} of {arm.steps}"
    while run.step < arm.steps:
        now = monotonic()
        if now - kept > KEEP_SECONDS or now - began > 60 * minutes:
            run.keep()
            kept = now
        if now - began > 60 * minutes:
            yield f"stopped at step {run.step}; the same command goes on"
            return
        run.advance(*next(stream))
        if run.step % CURVE_EVERY == 0 or run.step == arm.steps:
            seen = float(training.block_losses(run.model, blocks).mean())
            run.note(seen)
            yield f"step {run.step}: training {run.training[-1]:.4f}, validation {seen:.4f} ({now - began:.0f} s)"
    run.keep()
    record = write(run, folder)
    state.unlink()
    yield f"wrote {record['bytes']:,} bytes of weights, validation loss {record['validation']:.4f}"


class _Run:
    """A model in training: everything that decides its next step, and what has been noted so far."""

    def __init__(self, arm: Arm, state: Path):
        import torch

        from blocklib.lab import training
        from blocklib.lab.stack import build

        self.arm, self.file, self.step = arm, state, 0
        self.model = build(arm, SEED)
        self.opt = training.optimiser(self.model, rate(RUNG))
        self.recent: list[float] = []
        self.training: list[float] = []
        self.curve: list[float] = []
        if state.exists():
            begin = "remove it to begin anew"
            try:
                kept = torch.load(state, weights_only=True)
                if same := kept["config"] == _config(arm):
                    self.model.load_state_dict(kept["model"])
                    self.opt.load_state_dict(kept["opt"])
                    self.step, self.recent, self.training, self.curve = (kept[k] for k in ("step", "recent", "training", "curve"))  # fmt: skip
                    if not 0 <= self.step <= arm.steps:
                        raise ValueError(f"step {self.step} of {arm.steps}")
            except Exception as error:  # a damaged archive raises whatever its reader trips over
                why = str(error).partition("\n")[0]
                raise StateError(
                    f"the state cannot be read: {type(error).__name__}: {why}", where=str(state), remedy=begin
                ) from error
            if not same:
                raise StateError("the state belongs to another configuration", where=str(state), remedy=begin)

    def advance(self, inputs, targets) -> None:
        """One step of the lab's recipe."""
        import torch
        import torch.nn.functional as F

        from blocklib.lab import training

        for group in self.opt.param_groups:
            group["lr"] = rate(RUNG) * schedule(self.step, self.arm)
        loss = F.cross_entropy(self.model(inputs).flatten(0, 1), targets.flatten())
        self.opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), training.CLIP)
        self.opt.step()
        self.recent.append(loss.item())
        if not math.isfinite(self.recent[-1]):
            raise StateError(
                f"the loss is {self.recent[-1]} at step {self.step}: the run has diverged", where=self.arm.id
            )
        self.step += 1

    def note(self, validation: float) -> None:
        """A point of both curves."""
        self.training.append(round(sum(self.recent) / len(self.recent), 4))
        self.curve.append(round(validation, 4))
        self.recent.clear()

    def keep(self) -> None:
        """Write the state, whole or not at all."""
        import torch

        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_suffix(f".{os.getpid()}.tmp")
        noted = {key: getattr(self, key) for key in ("step", "recent", "training", "curve")}
        torch.save(
            {"model": self.model.state_dict(), "opt": self.opt.state_dict(), "config": _config(self.arm), **noted},
            draft,
        )
        os.replace(draft, self.file)


def _config(arm: Arm) -> dict[str, Any]:
    return json.loads(json.dumps(arm.config()))


def write(run: _Run, folder: Path) -> dict[str, Any]:
    """Leave the checkpoint: fp16 weights in Llama's layout, config, tokenizer, and the record; returns the record.

    The loss it records is that of the weights as they are written, rounded to fp16.

    Raises:
        StateError: the model has learned nothing, see :data:`~blocklib.lab.arms.COLLAPSE_MARGIN`; what the folder held stays.
    """
    import torch

    from blocklib.lab import checkpoint, corpus, training
    from blocklib.lab.stack import parameters

    arm, model = run.arm, run.model
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(weight.half())
    raw = checkpoint.weights(model)
    losses = training.block_losses(model, training.validation_blocks(arm))
    loss = float(losses.mean())
    if not loss < corpus.unigram_floor(arm.vocab_size) - COLLAPSE_MARGIN:
        raise StateError(
            f"the model has learned nothing: validation loss {loss:.4f}", where=arm.id, remedy="nothing was written"
        )
    data = corpus.tokens(arm.vocab_size)
    record = {
        "parameters": parameters(arm),
        "validation": round(loss, 5),
        "validation_error": round(float(losses.std() / len(losses) ** 0.5), 5),
        # eight pieces from all over the text, for a quick check
        "pieces": [round(float(each), 5) for each in losses[:: len(losses) // 8][:8]],
        "bits_per_byte": round(loss * len(data.validation) / data.validation_bytes / math.log(2), 5),
        "unigram_floor": round(corpus.unigram_floor(arm.vocab_size), 4),
        "bigram_floor": round(corpus.bigram_floor(arm.vocab_size), 4),
        "tokens": arm.steps * arm.batch * arm.seq_len,
        "passes": round(arm.steps * arm.batch * arm.seq_len / len(data.training), 2),
        "seed": SEED,
        "rate": rate(RUNG),
        "curve_every": CURVE_EVERY,
        "curve": run.curve,
        "training": run.training,
        "config": _config(arm),
        "environment": training.environment(),
        "command": "python -m blocklib lab reference",
        "sha256": sha256(raw).hexdigest(),
        "bytes": len(raw),
    }
    checkpoint.write(folder, arm, raw)
    (folder / RECORD).write_text(results.lines(record), "utf-8")
    return record
