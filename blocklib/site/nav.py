"""The navigation of mkdocs.yml against the pages: every page is in it, and every section has its title in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from blocklib.claims.registry import nearest
from blocklib.facts.files import page_paths, read_text
from blocklib.problems import Problem
from blocklib.site import languages

SETTINGS = "mkdocs.yml"
_OUT = 'The following pages exist in the docs directory, but are not included in the "nav"'
_NOWHERE = re.compile(r"A reference to '([^']+)' is included in the 'nav' configuration")
HIDDEN = ("not_in_nav", "draft_docs", "exclude_docs")  # settings that keep pages out of the navigation on purpose


def check(root: Path) -> list[Problem]:
    """Pages that no entry leads to, sections without a title in both languages, titles in one language; sorted.

    Nothing where the project has no ``nav`` of its own. What is listed and is no page is found by MkDocs.
    """
    import yaml

    if not (root / SETTINGS).is_file():
        return []
    try:
        settings = yaml.compose(read_text(root, SETTINGS)[0], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = f"not YAML: {getattr(error, 'problem', None) or error}"
        return [Problem(SETTINGS, mark.line + 1 if mark else 0, message)]
    values = {key.value: value for key, value in settings.value} if isinstance(settings, yaml.MappingNode) else {}
    if not isinstance(values.get("nav"), yaml.SequenceNode):
        return []
    listed: set[str] = set()
    problems = list(_entries(values["nav"], listed))
    hidden = _patterns([values[name].value for name in HIDDEN if isinstance(values.get(name), yaml.ScalarNode)])
    for page, path in _pages(root).items():
        uri = f"{page}.md"
        if uri not in listed and not hidden.match_file(uri) and not hidden.match_file(path.removeprefix("docs/")):
            problems.append(missing(path, uri))
    return sorted(set(problems))


def missing(path: str, uri: str) -> Problem:
    """The fault of the page ``uri`` (``primer/shape.md``), told by its source ``path``, that is not in the navigation."""
    return Problem(path, 1, f"is in no menu; name {uri} under nav in {SETTINGS}, or under not_in_nav if that is meant")


def told(root: Path, message: str) -> list[Problem]:
    """A warning of MkDocs about its navigation in our words: said once, of the page, and not where a twin is missing."""
    pages = _pages(root)
    if message.startswith(_OUT):
        uris = [
            uri for uri in message.split("\n  - ")[1:] if not (root / "docs" / uri).is_file()
        ]  # else of no language
        return [missing(pages.get(uri.removesuffix(".md"), f"generated:{uri}"), uri) for uri in uris]
    if (found := _NOWHERE.match(message)) and found[1].removesuffix(".md") in pages:
        return []  # the page is there in the other language
    return [Problem(SETTINGS, 0, message)]


def _pages(root: Path) -> dict[str, str]:
    """Page → its source in the first language in which it stands."""
    found: dict[str, str] = {}
    for path in sorted(page_paths(root), key=lambda path: languages.split_source(path)[1] != languages.DEFAULT):
        found.setdefault(languages.page_of(path), path)
    return found


def _entries(node, listed: set[str]) -> Iterator[Problem]:
    """Faults of the entries below a node of the navigation; the pages they name go to ``listed``."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        listed.add(node.value)
    elif isinstance(node, yaml.SequenceNode):
        for inner in node.value:
            yield from _entries(inner, listed)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(value, yaml.ScalarNode) and value.value.endswith(".md"):
                message = f"{key.value!r} is a title in one language; write {value.value} alone, the page has its own"
                yield Problem(SETTINGS, line, message)
            elif isinstance(value, yaml.SequenceNode) and key.value not in languages.SECTIONS:
                message = f"the section {key.value!r} has no title; give it one in both languages in SECTIONS"
                hint = nearest(key.value, languages.SECTIONS)
                yield Problem(SETTINGS, line, f"{message}, blocklib/site/languages.py{hint}")
            yield from _entries(value, listed)


def _patterns(texts: list[str]):
    from pathspec.gitignore import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(line for text in texts for line in text.splitlines())
