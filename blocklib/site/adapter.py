"""Where our logic meets MkDocs, and the only module that knows it.

One ``mkdocs build`` writes the first language to the site's root and then, in ``on_post_build``, builds the
other with a freshly loaded configuration into its folder. Faults of both are reported together at the end.
"""

from __future__ import annotations

import contextlib
import logging
from functools import partial
from pathlib import Path
from types import MethodType
from urllib.parse import urljoin, urlsplit

import markdown_exec
from jinja2 import FileSystemBytecodeCache
from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.exceptions import BuildError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from blocklib.facts import fingerprint, lessons
from blocklib.facts.expand import plain
from blocklib.facts.files import read_text
from blocklib.problems import BlocklibError
from blocklib.site import (
    apipages,
    findings,
    languages,
    links,
    meta,
    nav,
    notebooks,
    notebooks_file,
    pagecache,
    pages,
    preview,
    search,
    stage,
    vendor,
)
from blocklib.site.build import Build, Job, payload, payload_path
from blocklib.site.markdown import PlainNumbers, SiteBlocks

log = logging.getLogger("mkdocs.twoledgers")
UNUSED = ("assets/javascripts/lunr/", "assets/javascripts/workers/")  # the theme's own search
_build: Build | None = None  # between the first language's on_config and its on_post_build


def _lang(config) -> str:
    return config.theme["language"]


def _is_first(config) -> bool:
    return _lang(config) == languages.DEFAULT


def on_startup(*, command: str, dirty: bool) -> None:
    preview.serving = command == "serve"


def on_serve(server, config, builder):
    return preview.guard(server, config.site_dir)


# ---- configuration ------------------------------------------------------------------------------------


@event_priority(-50)  # after markdown-exec has announced its fences
def on_config(config):
    """Name the site in the language in hand, and take in our Markdown extensions."""
    global _build
    lang = _lang(config)
    root = Path(config.config_file_path).resolve().parent
    if _is_first(config):
        preview.building = True
        fingerprint.hold()
        stage.keep_to_one_thread()
        try:
            _build = Build(root, serving=preview.serving, issues_url=config.extra.get("issues_url", ""))
        except BlocklibError as error:
            raise BuildError(str(error)) from None
    config.site_name = languages.SITE_NAME[lang]
    config.site_description = languages.SITE_DESCRIPTION[lang]
    config.extra.update(version=meta.version(), commit=meta.commit(root), lang=lang, generator=False)
    config.mdx_configs.setdefault("toc", {})["permalink_title"] = languages.HEADINGS["permalink"][lang]
    config.markdown_extensions += [SiteBlocks(_Furnisher()), PlainNumbers()]
    config.theme.static_templates -= {"sitemap.xml"}  # one for both languages, written at the end
    for name in ("python", "py"):
        markdown_exec.formatters[name] = _run_fence
    findings.listen(_found)
    return config


def _found(src_uri: str | None, link: str, message: str) -> bool:
    """Take a warning of MkDocs as a fault: about a page's link, or (no page) about the configuration."""
    if _build is None:
        return False
    if src_uri is None:
        for fault in nav.told(_build.root, message):
            _build.note(fault.path, fault.line, fault.message)
    else:
        path = languages.source_path(src_uri, _build.lang)
        _build.note(path, findings.line_of(read_text(_build.root, path)[0], link), message)
    return True


class _Furnisher:
    """Hands the blocks' questions to the page in hand."""

    def __getattr__(self, name: str):
        return getattr(_build.job, name)


def _run_fence(*, code: str, md, extra: dict | None = None, **_: object) -> str:
    from markdown_exec._internal.rendering import MarkdownConverter

    line = int((extra or {}).get("line", 0))
    job, number = _build.job, (extra or {}).get("cell")

    def convert(text: str) -> str:
        return MarkdownConverter(md, update_toc=False).convert(text, id_prefix="")

    return job.block(code, line, convert) if number is None else job.cell(int(number), line, convert)


# ---- files ------------------------------------------------------------------------------------------


