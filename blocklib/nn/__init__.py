"""Building blocks of the Transformer in torch: small modules, shapes in the docstrings.

Shape letters: B sequences, T positions (S where keys and queries differ), H heads, D the width of a head,
d the width of the stream, V the vocabulary.
"""
