"""One page of the API reference: a module with its constants, functions and classes, from griffe's objects to HTML.

All module pages stand side by side (``reference/api/nn-norm/``), so that their links to each other are relative and
the same in both languages. The docstrings are English in both; what stands round them is in the page's language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape

import griffe

from blocklib.site import api, apidoc
from blocklib.site.languages import HEADINGS
from blocklib.text import Text

KINDS = {
    "module": Text("模块", "module"),
    "class": Text("类", "class"),
    "function": Text("函数", "function"),
    "method": Text("方法", "method"),
    api.CLASS_METHOD: Text("类方法", "class method"),
    api.STATIC: Text("静态方法", "static method"),
    api.PROPERTY: Text("属性", "property"),
}
SECTIONS = {
    "Args": Text("参数", "Parameters"),
    "Attributes": Text("字段", "Fields"),
    "Returns": Text("返回", "Returns"),
    "Yields": Text("产出", "Yields"),
    "Raises": Text("抛出", "Raises"),
}
CONTENTS = Text("本模块的内容", "In this module")
MODULES = Text("下属模块", "Modules in it")
CONSTANTS = Text("常量与类型别名", "Constants and type aliases")
ELSEWHERE = Text("由此导出，另处定义", "Exported here, defined elsewhere")
SOURCE = Text("源码 {path} 第 {lines} 行", "{path}, lines {lines}")
BASES = Text("基类 ", "base ")
FACT = Text("数字总表里的", "in the list of numbers: ")
API = Text("接口", "API")
WIDE = 88  # a longer signature has a line a parameter
LONGEST = 240  # characters of a constant's value that are shown
_EXPONENT = re.compile(r"(?<=\d)e([+-])0(\d)\b")


class Writer:
    """Writes the pages of one library in one language.

    ``facts`` maps the path of a function to the fact that it is; ``known`` may be shared by the writers of a library.
    """

    def __init__(self, library: api.Library, lang: str, facts: Mapping[str, str], known: dict | None = None):
        self.library, self.lang, self.facts = library, lang, facts
        self._known: dict[object, str] = {} if known is None else known  # names and expressions looked up before

    # ---- links ------------------------------------------------------------------------------------

    def href(self, path: str) -> str:
        """Address of a public name from any module's page; "" where it has no place."""
        module = self.library.places.get(path)
        if module is None:
            return ""
        return f"../{api.slug(module)}/" + ("" if path == module else f"#{path}")

    def link(self, scope: griffe.Object) -> apidoc.Link:
        """What code spans in the docstring of ``scope`` lead to; its own parameters and itself lead nowhere."""
        own = {parameter.name for parameter in getattr(scope, "parameters", ())}

        def lead(name: str) -> str:
            path = "" if name in own else self.resolve(name, scope)
            return "" if path == scope.path else self.href(path)

        return lead

    def resolve(self, name: str, scope: griffe.Object) -> str:
        """The path that ``name`` has where it is written; "" where it names nothing public."""
        key = (name, scope.path)
        if key not in self._known:
            found = name if name in self.library.places else f"blocklib.{name}"
            if found not in self.library.places:
                first, _, rest = name.partition(".")
                try:
                    found = scope.resolve(first) + (f".{rest}" if rest else "")
                except griffe.NameResolutionError:
                    found = ""
            self._known[key] = found if found in self.library.places else ""
        return self._known[key]

    def expression(self, value: griffe.Expr | str | None) -> str:
        """An annotation or value as HTML, each name in it linked to its place."""
        if value is None:
            return ""
        if isinstance(value, str):
            return escape(_EXPONENT.sub(r"e\1\2", value))
        if id(value) in self._known:
            return self._known[id(value)]
        pieces = []
        for token in value.iterate(flat=True):
            if isinstance(token, str):
                pieces.append(escape(_EXPONENT.sub(r"e\1\2", token)))
                continue
            target = self.href(token.canonical_path)
            pieces.append(f'<a href="{target}">{escape(token.name)}</a>' if target else escape(token.name))
        self._known[id(value)] = "".join(pieces)
        return self._known[id(value)]

    # ---- a module ---------------------------------------------------------------------------------

    def page(self, module: griffe.Module) -> str:
        """The page's content, after its title."""
        found = api.members(module)
        constants = [item for item in found if isinstance(item, griffe.Attribute)]
        named = [item for item in found if not isinstance(item, griffe.Attribute)]
        room = api.room_of(module.path)
        up = f'<a href="../">{API[self.lang]}</a>' + (f' › <a href="../#{room}">{room}</a>' if room else "")
        parts = [f'<p class="tl-api__up">{up}</p>', self.docstring(module), self.source(module)]
        parts += [self.modules(module), self.contents(named), self.exports(module)]
        parts += [self.item(item, 2) for item in named]
        if constants:
            head = self.heading(2, f"{module.path}-constants", CONSTANTS[self.lang])
            rows = self.attributes(constants, {}, self.link(module))
            parts.append(f'{head}<div class="tl-api__doc"{self.english}>{rows}</div>')
        return "\n".join(filter(None, parts))

    def modules(self, module: griffe.Module) -> str:
        inner = [path for path in self.library.modules if path.rpartition(".")[0] == module.path]
        return self.listed(MODULES, [(path, path.rpartition(".")[2]) for path in inner])

    def contents(self, items: list[griffe.Object]) -> str:
        return self.listed(CONTENTS, [(item.path, item.name) for item in items]) if len(items) > 1 else ""

    def exports(self, module: griffe.Module) -> str:
        taken = [path for path in api.taken_over(module) if path in self.library.places]
        return self.listed(ELSEWHERE, [(path, path.removeprefix("blocklib.")) for path in taken])

    def listed(self, title: Text, rows: list[tuple[str, str]]) -> str:
        if not rows:
            return ""
        items = (f'<li><a href="{self.href(path)}"><code>{name}</code></a></li>' for path, name in rows)
        return f'<p class="tl-api__part">{title[self.lang]}</p><ul class="tl-api__names">{"".join(items)}</ul>'

    # ---- what stands in it ------------------------------------------------------------------------

    def heading(self, level: int, ident: str, content: str) -> str:
        mark = f'<a class="headerlink" href="#{ident}" title="{HEADINGS["permalink"][self.lang]}">#</a>'
        return f'<h{level} id="{ident}">{content}{mark}</h{level}>'

    def item(self, item: griffe.Object, level: int) -> str:
        """A function, class, method or property: heading, signature, docstring, source, members."""
        kind = f'<span class="tl-api__kind">{KINDS[_kind(item)][self.lang]}</span>'
        parts = [self.heading(level, item.path, f"<code>{item.name}</code> {kind}"), self.signature(item)]
        fields = _fields(item)
        parts += [self.docstring(item, fields), self.source(item)]
        if isinstance(item, griffe.Class):
            rest = [inner for inner in api.members(item) if inner not in fields]
            parts += [self.item(inner, level + 1) for inner in rest]
        return "\n".join(filter(None, parts))

    def signature(self, item: griffe.Object) -> str:
        if isinstance(item, griffe.Attribute):
            text = f"{item.name}: {self.expression(item.annotation)}" if item.annotation else item.name
            return f'<div class="tl-api__sig"><code>{text}</code></div>'
        bound = _bound(item)
        pieces = list(self.parameters([p for i, p in enumerate(item.parameters) if i or not bound]))
        if isinstance(item, griffe.Class):
            head, tail = f"class {item.name}", ""
            if not pieces:
                return f'<div class="tl-api__sig"><code>{head}</code></div>'
        else:
            head, tail = item.name, f" -&gt; {self.expression(item.returns)}" if item.returns is not None else ""
        flat = f"{head}({', '.join(pieces)}){tail}"
        if len(re.sub(r"<[^>]*>|&\w+;", "", flat)) > WIDE:
            flat = f"{head}(\n" + "".join(f"    {piece},\n" for piece in pieces) + f"){tail}"
        return f'<div class="tl-api__sig"><code>{flat}</code></div>'

    def parameters(self, found: list[griffe.Parameter]) -> Iterator[str]:
        before = None
        for parameter in found:
            kind = parameter.kind
            if before is griffe.ParameterKind.positional_only and kind is not before:
                yield "/"
            if kind is griffe.ParameterKind.keyword_only and before not in (kind, griffe.ParameterKind.var_positional):
                yield "*"
            before = kind
            stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(kind, "")
            annotation, plain = self.expression(parameter.annotation), parameter.annotation is None
            text = f"{stars}{parameter.name.lstrip('*')}" + ("" if plain else f": {annotation}")
            if parameter.default is not None and not stars:
                text += ("=" if plain else " = ") + self.expression(parameter.default)
            yield text
        if before is griffe.ParameterKind.positional_only:
            yield "/"

    def docstring(self, item: griffe.Object, fields: list[griffe.Attribute] | None = None) -> str:
        doc = apidoc.parse(item.docstring.value if item.docstring else "")
        link = self.link(item)
        body = apidoc.markdown(doc.text, link) if doc.text else ""
        described = {
            name.strip(): text for names, text in doc.sections.get("Attributes", []) for name in names.split(",")
        }
        for name, title in SECTIONS.items():
            entries = doc.sections.get(name, [])
            said = "".join(f"<p>{apidoc.inline(text, link)}</p>" for names, text in entries if not names)
            rows = "".join(_entry(names, text, link) for names, text in entries if names)
            said += f'<dl class="tl-api__list">{rows}</dl>' if rows else ""
            if name == "Attributes" and fields:
                said = self.attributes(fields, described, link)
            if said:
                body += f'<p class="tl-api__part"{self.own}>{title[self.lang]}</p>{said}'
        if self.lang == "zh" and doc.chinese:
            body = f'<p lang="zh-Hans">{apidoc.inline(doc.chinese, link)}</p>{body}'
        return f'<div class="tl-api__doc"{self.english}>{body}</div>' if body else ""

    @property
    def english(self) -> str:
        """The attribute that marks docstrings on a page in another language."""
        return "" if self.lang == "en" else ' lang="en"'

    @property
    def own(self) -> str:
        """The attribute that marks words of the page's language inside an English docstring."""
        return "" if self.lang == "en" else ' lang="zh-Hans"'

    def attributes(self, found: list[griffe.Attribute], described: dict[str, str], link: apidoc.Link) -> str:
        """Fields or constants with their values; what a docstring says of one, else the comment beside it."""
        rows = []
        for one in found:
            kind = f": {self.expression(one.annotation)}" if one.annotation else ""
            value = (
                self.expression(one.value) if len(str(one.value)) <= LONGEST else f"{escape(str(one.value)[:LONGEST])}…"
            )
            text = described.get(one.name) or (one.docstring.value if one.docstring else "") or api.comment(one)
            shown = f"<code>{one.name}{kind}{f' = {value}' if value else ''}</code>"
            rows.append((one.path, shown, apidoc.inline(text, link) if text else ""))
        if not any(said for *_, said in rows):  # a list of definitions needs one
            return (
                '<ul class="tl-api__list">' + "".join(f'<li id="{at}">{shown}</li>' for at, shown, _ in rows) + "</ul>"
            )
        cells = (f'<dt id="{at}">{shown}</dt>' + (f"<dd>{said}</dd>" if said else "") for at, shown, said in rows)
        return f'<dl class="tl-api__list">{"".join(cells)}</dl>'

    def source(self, item: griffe.Object) -> str:
        path = item.filepath.relative_to(self.library.root).as_posix()
        if isinstance(item, griffe.Module):
            return f'<p class="tl-api__src"><code>{path}</code></p>'
        lines = f"{item.lineno}–{item.endlineno}" if item.lineno != item.endlineno else str(item.lineno)
        separator = "；" if self.lang == "zh" else "; "
        text = SOURCE[self.lang].format(path=f"<code>{path}</code>", lines=lines)
        if isinstance(item, griffe.Class) and item.bases:
            text += f"{separator}{BASES[self.lang]}{', '.join(f'<code>{self.expression(base)}</code>' for base in item.bases)}"
        if fact := self.facts.get(item.path):
            text += f'{separator}{FACT[self.lang]}<a href="../../numbers/#fact-{fact}"><code>{fact}</code></a>'
        return f'<p class="tl-api__src">{text}</p>'


def _kind(item: griffe.Object) -> str:
    if isinstance(item, griffe.Class):
        return "class"
    if isinstance(item, griffe.Attribute):
        return api.PROPERTY
    marks = [name for name in (api.CLASS_METHOD, api.STATIC) if api.label(item, name)]
    return (marks or ["method" if isinstance(item.parent, griffe.Class) else "function"])[0]


def _bound(item: griffe.Object) -> bool:
    """Whether the first parameter is filled by the call: self or cls."""
    return isinstance(item, griffe.Class) or (isinstance(item.parent, griffe.Class) and _kind(item) != api.STATIC)


def _fields(item: griffe.Object) -> list[griffe.Attribute]:
    if not isinstance(item, griffe.Class):
        return []
    return [one for one in api.members(item) if isinstance(one, griffe.Attribute) and not api.is_described(one)]


def _entry(names: str, text: str, link: apidoc.Link) -> str:
    return (
        f"<dt>{apidoc.inline(names if '`' in names else f'``{names}``', link)}</dt><dd>{apidoc.inline(text, link)}</dd>"
    )
