"""Generation with every cache against generation without, batches against lone prompts, and text as it comes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from blocklib.nn.attention import MultiHeadAttention
from blocklib.nn.block import PreNormBlock
from blocklib.nn.cache import ContiguousCache, LayeredCache, SlidingCache
from blocklib.nn.ffn import SwiGLU
from blocklib.nn.frequencies import rope_frequencies
from blocklib.nn.generate import generate, generate_text, steps
from blocklib.nn.masks import SlidingWindow
from blocklib.nn.mla import MultiHeadLatentAttention
from blocklib.nn.model import DecoderLM
from blocklib.nn.norm import RMSNorm
from blocklib.nn.paged import PagedCache, PagePool
from blocklib.nn.position import RoPE
from blocklib.nn.quantised import QuantisedCache
from blocklib.nn.sampling import Sampling
from tests.nn.tiny import TinyLM, token_ids

WARM = Sampling(0.8, top_k=12, top_p=0.95, repetition_penalty=1.1, frequency_penalty=0.1)
CACHES = {
    "growing": ContiguousCache,
    "reserved": lambda: ContiguousCache(27),
    "paged": lambda: PagedCache(PagePool(40, 4, range(39, -1, -1)), 2),
    "layered": lambda: LayeredCache([ContiguousCache(), ContiguousCache()]),
}


def seeds(*numbers):
    return [torch.Generator().manual_seed(n) for n in numbers]


@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("sampling", [Sampling(0), WARM], ids=["greedy", "sampled"])
@pytest.mark.parametrize("chunk", [None, 3])
def test_a_cache_changes_no_token(kind, sampling, chunk):
    model, ids = TinyLM(), token_ids(2, 7)
    plain = generate(model, ids, 20, sampling=sampling, generator=seeds(1, 2))
    cached = generate(model, ids, 20, sampling=sampling, generator=seeds(1, 2), cache=CACHES[kind](), chunk=chunk)
    assert torch.equal(plain, cached) and plain.shape == (2, 27) and torch.equal(plain[:, :7], ids)


def test_a_window_changes_no_token_of_a_windowed_model():
    model, ids = TinyLM(windows=(5, 5)), token_ids(2, 7)
    assert torch.equal(generate(model, ids, 20), generate(model, ids, 20, cache=SlidingCache(5)))
    # Control: four bits change some.
    coarse = generate(model, ids, 20, cache=QuantisedCache(4, 4))
    assert coarse.shape == (2, 27) and not torch.equal(coarse, generate(model, ids, 20))


def test_a_seed_fixes_the_text():
    model, ids = TinyLM(), token_ids(2, 4)
    runs = [
        generate(model, ids, 15, sampling=Sampling(), generator=torch.Generator().manual_seed(s)) for s in (1, 1, 2)
    ]
    assert torch.equal(runs[0], runs[1]) and not torch.equal(runs[0], runs[2])
    with pytest.raises(ValueError, match="needs a torch.Generator"):
        generate(model, ids, 1, sampling=Sampling())


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("sampling", [Sampling(0), WARM, Sampling(0, repetition_penalty=5.0)])
def test_a_padded_batch_equals_lone_prompts(cached, sampling):
    model, prompts = TinyLM(), [token_ids(1, n, seed=n) for n in (3, 8, 5)]
    # Padding that would count: the very token that the prompt goes on with.
    next_token = [generate(model, p, 1, sampling=sampling, generator=seeds(i))[0, -1] for i, p in enumerate(prompts)]
    ids = torch.cat([torch.cat([t.expand(1, 8 - p.shape[1]), p], 1) for t, p in zip(next_token, prompts, strict=True)])
    mask = torch.cat([nn.functional.pad(torch.ones_like(p), (8 - p.shape[1], 0)) for p in prompts])
    cache = ContiguousCache() if cached else None
    together = generate(model, ids, 12, sampling=sampling, cache=cache, attention_mask=mask, generator=seeds(0, 1, 2))
    for row, prompt in enumerate(prompts):
        alone = generate(model, prompt, 12, sampling=sampling, generator=seeds(row))
        assert together[row, 8:].tolist() == alone[0, prompt.shape[1] :].tolist()
    # Control: without the mask padding is read.
    blind = generate(model, ids, 12, sampling=sampling, generator=seeds(0, 1, 2))
    assert not torch.equal(blind[[0, 2]], together[[0, 2]])


def test_sequences_end_apart_and_are_padded():
    model, ids = TinyLM(), token_ids(4, 3)
    free = generate(model, ids, 15)[:, 3:]
    eos = sorted({free[0, 4].item(), free[1, 9].item()})
    ended = generate(model, ids, 15, eos=eos, pad=22)[:, 3:]
    ends = [next((i for i, t in enumerate(row) if t in eos), 15) for row in free.tolist()]
    assert ended.shape[1] == min(15, max(ends) + 1)
    for row, end in enumerate(ends):
        assert ended[row, : end + 1].tolist() == free[row, : end + 1].tolist()[: ended.shape[1]]
        assert (ended[row, end + 1 :] == 22).all()
    default = generate(model, ids[:1], 15, eos=eos)
    assert default.shape[1] - 3 == ends[0] + 1


def test_a_conversation_goes_on_in_its_cache():
    model, cache = TinyLM(), ContiguousCache()
    first = generate(model, token_ids(1, 5), 6, cache=cache)
    assert cache.length == 10  # the newest token has not been through the model
    longer = torch.cat([first, token_ids(1, 4, seed=3)], dim=1)
    calls = model.calls
    assert torch.equal(generate(model, longer, 6, cache=cache), generate(model, longer, 6))
    assert model.calls - calls == 12
    with pytest.raises(ValueError, match="the prompt has 5 tokens and the cache holds 20"):
        generate(model, token_ids(1, 5), 1, cache=cache)


EVERY = CACHES | {"sliding": lambda: SlidingCache(40), "quantised": lambda: QuantisedCache(8, 4)}


@pytest.mark.parametrize("kind", EVERY)
def test_a_cache_outlives_inference_mode(kind):
    """Filled by generation, it takes tokens of an ordinary forward pass, gradients switched on or off."""
    model, cache = TinyLM(), EVERY[kind]()
    text = generate(model, token_ids(2, 5), 6, cache=cache)
    fresh = EVERY[kind]()
    with torch.no_grad():
        model(text, cache=fresh)
        expected = model(text[:, :1], cache=fresh)
        model(text[:, 10:], cache=cache)
    torch.testing.assert_close(model(text[:, :1], cache=cache), expected, rtol=1e-9, atol=1e-9)


def test_tokens_come_one_step_at_a_time():
    model = TinyLM()
    first = next(steps(model, token_ids(2, 3), 1000))
    assert first.shape == (2,) and model.calls == 1
    assert generate(model, token_ids(2, 3), 0).shape == (2, 3) and model.calls == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk": 2}, "chunk needs a cache"),
        ({"attention_mask": torch.ones(2, 2)}, "should have the shape of ids"),
        ({"attention_mask": torch.tensor([[1, 1, 0], [1, 1, 1]])}, "padded on the left"),
        ({"attention_mask": torch.tensor([[1, 0, 1], [1, 1, 1]])}, "padded on the left"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        generate(TinyLM(), token_ids(2, 3), 2, **options)
    with pytest.raises(ValueError, match="the prompt has 0 tokens"):
        generate(TinyLM(), token_ids(2, 0), 2)


class Script(nn.Module):
    """A model that says one text, whatever it is asked, in tokens of a byte each."""

    def __init__(self, says: bytes, prompt: int):
        super().__init__()
        self.says, self.prompt = says, prompt

    def forward(self, ids):
        logits = torch.zeros(*ids.shape, 257)
        at = ids.shape[1] - self.prompt
        logits[0, -1, self.says[at] if at < len(self.says) else 256] = 1.0
        return logits


BYTES = [bytes([b]) for b in range(256)]


def test_text_comes_in_whole_characters_and_ends_before_a_stop_string():
    model = Script("字🙂 fine.\nUser: no".encode(), prompt=2)
    ids = torch.zeros(1, 2, dtype=torch.long)
    pieces = list(generate_text(model, ids, 50, BYTES, stop=["\nUser:"], eos=[256]))
    assert pieces[:2] == ["字", "🙂"] and "".join(pieces) == "字🙂 fine."
    assert "".join(generate_text(model, ids, 50, BYTES, eos=[256])) == "字🙂 fine.\nUser: no"
    assert "".join(generate_text(model, ids, 4, BYTES.__getitem__)) == "字\ufffd"
    held = generate_text(model, ids, 15, BYTES, stop=["\nUser:"])
    assert "".join(held) == "字🙂 fine.\nU"
    with pytest.raises(ValueError, match="one prompt, found 2"):
        next(generate_text(model, torch.zeros(2, 2, dtype=torch.long), 5, BYTES))


def test_equals_hugging_face_on_copied_logits():
    """Their ``generate`` around the same logits: greedy with a repetition penalty, token for token."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=23, n_positions=64)
    theirs = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.mul_(5)

    class Ours(nn.Module):
        def forward(self, ids, attention_mask=None):
            mask = torch.ones_like(ids) if attention_mask is None else attention_mask.long()
            positions = (mask.cumsum(1) - 1).clamp(min=0)
            return theirs(ids, attention_mask=mask, position_ids=positions).logits

    ids = token_ids(2, 6)
    mask = torch.tensor([[0, 0, 1, 1, 1, 1], [1] * 6])
    for penalty in (1.0, 1.3):
        # Their penalty counts padding as a token of the prompt, ours does not: padding is a token that is there anyway.
        ids[0, :2] = ids[0, 2]
        expected = theirs.generate(
            ids, attention_mask=mask, max_new_tokens=20, do_sample=False, repetition_penalty=penalty, pad_token_id=0,
            eos_token_id=None,
        )  # fmt: skip
        ours = generate(Ours(), ids, 20, sampling=Sampling(0, repetition_penalty=penalty), attention_mask=mask)
        assert ours.tolist() == expected.tolist()


