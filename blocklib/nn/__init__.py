"""Building blocks of the Transformer in torch: small modules, shapes in the docstrings.

Shape letters: B sequences, T positions (S where keys and queries differ), H heads, D the width of a head,
d the width of the stream, V the vocabulary. ``blocklib.nn.load(folder)`` reads a published checkpoint.
"""


def __getattr__(name: str):
    # On demand: whoever wants a norm needs no reader of checkpoints.
    if name == "load":
        from blocklib.nn.loading import load

        return load
    raise AttributeError(f"module 'blocklib.nn' has no attribute {name!r}")
