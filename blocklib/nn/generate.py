"""Generation: a prompt goes in, tokens come out one step at a time, with or without a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from blocklib.nn.cache import KVCache
from blocklib.nn.sampling import Generators, History, Sampling
from blocklib.nn.streaming import TextStream

GREEDY = Sampling(temperature=0)


@torch.inference_mode()
def steps(
    model: nn.Module,
    ids: Tensor,
    max_new_tokens: int,
    *,
    sampling: Sampling = GREEDY,
    cache: KVCache | None = None,
    attention_mask: Tensor | None = None,
    eos: Sequence[int] = (),
    pad: int | None = None,
    chunk: int | None = None,
    generator: Generators | None = None,
) -> Iterator[Tensor]:
    """The new tokens ``(B,)`` of each step, up to ``max_new_tokens`` of them, ending when every sequence has ended.

    Without a cache every step runs the whole sequence again. A cache that has seen n tokens already is taken to
    hold the first n of ``ids``; only the rest is run, at least one.

    Args:
        model: ``model(ids (B, T))`` to logits ``(B, T, V)``; also takes ``cache=`` and ``attention_mask=`` if given.
        ids: prompts ``(B, T)``; shorter ones padded on the left.
        sampling: how to choose; default greedy.
        attention_mask: ``(B, T)``, zero or false at padding.
        eos: tokens that end a sequence; they are given out, then ``pad``.
        pad: what an ended sequence yields while others go on; default the first of ``eos``.
        chunk: prompt tokens a forward pass (needs a cache); default all at once.
        generator: for sampling; one, or one per sequence.

    Raises:
        ValueError: an empty prompt, a mask of another shape or not left-padded, a chunk without a cache, a cache
            longer than the prompt, or what :class:`Sampling` refuses.
    """
    batch, prompt = ids.shape
    start = 0 if cache is None else cache.length
    if prompt <= start:
        raise ValueError(f"the prompt has {prompt} tokens and the cache holds {start}: nothing is left to run")
    if chunk is not None and (cache is None or chunk < 1):
        raise ValueError(f"chunk needs a cache and at least one token, found {chunk}")
    mask = None if attention_mask is None else _whole_mask(attention_mask, ids, max_new_tokens)
    text = torch.cat([ids, ids.new_zeros(batch, max_new_tokens)], dim=1)
    ended = torch.zeros(batch, dtype=torch.bool, device=ids.device)
    ends = torch.tensor(list(eos), dtype=ids.dtype, device=ids.device)
    pad = (eos[0] if len(eos) else 0) if pad is None else pad
    history = None
    for step in range(max_new_tokens):
        stop = prompt + step
        logits = _last_logits(model, text, start, stop, cache, mask, chunk)
        start = start if cache is None else stop
        if sampling.penalises and history is None:
            history = History(ids, logits.shape[-1], None if mask is None else mask[:, :prompt])
        tokens = sampling.choose(logits, history, generator)
        if len(eos):
            tokens = tokens.masked_fill(ended, pad)
            ended |= torch.isin(tokens, ends)
        text[:, stop] = tokens
        if history is not None:
            history.add(tokens)
        yield tokens
        if len(eos) and ended.all():
            return


def generate(model: nn.Module, ids: Tensor, max_new_tokens: int, **options) -> Tensor:
    """Prompt and new tokens ``(B, T + N)``, N at most ``max_new_tokens``. Options and errors as :func:`steps`."""
    new = list(steps(model, ids, max_new_tokens, **options))
    return torch.cat([ids, torch.stack(new, dim=1)], dim=1) if new else ids


def generate_text(
    model: nn.Module,
    ids: Tensor,
    max_new_tokens: int,
    token_bytes: Callable[[int], bytes] | Sequence[bytes],
    *,
    stop: Sequence[str] = (),
    eos: Sequence[int] = (),
    **options,
) -> Iterator[str]:
    """The continuation of one prompt ``(1, T)`` as pieces of text, none of them empty, ending before a stop string.

    Args:
        token_bytes: bytes of a token, as a table or a function (:func:`~blocklib.nn.streaming.byte_level`).
        stop: strings that end the text and are not part of it; the prompt is not searched.
        eos: tokens that end the text and are not part of it.
        options: as :func:`steps`.

    Raises:
        ValueError: more than one prompt; otherwise as :func:`steps`.
    """
    if len(ids) != 1:
        raise ValueError(f"text is streamed for one prompt, found {len(ids)}")
    bytes_of = token_bytes if callable(token_bytes) else token_bytes.__getitem__
    stream = TextStream(stop)
    for tokens in steps(model, ids, max_new_tokens, eos=eos, **options):
        token = int(tokens)
        if token in eos:
            break
        if piece := stream.push(bytes_of(token)):
            yield piece
        if stream.stopped is not None:
            return
    if rest := stream.finish():
        yield rest


def _last_logits(
    model: nn.Module,
    text: Tensor,
    start: int,
    stop: int,
    cache: KVCache | None,
    mask: Tensor | None,
    chunk: int | None,
) -> Tensor:
    """Logits ``(B, V)`` after the first ``stop`` of ``text``, running what the cache has not seen."""
    options = {} if cache is None else {"cache": cache}
    for first in range(start, stop, chunk or stop):
        last = min(first + (chunk or stop), stop)
        if mask is not None:
            options["attention_mask"] = mask[:, :last]
        logits = model(text[:, first:last], **options)
    return logits[:, -1]


def _whole_mask(attention_mask: Tensor, ids: Tensor, new: int) -> Tensor | None:
    # Over prompt and all tokens to come; None where nothing is padded.
    mask = attention_mask.bool()
    if mask.shape != ids.shape:
        raise ValueError(f"attention_mask {tuple(mask.shape)} should have the shape of ids {tuple(ids.shape)}")
    if (mask[:, :-1] & ~mask[:, 1:]).any() or not mask[:, -1].all():
        raise ValueError("prompts of unequal length must be padded on the left")
    return None if mask.all() else torch.cat([mask, mask.new_ones(len(mask), new)], dim=1)