def library_model(kind: str, vocab: int = 23, d: int = 16) -> DecoderLM:
    """Three blocks of the library: grouped heads with RoPE, with a window in every other layer, or latent attention."""
    rope = RoPE(rope_frequencies(4))
    make = {
        "full": lambda i: MultiHeadAttention(d, 4, 2, rope=rope),
        "windowed": lambda i: MultiHeadAttention(d, 4, 2, rope=rope, pattern=SlidingWindow(4)),
        "alternating": lambda i: MultiHeadAttention(d, 4, 2, rope=rope, pattern=None if i % 2 else SlidingWindow(4)),
        "latent": lambda i: MultiHeadLatentAttention(d, 3, 8, 6, 4, 4, 5, absorbed=i % 2 == 0),
    }[kind]
    model = DecoderLM(vocab, d, [PreNormBlock(d, make(i), SwiGLU(d, 24), RMSNorm) for i in range(3)], RMSNorm).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=seeds(0)[0], dtype=torch.float64) * 0.5)
    return model


LIBRARY = [
    *((kind, cache) for kind in ("full", "windowed", "alternating", "latent") for cache in ("growing", "reserved", "paged")),
    ("windowed", "sliding"),
    ("alternating", "mixed"),
]  # fmt: skip
MADE = CACHES | {
    "sliding": lambda: SlidingCache(4),
    "mixed": lambda: LayeredCache([SlidingCache(4), ContiguousCache(), SlidingCache(4)]),
}


@pytest.mark.parametrize(("kind", "cache"), LIBRARY)
@pytest.mark.parametrize("padded", [False, True])
def test_the_librarys_models_with_every_cache(kind, cache, padded):
    model, ids = library_model(kind), token_ids(2, 7)
    mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [1] * 7]) if padded else None
    plain = generate(model, ids, 20, attention_mask=mask)
    assert torch.equal(plain, generate(model, ids, 20, attention_mask=mask, cache=MADE[cache](), chunk=3))
    if padded:
        assert torch.equal(plain[:1, 7:], generate(model, ids[:1, 3:], 20)[:, 4:])


def test_control_a_latent_cannot_slide():
    model, ids = library_model("latent"), token_ids(2, 7)
    assert not torch.equal(generate(model, ids, 20), generate(model, ids, 20, cache=MADE["mixed"]()))
