"""The files of a project as the checks read them: where its pages stand, each scanned once, and their ``.facts`` files.

A lesson stands for two pages that are no files of their own; :mod:`blocklib.facts.lessons` makes their text.

Nothing here raises for what an author can write: text that is not UTF-8 is read with its bad bytes replaced, and
said to be at fault.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from blocklib.facts import lessons
from blocklib.facts.items import Page
from blocklib.facts.refs import Refs, parse_facts
from blocklib.facts.scan import scan
from blocklib.problems import Problem
from blocklib.text import LANGS


def find_root(default: Path) -> Path:
    """The repository in which the command runs: the nearest folder upwards that holds docs/, else ``default``."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "docs").is_dir()), default)


def page_paths(root: Path) -> list[str]:
    """Every page under ``docs/`` in either language, relative to ``root``, sorted; those of lessons too."""
    folder = Path(root) / "docs"
    found = {p.relative_to(root).as_posix() for lang in LANGS for p in folder.rglob(f"*.{lang}.md")}
    found.update(page for lesson in lessons.lesson_paths(root) for page in lessons.pages_of(lesson))
    return sorted(found)


def has_page(root: Path, stem: str) -> bool:
    """Whether ``docs/room/x`` names a page, in one language at least, or a lesson."""
    return any((root / f"{stem}{end}").is_file() for end in (*(f".{lang}.md" for lang in LANGS), lessons.SUFFIX))


def read_text(root: Path, path: str) -> tuple[str, list[Problem]]:
    """Text of a file or page with ``\\n`` line ends and without a byte order mark, and what keeps it from being that."""
    if lesson := lessons.source_of(root, path):
        text, problems = read_text(root, lesson)
        return lessons.read(text).page(path.rsplit(".", 2)[1]), problems
    problems: list[Problem] = []
    try:
        data = (root / path).read_bytes()
    except OSError as error:
        return "", [Problem(path, 0, f"cannot be read: {error.strerror}")]
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.append(Problem(path, line, f"not UTF-8 text: byte 0x{data[error.start]:02x} ({error.reason})"))
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n"), problems


def read_page(root: Path, path: str) -> tuple[Page, list[Problem]]:
    """The page at ``path``, scanned, and what is wrong with its bytes. Kept by content and shared: not to be changed."""
    text, problems = read_text(root, path)
    return _scanned(text, path), problems


@lru_cache(maxsize=512)
def _scanned(text: str, path: str) -> Page:
    return scan(text, path, path.rsplit(".", 2)[1])


def load_refs(root: Path, path: str) -> tuple[Refs, list[Problem]]:
    """The references of a page; none where it has no ``.facts`` file."""
    if not (root / path).exists():
        return Refs(None), []
    text, problems = read_text(root, path)
    refs = parse_facts(text, path)
    return refs, problems + refs.problems
