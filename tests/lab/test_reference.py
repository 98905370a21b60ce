"""The reference run on a small stand-in: it resumes without a trace, and what it writes is read by others as the same model."""

from __future__ import annotations

import json
import math
from hashlib import sha256
from itertools import count

import pytest
import torch

from blocklib.lab import corpus, reference, reference_facts, training
from blocklib.lab.arms import ARMS, BASE, replace
from blocklib.lab.checkpoint import WEIGHTS, llama_config, theirs
from blocklib.lab.reference import REFERENCE
from blocklib.lab.stack import build, parameters
from blocklib.nn import load
from blocklib.problems import BlocklibError

SMALL = replace(REFERENCE, id="small", layout="AFAF", vocab_size=1024, d_model=32, n_heads=2, n_kv_heads=2, d_ff=48,
                steps=14, warmup=3, batch=2, seq_len=64)  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(training, "CURVE_STRIDE", 400)
    monkeypatch.setattr(reference, "CURVE_EVERY", 5)
    monkeypatch.setattr(reference, "COLLAPSE_MARGIN", -9)  # the stand-in learns next to nothing
    monkeypatch.setattr(reference, "THREADS", 1)  # two that wait for each other take minutes on a busy machine
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def a_minute_a_step(monkeypatch):
    """A clock on which every look takes a minute: the run is stopped, and kept, after known steps."""
    ticks = count(0.0, 60.0)
    monkeypatch.setattr(reference, "monotonic", lambda: next(ticks))


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run in one go: its folder and the lines that it said."""
    folder = tmp_path_factory.mktemp("straight")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "CURVE_STRIDE", 400)
        patch.setattr(reference, "CURVE_EVERY", 5)
        patch.setattr(reference, "COLLAPSE_MARGIN", -9)
        patch.setattr(reference, "THREADS", 1)
        said = list(reference.train(SMALL, folder / "out", folder / "state.pt"))
    assert not (folder / "state.pt").exists()
    return folder / "out", said


def test_the_shape_has_the_courses_parameters():
    assert parameters(REFERENCE) == 3_688_704
    assert REFERENCE.vocab_size * 256 + 4 * (4 * 256**2 + 3 * 256 * 688 + 2 * 256) + 256 == 3_688_704
    assert REFERENCE.id not in ARMS, "it enters no verdict"
    assert 2 * parameters(REFERENCE) < 10_000_000


def test_stopped_and_resumed_is_the_same_run(tmp_path, monkeypatch, straight):
    folder, _ = straight
    a_minute_a_step(monkeypatch)
    out, state = tmp_path / "out", tmp_path / "lab" / "state.pt"
    parts = []
    while not out.exists():
        parts.append(list(reference.train(SMALL, out, state, minutes=4.5)))
        assert len(parts) < 9
    assert len(parts) > 2 and all("goes on" in lines[-1] for lines in parts[:-1])
    assert (out / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    ours, theirs_ = (json.loads((f / "record.json").read_text("utf-8")) for f in (out, folder))
    assert ours == theirs_ and len(ours["curve"]) == len(ours["training"]) == 3


def test_resuming_needs_the_kept_state(tmp_path, monkeypatch, straight):
    """Control: begun anew with the counter alone moved on, the weights are others."""
    a_minute_a_step(monkeypatch)
    state = tmp_path / "state.pt"
    list(reference.train(SMALL, tmp_path / "out", state, minutes=4.5))
    kept = torch.load(state, weights_only=True)
    fresh = build(SMALL, reference.SEED)
    torch.save(kept | {"model": fresh.state_dict()}, state)
    monkeypatch.setattr(reference, "monotonic", lambda: 0.0)
    list(reference.train(SMALL, tmp_path / "out", state))
    assert (tmp_path / "out/model.safetensors").read_bytes() != (straight[0] / "model.safetensors").read_bytes()


def test_state_of_another_configuration_is_refused(tmp_path, monkeypatch):
    a_minute_a_step(monkeypatch)
    state = tmp_path / "state.pt"
    list(reference.train(SMALL, tmp_path / "out", state, minutes=2.5))
    with pytest.raises(reference.StateError, match="another configuration"):
        list(reference.train(replace(SMALL, d_ff=40), tmp_path / "out", state))


def trained(folder) -> torch.nn.Module:
    """The stand-in trained once more by hand, in the lab's own stack, its weights rounded to fp16."""
    run = reference._Run(SMALL, folder / "none.pt")
    stream = training.batches(SMALL, reference.SEED)
    for _ in range(SMALL.steps):
        run.advance(*next(stream))
    with torch.no_grad():
        for weight in run.model.parameters():
            weight.copy_(weight.half())
    return run.model


