"""What MkDocs' conversion leaves on a page, as JSON and back: the page cache spares the conversion."""

from __future__ import annotations

from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink, TableOfContents


def saved(page: Page) -> dict:
    """What MkDocs' conversion leaves on a page, as JSON."""

    def headings(items) -> list:
        return [[a.title, a.id, a.level, headings(a.children)] for a in items]

    return {
        "content": page.content,
        "toc": headings(page.toc),
        "title": page._title_from_render,
        "anchors": sorted(page.present_anchor_ids or ()),
        "links": {f.src_uri: anchors for f, anchors in (page.links_to_anchors or {}).items()},
    }


def restore(page: Page, saved: dict, files: Files) -> None:
    """Put back what :func:`saved` took; links to pages that are gone fall away with them."""

    def headings(rows: list) -> list[AnchorLink]:
        items = []
        for title, ident, level, children in rows:
            item = AnchorLink(title, ident, level)
            item.children = headings(children)
            items.append(item)
        return items

    page.content = saved["content"]
    items = headings(saved["toc"])
    if items:
        items[0].active = True
    page.toc = TableOfContents(items)
    page._title_from_render = saved["title"]
    page.present_anchor_ids = set(saved["anchors"])
    targets = {uri: files.get_file_from_path(uri) for uri in saved["links"]}
    page.links_to_anchors = {targets[uri]: anchors for uri, anchors in saved["links"].items() if targets[uri]}
