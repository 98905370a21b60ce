"""The library beside Hugging Face's, in one process: a block's forward and backward, decoding, and counting parameters.

Both sides have the same weights, and their outputs are compared before anything is timed. Rounds alternate between the
two, so that a busy moment hits both; a figure is the median of the rounds' ratios (of the ledger, best against best). One thread.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

AIMS = {
    "block": ("ours / theirs", 1.0, False),
    "decode, batch 1": ("ours / theirs", 1.7, True),
    "decode, batch 8": ("ours / theirs", 1.4, True),
    "ledger": ("meta-device count / ledger", 1000.0, True),
}
SHAPE = {
    "hidden_size": 512, "intermediate_size": 1376, "num_attention_heads": 8, "num_key_value_heads": 4,
    "num_hidden_layers": 1, "vocab_size": 64, "max_position_embeddings": 1024,
}  # fmt: skip
TINY = {
    "hidden_size": 128, "intermediate_size": 344, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 4, "vocab_size": 1024, "max_position_embeddings": 1024, "tie_word_embeddings": True,
}  # fmt: skip


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternate(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> float:
    """Median over rounds of our seconds over theirs; the first round of each warms up."""
    ours(), theirs()
    ratios = []
    for i in range(rounds):
        pair = (ours, theirs) if i % 2 else (theirs, ours)
        took = {work: seconds(work) for work in pair}
        ratios.append(took[ours] / took[theirs])
    return statistics.median(ratios)


def checkpoint(folder: Path, shape: dict):
    """A random Llama model of this shape, theirs, and the same through our loader."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from blocklib.nn import load

    torch.manual_seed(0)
    theirs = LlamaForCausalLM(LlamaConfig(**shape, pad_token_id=0, eos_token_id=None)).eval()
    theirs.save_pretrained(folder)
    return load(folder), theirs


def block() -> float:
    """Forward and backward of one Llama block, batch 2, 256 tokens: our seconds over theirs."""
    import torch

    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = checkpoint(Path(folder), SHAPE)
    mine, layer, rotary = ours.blocks[0], theirs.model.layers[0], theirs.model.rotary_emb
    x = torch.randn(2, 256, SHAPE["hidden_size"], requires_grad=True)
    positions = torch.arange(256)[None]

    def run_theirs():
        out = layer(x, position_embeddings=rotary(x, positions))
        return out[0] if isinstance(out, tuple) else out

    torch.testing.assert_close(mine(x), run_theirs(), rtol=1e-4, atol=1e-5)
    return alternate(lambda: mine(x).sum().backward(), lambda: run_theirs().sum().backward(), 40)


def decode(batch: int, new: int = 64) -> float:
    """Greedy tokens per second with a cache, ours over theirs; the tokens are the same."""
    import torch

    from blocklib.nn.cache import ContiguousCache
    from blocklib.nn.generate import generate

    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = checkpoint(Path(folder), TINY)
    ids = torch.randint(3, TINY["vocab_size"], (batch, 16), generator=torch.Generator().manual_seed(1))

    def run_ours():
        return generate(ours, ids, new, cache=ContiguousCache())

    def run_theirs():
        return theirs.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False)

    assert torch.equal(run_ours(), run_theirs()), "the two decode different tokens"
    return 1 / alternate(run_ours, run_theirs, 12)


def ledger() -> float:
    """Seconds of counting on the meta device over seconds of our ledger, from raw configurations: summed over
    every decoder of the atlas that their library knows. Best of a few rounds, on both sides."""
    import torch
    import transformers
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    from blocklib.ledger.params import count
    from blocklib.ledger.reader import from_dict

    transformers.logging.set_verbosity_error()
    files = sorted((ROOT / "blocklib/atlas/data/configs").glob("*.json"))
    raws = [json.loads(path.read_text("utf-8")) for path in files]
    raws = [raw for raw in raws if raw["model_type"] in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES]
    raws = [raw for raw in raws if from_dict(raw).kind == "decoder"]

    def on_meta(raw: dict) -> int:
        settings = AutoConfig.for_model(**raw)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(settings)
        return sum(weight.numel() for weight in dict.fromkeys(model.parameters()))

    wrong = [raw["model_type"] for raw in raws if on_meta(raw) != count(from_dict(raw)).total]
    assert len(raws) > 20 and not wrong, wrong
    many = 20
    ours = min(seconds(lambda: [count(from_dict(raw)).total for raw in raws * many]) for _ in range(5)) / many
    return min(seconds(lambda: [on_meta(raw) for raw in raws]) for _ in range(3)) / ours


def figures() -> dict[str, float]:
    """All rows by name."""
    import torch

    torch.set_num_threads(1)
    return {"block": block(), "decode, batch 1": decode(1), "decode, batch 8": decode(8), "ledger": ledger()}


def main() -> int:
    """Print the rows with their aims; always 0: figures of one busy machine decide nothing."""
    for name, value in figures().items():
        what, aim, more = AIMS[name]
        missed = value < aim if more else value > aim
        print(f"{name:<16} {value:9.2f}  aim {'≥' if more else '≤'} {aim:g}{'  (missed)' if missed else ''}  {what}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
