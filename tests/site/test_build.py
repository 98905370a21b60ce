"""Whole builds of a small project by the real MkDocs: two languages, faults with file and line, equal bytes."""

from __future__ import annotations

import filecmp
import json
import re
from pathlib import Path

import pytest

from tests.site.conftest import faults, make_project

BLOCK = '```python exec="on"\n--8<-- "{}"\n```'


def sound(project):
    """Two pages a language with a formula, a block, a link, an image and Chinese."""
    project.page(
        "index",
        f"[更多](more.md#end) 与 $x^2$。\n\n![标记](assets/mark.svg)\n\n{BLOCK.format('a.py')}",
        f"[More](more.md#end) and $x^2$.\n\n![mark](assets/mark.svg)\n\n{BLOCK.format('a.py')}",
    )
    project.page(
        "more",
        "只有文字的残差流，[缓存](later:inference#cache)待写。\n\n## 结尾 { #end }\n\n完。",
        "Only residual words; [the cache](later:inference#cache) comes later.\n\n## End { #end }\n\nDone.",
    )
    project.write("docs/later.toml", '["inference#cache"]\nzh = "缓存"\nen = "the cache"\n')
    project.snippet("a.py", 'from blocklib import show, Text\nshow(Text("平方", "square"), 8 ** 2)\n')
    project.sign()
    return project


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    project = sound(make_project(tmp_path_factory.mktemp("sound")))
    done = project.build()
    assert done.returncode == 0, done.stderr
    return project


class TestSoundSite:
    def test_each_language_has_its_pages_at_common_addresses(self, built):
        assert "只有文字" in built.html("more") and "Only residual" in built.html("en/more")
        assert not list(built.site.rglob("*.zh*.html")) and not (built.site / "more.zh").exists()

    def test_language_title_and_site_name(self, built):
        assert re.search(r'<html lang="zh"', built.html("more")) and "<title>more zh - 两本账</title>" in built.html(
            "more"
        )
        assert re.search(r'<html lang="en"', built.html("en/more")) and "- Two Ledgers</title>" in built.html("en/more")

    def test_head_names_canonical_and_alternates(self, built):
        base = "https://books.example/two/"
        html = built.html("en/more")
        assert f'<link rel="canonical" href="{base}en/more/">' in html
        for lang, url in (("zh", "more/"), ("en", "en/more/"), ("x-default", "more/")):
            assert f'<link rel="alternate" hreflang="{lang}" href="{base}{url}">' in html
        assert html.count("hreflang=") - html.count("<a ") <= 3

    def test_assets_stand_once_and_every_reference_resolves(self, built):
        assert not (built.site / "en/assets").exists()
        checked = 0
        for page in built.site.rglob("*.html"):
            for ref in re.findall(
                r'(?:href|src|data-worker|data-library|data-index)="([^"#]+)', page.read_text("utf-8")
            ):
                ref = ref.split("?")[0]
                if "://" in ref or ref.startswith(("mailto:", "data:")):
                    continue
                target = built.site / ref.removeprefix("/two/") if ref.startswith("/") else page.parent / ref
                target = target / "index.html" if ref.endswith("/") or target.is_dir() else target
                assert target.resolve().is_file(), (page, ref)
                checked += 1
        assert checked > 200

    def test_sections_to_come_are_text_and_no_link(self, built):
        assert '<span class="tl-later" title="待写：缓存">缓存</span>待写' in built.html("more")
        assert '<span class="tl-later" title="To come: the cache">the cache</span> comes' in built.html("en/more")
        assert "later:" not in built.html("more") + built.html("en/more")
        assert "the cache comes later" in (built.site / "en/search/index.json").read_text("utf-8")

    def test_executed_code_shows_source_then_result_in_the_language(self, built):
        for address, tag, word in (("", "结果", "平方 64"), ("en", "Result", "square 64")):
            html = built.html(address)
            run = html[html.index('class="tl-run-block"') :]
            assert run.index("highlight") < run.index(f">{tag}<") < run.index(word)

    def test_formulas_are_set_and_their_style_is_linked_only_where_needed(self, built):
        assert "<math" in built.html("") and "katex.min.css" in built.html("")
        assert "katex" not in built.html("more")
        assert "\\(" not in re.sub(r"<script.*?</script>|<annotation.*?</annotation>", "", built.html(""), flags=re.S)

    def test_search_indexes_are_per_language(self, built):
        zh = json.loads((built.site / "search/index.json").read_text("utf-8"))["docs"]
        en = json.loads((built.site / "en/search/index.json").read_text("utf-8"))["docs"]
        assert any("残差流" in d["t"] for d in zh) and not any("残差流" in d["t"] for d in en)
        assert {"u": "more/#end", "p": "more en", "h": "End", "t": "Done."} in en
        assert not (built.site / "search/search_index.json").exists()

    def test_one_sitemap_robots_and_an_error_page_in_each_language(self, built):
        assert (built.site / "sitemap.xml").read_text("utf-8").count("<loc>") == len(
            list(built.site.rglob("index.html"))
        )
        assert not (built.site / "en/sitemap.xml").exists() and not list(built.site.rglob("*.gz"))
        assert "Sitemap: https://books.example/two/sitemap.xml" in (built.site / "robots.txt").read_text("utf-8")
        for name, lang in (("404.html", "zh"), ("en/404.html", "en")):
            html = (built.site / name).read_text("utf-8")
            assert f'<html lang="{lang}"' in html and 'href="../' not in html and '="/two//' not in html

    def test_nothing_of_the_machinery_is_published(self, built):
        published = {p.suffix for p in built.site.rglob("*") if p.is_file()}
        assert not published & {".md", ".facts", ".toml", ".bib", ".py"}
        assert not re.search(
            r"site:/|tl-exhibit-slot|data-tl-slot", "".join(p.read_text("utf-8") for p in built.site.rglob("*.html"))
        )

    def test_version_and_commit_stand_in_the_footer(self, built):
        assert "abc123" in built.html("more") and "0." in built.html("more")

    def test_no_page_asks_another_host(self, built):
        for page in built.site.rglob("*.html"):
            assert not re.search(
                r'<(?:script|img|link)[^>]+(?:src|href)="https?://(?!books\.example)', page.read_text("utf-8")
            )


