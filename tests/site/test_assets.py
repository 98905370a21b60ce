"""The style sheets, scripts and templates: colours only as tokens, enough contrast, nothing off-host, no loose ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CSS = ROOT / "docs" / "assets" / "css"
SHEETS = {p.name: p.read_text("utf-8") for p in sorted(CSS.glob("*.css"))}
SCRIPTS = {p.name: p.read_text("utf-8") for p in sorted((ROOT / "docs" / "assets" / "js").glob("*.js"))}
TEMPLATES = {
    p.relative_to(ROOT).as_posix(): p.read_text("utf-8") for p in sorted((ROOT / "blocklib/site/theme").rglob("*.html"))
}
MODULES = {p.relative_to(ROOT).as_posix(): p.read_text("utf-8") for p in sorted((ROOT / "blocklib").rglob("*.py"))}

# WCAG 2 contrast against page, raised surface and card, measured by hand when the colours were chosen.
MEASURED = {
    ("light", "ink"): (16.3, 14.9, 16.9), ("dark", "ink"): (13.7, 12.5, 11.6),
    ("light", "ink-2"): (7.1, 6.5, 7.3), ("dark", "ink-2"): (8.0, 7.2, 6.7),
    ("light", "ink-3"): (5.3, 4.8, 5.5), ("dark", "ink-3"): (5.7, 5.2, 4.8),
    ("light", "line-2"): (3.4, 3.1, 3.5), ("dark", "line-2"): (4.2, 3.8, 3.5),
    ("light", "train"): (5.7, 5.2, 5.9), ("dark", "train"): (7.2, 6.6, 6.1),
    ("light", "run"): (8.1, 7.4, 8.4), ("dark", "run"): (8.5, 7.7, 7.2),
}  # fmt: skip
ON_PAPER = {
    ("light", "line"): 1.4, ("light", "ghost"): 1.3, ("light", "c1"): 10.5, ("light", "c2"): 3.2,
    ("light", "c3"): 3.1, ("light", "c0"): 5.6, ("dark", "line"): 1.5, ("dark", "ghost"): 1.4,
    ("dark", "c1"): 5.8, ("dark", "c2"): 12.3, ("dark", "c3"): 11.1, ("dark", "c0"): 4.7,
}  # fmt: skip
TEXT, GRAPHIC = 4.5, 3.0  # WCAG 2 success criteria 1.4.3 (AA) and 1.4.11


def bare(css: str) -> str:
    """A style sheet without its comments."""
    return re.sub(r"/\*.*?\*/", "", css, flags=re.S)


def blocks(css: str) -> list[tuple[str, dict[str, str]]]:
    """(query of the enclosing @media or "", declarations of custom properties) for each rule, in order."""
    found, query, depth = [], "", 0
    for head, brace in re.findall(r"([^{}]*)([{}])", bare(css)):
        if brace == "}":
            if depth == 1 and not re.search(r"--[\w-]+\s*:", head):
                query, depth = "", 0
            elif depth:
                found[-1][1].update(re.findall(r"--(tl-[\w-]+)\s*:\s*([^;]+);", head))
                depth -= 1
                query = query if depth else ""
            continue
        head = head.strip().rsplit(";", 1)[-1].strip()
        if head.startswith("@media"):
            query = head
        else:
            found.append((query, {}))
        depth += 1
    return found


def scheme(name: str) -> dict[str, str]:
    """Colours of one scheme as they hold in the end: the base, and what is laid over it."""
    queries = {"dark": "@media screen", "unscripted": "scripting: none", "print": "@media print"}
    wanted = queries.get(name, "nothing")
    tokens: dict[str, str] = {}
    for query, values in blocks(SHEETS["tokens.css"]):
        exact = name != "dark" or query == "@media screen"
        if not query or (wanted in query and exact):
            tokens |= {k.removeprefix("tl-"): v.strip() for k, v in values.items() if v.strip().startswith("#")}
    return tokens


def contrast(a: str, b: str) -> float:
    """WCAG 2 contrast of two opaque colours ``#RRGGBB``."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("a", "b", "ratio"), [
    ("#000000", "#FFFFFF", 21.0), ("#777777", "#FFFFFF", 4.48), ("#767676", "#FFFFFF", 4.54), ("#FF0000", "#FFFFFF", 4.0),
])  # fmt: skip
def test_contrast_agrees_with_published_pairs(a, b, ratio):
    assert contrast(a, b) == pytest.approx(ratio, abs=0.005) and contrast(b, a) == contrast(a, b)


