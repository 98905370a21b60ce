"""The live preview takes in edits of pages, snippets and the library, and shows faults instead of stopping."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest

from blocklib.site import preview as preview_module
from tests.site.conftest import ROOT, make_project

BLOCK = '```python exec="on"\n--8<-- "a.py"\n```'


class Preview:
    def __init__(self, project, port: int):
        self.base = f"http://127.0.0.1:{port}/two/"
        command = [sys.executable, "-m", "mkdocs", "serve", "--dev-addr", f"127.0.0.1:{port}"]
        log = (project.root / "serve.log").open("w")
        self.process = subprocess.Popen(
            command, cwd=project.root, env=project.env(PYTHONPATH=str(project.root)), stdout=log, stderr=log
        )

    def wait_for(self, address: str, word: str, patience: float = 40) -> str:
        end, text = time.monotonic() + patience, ""
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(self.base + address, timeout=5) as answer:
                    text = answer.read().decode()
                if word in text:
                    return text
            except OSError:
                pass
            assert self.process.poll() is None, "the preview ended"
            time.sleep(0.05)
        raise AssertionError(f"{word!r} did not appear at {address}: {text[-1500:]}")


@pytest.fixture
def preview(tmp_path):
    project = make_project(tmp_path)
    shutil.copytree(ROOT / "blocklib", project.root / "blocklib", ignore=shutil.ignore_patterns("__pycache__"))
    settings = (project.root / "mkdocs.yml").read_text("utf-8")
    project.write("mkdocs.yml", settings.replace("watch: [snippets]", "watch: [snippets, blocklib]"))
    project.write("blocklib/site/planted.py", "WORD = 'libraryone'\n")
    project.snippet("a.py", "from blocklib.site.planted import WORD\nprint('block', WORD)\n")
    project.both("index", f"firstword\n\n{BLOCK}")
    project.sign()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = Preview(project, port)
    running.project = project
    yield running
    running.process.terminate()
    running.process.wait(15)


def test_edits_arrive_and_faults_are_shown_on_the_page(preview):
    project = preview.project
    preview.wait_for("", "block libraryone")
    preview.wait_for("en/", "block libraryone")

    page = project.root / "docs/index.en.md"
    page.write_text(page.read_text("utf-8").replace("firstword", "secondword"), "utf-8")
    shown = preview.wait_for("en/", "secondword")
    assert "tl-faults" in shown and "signed" in shown  # an edited twin is a notice here and an error in a build

    project.write("blocklib/site/planted.py", "WORD = 'librarytwo'\n")
    preview.wait_for("", "block librarytwo")

    project.snippet("a.py", "print('block three')\n")
    preview.wait_for("en/", "block three")

    project.snippet("a.py", "x = 1\nraise ValueError('planted')\n")
    shown = preview.wait_for("en/", "ValueError: planted")
    assert "docs/index.en.md:10: block snippets/a.py:2: ValueError: planted" in shown

    project.snippet("a.py", "print('mended')\n")
    shown = preview.wait_for("", "mended")
    assert "ValueError" not in shown
    with pytest.raises(urllib.error.HTTPError) as missing:
        urllib.request.urlopen(preview.base + "en/no/such/")
    assert missing.value.code == 404


def test_a_build_that_breaks_off_answers_every_page_with_its_error_until_it_is_mended(tmp_path):
    (tmp_path / "index.html").write_text("old")
    server = SimpleNamespace(error_handler=lambda code: b"plain", builder=lambda: None)
    server.builder = lambda: {}["<gone>"]
    guarded = preview_module.guard(server, str(tmp_path))
    guarded.builder()
    assert not (tmp_path / "index.html").exists()
    page = guarded.error_handler(404).decode()
    assert "KeyError: &#x27;&lt;gone&gt;&#x27;" in page and 'http-equiv="refresh"' in page
    assert guarded.error_handler(500) == b"plain"


def test_control_a_build_that_ends_leaves_the_pages_alone(tmp_path):
    (tmp_path / "index.html").write_text("new")
    server = SimpleNamespace(error_handler=lambda code: b"plain", builder=lambda: None)
    guarded = preview_module.guard(server, str(tmp_path))
    guarded.builder()
    assert (tmp_path / "index.html").exists() and guarded.error_handler(404) == b"plain"