def differing(a: Path, b: Path) -> list[str]:
    files = {p.relative_to(base).as_posix() for base in (a, b) for p in base.rglob("*") if p.is_file()}
    return sorted(
        f for f in files if not ((a / f).is_file() and (b / f).is_file() and filecmp.cmp(a / f, b / f, False))
    )


def test_warm_and_cold_builds_are_equal_and_a_warm_one_renders_and_imports_nothing(built, tmp_path):
    cold = built.build("-d", str(tmp_path / "cold"), BLOCKLIB_CACHE=str(tmp_path / "cache"), PYTHONHASHSEED="77")
    assert cold.returncode == 0, cold.stderr
    probe = built.write("probe.py", (
        "import sys\n"
        "from mkdocs.__main__ import cli\n"
        "import blocklib.site.adapter as adapter\n"
        "made = []\n"
        "real = adapter.Build.close\n"
        "adapter.Build.close = lambda self: (made.append((self.rendered, self.formulas.started)), real(self))\n"
        "try:\n    cli(['build', '-q', '-d', sys.argv[1]])\n"
        "finally:\n    print(made, [m for m in ('torch', 'matplotlib', 'plotly', 'numpy') if m in sys.modules])\n"
    ))  # fmt: skip
    import subprocess
    import sys

    warm = subprocess.run(
        [sys.executable, str(probe), str(tmp_path / "warm")],
        cwd=built.root,
        env=built.env(),
        capture_output=True,
        text=True,
    )
    assert warm.stdout.strip() == "[([], 0)] []", warm.stdout + warm.stderr
    assert differing(built.site, tmp_path / "cold") == []
    assert differing(built.site, tmp_path / "warm") == []