def test_tokens_have_the_contrast_measured_for_them():
    for (name, token), ratios in MEASURED.items():
        colours = scheme(name)
        for ground, ratio in zip(("paper", "raise", "card"), ratios, strict=True):
            assert contrast(colours[token], colours[ground]) == pytest.approx(ratio, abs=0.06), (name, token, ground)
    for (name, token), ratio in ON_PAPER.items():
        assert contrast(scheme(name)[token], scheme(name)["paper"]) == pytest.approx(ratio, abs=0.06), (name, token)


@pytest.mark.parametrize("name", ["light", "dark", "unscripted", "print"])
def test_every_pair_that_meets_on_a_page_is_legible(name):
    c = scheme(name)
    for ground in ("paper", "raise", "card"):
        for text in ("ink", "ink-2", "ink-3", "train", "run"):
            assert contrast(c[text], c[ground]) >= TEXT, (text, ground)
        assert contrast(c["line-2"], c[ground]) >= GRAPHIC, ground
    assert contrast(c["string"], c["raise"]) >= TEXT and contrast(c["c1"], c["raise"]) >= TEXT
    assert contrast(c["on-train"], c["train"]) >= TEXT and contrast(c["on-run"], c["run"]) >= TEXT
    assert contrast(c["paper"], c["train"]) >= TEXT and contrast(c["paper"], c["ink"]) >= TEXT  # seal, proved badge
    for series in ("c0", "c1", "c2", "c3"):
        assert contrast(c[series], c["paper"]) >= GRAPHIC, series


def test_the_dark_scheme_is_the_same_with_and_without_script():
    dark, unscripted = scheme("dark"), scheme("unscripted")
    assert dark == unscripted and dark != scheme("light")
    assert dark.keys() == scheme("light").keys() == scheme("print").keys()


# ---- colours, addresses and names ------------------------------------------------------------------------

_NAMED = "white|black|red|green|blue|yellow|orange|purple|pink|brown|gr[ae]y|navy|teal|silver|maroon|olive|gold"
_COLOUR = re.compile(
    rf"#(?:[0-9a-f]{{8}}|[0-9a-f]{{6}}|[0-9a-f]{{3,4}})\b(?![-\w])|\b(?:rgb|hsl|hwb|lab|lch|oklab|oklch)a?\(|(?<=[:\s,])(?:{_NAMED})(?=[;\s,}}!])",
    re.I,
)


def colours(source: str, css: bool = True) -> list[str]:
    """Colours written out in a source; in scripts and templates names of colours are ordinary words."""
    text = re.sub(r'"[^"]*"', '""', bare(source)) if css else re.sub(r"&#\d+;", "", source)
    found = [m[0] for m in _COLOUR.finditer(text)]
    return found if css else [f for f in found if f[0] == "#" or f.endswith("(")]


def off_host(source: str) -> list[str]:
    """Addresses of other hosts; names of XML namespaces are not addresses."""
    found = re.findall(r"""(?:https?:|(?<=["'(]))//[\w.-]+[^\s"'()<>]*""", source)
    return [f for f in found if not f.startswith("http://www.w3.org/")]


def test_colours_stand_in_the_tokens_only():
    for name, css in SHEETS.items():
        if name != "tokens.css":
            assert colours(css) == [], name
    for name, text in (SCRIPTS | TEMPLATES).items():
        assert colours(text, css=False) == [], name


@pytest.mark.parametrize("plant", ["a { color: #fff; }", "a { border: 1px solid red; }", "a { background: rgba(0,0,0,.5) }",
                                   "a { color: white }", "a{box-shadow:0 0 3px #12345678}"])  # fmt: skip
def test_a_planted_colour_is_seen(plant):
    assert colours(plant)


@pytest.mark.parametrize("plain", ["#tl-text { color: var(--tl-ink); }", "/* #fff */ a { color: currentcolor }",
                                   'a { content: "white"; white-space: nowrap }', "#face-book { margin: 0 }"])  # fmt: skip
def test_what_is_no_colour_is_not_seen(plain):
    assert colours(plain) == []


def test_nothing_points_to_another_host():
    for name, text in (SHEETS | SCRIPTS | TEMPLATES).items():
        assert off_host(text) == [], name
    for name, css in SHEETS.items():
        assert re.findall(r"@import|url\((?!\s*[\"']?data:)", bare(css)) == [], f"{name}: loads a file"
    assert off_host("src: url(https://fonts.example.org/x.woff2)") and off_host("<script src='//cdn.example.org/a.js'>")


