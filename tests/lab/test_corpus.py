"""The corpus is the recorded one, split by document; the kept tokenizers are what the training text makes."""

from __future__ import annotations

import json
import lzma
from hashlib import sha256

import numpy as np
import pytest

from blocklib.lab import corpus


def test_text_has_the_recorded_size_and_hash():
    raw = lzma.decompress((corpus.DATA / "sotu.txt.xz").read_bytes())
    about = corpus.about()
    assert (len(raw), sha256(raw).hexdigest()) == (about["bytes"], about["sha256"])
    assert len(corpus.documents()) == about["documents"]
    assert (corpus.DATA / "sotu.txt.xz").stat().st_size < 3_000_000


def test_another_text_is_refused(monkeypatch, tmp_path):
    for name in ("corpus.toml", "tokenizer-1024.json"):
        (tmp_path / name).write_bytes((corpus.DATA / name).read_bytes())
    (tmp_path / "sotu.txt.xz").write_bytes(lzma.compress(b"another text"))
    monkeypatch.setattr(corpus, "DATA", tmp_path)
    with pytest.raises(corpus.CorpusError, match="sha256"):
        corpus.documents.__wrapped__()


def test_assemble_makes_the_same_text_of_the_packages_files(tmp_path):
    few = corpus.documents()[:5]
    for index, text in enumerate(few):
        (tmp_path / f"{index:03}.txt").write_text(f" \n{text}\n", "utf-8")
    assert lzma.decompress(corpus.assemble(tmp_path)) == "\n\n".join(few).encode()


def test_no_document_is_in_both_parts():
    training, validation = corpus.split()
    assert len(validation) == 12 and len(training) == 221
    assert not set(training) & set(validation)
    assert [corpus.documents().index(text) for text in validation] == list(range(9, 233, 20))


@pytest.mark.parametrize("size", [1024, 2048])
def test_kept_tokenizer_is_what_training_makes(size):
    made = json.loads(corpus.train_tokenizer(size).to_str())
    assert made == json.loads((corpus.DATA / f"tokenizer-{size}.json").read_text("utf-8"))
    assert corpus.tokenizer(size).get_vocab_size() == size


def test_every_byte_survives_the_tokenizer():
    text = "naïve “quotes”\t\n 注意力 \x00 🙂 §"
    encoder = corpus.tokenizer(1024)
    assert encoder.decode(encoder.encode(text).ids, skip_special_tokens=False) == text


def test_tokens_decode_to_the_documents():
    data, encoder = corpus.tokens(1024), corpus.tokenizer(1024)
    first = list(data.validation[: list(data.validation).index(encoder.token_to_id(corpus.END))])
    assert encoder.decode(first) == corpus.split()[1][0]
    assert data.training.dtype == np.uint16
    assert (len(data.training), len(data.validation)) == (3_435_410, 179_356)


def test_missing_tokenizer_names_those_that_are_kept():
    with pytest.raises(corpus.CorpusError, match="kept are 1024, 2048"):
        corpus.tokenizer(999)


def test_unigram_floor_is_the_best_constant():
    """Independent: cross entropy of torch for the constant logits, and no other constant does better."""
    import torch

    def loss(logits, ids):
        return -logits.log_softmax(-1)[torch.from_numpy(ids.astype(np.int64))].mean().item()

    data = corpus.tokens(1024)
    counts = np.bincount(data.training.astype(int), minlength=1024) + 1
    best = torch.tensor(np.log(counts), dtype=torch.float64)
    assert corpus.unigram_floor(1024) == pytest.approx(loss(best, data.validation), rel=1e-12)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        other = best + torch.randn(1024, generator=generator, dtype=torch.float64) * 0.1
        assert loss(other, data.training) > loss(best, data.training)


def test_bigram_floor_reads_one_token_back():
    assert 3.7 < corpus.bigram_floor(1024) < 3.9 < corpus.unigram_floor(1024)


@pytest.mark.parametrize("content", [None, b"", b"no archive"])
def test_corpus_that_cannot_be_read_says_so(monkeypatch, tmp_path, content):
    for name in ("sotu.txt.xz", "tokenizer-1024.json") if content is not None else ():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(corpus, "DATA", tmp_path)
    with pytest.raises(corpus.CorpusError, match=r"sotu\.txt\.xz: the corpus cannot be read"):
        corpus.documents.__wrapped__()
    with pytest.raises(corpus.CorpusError, match=r"no tokenizer" if content is None else "cannot be read"):
        corpus.tokenizer.__wrapped__(1024)
