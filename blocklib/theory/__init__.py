"""Small closed forms of the Transformer block, exact and free of dependencies.

Every function works on integers and fractions; a value that is irrational comes back as a ``Decimal`` with
thirty significant digits. What a page quotes is registered as a fact where it is computed.
"""