def test_the_checkpoint_is_the_trained_model(tmp_path, straight):
    folder, said = straight
    torch.set_num_threads(1)
    model, loaded = trained(tmp_path), load(folder)
    ids = torch.randint(SMALL.vocab_size, (2, 16), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert torch.allclose(loaded(ids), model(ids), atol=2e-5)
    assert sum(p.numel() for p in loaded.parameters()) == parameters(SMALL)
    record = json.loads((folder / "record.json").read_text("utf-8"))
    raw = (folder / "model.safetensors").read_bytes()
    assert record["sha256"] == sha256(raw).hexdigest() and record["bytes"] == len(raw) < 2 * parameters(SMALL) + 5000
    losses = training.block_losses(model, training.validation_blocks(SMALL))
    assert record["validation"] == pytest.approx(float(losses.mean()), abs=1e-4)
    assert f"{record['validation']:.4f}" in said[-1] and "step 14" in said[-2]
    assert record["parameters"] == parameters(SMALL) and record["environment"]["torch"] == torch.__version__


def test_hugging_face_reads_the_same_model(straight):
    transformers = pytest.importorskip("transformers")
    folder, _ = straight
    loaded = load(folder)
    other = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    words = "The state of the Union is strong."
    ids = corpus.tokenizer(1024).encode(words).ids
    assert tokenizer(words)["input_ids"] == ids and tokenizer.eos_token_id == 0
    assert llama_config(SMALL)["eos_token_id"] == corpus.tokenizer(2048).token_to_id(corpus.END)
    with torch.no_grad():
        assert torch.allclose(other(torch.tensor([ids])).logits, loaded(torch.tensor([ids])), atol=2e-5)


@pytest.mark.parametrize(
    ("ours", "name"),
    [
        ("embed.weight", "model.embed_tokens.weight"),
        ("attention.2.q.weight", "model.layers.2.self_attn.q_proj.weight"),
        ("ffn.0.down.weight", "model.layers.0.mlp.down_proj.weight"),
        ("attention_norm.1.gain", "model.layers.1.input_layernorm.weight"),
        ("ffn_norm.3.gain", "model.layers.3.post_attention_layernorm.weight"),
        ("final_norm.gain", "model.norm.weight"),
    ],
)
def test_names(ours, name):
    assert theirs(ours) == name


@pytest.mark.parametrize("changes", [{"layout": "FAFA"}, {"qk_norm": True}, {"place": "post"}, {"embed_scale": 2.0}])
def test_another_design_is_not_written_as_llama(changes):
    with pytest.raises(ValueError, match="not of Llama's design"):
        llama_config(replace(REFERENCE, **changes))
    assert llama_config(BASE)["hidden_size"] == 128


def kept():
    return json.loads((reference.FOLDER / reference.RECORD).read_text("utf-8"))


def test_kept_weights_are_those_of_the_record():
    """Its loss is what the weights in the repository give, read by the library's own model, on pieces of the text."""
    record, raw = kept(), (reference.FOLDER / WEIGHTS).read_bytes()
    assert record["sha256"] == sha256(raw).hexdigest() and record["bytes"] == len(raw) < 10_000_000
    assert record["config"] == json.loads(json.dumps(REFERENCE.config()))
    model = load(reference.FOLDER)
    assert record["parameters"] == sum(p.numel() for p in model.parameters()) == 3_688_704
    assert record["tokens"] == REFERENCE.steps * REFERENCE.batch * REFERENCE.seq_len
    assert record["passes"] == pytest.approx(record["tokens"] / len(corpus.tokens(2048).training), abs=0.01)
    assert (record["seed"], record["rate"]) == (reference.SEED, training.rate(reference.RUNG))
    # CURVE_EVERY is another in these tests
    assert len(record["curve"]) == len(record["training"]) == REFERENCE.steps // record["curve_every"] == 32
    blocks = training.validation_blocks(REFERENCE)
    inputs, targets = (part[:: len(part) // 8][:8] for part in blocks)
    with torch.no_grad():
        losses = torch.nn.functional.cross_entropy(model(inputs).transpose(1, 2), targets, reduction="none").mean(1)
    assert losses.tolist() == pytest.approx(record["pieces"], abs=2e-4)
    mean, error = losses.mean().item(), losses.std().item() / 8**0.5
    assert abs(mean - record["validation"]) < 4 * error, "these pieces are like the whole"
    assert 3 < error / record["validation_error"] < 30, "and there are many more of them"
    whole = corpus.tokens(2048)
    bits = record["validation"] * len(whole.validation) / whole.validation_bytes / math.log(2)
    assert record["bits_per_byte"] == pytest.approx(bits, abs=1e-4)


def test_lines_of_the_record_are_those_of_the_corpus():
    record = kept()
    assert record["unigram_floor"] == pytest.approx(corpus.unigram_floor(2048), abs=1e-4)
    assert record["bigram_floor"] == pytest.approx(corpus.bigram_floor(2048), abs=1e-4)
    assert record["validation"] < record["bigram_floor"] < record["unigram_floor"]


def test_record_that_cannot_be_read_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(reference_facts, "FOLDER", tmp_path)
    for content in (None, "{", "{}", "[]"):
        if content is not None:
            (tmp_path / "record.json").write_text(content)
        reference_facts.record.cache_clear()
        with pytest.raises(BlocklibError, match=r"record\.json: cannot be read.*lab reference"):
            reference_facts.reference_loss()
    reference_facts.record.cache_clear()


def test_gates_stand_where_the_lesson_says():
    """Most inputs negative in every layer, no channel one-sided, a good part of the writing through negative gates; and
    none of it in a model that has not learned."""
    words = corpus.tokenizer(2048).encode(corpus.split()[1][1]).ids[:2048]
    shares = {}
    for name, model in (("trained", load(reference.FOLDER)), ("fresh", fresh(load(reference.FOLDER)))):
        shares[name] = []

        def look(part, given, _, found=shares[name]):
            gate, value = (half(given[0]).flatten(0, 1) for half in (part.gate, part.up))
            written = (torch.nn.functional.silu(gate) * value).abs()
            one_sided = ((gate < 0).all(0) | (gate >= 0).all(0)).sum()
            found.append(
                [float((gate < 0).float().mean()), int(one_sided), float(written[gate < 0].sum() / written.sum())]
            )

        for block in model.blocks:
            block.ffn.register_forward_hook(look)
        with torch.no_grad():
            model(torch.tensor(words).view(-1, 256))
    assert all(
        negative > 0.55 and one_sided == 0 and 0.15 < part < 0.6 for negative, one_sided, part in shares["trained"]
    )
    assert all(abs(negative - 0.5) < 0.03 for negative, _, _ in shares["fresh"])


def fresh(model):
    """The same shape, its matrices drawn anew."""
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.02, generator=g)
    return model


def test_a_model_that_has_learned_nothing_is_not_written(tmp_path, monkeypatch):
    """Good weights are not given up for it, whether it learned nothing or its loss is no number."""
    (tmp_path / "model.safetensors").write_bytes(b"good")
    monkeypatch.setattr(reference, "COLLAPSE_MARGIN", 0.1)
    for factor in (1.0, float("nan")):
        run = reference._Run(SMALL, tmp_path / "none.pt")
        with torch.no_grad():
            run.model.embed.weight.mul_(factor)
        with pytest.raises(reference.StateError, match="small: the model has learned nothing.*nothing was written"):
            reference.write(run, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]
    with pytest.raises(reference.StateError, match="the loss is nan at step 0"):
        run.advance(*next(training.batches(SMALL, 0)))


@pytest.mark.parametrize("spoil", ["model", "opt", "step", "config", "far", "shape", "list"])
def test_a_state_that_misses_something_is_named(tmp_path, spoil):
    state = tmp_path / "state.pt"
    run = reference._Run(SMALL, state)
    run.keep()
    kept = torch.load(state, weights_only=True)
    if spoil == "far":
        kept["step"] = 15
    elif spoil == "shape":
        kept["model"]["embed.weight"] = torch.zeros(3)
    else:
        kept.pop(spoil, None)
    torch.save([1, 2] if spoil == "list" else kept, state)
    with pytest.raises(reference.StateError, match=r"state\.pt: the state cannot be read.*begin anew") as error:
        reference._Run(SMALL, state)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off"])
def test_broken_state_is_named(tmp_path, content):
    state = tmp_path / "reference.pt"
    state.write_bytes(content)
    with pytest.raises(reference.StateError, match=r"reference\.pt: the state cannot be read.*begin anew"):
        next(reference.train(reference.REFERENCE, tmp_path / "out", state))
