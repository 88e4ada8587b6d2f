"""Markdown files become drafts."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.config.settings import SourceSpec
from ragmem.domain.model import Draft, Kind, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.readers import markdown

MODIFIED = datetime(2026, 5, 1, 12, tzinfo=UTC)
SPEC = SourceSpec("notes", ("*.md",), base=Path("/"))
PROJECT = Scope("tideline-12345678")


def changed() -> datetime:
    return MODIFIED


def draft(text: str, *, path: str = "/n/note.md", spec: SourceSpec = SPEC) -> Draft:
    drafts, _ = markdown.read(Path(path), text, spec, changed=changed, scope=PROJECT, redactor=DEFAULT)
    assert len(drafts) == 1
    return drafts[0]


def warnings(text: str) -> list[str]:
    found = markdown.read(Path("/n/note.md"), text, SPEC, changed=changed, scope=PROJECT, redactor=DEFAULT)
    return found[1]


def test_a_draft_keeps_its_source_place_scope_and_body() -> None:
    found = draft("---\nname: Keep types strict\ntype: feedback\n---\n\nBody: `x`.\n\n- a\n")
    assert (found.source, found.uri, found.scope) == ("notes", "/n/note.md", PROJECT)
    assert found.text == "Body: `x`.\n\n- a"
    assert found.title == "Keep types strict"
    assert found.kind is Kind.PREFERENCE
    assert found.metadata == {"name": "Keep types strict", "type": "feedback"}


def test_frontmatter_that_carries_meaning_becomes_metadata_in_text_form() -> None:
    found = draft(
        "---\nTask: Move to PostgreSQL\nphase: complete\nprogress: 7/8\niteration: 2\ndone: true\n"
        "score: 0.5\nstarted: 2026-03-01\nnested: {a: 1}\nlist: [x, 2]\nempty:\n---\nbody\n"
    )
    assert found.metadata == {
        "task": "Move to PostgreSQL",
        "phase": "complete",
        "progress": "7/8",
        "iteration": "2",
        "done": "true",
        "score": "0.5",
        "started": "2026-03-01",
        "list": "x, 2",
    }


def test_the_type_of_newer_memory_files_is_one_level_down() -> None:
    found = draft("---\nname: x\nmetadata:\n  type: reference\n  node: n1\n---\nbody\n")
    assert found.kind is Kind.RESEARCH
    assert found.metadata["node"] == "n1"


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("user", Kind.PREFERENCE),
        ("feedback", Kind.PREFERENCE),
        ("project", None),
        ("reference", Kind.RESEARCH),
        ("Error", Kind.ERROR),
        ("decision", Kind.ARCHITECTURE),
        ("something", None),
        ("[a]", None),
    ],
)
def test_a_type_that_maps_decides_the_kind(word: str, kind: Kind | None) -> None:
    assert draft(f"---\ntype: {word}\n---\nbody\n").kind is kind


def test_the_kind_of_the_source_holds_where_the_file_says_nothing() -> None:
    spec = SourceSpec("docs", ("*.md",), base=Path("/"), kind=Kind.ARCHITECTURE)
    assert draft("body", spec=spec).kind is Kind.ARCHITECTURE
    assert draft("---\ntype: feedback\n---\nbody\n", spec=spec).kind is Kind.PREFERENCE


@pytest.mark.parametrize(
    ("text", "path", "title"),
    [
        ("---\ntitle: T\nname: N\n---\n# H\n", "/n/x.md", "T"),
        ("---\nname: N\ndescription: D\n---\n# H\n", "/n/x.md", "N"),
        # A description sums a page up; it is its title only where there is none.
        ("---\ndescription: D\n---\n# H\n", "/n/x.md", "H"),
        ("---\ndescription: D\n---\nbody\n", "/n/x.md", "D"),
        ("intro\n\n## The `heading` ##\n", "/n/x.md", "The `heading`"),
        ("# [1.2.0](https://example.org/a...b) (2026-03-15)\n", "/n/CHANGELOG.md", "1.2.0 (2026-03-15)"),
        ("# The **queue** is 2**6 long\n", "/n/x.md", "The queue is 2**6 long"),
        ("# CLAUDE.md\n\nThis file guides Claude Code.\n", "/code/tide/CLAUDE.md", "tide/CLAUDE.md"),
        ("```\n# no heading\n```\n# Real\n", "/n/x.md", "Real"),
        ("# C# and F# #\n", "/n/x.md", "C# and F#"),
        ("##  \n# Real\n", "/n/x.md", "Real"),
        ("Queue limits\n============\n\ntext\n", "/n/x.md", "Queue limits"),
        ("::\n\n  Status: Draft\n\n=====\nRFC 7\n=====\n\nWhy\n===\n", "/n/7-queue.rst", "RFC 7"),
        ("Intro.\n\nQueue limits\n------------\n\n::\n\n  # a comment\n", "/n/x.rst", "Queue limits"),
        ("text::\n\n  # a comment\n", "/n/queue-limits.rst", "queue limits"),
        ("first line\n---\n\ntext\n", "/n/queue.md", "queue"),
        ("## Context\n\ntext\n\n## Decision\n", "/adr/0007-one-queue.md", "0007 one queue"),
        ("## Queue fix\n\ntext\n\n## Standup\n", "/n/4711.md", "Queue fix"),
        ("## Conjugation\n\ntext\n\n## Examples\n", "/n/\uc788\ub2e4.md", "\uc788\ub2e4"),
        ("## Yesterday\n\ntext\n\n## Today\n", "/n/2026-03-15.md", "2026-03-15"),
        ("# Yesterday\n\ntext\n\n# Today\n", "/n/15-03-2026.md", "15-03-2026"),
        ("# Ferry crew\n\ntext\n\n## Agenda\n", "/n/2026-03-15.md", "Ferry crew"),
        (
            "==\u26a0 Switch view \u26a0==\n\n# Excalidraw Data\n\n## Text Elements\nFerry ^Gs24Ubz8\n",
            "/n/ferry 2026-03-15.excalidraw.md",
            "ferry 2026-03-15",
        ),
        ("---\ntitle: Ferry\naliases: [MV Gull, ferry, gull]\n---\nb", "/n/x.md", "Ferry (MV Gull, gull)"),
        ("---\nalias: TSF\n---\nb", "/n/time series forecast.md", "time series forecast (TSF)"),
        ("---\naliases:\n---\nb", "/n/ferry.md", "ferry"),
        ("# 20260315093000 Ferry crew\n\nAda.\n", "/n/x.md", "Ferry crew"),
        ("Ada.\n", "/n/202603150930_ferry-crew.md", "ferry crew"),
        ("Ada.\n", "/n/20260315093000.md", "20260315093000"),
        ("- DONE queue fix\n", "/n/2026_03_15.md", "2026-03-15"),
        ("## Queue fix\n\n### Cause\n", "/n/notes.md", "Queue fix"),
        ("PEP: 8\nTitle: Style\nAuthor: A,\n  B\nStatus:\n\nAbstract\n===\n", "/n/pep-0008.rst", "Style"),
        (":Author: A\n:Title: Style\n\nAbstract\n===\n", "/n/style.rst", "Style"),
        ("Betreff: Umzug\nDatum: 2026-03-01\n\n# Hallo\n", "/n/x.md", "Umzug"),
        ("#+TITLE: Keyboard\n#+AUTHOR: A\n* Layers\n", "/n/x.org", "Keyboard"),
        (":PROPERTIES:\n:ID: 5\n:END:\n#+title: Ferry\nIt sails.\n", "/n/x.org", "Ferry"),
        ("#+filetags: :boat:\n* Crew\nAda.\n", "/n/x.org", "Crew"),
        (
            "<pre>\n  BIP: 7\n  Title: Ship logs\n</pre>\n\n==Abstract==\n",
            "/b/bip-0007.mediawiki",
            "Ship logs",
        ),
        ("```\n  BIP: 7\n  Title: Ship logs\n```\n\n## Abstract\n\n## End\n", "/b/bip-0007.md", "Ship logs"),
        ("```\nport: 7\n```\n\n## Abstract\n\n## End\n", "/b/bip-0007.md", "bip 0007"),
        ("// a comment\n= Ship logs\nJane Doe\n:toc:\n\n== Context\n", "/adr/0001-logs.adoc", "Ship logs"),
        ("=== RUN Test\n== Info: x\n", "/n/test-log.txt", "test log"),
        ("Title: a word\nand a sentence\n\n# Real\n", "/n/x.md", "Real"),
        ("Title: a word\n# Real\n", "/n/x.md", "Real"),
        ("# {{title}}\nrole::\n", "/Templates/host.md", "host"),
        ("# {{date:dddd, D MMMM}} \u2013 {{time}}\n\n- DNS:\n", "/Templates/daily note.md", "daily note"),
        ("# <% tp.file.title %>\n", "/n/meeting.md", "meeting"),
        ("# The {{ name }} of a role\n", "/n/x.md", "The {{ name }} of a role"),
        ("# " + "{{}}" * 2_000 + "a\n", "/n/x.md", "x"),
        ("plain text", "/n/2026-03-01_queue-fix.md", "2026-03-01 queue fix"),
        ("plain text", "/r/tideline/CLAUDE.md", "tideline/CLAUDE.md"),
        ("plain text", "/s/deploy/SKILL.md", "deploy/SKILL.md"),
    ],
)
def test_the_title_comes_from_the_best_place_there_is(text: str, path: str, title: str) -> None:
    assert draft(text, path=path).title == title


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("---\ndate: 2026-03-15\n---\nb", "/n/2026-01-01.md", "2026-03-15T00:00:00+00:00"),
        ("---\nupdated: 2026-03-15T10:00:00+02:00\n---\nb", "/n/x.md", "2026-03-15T08:00:00+00:00"),
        ("---\ncompleted_at: '2026-03-15 10:00'\n---\nb", "/n/x.md", "2026-03-15T10:00:00+00:00"),
        ("---\ntimestamp: 1773568800\n---\nb", "/n/x.md", "2026-03-15T10:00:00+00:00"),
        ("---\ntimestamp: 1773568800000\n---\nb", "/n/x.md", "2026-03-15T10:00:00+00:00"),
        ("---\ndate: soon\ncreated: 2026-03-15\n---\nb", "/n/x.md", "2026-03-15T00:00:00+00:00"),
        ("b", "/n/2026-03-15_queue.md", "2026-03-15T00:00:00+00:00"),
        ("b", "/n/notes-20260315.md", "2026-03-15T00:00:00+00:00"),
        ("b", "/n/2026-03-15T14-30-05_x.md", "2026-03-15T14:30:05+00:00"),
        ("b", "/w/20260315-143000_queue/PRD.md", "2026-03-15T14:30:00+00:00"),
        ("b", "/s/2026-03/standup.md", "2026-03-01T00:00:00+00:00"),
        ("b", "/s/2026-05/standup.md", "2026-05-01T12:00:00+00:00"),
        ("# T\n\n**Date:** 2026-03-15\n", "/n/x.md", "2026-03-15T00:00:00+00:00"),
        ("- Last updated: 2026-03-15 09:00\n", "/n/x.md", "2026-03-15T09:00:00+00:00"),
        ("b", "/n/version-20261399.md", "2026-05-01T12:00:00+00:00"),
        ("b", "/n/2026-02-31.md", "2026-05-01T12:00:00+00:00"),
        ("b", "/n/120260315.md", "2026-05-01T12:00:00+00:00"),
        ("b", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        # The name goes before the line, the line before the title, the title before the folder.
        ("# R 2025-03-01\n\nDate: 2025-02-01\n", "/2025-04-01/a_2025-01-01.md", "2025-01-01T00:00:00+00:00"),
        ("# R 2025-03-01\n\nDate: 2025-02-01\n", "/2025-04-01/a.md", "2025-02-01T00:00:00+00:00"),
        ("# R 2025-03-01\n\nb", "/2025-04-01/a.md", "2025-03-01T00:00:00+00:00"),
        ("# R\n\nb", "/2025-04-01/a.md", "2025-04-01T00:00:00+00:00"),
        ("---\ntitle: Review of 17 May 2025\n---\n# H\n", "/n/x.md", "2025-05-17T00:00:00+00:00"),
        ("# Incident, May 17, 2025 14:05 UTC\n", "/n/x.md", "2025-05-17T14:05:00+00:00"),
        ("# 2025-05-17\n\n## Follow-up 2025-05-18\n", "/n/x.md", "2025-05-17T00:00:00+00:00"),
        ("Date: 2025-03-15 09:00 +02:00\n", "/n/x.md", "2025-03-15T07:00:00+00:00"),
        ("**Datum:** 17. Mai 2025\n", "/n/x.md", "2025-05-17T00:00:00+00:00"),
        ("| Date | 2025-03-15 |\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        # A label in bold needs no colon.
        ("**Status**  Accepted\n**Date**    2025-03-15 (proposed)\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("- __Created__ 2025-03-15\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("**Status** Accepted (2025-03-15)\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("Date 2025-03-15 was a Saturday\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("::\n\n    Status: Draft\n    Created: 2025-03-15\n", "/n/x.rst", "2025-03-15T00:00:00+00:00"),
        ("#+TITLE: Keys\n#+DATE: 2025-03-15\n", "/n/x.org", "2025-03-15T00:00:00+00:00"),
        ("= Keys\n:revdate: 2025-03-15\n", "/n/x.adoc", "2025-03-15T00:00:00+00:00"),
        (":Created: 15-Mar-2025\n", "/n/x.rst", "2025-03-15T00:00:00+00:00"),
        ("---\nstart-date: 2025-03-15\n---\n# H\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("---\npubDate: 2025-03-15\nupdatedAt: 2025-04-01\n---\n", "/n/x.md", "2025-04-01T00:00:00+00:00"),
        ("- Feature Name: `keys`\n- Start Date: 2025-03-15\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("* **Date of the incident**: 15 March 2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("> Decided on: 2025-03-15 by all\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("Ver\u00f6ffentlicht am: 15.03.2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("---\ndate:\n  - 2025/03/15\nupdated: 2025-04-01\n---\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        # As Notion exports its properties.
        ("# T\n\nCreated time: March 15, 2025 2:11 PM\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("# T\n\nLast edited time: April 1, 2025 2:56 PM\n", "/n/x.md", "2025-04-01T00:00:00+00:00"),
        # These dates are of something else.
        ("Date of birth: 2025-03-15\nStart: 2025-03-15\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("Erstellt am: 15.03.2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("**Cr\u00e9\u00e9 le** : 15 mars 2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        # What was changed later is as new as the change.
        ("Created: 2025-03-15\nUpdated: 2025-04-01\n", "/n/x.md", "2025-04-01T00:00:00+00:00"),
        ("Created: 2025-03-15\n\n# T 2025-04-01\n", "/n/x.md", "2025-04-01T00:00:00+00:00"),
        ("**Data**: 15 de março de 2025 (sexta-feira)\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("**Última Atualização:** 15/03/2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("Fecha de actualización: 15 de marzo de 2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("**Dernière mise à jour** : 15 mars 2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("Zuletzt geändert am: 15.03.2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("Ultimo aggiornamento: 15 marzo 2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("Laatst bijgewerkt: 15 maart 2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("Дата: 15 марта 2025\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("**最終更新日**\uff1a2025年3月15日\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("日期\uff1a2025-03-15\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("# ADR 7\n\n## Status\n\n**Accepted** \u2014 2025-03-15\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("Status: In force (2025-03-15).\nDate: 2025-03-14\n", "/n/x.md", "2025-03-14T00:00:00+00:00"),
        ("## ステータス\n\n承認済み\uff082025年3月15日\uff09\n", "/n/x.md", "2025-03-15T00:00:00+00:00"),
        ("Status: Accepted, due by 2025-03-15\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("# T\n\n### Estado Atual (2025-03-15)\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("## Status\n\nIt was 7 on 2025-03-15\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("Data de início: 2025-03-15\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("Data: 15 tables of 2025\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("---\ndate: May 17, 2025\n---\nb", "/n/x.md", "2025-05-17T00:00:00+00:00"),
        ("b", "/j/2025/05/17/notes.md", "2025-05-17T00:00:00+00:00"),
        ("b", "/j/2026/05/notes.md", "2026-05-01T12:00:00+00:00"),
        ("b", "/n/standup-2026-05.md", "2026-05-01T12:00:00+00:00"),
        ("b", "/n/2026-W18.md", "2026-05-01T12:00:00+00:00"),
        ("b", "/n/2025-W18 review.md", "2025-04-28T00:00:00+00:00"),
        # A log has a date in each heading, and is as new as its last change.
        ("# 2025-05-17\n\n# 2025-05-18\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("# Migration due by 2025-05-17\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("# What was said on 2025-05-17 of the queue\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("# Roadmap 2025-01-01 - 2025-06-30\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("Due date: 2025-05-17\n", "/n/x.md", "2026-05-01T12:00:00+00:00"),
        ("b", "/n/app-v2025.05.17.md", "2026-05-01T12:00:00+00:00"),
        ("b", "/n/03-04-2025.md", "2026-05-01T12:00:00+00:00"),
        ("b", "/n/2025-05-01--2025-05-17.md", "2026-05-01T12:00:00+00:00"),
    ],
)
def test_the_event_time_comes_from_the_best_place_there_is(text: str, path: str, expected: str) -> None:
    assert draft(text, path=path).event_time == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    ("others", "name", "expected"),
    [
        (["24-05-2026.md"], "03-05-2026.md", "2026-05-03"),
        (["05-24-2026 standup.md"], "05-03-2026 standup.md", "2026-05-03"),
        (["24-05-2026_17-31.md"], "03-05-2026_17-31.md", "2026-05-03"),
        (["24-05-2026.md", "05-24-2026.md"], "03-05-2026.md", f"{MODIFIED:%F}"),
        (["02-05-2026.md"], "03-05-2026.md", f"{MODIFIED:%F}"),
    ],
)
def test_the_names_of_a_folder_tell_the_order_of_day_and_month(tmp_path, others, name, expected) -> None:
    for one in others:
        (tmp_path / one).touch()
    assert f"{draft('Sailed.', path=str(tmp_path / name)).event_time:%F}" == expected


@pytest.mark.parametrize(
    "tags", ["[Queue, '#redis', queue]", "Queue, redis", "queue redis", "\n- queue\n- '#Redis'"]
)
def test_tags_are_taken_from_lists_and_text(tags: str) -> None:
    assert draft(f"---\ntags: {tags}\n---\nbody\n").tags == ("queue", "redis")


def test_broken_frontmatter_is_read_line_by_line_with_a_warning() -> None:
    text = "---\nname: Cache rule: never in tests\ndate: 2026-03-15\ntype: feedback\n---\nbody\n"
    found = draft(text)
    assert (found.title, found.kind, found.text) == ("Cache rule: never in tests", Kind.PREFERENCE, "body")
    assert found.event_time == datetime(2026, 3, 15, tzinfo=UTC)
    assert len(warnings(text)) == 1
    assert "not valid YAML: line 2:" in warnings(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nnot a mapping\n\n---\n\nrest",
        "---\nname: never closed\n\nrest",
        "---\n- a\n- b\n---\nrest",
        "no block --- at all",
        "---\nname: only a block\n---\n",
    ],
)
def test_no_text_is_lost_where_there_is_no_block_or_nothing_else(text: str) -> None:
    assert draft(text).text == text.strip("\n")
    assert warnings(text) == []


DOUBLING = "\n".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12))


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("a0: &a0 {x: 1}\n" + DOUBLING, "it has aliases"),
        ("a: " + "[" * 30_000 + "]" * 30_000, "it is nested too deeply"),
        ("a: " + "1" * 60_000, "limit"),
        ("a: b\n" * 20_000, "longer than"),
    ],
)
@pytest.mark.timeout(20)
def test_a_small_block_costs_neither_minutes_nor_memory(block: str, problem: str) -> None:
    text = f"---\nname: N\n{block}\n---\nbody\n"
    assert "body" in draft(text).text
    assert problem in warnings(text)[0]


@pytest.mark.parametrize(
    "text", ["# " + " " * 500_000, "#" * 500_000, "Date:" + " " * 500_000, "---\n" * 100_000]
)
@pytest.mark.timeout(20)
def test_long_runs_of_one_character_take_linear_time(text: str) -> None:
    assert draft(text).title == "note"


def test_values_that_a_database_refuses_are_cleaned() -> None:
    found = draft('---\nname: "a\\0b\\x07c"\n---\nbody\n')
    assert found.title == "abc"


yaml_like = st.text(st.sampled_from("---\n\n:[]{}&*!|>%@`'\",# \tabx01.~?"), max_size=60)


@settings(max_examples=200, deadline=None)
@given(block=yaml_like | st.text(max_size=60), body=st.text(max_size=30))
def test_no_text_makes_the_reader_raise_or_give_nothing(block: str, body: str) -> None:
    text = f"---\n{block}\n---\n{body}"
    found = draft(text)
    assert found.event_time is not None
    assert found.event_time.tzinfo is not None
    # Blank lines below the block belong to it.
    assert re.sub(r"\A\s*\n", "", body).strip("\n") in found.text
    for value in (found.title, *found.tags, *found.metadata, *found.metadata.values()):
        assert value.encode("utf-8")
        assert value.isprintable()


@pytest.mark.parametrize(
    "scalar", ["!!int ''", "!!bool x", "!!timestamp x", "!!float ''", "!!binary é", "!x y", "*x"]
)
def test_odd_scalars_are_no_crash(scalar: str) -> None:
    assert draft(f"---\nname: N\nodd: {scalar}\n---\nbody\n").title == "N"
