"""Characters stay whole and stop strings stay hidden, however the bytes fall into tokens."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blocklib.nn.streaming import TextStream, byte_level, stream_text

text = st.text(alphabet="ab停🙂", max_size=14)  # few letters, so that stop strings occur, nearly occur and overlap
stops = st.lists(st.text(alphabet="ab停", min_size=1, max_size=4), max_size=3)
sizes = st.lists(st.integers(0, 5), min_size=1, max_size=12)


def cut(data: bytes, lengths: list[int]) -> list[bytes]:
    """``data`` in tokens of these lengths, repeated as often as needed."""
    tokens, at, i = [], 0, 0
    while at < len(data):
        size = lengths[i % len(lengths)] if any(lengths) else 1
        tokens.append(data[at : at + size])
        at, i = at + size, i + 1
    return tokens


def by_hand(text: str, stop: list[str]) -> str:
    """Letter by letter: the first moment at which the text so far ends with a stop string ends it."""
    for end in range(1, len(text) + 1):
        ending = [s for s in stop if text[:end].endswith(s)]
        if ending:
            return text[: end - max(map(len, ending))]
    return text


@given(text, stops, sizes)
@example("abc", ["abc", "b"], [3])  # complete first, though the other begins earlier
@example("aab", ["b", "ab"], [3])  # complete at once: the longer
@example("aab", ["ab"], [1])  # the prefix begins again inside itself
@example("字停a", ["停a"], [4])
def test_the_text_is_the_same_however_it_is_cut(text, stop, lengths):
    assert "".join(stream_text(cut(text.encode(), lengths), stop)) == by_hand(text, stop)


@given(text, stops, sizes)
def test_every_piece_is_whole_and_no_stop_string_shows_at_any_moment(text, stop, lengths):
    shown = ""
    for piece in stream_text(cut(text.encode(), lengths), stop):
        shown += piece
        assert piece and "\ufffd" not in piece and by_hand(text, stop).startswith(shown)
        assert not any(s in shown for s in stop)


@given(st.binary(max_size=24), sizes)
def test_malformed_bytes_become_marks_as_if_decoded_at_once(data, lengths):
    assert "".join(stream_text(cut(data, lengths))) == data.decode(errors="replace")


@given(text, stops, sizes)
def test_only_a_possible_beginning_is_held_back(text, stop, lengths):
    """Nothing waits longer than it must: what is not shown is an unfinished character or the start of a stop string."""
    stream, shown, taken = TextStream(stop), "", b""
    for token in cut(text.encode(), lengths):
        shown += stream.push(token)
        taken += token
        if stream.stopped is not None:
            return
        whole = taken.decode(errors="ignore")
        assert whole.startswith(shown)
        held = whole[len(shown) :]
        assert not held or any(s.startswith(held) and s != held for s in stop)


def test_control_decoding_token_by_token_splits_characters():
    tokens = cut("字🙂é".encode(), [2])
    naive = "".join(token.decode(errors="replace") for token in tokens)
    assert "\ufffd" in naive and "".join(stream_text(tokens)) == "字🙂é"


def test_control_looking_for_the_stop_string_in_each_piece_leaks_it():
    tokens = [b"fine.\nUs", b"er: more"]
    naive = "".join(t.decode() for t in tokens if "User:" not in t.decode())
    assert "User:" in naive and list(stream_text(tokens, ["\nUser:"])) == ["fine."]


def test_a_false_alarm_is_shown_after_all():
    stream = TextStream(["<end>"])
    assert [stream.push(b) for b in (b"a<e", b"n", b"t", b"<en")] == ["a", "", "<ent", ""]
    assert stream.finish() == "<en" and stream.finish() == ""
    with pytest.raises(ValueError, match="finished"):
        stream.push(b"x")


def test_after_a_stop_string_nothing_comes():
    stream = TextStream(["停"])
    assert stream.push("走停走".encode()) == "走" and stream.stopped == "停"
    assert stream.push(b"on") == "" and stream.finish() == ""


def test_tokens_are_not_taken_beyond_the_stop():
    source = iter([b"one ", b"stop", b"never"])
    assert list(stream_text(source, ["stop"])) == ["one "] and next(source) == b"never"


def test_a_character_cut_short_shows_as_one_mark():
    assert list(stream_text(["字".encode()[:2]])) == ["\ufffd"]


@pytest.mark.parametrize("stop", [[""], ["a", ""], "abc"])
def test_stop_strings_are_a_list_and_not_empty(stop):
    with pytest.raises(ValueError, match="not empty"):
        TextStream(stop)


def test_byte_level_spelling():
    assert byte_level("Ġhi") == b" hi" and byte_level("Ċ") == b"\n" and byte_level("åŃĹ") == "字".encode()
    with pytest.raises(ValueError, match="not spelled in the byte alphabet"):
        byte_level("字")


def test_byte_level_equals_tokenizers():
    """The Hugging Face tokenizer's own pre-tokenizer spells every byte as ours reads it."""
    tokenizers = pytest.importorskip("tokenizers")
    spell = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for text in ("".join(map(chr, range(1, 0x300))), "字🙂\u2028"):
        assert b"".join(byte_level(word) for word, _ in spell.pre_tokenize_str(text)) == text.encode()
    assert sorted(b for c in spell.alphabet() for b in byte_level(c)) == list(range(256))
