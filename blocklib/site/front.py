"""Front matter: YAML that the site generator would otherwise drop in silence, with the title and description of a page."""

from __future__ import annotations

import re
from pathlib import Path

from blocklib.facts.files import page_paths, read_text
from blocklib.problems import Problem

REQUIRED = ("title", "description")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.S | re.M)


def check(root: Path) -> list[Problem]:
    """Pages whose front matter is no YAML mapping, or lacks a title or a description."""
    return sorted(problem for path in page_paths(root) for problem in _check_page(path, read_text(root, path)[0]))


def _check_page(path: str, text: str) -> list[Problem]:
    import yaml

    found = _FRONT.match(text)
    if not found:
        return [Problem(path, 1, "no front matter; a page begins with --- and names its title and description")]
    try:
        values = yaml.safe_load(found[1])
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = min(mark.line, found[1].count("\n") - 1) + 2 if mark else 1
        return [Problem(path, line, f"front matter is not YAML: {getattr(error, 'problem', None) or error}")]
    if not isinstance(values, dict):
        return [Problem(path, 2, "front matter is not a list of `name: value` lines")]
    missing = [name for name in REQUIRED if not isinstance(values.get(name), str) or not values[name].strip()]
    return [Problem(path, 1, f"front matter without a {name}; search results and links show it") for name in missing]
