"""The API reference in the build: an index page, and a page for each public module in each language.

MkDocs makes the index and, once a language, one page with placeholders (:data:`SHELL`): menus, head and foot in place.
The pages of the modules are that page with the placeholders filled. There are hundreds of them, and through MkDocs each
would cost as much as an essay; like this all together cost less than one. What they say is cached as a whole under the
source of the library, so that editing prose reads no code.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from blocklib.facts.discover import FactError
from blocklib.facts.pages import registry_for
from blocklib.problems import Problem
from blocklib.site import cache, search
from blocklib.text import LANGS, Text

if TYPE_CHECKING:
    from blocklib.site.build import Build

INDEX, SHELL = "reference/api.md", "reference/api/tl-api-module.md"
# Placeholders: of the address (as SHELL has it), the title, the description and the content.
_SLUG, _TITLE, _ABOUT, _CONTENT = "tl-api-module", "tl-api-title", "tl-api-description", "<!-- tl-api-content -->"
TITLE = Text("接口", "API")
ABOUT = Text(
    "blocklib 的公开接口：每个模块一页，由源码中的说明生成。",
    "The public names of blocklib, a page a module, made from the docstrings in its source.",
)
INTRO = Text(
    "`blocklib` 的每个公开模块在这里各有一页：签名、说明与出处都取自源码，说明为英文。",
    "Every public module of `blocklib` has a page here, with signatures, docstrings and places taken from its source.",
)
DESCRIPTION = Text("blocklib 接口：模块 {}。", "API of blocklib: the module {}.")


@dataclass(frozen=True)
class Entry:
    """A module as index and search name it: dotted path, first sentence, public functions and classes."""

    path: str
    slug: str
    room: str
    summary: str
    names: tuple[str, ...]

    @property
    def short(self) -> str:
        """The path without the package."""
        return self.path.removeprefix("blocklib.")


class ApiPages:
    """The pages of a build; there are none where the library stands elsewhere than in ``build.root``."""

    def __init__(self, build: Build):
        self.build = build
        self.shells: dict[str, str] = {}  # finished HTML with placeholders, by language
        self._marked: list = []
        self.made: dict = {"modules": [], "rooms": [], "pages": {lang: {} for lang in LANGS}}
        if (build.root / "blocklib").is_dir():
            self.made = self._recalled()
        self.entries = [Entry(*rest, tuple(names)) for *rest, names in self.made["modules"]]

    def _recalled(self) -> dict:
        printed = sorted(self.build.printed_facts())
        key = cache.key("api", self.build.machinery, sources_stamp(self.build.root), printed)
        known = self.build.store.get("api", key)
        if not isinstance(known, dict):
            known, faults = make(self.build.root, printed), unreadable(self.build.root)
            self.build.problems.update(faults)
            if not faults:
                self.build.store.put("api", key, known)
        return known

    def mark(self, active: bool, found: Iterable = ()) -> None:
        """Let the menus show the index as the current page, for none stands for a module's; or no longer.

        ``found``: the pages of the navigation, as MkDocs has them.
        """
        self._marked = [page for page in found if page.file.src_uri == INDEX] or self._marked
        for page in self._marked:
            page.active = active

    @property
    def urls(self) -> list[str]:
        """Addresses of the module pages within a language."""
        return [f"reference/api/{entry.slug}/" for entry in self.entries]

    def markdown(self, lang: str) -> dict[str, str]:
        """The pages that MkDocs makes: the index and the page with placeholders."""
        if not self.entries:
            return {}
        front = "---\ntitle: {}\ndescription: {}\n---\n\n# {} {{ #{} }}\n\n"
        shell = front.format(_TITLE, _ABOUT, _TITLE, _TITLE) + _CONTENT + "\n"
        head = front.format(TITLE[lang], ABOUT[lang], TITLE[lang], "api")
        return {INDEX: f"{head}{INTRO[lang]}\n{{ .tl-standfirst }}\n\n{self._rooms(lang)}", SHELL: shell}

    def _rooms(self, lang: str) -> str:
        parts = []
        for room, ident, zh, en in self.made["rooms"]:
            about = Text(zh, en)[lang]
            parts.append(
                f"## {room or Text('共用', 'Shared')[lang]} {{ #{ident} }}\n\n{about}{'。' if lang == 'zh' else '.'}\n"
            )
            said = ' lang="en"' if lang != "en" else ""
            rows = (
                f'<dt><a href="{self.build.url(lang)(f"reference/api/{entry.slug}", "")}"><code>{entry.short}</code></a></dt>'
                f"<dd{said}>{escape(entry.summary)}</dd>"
                for entry in self.entries
                if entry.room == room
            )
            parts.append(f'<dl class="tl-api__list tl-api__index" data-search-exclude>{"".join(rows)}</dl>\n')
        return "\n".join(parts)

    def search(self, lang: str) -> Iterable[search.Entry]:
        """One entry a module, its names in it: enough to find the page of a name, too little to drown the prose."""
        for entry, url in zip(self.entries, self.urls, strict=True):
            yield search.Entry(url, entry.path, "", f"{entry.summary} {', '.join(entry.names)}".strip())

    def pages(self, lang: str) -> Iterator[tuple[str, str]]:
        """Place and finished HTML of every module page; none where the page with placeholders was not made."""
        shell = self.shells.get(lang)
        if shell is None:
            return
        for entry, url in zip(self.entries, self.urls, strict=True):
            about = escape(DESCRIPTION[lang].format(entry.path))
            page = shell.replace(_SLUG, entry.slug).replace(_TITLE, entry.path).replace(_ABOUT, about)
            yield f"{url}index.html", page.replace(_CONTENT, self.made["pages"][lang][entry.path], 1)

    def take_away(self, folder: Path) -> None:
        """Remove the page with placeholders from the built site: MkDocs logs a page that it is not given to write."""
        page = folder / SHELL.removesuffix(".md") / "index.html"
        page.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            page.parent.rmdir()


def sources_stamp(root: Path) -> str:
    """A hash of the sources that the pages are made from."""
    return cache.key(
        [[path.relative_to(root).as_posix(), path.read_text("utf-8", "replace")] for path in _sources(root)]
    )


def unreadable(root: Path) -> list[Problem]:
    """Sources that are no Python. They have no page, and what reads the others passes over them in silence."""
    problems = []
    for path in _sources(root):
        try:
            ast.parse(path.read_bytes())
        except (SyntaxError, ValueError) as error:  # null bytes are a ValueError
            line, said = getattr(error, "lineno", None) or 0, getattr(error, "msg", None) or error
            where = path.relative_to(root).as_posix()
            problems.append(Problem(where, line, f"no Python, so the API pages lack it: {said}"))
    return problems


def _sources(root: Path) -> list[Path]:
    return sorted(path for path in (root / "blocklib").rglob("*.py") if "__pycache__" not in path.parts)


def make(root: Path, printed: Iterable[str]) -> dict:
    """Everything that the pages say, as JSON: modules with what they define, rooms, and HTML by language."""
    from blocklib.site import api, apidoc, apihtml  # reads all of the library: only where the cache has nothing

    library = api.Library(root)
    facts = facts_by_path(root, printed)
    known: dict = {}
    pages = {}
    for lang in LANGS:
        writer = apihtml.Writer(library, lang, facts, known)
        pages[lang] = {path: writer.page(module) for path, module in library.modules.items()}
    modules = []
    for path, module in library.modules.items():
        names = [item.name for item in api.members(module) if api.is_described(item)]
        modules.append(
            [
                path,
                api.slug(path),
                api.room_of(path),
                apidoc.summary(module.docstring.value) if module.docstring else "",
                names,
            ]
        )
    rooms = [[room, room, *about] for room, about in api.ROOMS.items() if f"blocklib.{room}" in library.modules]
    rooms.append(["", "shared", *api.SHARED_ROOM])
    return {"modules": modules, "rooms": rooms, "pages": pages}


def facts_by_path(root: Path, printed: Iterable[str]) -> dict[str, str]:
    """Dotted path of a function → the fact that it is, for those that reference/numbers lists."""
    registry, wanted = registry_for(root), set(printed)
    try:
        sites = registry.sites
    except FactError:  # reported by the number check
        return {}
    return {f"{site.module}.{name}": name for name, site in sites.items() if name in wanted}
