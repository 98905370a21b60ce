"""MkDocs' hook file: takes edits of the library in (live preview), then hands over to the adapter."""

from blocklib.site import preview

preview.refresh()

from blocklib.site.adapter import *  # noqa: E402, F403
