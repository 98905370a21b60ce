"""Exhibits of the lessons, one module a lesson."""
