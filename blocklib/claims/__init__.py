"""Graded claims: what a page argues, how it is known, and the closure with tests and sources.

``registry`` reads docs/claims.toml, ``outline`` walks a page's source, ``closure`` holds claims, pages and
tests together, ``sources`` reads docs/sources.bib.
"""
