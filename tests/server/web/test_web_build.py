"""The built page: it belongs to its sources, needs nothing from elsewhere, and is served by name only."""

import hashlib
import json
import re
import time
from pathlib import Path

import pytest

from ragmem.server.web.routes import INDEX, assets

ROOT = Path(__file__).resolve().parents[3]
WEB = ROOT / "web"
BUILT = ROOT / "ragmem" / "server" / "web" / "static"
LOOSE = ("build.mjs", "index.html", "package-lock.json", "package.json", "tsconfig.json")


def digest_of_sources():
    found = [*(WEB / name for name in LOOSE), *(path for path in (WEB / "src").rglob("*") if path.is_file())]
    digest = hashlib.sha256()
    for path in sorted(found, key=lambda path: path.relative_to(WEB).as_posix()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(WEB).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def test_the_built_files_belong_to_the_sources():
    manifest = json.loads((BUILT / "manifest.json").read_text())
    assert manifest["sources"] == digest_of_sources(), "run `make web` and commit what it writes"
    assert {path.name for path in BUILT.iterdir()} == {"manifest.json", *manifest["files"]}
    for name, about in manifest["files"].items():
        content = (BUILT / name).read_bytes()
        assert len(content) == about["bytes"]
        if name != INDEX:
            assert hashlib.sha256(content).hexdigest()[:10] in name


def test_the_page_names_nothing_but_its_own_files_and_runs_nothing_inline():
    table = assets()
    index = table[INDEX].content.decode()
    named = re.findall(r'(?:src|href)="([^"]+)"', index)
    assert len(named) == 4
    assert all(name.removeprefix("/assets/") in table for name in named)
    assert not re.search(r"<script[^>]*>[^<]|<style|\son\w+=|style=", index)
    for name, asset in table.items():
        addresses = set(re.findall(rb"https?://[\w./-]+", asset.content))
        # The names of XML's vocabularies are no addresses that anything is loaded from.
        assert not [one for one in addresses if not one.startswith(b"http://www.w3.org/")], name


def test_the_page_stays_small():
    manifest = json.loads((BUILT / "manifest.json").read_text())
    assert sum(about["gzip"] for about in manifest["files"].values()) < 80_000


def test_the_libraries_in_the_page_are_named_with_their_licences():
    notice = (ROOT / "NOTICE").read_text()
    for name, about in json.loads((WEB / "package-lock.json").read_text())["packages"].items():
        if name and not about.get("dev"):
            assert f"{name.removeprefix('node_modules/')} {about['version']}" in notice


def test_the_page_and_its_files_come_with_their_types_and_how_long_they_hold(reader):
    page = reader.send("GET", "/", headers={"Authorization": ""})
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-store"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    for name, asset in assets().items():
        if name == INDEX:
            continue
        got = reader.send("GET", f"/assets/{name}", headers={"Authorization": ""})
        assert got.content == asset.content
        assert got.headers["content-type"] == asset.media_type
        assert "immutable" in got.headers["cache-control"]


@pytest.mark.parametrize(
    "name",
    ["index.html", "manifest.json", "../routes.py", "..%2froutes.py", "%2e%2e/__init__.py", "", "app.js"],
)
def test_only_the_names_of_the_page_are_served(reader, name):
    answer = reader.send("GET", f"/assets/{name}")
    assert answer.status_code == 404
    assert b"import" not in answer.content


def test_open_shows_the_page_signed_in_without_the_token_in_a_command_line(tmp_path, start):
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$1" > {tmp_path}/called.new\ncp "${{1#file://}}" {tmp_path}/opened.html\n'
        f"mv {tmp_path}/called.new {tmp_path}/called\n"
    )
    browser.chmod(0o755)
    with start(tmp_path, "--open", BROWSER=f"{browser} %s") as server:
        until = time.monotonic() + 60
        while not (tmp_path / "called").exists() and time.monotonic() < until:
            time.sleep(0.02)
        called = (tmp_path / "called").read_text().strip()
        opened = Path(called.removeprefix("file://"))
        assert server.token not in called
        assert opened.stat().st_mode & 0o777 == 0o600
        assert f"{server.url}/#token={server.token}" in (tmp_path / "opened.html").read_text()
        assert server.end() == 0
        assert not opened.exists()