def on_files(files: Files, config) -> Files:
    """Keep this language's pages under their common name, add generated pages, and copy assets once."""
    lang, first = _lang(config), _is_first(config)
    _build.lang = lang
    for file in list(files):
        if file.src_uri.startswith(UNUSED):
            files.remove(file)
            continue
        parts = languages.split_source(file.src_uri)
        if notebooks.is_notebook(file):
            parts = f"{file.src_uri.removesuffix(lessons.SUFFIX)}.md", lang
        if parts is None:
            if not first and not file.is_documentation_page():
                file.copy_file = lambda dirty=False: None  # the first language has copied it
            continue
        files.remove(file)
        if parts[1] == lang:
            page = File(parts[0], config.docs_dir, config.site_dir, config.use_directory_urls)
            page.abs_src_path = file.abs_src_path
            files.append(page)
    for uri, text in pages.generated(_build, lang).items():
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, content=text))
    if first:
        try:
            for asset in vendor.assets(_build.root):
                content = {"abs_src_path": str(asset.source)} if asset.source else {"content": asset.text}
                files.append(File.generated(config, asset.uri, **content))
        except BlocklibError as error:
            _build.note("package.json", 0, error)
    return files


def on_nav(nav, config, files):
    """Give the sections of the navigation, named by key in mkdocs.yml, their titles."""
    sections = [item for item in nav.items if item.is_section]
    for item in sections:
        sections += [inner for inner in item.children if inner.is_section]
        if item.title in languages.SECTIONS:
            item.title = languages.SECTIONS[item.title][_lang(config)]
    return nav


# ---- pages ------------------------------------------------------------------------------------------


def _path(page, config) -> str:
    """The page's source as messages name it."""
    if page.file.generated_by is not None:
        return f"generated:{page.file.src_uri}"
    return languages.source_path(page.file.src_uri, _lang(config))


def on_page_read_source(page, config) -> str | None:
    """The very text that was checked, though the file may have been saved again since."""
    path = _path(page, config)
    if numbers := _build.checked.numbers(path):
        return numbers.page.source
    return read_text(_build.root, path)[0] if lessons.source_of(_build.root, path) else None


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Expand the page's numbers and wrap its conversion with the page cache."""
    lang, path = _lang(config), _path(page, config)
    if page.file.src_uri == pages.NUMBERS:  # the last page to be read: every row is known by now
        markdown = pages.body(_build.number_list(lang))
    for name in ("title", "description"):
        if isinstance(page.meta.get(name), str):
            page.meta[name] = plain(page.meta[name])
    numbers = _build.checked.numbers(path)
    # MkDocs takes away the front matter with the blank lines after it, and nothing at the end.
    offset = numbers.page.source.count("\n") - markdown.count("\n") if numbers else 0
    job = Job(_build, lang, path, markdown, max(0, offset))
    text = job.prepare()
    page.render = partial(_render, page, job, MethodType(Page.render, page))  # a lesson's too, see notebooks.py
    return text


def _render(page, job: Job, convert, config, files) -> None:
    key = job.key("\n".join(sorted(f"{f.src_uri} {f.url}" for f in files)))
    known = _build.store.get("pages", key)
    if isinstance(known, dict):
        pagecache.restore(page, known, files)
        for line, text in known["printed"]:
            job.check_printed(line, text)
        job.charts = known["charts"]
        found = [search.Section(*row) for row in known["sections"]]
    else:
        before = len(_build.problems)
        _build.job = job
        try:
            convert(config, files)
        finally:
            _build.job = None
        page.content = job.finish(_lead_links(page, job, files))
        found = search.sections(page.content)
        _build.rendered.append(job.path)
        if len(_build.problems) == before:
            rows = [[s.anchor, s.title, s.text] for s in found]
            _build.store.put(
                "pages", key, {**pagecache.saved(page), "printed": job.printed, "charts": job.charts, "sections": rows}
            )
    _build.charts.update(job.charts)
    page.content = job.with_ledger(page.content)
    if page.file.src_uri != apipages.SHELL:
        _build.entries.setdefault(job.lang, []).extend(search.entries(page.url, page.title or "", found))


def _lead_links(page, job: Job, files: Files) -> str:
    """The page's HTML with links that were written as HTML led to their pages; MkDocs checks their anchors later."""

    def address(uri: str, anchor: str) -> str | None:
        target = files.get_file_from_path(uri)
        if target is None:
            return None
        if anchor:
            page.links_to_anchors = page.links_to_anchors or {}
            page.links_to_anchors.setdefault(target, {}).setdefault(anchor, f"{uri}#{anchor}")
        return target.url_relative_to(page.file)

    def missing(link: str) -> None:
        line = findings.line_of(read_text(_build.root, job.path)[0], link)
        _build.note(job.path, line, f"contains a link {link!r}, but no such page exists")

    return links.resolve(page.content, page.file.src_uri, address, missing)