def test_all_faults_of_both_languages_are_reported_at_once_sorted_without_traceback(project):
    text = "\n".join([
        BLOCK.format("raise.py"), "", BLOCK.format("silent.py"), "", BLOCK.format("exit.py"), "", BLOCK.format("warn.py"), "",
        BLOCK.format("absent.py"), "", "$\\nosuch$", "", "[x](nowhere.md) [y](#nothing)", "",
        "/// exhibit | no-such\ncaption\n///", "", "/// claim | no-such\nsentence\n///", "",
        '=== "tab"\n\n    ' + BLOCK.format("raise.py").replace("\n", "\n    "),
    ])  # fmt: skip
    project.both("index", text)
    project.snippet("raise.py", "x = 1\nraise TypeError('planted')\n")
    project.snippet("silent.py", "x = 1\n")
    project.snippet("exit.py", "print(1)\nexit()\n")
    project.snippet("warn.py", "import warnings\nprint(1)\nwarnings.warn('planted')\n")
    for options in ((), ("-v",)):
        done = project.build(*options)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        found = faults(done)
        for lang in ("zh", "en"):
            path = f"docs/index.{lang}.md"
            for line, message in [
                (8, "block snippets/raise.py:2: TypeError: planted"), (12, "block snippets/silent.py: prints nothing"),
                (16, "block snippets/exit.py:2: "), (20, "block snippets/warn.py:3: UserWarning: planted"),
                (24, "missing snippet snippets/absent.py"), (28, "formula '\\\\nosuch'"), (30, "contains a link 'nowhere.md'"),
                (30, "contains a link '#nothing'"), (32, "no exhibit 'no-such'"), (36, "no claim 'no-such'"),
                (42, "block snippets/raise.py:2: TypeError: planted"),
            ]:  # fmt: skip
                assert any(f.startswith(f"{path}:{line}: ") and message in f for f in found), (
                    path,
                    line,
                    message,
                    found,
                )
        key = [
            (f.split(":")[0], int(re.match(r"[^:]+:(\d+)", f)[1]) if re.match(r"[^:]+:(\d+)", f) else 0) for f in found
        ]
        assert key == sorted(key)


def test_a_missing_twin_fails_the_build(project):
    project.both("index", "words")
    project.write("docs/alone.zh.md", "---\ntitle: 独\ndescription: 独。\n---\n\n# 独 { #top }\n\n无伴。\n")
    done = project.build()
    assert done.returncode == 1 and any("alone" in f and "en" in f for f in faults(done)), done.stderr


def test_markdown_printed_by_a_block_is_checked_at_the_blocks_line(project):
    project.both("index", BLOCK.format("m.py"))
    project.snippet("m.py", 'from blocklib import show\nshow.markdown("**sum** [17](fact:implicit_paths?blocks=4)")\n')
    done = project.build()
    assert done.returncode == 1
    found = [f for f in faults(done) if f.startswith("docs/index.en.md:8: ")]
    assert any("printed 17 but" in f for f in found), done.stderr
    project.snippet("m.py", 'from blocklib import show\nshow.markdown("**sum** [16](fact:implicit_paths?blocks=4)")\n')
    project.sign()
    done = project.build()
    assert not any("printed" in f for f in faults(done)), done.stderr
    html = project.html("en")
    anchor = re.search(r'<a class="tl-num" href="#(n-[^"]+)">16</a>', html)[1]
    assert "<strong>sum</strong>" in html and f'<tr id="{anchor}"' in html


def test_missing_browser_parts_say_what_to_do(project):
    project.both("index", "words")
    (project.root / "node_modules").unlink()
    done = project.build()
    assert done.returncode == 1 and "npm ci" in done.stderr and "Traceback" not in done.stderr
