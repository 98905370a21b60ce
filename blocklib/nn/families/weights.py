"""Tensors of a checkpoint: where they lie, what they are called, and how their layout becomes ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from blocklib.nn.families.fields import CheckpointError, read_json

INDEX_BYTES = 2**26
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
FLOATS = ("F64", "F32", "F16", "BF16")


@dataclass(frozen=True)
class Layout:
    """A bijection between our tensors and a checkpoint's: ``pack`` makes theirs of ours, ``unpack`` ours of theirs.

    Both take tensors of any shape (``(d_out, d_in)`` for a matrix) and return a
    tuple of them. ``pack`` runs on tensors without data too, to tell the shapes.
    """

    pack: Callable[..., tuple[Tensor, ...]]
    unpack: Callable[..., tuple[Tensor, ...]]


SAME = Layout(lambda *ours: ours, lambda *theirs: theirs)
TRANSPOSED = Layout(lambda w: (w.T,), lambda w: (w.T,))
# Several matrices side by side in one, input first; and the same for their biases.
FUSED_TRANSPOSED = Layout(lambda *parts: (torch.cat(parts).T,), lambda w: w.T.chunk(3))
FUSED = Layout(lambda *parts: (torch.cat(parts),), lambda b: b.chunk(3))
# One matrix per expert, stacked by us.
PER_EXPERT = Layout(lambda w: w.unbind(), lambda *each: (torch.stack(each),))
STACK_TRANSPOSED = Layout(lambda w: (w.transpose(-2, -1),), lambda w: (w.transpose(-2, -1),))
# Gate and value in alternate columns (or entries, of a bias).
ALTERNATE_TRANSPOSED = Layout(
    lambda gate, up: (torch.stack([gate, up], 2).flatten(1, 2).transpose(1, 2),),
    lambda w: (w[..., ::2].transpose(1, 2), w[..., 1::2].transpose(1, 2)),
)
ALTERNATE = Layout(
    lambda gate, up: (torch.stack([gate, up], -1).flatten(-2),),
    lambda b: (b[..., ::2], b[..., 1::2]),
)


@dataclass(frozen=True)
class Rule:
    """These parameters of ours are those tensors of the checkpoint, in this layout."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    layout: Layout = SAME


@dataclass(frozen=True)
class Spare:
    """A tensor that a checkpoint may hold besides: it must say what the model says anyway.

    ``agrees`` gets the tensor, of any shape, and our parameters by name: ``{name: (d_out, d_in) tensor}``.
    """

    name: str
    agrees: Callable[[Tensor, dict[str, Tensor]], bool]


def linear(model: nn.Module, ours: str, theirs: str) -> Iterator[Rule]:
    """Rules for one matrix and, where it has one, its bias."""
    yield Rule((f"{ours}.weight",), (f"{theirs}.weight",))
    if model.get_submodule(ours).bias is not None:
        yield Rule((f"{ours}.bias",), (f"{theirs}.bias",))


