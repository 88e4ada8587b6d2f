"""`ragmem inspect plots` and `report`: in the terminal, as HTML, SVG and JSON, and what is refused."""

import json
import re
import time
from pathlib import Path

import pytest
from defusedxml.ElementTree import fromstring

from .conftest import SECRET

AT = ("--at", "2026-06-01")


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_the_terminal_shows_what_stands_out_and_every_plot(command, columns):
    done = command("report", "--all", *AT, COLUMNS=columns)
    assert done.returncode == 0
    assert "- 6 memories from 3 sources" in done.stdout
    for title in ("Recency over age", "Ages of the memories", "Degrees in the graph", "Runs of gc"):
        assert title in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= int(columns)
    assert "\x1b" not in done.stdout
    assert SECRET not in done.stdout


def test_where_the_encoding_has_no_blocks_ascii_does(command):
    done = command("plots", "--all", *AT, COLUMNS="80", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "\\u" not in done.stdout
    assert "###" in done.stdout


def test_plots_are_drawn_by_name_and_have_the_same_numbers_as_json(command):
    done = command("plots", "tiers", "states", "--all", *AT)
    assert done.stdout.splitlines()[0] == "Tiers per source"
    assert "Lifecycle" in done.stdout
    assert "Recency" not in done.stdout
    told = json.loads(command("plots", "tiers", "states", "--all", "--json", *AT).stdout)
    assert told["schema"] == 1
    assert list(told["plots"]) == ["tiers", "states"]
    assert told["plots"]["states"]["rows"][0] == ["buffer", 0]
    refused = command("plots", "weather")
    assert refused.returncode == 2
    assert "weather" in refused.stderr


def test_latency_is_measured_only_when_asked_for(command):
    assert "Query times" not in command("plots", "--all", *AT).stdout
    done = command("plots", "latency", "--all", *AT)
    assert "Query times" in done.stdout
    assert "timing 100 queries" in done.stderr
    assert "p95" in done.stdout


def test_a_page_is_one_file_that_is_the_same_each_time(command, tmp_path):
    page, again = tmp_path / "report.html", tmp_path / "again.html"
    done = command("report", "--all", "--html", str(page), *AT)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{page}: The memory of all projects, 16 plots, ")
    assert page.stat().st_mode & 0o777 == 0o600
    assert command("report", "--all", "--html", str(again), *AT).returncode == 0
    text = page.read_text()
    assert text == again.read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"<script|javascript:|<link|url\(|@import|\bsrc=|\bon\w+=\"", text)
    assert set(re.findall(r"https?://[^\s\"<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert SECRET not in text
    assert "token [" in text
    assert "client-x" in text
    assert command("report", "--all", "--html", "-", *AT).stdout == text


def test_a_file_is_replaced_only_by_force(command, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("mine")
    refused = command("report", "--all", "--html", str(page))
    assert refused.returncode == 2
    assert "already exists" in refused.stderr
    assert page.read_text() == "mine"
    assert command("report", "--all", "--html", str(page), "--force").returncode == 0
    assert page.read_text().startswith("<!doctype html>")


def test_pictures_are_written_into_a_folder_all_or_none(command, tmp_path):
    folder = tmp_path / "plots"
    done = command("report", "--all", "--svg", str(folder), *AT)
    assert done.returncode == 0
    files = sorted(folder.iterdir())
    assert len(files) == len(done.stdout.splitlines()) == 16
    for file in files:
        root = fromstring(file.read_text())
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "prefers-color-scheme: dark" in file.read_text()
    before = {file: file.read_bytes() for file in files}
    refused = command("report", "--all", "--svg", str(folder))
    assert refused.returncode == 2
    assert {file: file.read_bytes() for file in files} == before
    assert command("report", "--all", "--svg", str(folder), "--force").returncode == 0


def test_the_page_opens_in_the_browser_that_a_person_has(command, tmp_path):
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{seen}"\n')
    browser.chmod(0o755)
    page = tmp_path / "my report.html"
    assert command("report", "--all", "--html", str(page), "--open", BROWSER=f"{browser} %s").returncode == 0
    deadline = time.monotonic() + 10
    while not (seen.exists() and seen.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert seen.read_text().strip() == page.as_uri()


def test_where_no_browser_opens_the_page_is_written_and_that_is_told(command, tmp_path):
    page = tmp_path / "report.html"
    nothing = {"PATH": str(tmp_path), "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "nonesuch %s"}
    done = command("report", "--all", "--html", str(page), "--open", **nothing)
    assert done.returncode == 0
    assert page.exists()
    assert "no browser could be opened" in done.stderr


def test_a_private_report_has_counts_only(command, tmp_path):
    page, folder = tmp_path / "report.html", tmp_path / "plots"
    private = ("-p", "p-reef", "--private", *AT)
    assert command("report", *private, "--html", str(page)).returncode == 0
    assert command("report", *private, "--svg", str(folder)).returncode == 0
    shown = [page.read_text(), *(file.read_text() for file in folder.iterdir())]
    shown += [command("report", *private).stdout, command("report", *private, "--json").stdout]
    shown.append(command("plots", *private, "--json").stdout)
    for text in shown:
        assert text
        for name in ("client-x", "p-reef", "PostgreSQL", "Reef", "Title 0", "token", SECRET):
            # Sessions were given tokens.
            assert name not in re.sub(r"\d tokens", "", text)
    assert "Without titles and names" in shown[0]
    assert "5 memories" in shown[0]


def test_a_report_of_one_project_counts_that_one_alone(command):
    told = json.loads(command("report", "-p", "p-quarry", "--json", *AT).stdout)
    assert told["schema"] == 1
    report = told["report"]
    assert (report["memories"], report["title"], report["made_at"]) == (
        1,
        "The memory of p-quarry",
        "2026-06-01T00:00:00Z",
    )
    assert report["plots"]["projects"]["rows"] == [["p-quarry", 1]]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--html", "x.html", "--json"), "--html and --json are mutually exclusive"),
        (("--html", "x.html", "--svg", "x"), "--html and --svg are mutually exclusive"),
        (("--open",), "--open requires --html"),
        (("--force",), "--force requires --html or --svg"),
        (("--html", "nowhere/x.html"), 'there is no folder "nowhere"'),
        (("--svg", "nowhere/x"), 'there is no folder "nowhere"'),
        (("--all", "-p", "x"), "--all and --project are mutually exclusive"),
        (("--at", "whenever"), "whenever"),
        (("--at", "0005-01-01"), '"0005-01-01" is before the year 12'),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(command, arguments, told):
    done = command("report", *arguments)
    assert done.returncode == 2
    assert told in done.stderr.splitlines()[0]
    assert done.stdout == ""
    assert not Path("x.html").exists()


def test_where_nothing_is_stored_it_says_how_to_begin(ragmem):
    done = ragmem("inspect", "report", "--all")
    assert done.returncode == 2
    assert "ragmem seed" in done.stderr


def test_a_moment_of_another_zone_is_told_in_utc(command):
    told = json.loads(command("report", "--all", "--json", "--at", "2026-06-01T02:00+02:00").stdout)
    assert told["report"]["made_at"] == "2026-06-01T00:00:00Z"


def test_a_project_without_memories_has_a_report_still(command, tmp_path):
    # The user's own project is known and empty.
    done = command("report", "-p", "user", *AT)
    assert done.returncode == 0
    assert "- Nothing is stored yet" in done.stdout
    assert "no memories" in done.stdout
    page = tmp_path / "report.html"
    assert command("report", "-p", "user", "--html", str(page), *AT).returncode == 0
    assert "no memories" in page.read_text()
