"""MkDocs' hook file. MkDocs loads it once a process but asks it for its events at every build; each time they
come from the adapter as it is now, so that the live preview takes in edits of the library."""

from importlib import import_module

from blocklib.site import preview

ADAPTER = "blocklib.site.adapter"


def __dir__() -> list[str]:
    preview.refresh()
    return [name for name in dir(import_module(ADAPTER)) if name.startswith("on_")]


def __getattr__(name: str):
    if not name.startswith("on_"):
        raise AttributeError(name)
    return getattr(import_module(ADAPTER), name)
