"""The build's cache on disk: small JSON values by content key, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from blocklib.facts import fingerprint

# What can change the bytes of a page or of a block's output besides our own sources.
PACKAGES = (
    "torch", "numpy", "matplotlib", "plotly",
    "mkdocs", "mkdocs-material", "markdown", "markdown-exec", "pymdown-extensions", "pygments", "griffelib",
    "tokenizers", "safetensors",
)  # fmt: skip
KEEP = 6000  # entries; about ten editions of the whole site


def key(*parts: object) -> str:
    """A content key of JSON-serialisable parts."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that shape output ("absent" where one is not installed)."""
    return {"python": sys.version.split()[0], **fingerprint.versions(PACKAGES)}


def cache_folder(root: Path) -> Path:
    """``BLOCKLIB_CACHE`` where set, else ``.cache`` in the project."""
    return Path(os.environ.get("BLOCKLIB_CACHE") or root / ".cache")


class Store:
    """JSON values under ``folder/kind/ab/abcdef….json``.

    A value that cannot be read (torn, truncated, from another program) counts as absent: the cache may
    cost time, never a wrong page. Writing renames a finished file into place, so parallel builds are safe.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.hits: dict[str, int] = {}
        self.misses: dict[str, int] = {}

    def _path(self, kind: str, name: str) -> Path:
        return self.folder / kind / name[:2] / f"{name}.json"

    def get(self, kind: str, name: str) -> object | None:
        """The stored value or None; None itself is never stored."""
        path = self._path(kind, name)
        try:
            value = json.loads(path.read_bytes())
        except (OSError, ValueError):
            self.misses[kind] = self.misses.get(kind, 0) + 1
            return None
        self.hits[kind] = self.hits.get(kind, 0) + 1
        try:
            os.utime(path)  # `prune` drops what was not used for longest
        except OSError:
            pass
        return value

    def put(self, kind: str, name: str, value: object) -> None:
        """Store ``value``; a cache folder that cannot be written is silently no cache."""
        path = self._path(kind, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(value, file, ensure_ascii=False, separators=(",", ":"))
            os.replace(temporary, path)
        except OSError:
            return

    def recall_imports(self) -> None:
        """Spare the fingerprints the parsing of modules that an earlier build has parsed."""
        self._imports = key("imports", versions()["python"], Path(fingerprint.__file__).read_text("utf-8"))
        self._recalled = self.get("imports", self._imports) or {}
        fingerprint.recall(self._recalled)

    def keep_imports(self) -> None:
        """Store what :meth:`recall_imports` recalls, where this build has parsed more."""
        known = fingerprint.known_imports()
        if known.keys() != self._recalled.keys():
            self.put("imports", self._imports, known)

    def prune(self, keep: int = KEEP) -> int:
        """Delete the entries used least recently beyond ``keep``; the number deleted."""
        entries = sorted(((path.stat().st_mtime, path) for path in self.folder.glob("*/??/*.json")), reverse=True)
        for _, path in entries[keep:]:
            path.unlink(missing_ok=True)
        return len(entries[keep:])
