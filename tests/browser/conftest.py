"""A real Chromium against the built site, served from this process."""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--font-render-hinting=none"]  # fmt: skip


def chromium_path() -> str:
    """The Chromium that set-up found, or the one on the PATH."""
    note = ROOT / ".venv" / ".chromium"
    for candidate in (
        os.environ.get("CHROME"),
        note.read_text() if note.is_file() else None,
        "chromium",
        "google-chrome",
    ):
        if candidate and (path := shutil.which(candidate)):
            return path
    pytest.fail("no Chromium found: run `make test`, which sets one up, or name one in CHROME")


class Handler(SimpleHTTPRequestHandler):
    """Serves the site as static hosting does: the language's own 404 page for what is missing."""

    def send_error(self, code, message=None, explain=None):
        page = Path(self.directory) / ("en/404.html" if self.path.startswith("/en/") else "404.html")
        if code == 404 and page.is_file():
            body = page.read_bytes()
            self.send_response(404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            super().send_error(code, message, explain)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    """A browser that leaves a page drops its connections; that is no error worth a traceback."""

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@pytest.fixture(scope="session")
def host(built_site) -> str:
    server = Server(("127.0.0.1", 0), partial(Handler, directory=str(built_site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=ARGS)
        yield browser
        browser.close()


class Visit:
    """One page in a fresh context, with everything that must not happen recorded."""

    def __init__(self, chromium, address: str, width: int = 1280, palette: str = "default", **options):
        scheme = "dark" if palette == "slate" else "light"
        self.context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", **options
        )
        self.address, self.faults, self.requested = address, [], []
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.page.on("console", lambda m: m.type in ("error", "warning") and self.faults.append(f"console: {m.text}"))
        self.page.on("pageerror", lambda e: self.faults.append(f"script: {e}"))
        self.page.on("request", lambda r: self.requested.append(r.url))
        self.page.on("response", lambda r: r.status >= 400 and self.faults.append(f"{r.status}: {r.url}"))
        self.context.route(lambda url: not url.startswith((address, "data:", "blob:")), self._refuse)

    def _refuse(self, route):
        self.faults.append(f"off-host request: {route.request.url}")
        route.abort()

    def open(self, path: str):
        self.page.goto(self.address + path, wait_until="load")
        return self.page

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


@pytest.fixture
def visit(chromium, host):
    """``with visit(width=360, palette="slate") as v: page = v.open("en/")``."""
    return partial(Visit, chromium, host)