class Tensors:
    """The tensors of a folder by name; shapes and types are known without reading the data.

    Args:
        files: the open file of every tensor.
        nbytes: size of all files.
    """

    def __init__(self, files: dict[str, Any], nbytes: int):
        self.files, self.nbytes = files, nbytes

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor."""
        return tuple(self.files[name].get_slice(name).get_shape())

    def kind(self, name: str) -> str:
        """Type of a tensor as the file names it: F32, BF16, I8, …."""
        return self.files[name].get_slice(name).get_dtype()

    def read(self, name: str) -> Tensor:
        """The data of a tensor, in the shape that the checkpoint gives it: ``(d_out, d_in)`` for a matrix."""
        return self.files[name].get_tensor(name)


@contextmanager
def open_tensors(folder: Path) -> Iterator[Tensors]:
    """The tensors of ``model.safetensors``, or of the shards that ``model.safetensors.index.json`` names.

    Raises:
        CheckpointError: neither or both are there, the index names a file outside the folder or one that is not
            there, index and shards differ, or a file is not in the safetensors format.
    """
    single, index = (folder / SINGLE).is_file(), (folder / INDEX).is_file()
    if single and index:
        raise CheckpointError(f"both {SINGLE} and {INDEX} are there; expected one", where=str(folder))
    if not single and not index:
        others = sorted(p.name for p in folder.glob("*.bin")) + sorted(p.name for p in folder.glob("*.pt*"))
        found = f"; {', '.join(others[:3])} may run code when read and is not read" if others else ""
        raise CheckpointError(f"neither {SINGLE} nor {INDEX} is there{found}", where=str(folder))
    names = None if single else _index(folder)
    with ExitStack() as stack:
        files: dict[str, Any] = {}
        nbytes = 0
        for shard in [SINGLE] if names is None else sorted(set(names.values())):
            handle = stack.enter_context(_opened(folder / shard))
            nbytes += (folder / shard).stat().st_size
            inside = set(handle.keys())
            if names is not None:
                listed = {name for name, file in names.items() if file == shard}
                _equal(listed, inside, shard)
            files |= dict.fromkeys(inside, handle)
        yield Tensors(files, nbytes)


def _opened(path: Path) -> Any:
    from safetensors import SafetensorError, safe_open

    try:
        return safe_open(path, framework="pt", device="cpu")
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"not a safetensors file: {error}", where=path.name) from None


def _index(folder: Path) -> dict[str, str]:
    values = read_json(folder / INDEX, INDEX_BYTES)
    unknown = sorted(set(values) - {"metadata", "weight_map"})
    if unknown:
        raise CheckpointError(f"unknown field {unknown[0]!r:.80}", where=INDEX)
    names = values.get("weight_map")
    if not isinstance(names, dict) or not names:
        raise CheckpointError("weight_map: expected an object from tensors to files", where=INDEX)
    for name, file in names.items():
        if not isinstance(file, str) or not file.endswith(".safetensors") or Path(file).name != file or "\\" in file:
            raise CheckpointError(
                f"{name!r:.80} lies in {file!r:.80}; expected the plain name of a .safetensors file in the folder",
                where=INDEX,
            )
        if "\0" in file or not (folder / file).is_file():
            raise CheckpointError(f"{name!r:.80} lies in {file!r:.80}, which is not there", where=INDEX)
    return names


def _equal(listed: set[str], inside: set[str], shard: str) -> None:
    if listed - inside:
        raise CheckpointError(f"{_some(listed - inside)}: listed in {INDEX}, but not in the file", where=shard)
    if inside - listed:
        raise CheckpointError(f"{_some(inside - listed)}: in the file, but not listed in {INDEX}", where=shard)


def _some(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(f"{n:.80}" for n in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _own(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor in this type and in memory of its own, not a piece of another's."""
    tensor = tensor.to(dtype).contiguous()
    return tensor if tensor._base is None else tensor.clone()


def fill(
    model: nn.Module, rules: list[Rule], spares: list[Spare], tensors: Tensors, dtype: torch.dtype, where: str
) -> None:
    """Give every parameter of a model its tensor, in place of what it has.

    Everything is checked before anything is read: names both ways, shapes, types.

    Raises:
        CheckpointError: a tensor is missing, none of ours, of another shape, not of floats, or a spare one disagrees.
    """
    parameters = dict(model.named_parameters())
    covered = [name for rule in rules for name in rule.ours]
    if sorted(covered) != sorted(parameters):
        raise AssertionError(f"rules and parameters differ: {sorted(set(covered) ^ set(parameters))}")
    shapes = {
        name: tuple(theirs.shape)
        for rule in rules
        for name, theirs in zip(
            rule.theirs, rule.layout.pack(*(parameters[n].detach() for n in rule.ours)), strict=True
        )
    }
    found = set(tensors.files)
    if shapes.keys() - found:
        raise CheckpointError(f"missing {_some(shapes.keys() - found)}", where=where)
    extra = found - shapes.keys() - {spare.name for spare in spares}
    if extra:
        raise CheckpointError(f"unexpected {_some(extra)}: the model has no place for it", where=where)
    for name, shape in shapes.items():
        if tensors.shape(name) != shape:
            raise CheckpointError(
                f"{name}: expected shape {list(shape)}, found {list(tensors.shape(name))}", where=where
            )
        if tensors.kind(name) not in FLOATS:
            raise CheckpointError(
                f"{name}: expected {', '.join(FLOATS)}, found {tensors.kind(name)}; quantised weights are not read",
                where=where,
            )
    state = {}
    for rule in rules:
        ours = rule.layout.unpack(*(tensors.read(name) for name in rule.theirs))
        state |= {name: _own(t, dtype) for name, t in zip(rule.ours, ours, strict=True)}
    for spare in spares:
        if spare.name in found and not spare.agrees(tensors.read(spare.name), state):
            raise CheckpointError(f"{spare.name} is at odds with what the model has in its place", where=where)
    model.load_state_dict(state, strict=False, assign=True)
