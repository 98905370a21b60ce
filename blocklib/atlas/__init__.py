"""Real models: one data file each, every value with its source, read into exact shapes.

``find("Llama-3-8B")`` gives an id, ``load(id)`` the model with its :class:`~blocklib.ledger.config.Config`;
``find_chip`` and ``load_chip`` do the same for chips. Standard library only.
"""

from blocklib.atlas.chips import CHIP_IDS, Chip, find_chip, load_chip
from blocklib.atlas.models import MODEL_IDS, AtlasError, Model, Value, display_name, find, load

__all__ = [
    "CHIP_IDS", "MODEL_IDS", "AtlasError", "Chip", "Model", "Value", "display_name", "find", "find_chip", "load",
    "load_chip",
]  # fmt: skip
