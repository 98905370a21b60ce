"""Two Ledgers: a tested library under a bilingual site on the Transformer block."""

__version__ = "0.1.0"


def __getattr__(name: str):
    # Loaded on first use, so that `import blocklib` stays free of everything.
    if name == "show":
        from blocklib.site.display import show

        return show
    if name == "Text":
        from blocklib.text import Text

        return Text
    raise AttributeError(f"module 'blocklib' has no attribute {name!r}")
