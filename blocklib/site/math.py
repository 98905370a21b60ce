"""Formulas, rendered at build time by KaTeX: HTML and MathML, no script in the page.

``arithmatex`` (generic) marks formulas as ``\\(…\\)`` and ``\\[…\\]``; :meth:`Formulas.render` replaces them in a
page's HTML. One Node process serves a whole build and starts only when a formula is not in the cache.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from blocklib.problems import BlocklibError
from blocklib.site import cache

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\s*\\(?P<kind>[(\[])(?P<tex>.*?)\\[)\]]\s*</(?P=tag)>', re.S
)
WORKER = Path(__file__).with_name("katex_worker.cjs")
# Browsers break a line between a formula and the mark that clings to it: no line begins with a comma. A formula of
# more TeX than this must be able to break by itself on a phone, and is left to.
SHORT = 30
CLINGING = re.compile(rf"(?P<open>[(（「“]?){FORMULA.pattern}(?P<close>[,.;:!?)，。；：、！？）」”]*)", re.S)
_MATHML = re.compile(r'<span class="katex-mathml">')
_HIDDEN = re.compile(r'(<span class="katex-html") aria-hidden="true"')


@dataclass(frozen=True)
class Fault:
    """A formula KaTeX refuses: which occurrence of which source, and why."""

    tex: str
    occurrence: int
    message: str


def find_node() -> str:
    """The Node program: ``NODE`` where set, else the one on the PATH. Raises :class:`BlocklibError`."""
    named = os.environ.get("NODE")
    found = shutil.which(named or "node")
    if not found:
        raise BlocklibError(
            f"NODE={named} is not a program" if named else "Node is needed to render formulas and was not found",
            remedy="install Node 20 or newer, or run `make build`, which brings one",
        )
    return found


def link_numbers(markup: str) -> str:
    """Turn links inside a formula into bound numbers that a keyboard reaches.

    KaTeX hides its HTML from assistive technology and offers MathML instead, but MathML cannot carry the link
    and hidden content must not take focus. A formula with a number therefore shows its HTML and hides its MathML.
    """
    if '<a href="#n-' not in markup:
        return markup
    markup = markup.replace('<a href="#n-', '<a class="tl-num" href="#n-')
    markup = re.sub(r'(<m[a-z]+) href="#n-[^"]*"', r"\1", markup)
    markup = _MATHML.sub('<span class="katex-mathml" aria-hidden="true">', markup)
    return _HIDDEN.sub(r"\1", markup)


class Formulas:
    """Renders formulas for one build, with a cache on disk. Close it at the end."""

    def __init__(self, root: Path, store: cache.Store):
        self.package = root / "node_modules" / "katex"
        self.store = store
        self.process: subprocess.Popen[str] | None = None
        self.started = 0
        self._stamp: str | None = None

    @property
    def stamp(self) -> str:
        """Version of KaTeX and of the worker's options: part of every key."""
        if self._stamp is None:
            try:
                version = json.loads((self.package / "package.json").read_text("utf-8"))["version"]
            except (OSError, ValueError, KeyError):
                raise BlocklibError(
                    "KaTeX is not installed", where="node_modules/katex", remedy="run `npm ci`"
                ) from None
            self._stamp = cache.key(version, WORKER.read_text("utf-8"), Path(__file__).read_text("utf-8"))
        return self._stamp

    def render(self, content: str) -> tuple[str, list[Fault]]:
        """``content`` with every formula rendered, and the formulas that could not be.

        A refused formula stays in the page as its source.
        """
        faults: list[Fault] = []
        seen: dict[str, int] = {}

        def one(match: re.Match[str]) -> str:
            tex, display = html.unescape(match["tex"]).strip(), match["kind"] == "["
            before, after = match["open"], match["close"]
            seen[tex] = seen.get(tex, 0) + 1
            answer = self._answer(tex, display)
            if "html" not in answer:
                faults.append(Fault(tex, seen[tex], answer["error"]))
                return f"{before}<code>{html.escape(tex)}</code>{after}"
            body = link_numbers(answer["html"])
            if display:
                return f'{before}<div class="tl-math">{body}</div>{after}'
            if (before or after) and len(tex) <= SHORT:
                return f'<span class="tl-keep">{before}{body}{after}</span>'
            return before + body + after

        return CLINGING.sub(one, content), faults

    def _answer(self, tex: str, display: bool) -> dict[str, str]:
        name = cache.key(self.stamp, tex, display)
        known = self.store.get("math", name)
        if isinstance(known, dict) and "html" in known:
            return known
        answer = self._ask({"tex": tex, "display": display})
        if "html" in answer:
            self.store.put("math", name, answer)
        return answer

    def _ask(self, request: dict[str, object]) -> dict[str, str]:
        if self.process is None:
            self.started += 1
            self.process = subprocess.Popen(
                [find_node(), str(WORKER), str(self.package)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
            )  # fmt: skip
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            said = (self.process.stderr.read() or "").strip().splitlines()
            self.close()
            raise BlocklibError(f"KaTeX's process ended: {said[-1] if said else 'no message'}", where=str(WORKER))
        return json.loads(line)

    def close(self) -> None:
        """End the process, if one was started."""
        if self.process is not None:
            process, self.process = self.process, None
            process.stdin.close()
            process.wait(timeout=10)
            process.stdout.close()
            process.stderr.close()


def formula_line(markdown: str, fault: Fault) -> int:
    """Line (from 1) of a refused formula in its Markdown source; 0 where it is not found literally."""
    at = -1
    for _ in range(fault.occurrence):
        found = markdown.find(fault.tex, at + 1)
        if found < 0:
            break
        at = found
    return markdown.count("\n", 0, at) + 1 if at >= 0 else 0