def on_page_context(context, page, config, nav):
    """Give the templates the page's other addresses; in the preview, put the faults on top."""
    context["alternates"] = meta.alternates(_site_url(config), page.url)
    context["formulas"] = 'class="katex"' in page.content
    context["katex_css"] = vendor.KATEX_CSS
    if page.file.src_uri == apipages.SHELL:
        _build.api.mark(True, nav.pages)
    if _build.serving:
        here = languages.source_path(page.file.src_uri, _lang(config))
        here = lessons.source_of(_build.root, here) or here
        faults = sorted(_build.problems, key=lambda problem: (problem.path != here, problem))
        page.content = preview.banner(faults, _lang(config)) + page.content
    return context


def on_post_page(output: str, page, config) -> str:
    output = output if _is_first(config) else meta.lift_assets(output)
    output = meta.from_root(output, _lang(config), page.url)
    if page.file.src_uri != apipages.SHELL:
        return output
    _build.api.shells[_lang(config)] = output
    _build.api.mark(False)
    return output  # is no page itself: taken away again when the modules' pages are written


def on_template_context(context, template_name: str, config):
    """An error page answers at any depth: give it a base from the host's root that joins with a slash."""
    context["base_url"] = context["base_url"].rstrip("/") or "/."
    return context


def on_post_template(output_content: str, template_name: str, config) -> str:
    return meta.settle_rooted(output_content, urlsplit(_site_url(config) or "/").path)


# ---- the end ----------------------------------------------------------------------------------------


def _site_url(config) -> str:
    """Address of the whole site, ending in a slash; "" where none is configured."""
    if not config.site_url:
        return ""
    url = config.site_url if config.site_url.endswith("/") else config.site_url + "/"
    return url.removesuffix(languages.LANGUAGES[_lang(config)].prefix)


def on_post_build(config) -> None:
    """Write this language's index; after the first, build the others, then report every fault of both."""
    lang, folder = _lang(config), Path(config.site_dir)
    index = search.index_json([*_build.entries.get(lang, []), *_build.api.search(lang)])
    if (size := len(index.encode())) > search.LIMIT:
        _build.note("docs", 0, f"the search index of {lang} is {size:,} bytes; at most {search.LIMIT:,}")
    _write(folder / "search" / "index.json", index)
    for place, text in _build.api.pages(lang):
        _write(folder / place, text)
    _build.api.take_away(folder)
    if not _is_first(config):
        return
    for other in languages.OTHERS:
        _build_other(config, other)
    for ident, edition in sorted(_build.exhibits):
        try:
            text = payload(_build, ident, edition)
        except BlocklibError:
            continue  # noted where the exhibit stands
        _write(folder / payload_path(ident, edition), text)
    for place, text in {**_build.charts, **notebooks_file.files(_build.root, _build.store, _build.machinery)}.items():
        _write(folder / place, text)
    site_url = _site_url(config)
    _write(folder / "robots.txt", meta.robots(site_url))
    if site_url:
        _write(folder / "sitemap.xml", meta.sitemap(site_url, _build.urls))
    _finish()


def on_env(env, config, files):
    """All pages of a language are known: remember their addresses for the sitemap; keep compiled templates."""
    folder = _build.store.folder / "templates"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        env.bytecode_cache = FileSystemBytecodeCache(str(folder))
    if _is_first(config):
        pages_made = [f.url for f in files.documentation_pages() if f.src_uri != apipages.SHELL]
        _build.urls = [*pages_made, *_build.api.urls]
    return env


def _build_other(config, lang: str) -> None:
    prefix = languages.LANGUAGES[lang].prefix
    site_url = urljoin(_site_url(config), prefix) if config.site_url else ""
    other = load_config(
        config_file=config.config_file_path,
        site_dir=str(Path(config.site_dir) / prefix),
        docs_dir=config.docs_dir,
        site_url=site_url,
        strict=False,
        use_directory_urls=config.use_directory_urls,
    )
    other.theme["language"] = lang
    mkdocs_build(other, serve_url=site_url if _build.serving else None)


def _finish() -> None:
    global _build
    done, _build = _build, None
    preview.building = False
    fingerprint.release()
    done.close()
    if not done.problems:
        return
    lines = "\n".join(map(str, sorted(done.problems)))
    message = f"{len(done.problems)} fault(s):\n{lines}"
    if not done.serving:
        raise BuildError(message)
    log.warning(message)


def on_build_error(error) -> None:
    """An exception ends the build: leave nothing behind for the next one in the preview."""
    global _build
    if _build is not None:
        _build.formulas.close()
        _build = None
    preview.building = False
    fingerprint.release()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="\n")
