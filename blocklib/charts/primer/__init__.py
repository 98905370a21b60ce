"""Exhibits of the primer, one module a page."""
