"""Exact arithmetic from a model's shape: parameters, FLOPs and bytes as itemised integers.

Standard library only. A ledger is an ordered set of rows that adds up; nothing is rounded before display.
"""
