"""Reading a ``config.json`` that nobody vouches for: every field is read, known to be inert, or refused by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from blocklib.problems import BlocklibError

T = TypeVar("T")
REQUIRED = object()
CONFIG_BYTES = 2**20
# Bounds no model comes near; beyond them a product of sizes could overflow, or a loop run for hours.
MOST = 2**22
MOST_HEADS = MOST_EXPERTS = 2**12
MOST_LAYERS = 2**10

# Fields that cannot change what a decoder answers at inference: bookkeeping, training, generation, output formats.
INERT = frozenset(
    """
    _name_or_path transformers_version torch_dtype dtype use_cache initializer_range attention_dropout
    bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id tokenizer_class prefix
    id2label label2id num_labels problem_type finetuning_task task_specific_params
    output_attentions output_hidden_states output_scores return_dict return_dict_in_generate torchscript
    chunk_size_feed_forward use_bfloat16 tf_legacy_loss cache_implementation tie_encoder_decoder is_decoder
    max_length min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty temperature top_k
    top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size
    bad_words_ids num_return_sequences remove_invalid_values exponential_decay_length_penalty suppress_tokens
    begin_suppress_tokens forced_bos_token_id forced_eos_token_id
    """.split()
)


class CheckpointError(BlocklibError):
    """A checkpoint that cannot be read as it stands: what was found, what was expected, and in which file."""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def read_json(path: Path, most_bytes: int = CONFIG_BYTES) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        CheckpointError: no such file, too large, not UTF-8, not JSON, not an object, a key given twice, a number
            that is none (NaN, Infinity) or too long, or nesting without end.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result:
                raise CheckpointError(f"{_shown(key)} is given twice", where=path.name)
            result[key] = value
        return result

    def no_number(word: str) -> None:
        raise CheckpointError(f"{word} is not a number", where=path.name)

    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise CheckpointError(f"larger than {most_bytes:,} bytes", where=path.name)
        value = json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_constant=no_number)
    except FileNotFoundError:
        raise CheckpointError(f"not found in {path.parent}", where=path.name) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise CheckpointError(f"not readable as JSON: {reason}", where=path.name) from None
    if not isinstance(value, dict):
        raise CheckpointError(f"expected an object, found {_shown(value)}", where=path.name)
    return value


class Fields:
    """The fields of one object; each reader marks its field as read, and :meth:`finish` refuses the rest.

    Args:
        values: the object.
        where: the file, for messages.
        path: dotted name of the object inside the file, with a trailing dot.
    """

    def __init__(self, values: Mapping[str, Any], where: str, path: str = ""):
        self.values, self.where, self.path = values, where, path
        self.read: set[str] = set()

    def refuse(self, name: str, expected: str) -> CheckpointError:
        """The error for a field: what was found, and what was expected."""
        found = _shown(self.values[name]) if name in self.values else "nothing"
        return CheckpointError(f"{self.path}{name}: expected {expected}, found {found}", where=self.where)

    def given(self, name: str) -> bool:
        """Whether the field is there and not null. Counts as read."""
        self.read.add(name)
        return self.values.get(name) is not None

    def take(self, name: str, default: Any, expected: str) -> Any:
        """The raw value, or the default where the field is absent (or null, where the default is None).

        Raises:
            CheckpointError: the field is missing and has no default; the message says what was ``expected``.
        """
        self.read.add(name)
        value = self.values.get(name, default)
        if value is REQUIRED:
            raise CheckpointError(f"{self.path}{name} is missing; expected {expected}", where=self.where)
        return value

    def integer(self, name: str, default: Any = REQUIRED, most: int = MOST) -> Any:
        """A positive integer of at most ``most``.

        Raises:
            CheckpointError: missing without a default, no integer, or out of range.
        """
        expected = f"an integer from 1 to {most:,}"
        value = self.take(name, default, expected)
        if value is None and default is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise self.refuse(name, expected)
        return value

    def number(self, name: str, default: Any = REQUIRED, least: float = 0.0) -> Any:
        """A finite number above ``least``.

        Raises:
            CheckpointError: missing without a default, no number, not finite, or not above ``least``.
        """
        expected = f"a number above {least:g}"
        value = self.take(name, default, expected)
        if value is None and default is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least < value < 1e30:
            raise self.refuse(name, expected)
        if not isfinite(value):
            raise self.refuse(name, expected)
        return float(value)

    def flag(self, name: str, default: Any = REQUIRED) -> bool:
        """True or false.

        Raises:
            CheckpointError: missing without a default, or neither true nor false.
        """
        value = self.take(name, default, "true or false")
        if not isinstance(value, bool):
            raise self.refuse(name, "true or false")
        return value

    def choice(self, name: str, known: Mapping[str, T], default: Any = REQUIRED) -> T:
        """What a word stands for; the default is a word too.

        Raises:
            CheckpointError: missing without a default, or no known word.
        """
        expected = f"one of {', '.join(known)}"
        value = self.take(name, default, expected)
        if not isinstance(value, str) or value not in known:
            raise self.refuse(name, expected)
        return known[value]

    def only(self, name: str, *allowed: Any) -> None:
        """Accept the field with these values, or absent; any other means something that is not built.

        Raises:
            CheckpointError: the field has any other value.
        """
        self.read.add(name)
        value = self.values.get(name, allowed[0])
        if not any(type(value) is type(fine) and value == fine for fine in allowed):
            raise self.refuse(name, " or ".join(dict.fromkeys(map(_shown, allowed))))

    def words(self, name: str, count: int, known: tuple[str, ...]) -> list[str] | None:
        """A list of ``count`` words, each a known one; None where absent.

        Raises:
            CheckpointError: no list, another length, or an unknown word.
        """
        value = self.take(name, None, "")
        if value is None:
            return None
        right = (
            isinstance(value, list) and len(value) == count and all(isinstance(w, str) and w in known for w in value)
        )
        if not right:
            raise self.refuse(name, f"a list of {count} words, each {' or '.join(known)}")
        return value

    def group(self, name: str) -> Fields | None:
        """The fields of an object inside; None where absent or null. It must be finished by itself.

        Raises:
            CheckpointError: the field is no object.
        """
        value = self.take(name, None, "an object")
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.refuse(name, "an object")
        return Fields(value, self.where, f"{self.path}{name}.")

    def finish(self, inert: frozenset[str] = frozenset()) -> None:
        """Refuse what nobody read and nobody called inert.

        Raises:
            CheckpointError: names the fields.
        """
        unknown = sorted(set(self.values) - self.read - inert)
        if unknown:
            names = ", ".join(f"{self.path}{_shown(name)[1:-1]}" for name in unknown[:5])
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            raise CheckpointError(
                f"unknown field{'s' if len(unknown) > 1 else ''} {names}{more}: neither read nor known to change nothing",
                where=self.where,
            )
