"""What the site generator calls: Markdown, executed blocks, caches, generated pages. MkDocs is met in ``adapter``."""
