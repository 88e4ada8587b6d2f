"""What is read ahead of a write is what the write would have read."""

from datetime import UTC, datetime

import pytest

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Draft
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion import entities
from ragmem.services.ingestion.classify import classify_draft

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    "text",
    [
        "The importer lives in tools/import.py and reads `nightly.dump` over HTTP (hypertext transfer).",
        f"The mailer of relay.example.org logs in with {SECRET} and calls MAILER_RETRY.",
        "# One\n\nMAX_ROWS is 20.\n\n" + "# Two\n\nA line about load.py and its flags.\n\n" * 60,
    ],
    ids=["names", "a secret", "many chunks"],
)
def test_it_is_what_is_found_without_it(monkeypatch, text):
    judged = classify_draft(
        Draft("notes", "/a.md", text, title="A"),
        now=NOW,
        sizes=ChunkingSettings(),
        rule="off",
        redactor=DEFAULT,
    )
    item = (judged.memory, judged.chunks)
    monkeypatch.setattr(entities, "_cache", {})
    found = entities.extract_by_rule(*item, DEFAULT)
    read_ahead = entities.extract_names([item], redactor=DEFAULT)
    monkeypatch.setattr(entities, "_cache", {})
    entities.cache_extractions(dict(read_ahead))
    monkeypatch.setattr(entities, "extract", None)

    assert any(one.entities for one in found)
    assert entities.extract_by_rule(*item, DEFAULT) == found


def test_only_so_many_extractions_are_kept(monkeypatch):
    monkeypatch.setattr(entities, "_cache", {})
    monkeypatch.setattr(entities, "CACHE_SIZE", 2)
    for n in range(5):
        item = classify_draft(
            Draft("notes", f"/{n}.md", f"See load{n}.py there."),
            now=NOW,
            sizes=ChunkingSettings(),
            rule="off",
            redactor=DEFAULT,
        )
        names = entities.extract_names([(item.memory, item.chunks)], redactor=DEFAULT)
        entities.cache_extractions(dict(names))
        assert len(entities._cache) <= 2
