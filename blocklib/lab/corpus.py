"""The text that every arm reads: State of the Union addresses, split by document, in byte-level BPE tokens.

The text lies beside this module, compressed; ``data/corpus.toml`` names its origin, licence and hash. The split is by
document, so that nothing of a validation text is seen in training.
"""

from __future__ import annotations

import lzma
import tomllib
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from blocklib.problems import BlocklibError

DATA = Path(__file__).parent / "data"
END = "<|end|>"
_BETWEEN = "\n\n"  # stands between addresses and nowhere inside one


class CorpusError(BlocklibError):
    """The corpus is not the one that the results were made with."""


@dataclass(frozen=True)
class Tokens:
    """Token ids of both parts, ``uint16``; every document is followed by one end token.

    ``validation_bytes`` is the UTF-8 length of the validation text: loss per byte can be compared between
    vocabularies, loss per token cannot.
    """

    training: np.ndarray
    validation: np.ndarray
    validation_bytes: int


@cache
def about() -> dict:
    """Origin, licence, hash and split of the corpus, from ``data/corpus.toml``."""
    return tomllib.loads((DATA / "corpus.toml").read_text("utf-8"))


@cache
def documents() -> tuple[str, ...]:
    """The addresses in the order of their file names.

    Raises:
        CorpusError: the text is missing or broken, or does not have the recorded hash.
    """
    try:
        raw = lzma.decompress((DATA / "sotu.txt.xz").read_bytes())
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise CorpusError(f"the corpus cannot be read: {error}", where="sotu.txt.xz", remedy="restore it") from error
    if (found := sha256(raw).hexdigest()) != about()["sha256"]:
        raise CorpusError(f"the corpus has sha256 {found}, expected {about()['sha256']}", where="sotu.txt.xz")
    return tuple(raw.decode("utf-8").split(_BETWEEN))


def assemble(folder: Path) -> bytes:
    """The compressed text, made anew from the ``.txt`` files of the package that ``corpus.toml`` names."""
    texts = [path.read_text("utf-8").strip() for path in sorted(folder.glob("*.txt"))]
    return lzma.compress(_BETWEEN.join(texts).encode(), preset=9 | lzma.PRESET_EXTREME)


def split() -> tuple[list[str], list[str]]:
    """Training and validation documents: each twentieth address, from the tenth on, is held out."""
    every, first = about()["held_out"]["every"], about()["held_out"]["first"]
    training, validation = [], []
    for index, document in enumerate(documents()):
        (validation if index % every == first else training).append(document)
    return training, validation


def train_tokenizer(vocab_size: int) -> Tokenizer:
    """Byte-level BPE of ``vocab_size`` entries, trained on the training documents only; no byte is unknown."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(split()[0], trainer)
    return tokenizer


@cache
def tokenizer(vocab_size: int) -> Tokenizer:
    """The kept tokenizer of this size.

    Raises:
        CorpusError: none of this size is kept, or it is broken.
    """
    path = DATA / f"tokenizer-{vocab_size}.json"
    if not path.exists():
        kept = ", ".join(sorted(p.stem.split("-")[1] for p in DATA.glob("tokenizer-*.json")))
        raise CorpusError(f"no tokenizer with {vocab_size} entries; kept are {kept}")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise CorpusError(f"the tokenizer cannot be read: {error}", where=path.name, remedy="restore it") from error


@cache
def tokens(vocab_size: int) -> Tokens:
    """The corpus in tokens of the kept tokenizer; raises as :func:`tokenizer` and :func:`documents`."""
    encoder = tokenizer(vocab_size)
    end = encoder.token_to_id(END)
    parts = []
    for part in split():
        ids = [[*encoding.ids, end] for encoding in encoder.encode_batch(part)]
        parts.append(np.concatenate([np.asarray(each, dtype=np.uint16) for each in ids]))
    return Tokens(*parts, validation_bytes=sum(len(text.encode()) for text in split()[1]))


def unigram_floor(vocab_size: int) -> float:
    """Validation loss in nats per token of the best constant prediction: token frequencies of the training part.

    Each count has one added, so that a token never seen in training costs a finite amount. A model that reads nothing
    can do no better; a run that ends here has collapsed.
    """
    data = tokens(vocab_size)
    counts = np.bincount(data.training, minlength=vocab_size) + 1.0
    return float(-np.log(counts / counts.sum())[data.validation].mean())


def bigram_floor(vocab_size: int) -> float:
    """Validation loss in nats per token of bigram frequencies, interpolated with the unigram (Witten–Bell)."""
    data = tokens(vocab_size)
    counts = np.bincount(data.training, minlength=vocab_size) + 1.0
    unigram = counts / counts.sum()
    pairs = np.zeros((vocab_size, vocab_size))
    np.add.at(pairs, (data.training[:-1], data.training[1:]), 1)
    followers, seen = (pairs > 0).sum(1, keepdims=True), pairs.sum(1, keepdims=True)
    mixed = (pairs + followers * unigram) / np.maximum(seen + followers, 1)
    mixed[(seen == 0)[:, 0]] = unigram
    return float(-np.log(mixed[data.validation[:-1], data.validation[1:]]).mean())
