"""The status of a record tells which documents replace each other."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ragmem.readers.supersession_fields import supersession_fields

FILES = ("0003-queue.md", "0012-stream.md", "0013-log.md", "adr-0020-cache.md", "0030-a.md", "0030-b.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "adr").mkdir()
    for name in FILES:
        (tmp_path / "adr" / name).write_text("# A record\n", encoding="utf-8")
    return tmp_path / "adr"


def told(folder: Path, body: str, values: Mapping[str, object] | None = None) -> dict[str, str]:
    return supersession_fields(folder / "0003-queue.md", body, values or {})


@pytest.mark.parametrize(
    ("body", "newer"),
    [
        ("# 3. Queue\n\n## Status\n\nSuperseded by [12. Stream](0012-stream.md)\n", "0012-stream.md"),
        ("# 3. Queue\n\n## Status\n\nSuperceded by [12](./0012-stream.md)\n\n## Context\n", "0012-stream.md"),
        (
            "# Queue\n\n- Status: superseded by [ADR-0012](0012-stream.md)\n- Date: 2026-01-02\n",
            "0012-stream.md",
        ),
        ("# Queue\n\n**Status:** Deprecated, superseded by ADR-0012.\n", "0012-stream.md"),
        ("# Queue\n\n**Status**  Superseded by [ADR-0012](0012-stream.md)\n", "0012-stream.md"),
        ("# Queue\n\n**Superseded by** [ADR-0012](0012-stream.md)\n", "0012-stream.md"),
        (
            "# Queue\n\n## Status\n\n**Superseded by [ADR-0012](0012-stream.md).** The queue of ADR-0020"
            + " cannot be emptied while the brokers of the harbour run" * 8,
            "0012-stream.md",
        ),
        (
            "# Queue\n\n> This decision is **superseded by [ADR-0020](adr-0020-cache.md)**.\n",
            "adr-0020-cache.md",
        ),
        ("PEP: 3\nTitle: Queue\nStatus: Superseded\nSuperseded-By: 12\n\nText.\n", "0012-stream.md"),
        ("<pre>\n  BIP: 3\n  Superseded-By: 12\n</pre>\n\n==Queue==\n", "0012-stream.md"),
        ("# Queue\n\n| Superseded by | [20](adr-0020-cache.md) |\n", "adr-0020-cache.md"),
        ("# Queue\n\nStatus: superseded by [[0012-stream|the stream]]\n", "0012-stream.md"),
        ("# Queue\r\n\r\n## Status\r\n\r\nSuperseded by ADR-0012\r\n", "0012-stream.md"),
        ("# Queue\n\nSuperseded by: ADR [12](0012-stream.md)\n", "0012-stream.md"),
        ("# Queue\n\nStatus: Ersetzt durch ADR 12\n", "0012-stream.md"),
        ("# File d'attente\n\n## Statut\n\nRemplac\u00e9e par `0013-log.md`\n", "0013-log.md"),
        ("Queue\n=====\n\nStatus\n------\n\nReplaced by ADR 13 on 2026-03-01\n", "0013-log.md"),
    ],
)
def test_a_record_names_what_supersedes_it(folder: Path, body: str, newer: str) -> None:
    assert told(folder, body) == {"superseded_by": f"adr/{newer}"}


def test_several_records_and_both_directions_are_told(folder: Path) -> None:
    body = "Replaces: 12, 13\nSuperseded-By: 20\n\nText.\n"
    assert told(folder, body) == {
        "supersedes": "adr/0012-stream.md, adr/0013-log.md",
        "superseded_by": "adr/adr-0020-cache.md",
    }


@pytest.mark.parametrize("status", ["Accepted. ", "Accepted (2026-03-01). ", "**Accepted**, "])
def test_an_accepted_record_may_go_on_to_tell_what_it_supersedes(folder: Path, status: str) -> None:
    body = f"# Queue\n\n## Status\n\n{status}Supersedes [ADR-0012](0012-stream.md). Renders ADR-0013 inert.\n"
    assert told(folder, body) == {"supersedes": "adr/0012-stream.md"}


def test_the_frontmatter_may_tell_it(folder: Path) -> None:
    assert told(folder, "", {"status": "superseded by [ADR-0012](0012-stream.md)"}) == {
        "superseded_by": "adr/0012-stream.md"
    }
    assert told(folder, "", {"superseded_by": 12}) == {"superseded_by": "adr/0012-stream.md"}
    assert told(folder, "", {"superseded_by": "0012-stream"}) == {}, "a name is resolved with the memories"


@pytest.mark.parametrize(
    "body",
    [
        "## Status\n\nSuperseded in part by [12](0012-stream.md)\n",
        "## Status\n\nPartially superseded by [12](0012-stream.md)\n",
        "**Supersedes:** [A-12](./0012-stream.md)/E1, E4\n",
        "Status: superseded by [12](0012-stream.md#limits)\n",
        "Status: {proposed | accepted | superseded by [ADR-0012](0012-stream.md)}\n",
        "Status: Superseded by ADR-XXXX\n",
        "## Status\n\nSuperseded by [12](0012-stream.md). The section on limits still holds.\n",
        "## Status\n\nProposed. Supersedes [12](0012-stream.md).\n",
        "| Supersedes | N/A |\n",
        "Status: Superseded by ADR-0030\n",
        "Status: Superseded by ADR-0099\n",
        "Status: Superseded by ADR-0003\n",
        "Status: Superseded by [the other](https://example.org/0012-stream.md)\n",
        "Status: Replaced by GPT 12\n",
        "Status: Replaced by 12 new services\n",
        "The old loader was replaced by [12](0012-stream.md) last year.\n",
        "Replaces [the old guide](0012-stream.md) where it was wrong.\n",
        "## Context\n\nSupersedes [12](0012-stream.md)\n",
        "Status: Proposed\nSupersedes: [12](0012-stream.md)\n",
        "**Status**  Proposed\n**Supersedes:** [12](0012-stream.md)\n",
        '**Supersedes:** the "reject attribution" decision in [ADR-0012](0012-stream.md)\n',
        "Status: Superseded by the last section of `0012-stream.md`\n",
        "## Status\n\nRejected\n\nSupersedes [12](0012-stream.md)\n",
    ],
)
def test_what_is_no_whole_supersession_in_force_is_left_out(folder: Path, body: str) -> None:
    assert told(folder, body) == {}


def test_a_new_record_is_found_by_its_number_in_the_same_process(folder: Path) -> None:
    body = "Status: Superseded by ADR-0044\n"
    assert told(folder, body) == {}
    (folder / "0044-new.md").write_text("# New\n", encoding="utf-8")
    assert told(folder, body) == {"superseded_by": "adr/0044-new.md"}


def test_a_text_from_no_folder_names_its_files_and_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "0003-queue.md"
    assert supersession_fields(path, "Status: Superseded by ADR-0012\n", {}) == {}
    assert supersession_fields(path, "Status: Superseded by [12](../adr/0012-stream.md)\n", {}) == {
        "superseded_by": "adr/0012-stream.md"
    }
    assert supersession_fields(path, "Status: Superseded by [12](\0.md)\n", {}) == {}