def test_text_is_never_parsed_as_markup_in_the_frame_script():
    parsing = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    assert not re.search(parsing, SCRIPTS["site.js"])


# ---- classes and variables -------------------------------------------------------------------------------

# Hooks of scripts and tests that need no style of their own.
UNSTYLED = {"tl-past", "tl-card__text", "tl-leans"}


def defined() -> set[str]:
    return {c for css in SHEETS.values() for c in re.findall(r"\.(tl-[\w-]+)", bare(css))}


def used(source: str) -> set[str]:
    """Classes of ours in a template, or in markup written by a module."""
    values = re.findall(r"""(?:class=\\?|classList\.\w+\(|\bmake\("\w+", |className = )["']([^"']*)""", source)
    return {c for value in values for c in re.findall(r"(?<![\w{-])tl-[\w-]*\w(?![\w-]*\{)", value)}


def test_every_class_in_use_is_defined():
    known = defined() | UNSTYLED
    for name, text in (TEMPLATES | SCRIPTS | MODULES).items():
        assert used(text) - known == set(), name
    assert used('<p class="md-x tl-no-such">') - known == {"tl-no-such"}


def test_every_class_of_the_guide_is_defined_and_every_component_is_in_the_guide():
    guide = SHEETS["site.css"].split("*/", 1)[0]
    named = {c.rstrip("-") for c in re.findall(r"\.(tl-[\w-]+)", guide)}
    assert named - defined() - UNSTYLED == set()
    roots = {c.split("__")[0].split("--")[0] for c in re.findall(r"\.(tl-[\w-]+)", bare(SHEETS["site.css"]))}
    assert {r for r in roots if r not in guide} <= {"tl-exhibit", "tl-data", "tl-faults"}


def test_every_variable_in_use_is_defined():
    everything = "\n".join(bare(css) for css in SHEETS.values())
    declared = set(re.findall(r"(--tl-[\w-]+)\s*:", everything))
    asked = {
        name: set(re.findall(r"var\((--tl-[\w-]+)", text)) for name, text in (SHEETS | TEMPLATES | SCRIPTS).items()
    }
    for name, names in asked.items():
        assert names - declared == set(), name


def test_the_sheets_are_listed_in_their_order():
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"assets/css/([\w-]+\.css)", config)
    assert listed[0] == "tokens.css" and listed[-1] == "print.css"
    assert sorted(listed) == sorted(SHEETS) and len(set(listed)) == len(listed)


# ---- the theme underneath --------------------------------------------------------------------------------


def theme() -> Path:
    material = pytest.importorskip("material")
    return Path(material.__file__).parent / "templates"


def test_the_blocks_we_fill_exist_in_the_theme():
    base = (theme() / "base.html").read_text("utf-8")
    offered = set(re.findall(r"{%-?\s*block (\w+)", base))
    ours = set(
        re.findall(
            r"{%-?\s*block (\w+)",
            TEMPLATES["blocklib/site/theme/main.html"] + TEMPLATES["blocklib/site/theme/404.html"],
        )
    )
    assert ours <= offered and {"site_nav", "container", "site_meta"} <= ours


def test_the_hooks_of_the_theme_that_we_rely_on_are_there():
    base = (theme() / "base.html").read_text("utf-8")
    assert 'id="__drawer"' in base and 'id="__search"' in base and "partials/javascripts/base.html" in base
    assert "partials/javascripts/palette.html" in (theme() / "partials" / "header.html").read_text("utf-8")
    bundle = next((theme() / "assets" / "javascripts").glob("bundle.*.min.js")).read_text("utf-8")
    assert "nextElementSibling" in bundle and "__palette" in bundle  # each radio's label is its next sibling


@pytest.mark.parametrize("name", [n for n in TEMPLATES if "/partials/" in n])
def test_a_partial_replaces_one_of_the_theme_or_is_included_by_us(name):
    partial = name.removeprefix("blocklib/site/theme/")
    included = any(f'"{partial}"' in text for other, text in TEMPLATES.items() if other != name)
    assert (theme() / partial).is_file() or included


def test_both_languages_are_spoken_in_every_template_that_speaks():
    for name, text in TEMPLATES.items():
        spoken = re.sub(r"{#.*?#}", "", text, flags=re.S)
        if re.search(r"[\u4e00-\u9fff]", spoken):
            assert 'zh = config.theme.language == "zh"' in spoken, name
