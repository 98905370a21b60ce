"""Bound numbers: facts, the printed figures they vouch for, and the check that recomputes and compares.

A printed number is read (:mod:`.reading`), compared with the value of a fact (:mod:`.compare`) and, where code prints
it, formatted so that it reads back (:mod:`.format`). :mod:`.numerals` finds every numeral of a text and :mod:`.allow`
knows which of them are names, dates and references. Facts are declared beside what they compute and found without
import (:mod:`.discover`, :mod:`.registry`); figures from the literature stand in ``cited.toml`` (:mod:`.cited`).
Everything here is exact arithmetic on the standard library.
"""
