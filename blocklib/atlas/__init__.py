"""Real models: one data file each, every value with its source, read into exact shapes.

``find("Llama-3-8B")`` gives an id, ``load(id)`` the model with its :class:`~blocklib.ledger.config.Config`.
Standard library only.
"""

from blocklib.atlas.models import MODEL_IDS, AtlasError, Model, Value, display_name, find, load

__all__ = ["MODEL_IDS", "AtlasError", "Model", "Value", "display_name", "find", "load"]
