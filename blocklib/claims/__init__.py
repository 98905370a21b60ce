"""Graded claims: what a page argues, how it is known, and the closure with tests and sources.

``registry`` reads docs/claims.toml and the claims beside pages, ``evidence`` the tests, ``pages`` the sources; ``closure`` holds them together
and ``sources`` reads docs/sources.bib.
"""
