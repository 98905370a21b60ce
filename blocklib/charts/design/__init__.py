"""Exhibits of the essay on the design of the block."""
