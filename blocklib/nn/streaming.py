"""Text from byte-level tokens as it arrives: whole characters only, and never a part of a stop string.

A byte-level token is a run of bytes, not of characters: one character of UTF-8 may span several tokens, so
decoding token by token shows replacement marks, and a stop string may begin in one token and end in another.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from functools import cache


@cache
def _byte_alphabet() -> dict[str, int]:
    # GPT-2's table: printable bytes stand for themselves, the others take the code points from 256 on.
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}


def byte_level(token: str) -> bytes:
    """The bytes of a token as byte-level BPE vocabularies spell it: ``"Ġhi"`` is ``b" hi"``.

    Radford et al. 2019 (GPT-2); also Llama 3, Qwen, OLMo.

    Raises:
        ValueError: a character outside that alphabet, as in special tokens of some vocabularies.
    """
    alphabet = _byte_alphabet()
    strange = sorted({c for c in token if c not in alphabet})
    if strange:
        raise ValueError(f"{token!r} is not spelled in the byte alphabet: {' '.join(strange)}")
    return bytes(alphabet[c] for c in token)


class TextStream:
    """Bytes in, text out: everything that can be shown, as soon as it can be shown.

    A character is given out when it is complete; text that may be the beginning of a stop string is held back until
    that is decided. Of several stop strings the one that is complete first ends the text, of those complete at once
    the longest; the text ends before it. What comes out is the same however the bytes are cut into tokens.
    Malformed bytes become U+FFFD, as in ``bytes.decode(errors="replace")``.

    Args:
        stop: stop strings; none of them empty.

    Raises:
        ValueError: an empty stop string.
    """

    def __init__(self, stop: Sequence[str] = ()):
        if isinstance(stop, str) or not all(stop):
            raise ValueError("stop must be a list of strings that are not empty")
        self.stop = tuple(stop)
        self.stopped: str | None = None  # the stop string that ended the text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._ended = False

    def push(self, data: bytes) -> str:
        """Take the bytes of the next token; return the text that is now certain, often none.

        After a stop string nothing more comes out.

        Raises:
            ValueError: the stream was finished.
        """
        if self._ended:
            raise ValueError("the stream is finished")
        return self._emit(self._decoder.decode(data))

    def finish(self) -> str:
        """The rest, when no more tokens come: what was held back, and U+FFFD for a character cut short."""
        if self._ended:
            return ""
        text = self._emit(self._decoder.decode(b"", final=True))
        self._ended = True
        rest, self._held = self._held, ""
        return text + rest

    def _emit(self, new: str) -> str:
        if self.stopped is not None:
            return ""
        text = self._held + new
        found = [(at + len(s), -len(s), s) for s in self.stop if (at := text.find(s)) >= 0]
        if found:
            end, _, self.stopped = min(found)
            self._held = ""
            return text[: end - len(self.stopped)]
        keep = max((n for s in self.stop for n in range(1, len(s)) if text.endswith(s[:n])), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]


def stream_text(tokens: Iterable[bytes], stop: Sequence[str] = ()) -> Iterable[str]:
    """The pieces of text that a run of tokens gives, none of them empty; stops taking tokens at a stop string.

    Raises:
        ValueError: as :class:`TextStream`.
    """
    stream = TextStream(stop)
    for data in tokens:
        if piece := stream.push(data):
            yield piece
        if stream.stopped is not None:
            return
    if rest := stream.finish():
        yield rest
