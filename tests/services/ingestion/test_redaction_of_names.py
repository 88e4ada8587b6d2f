"""No name is a way in for a secret: projects, specs, fields, titles of files, entities, agents, requests."""

import json
import random
import string

import pytest

from ragmem.domain.model import Draft
from ragmem.domain.records.records import FIELDS
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sessions.agents import MessageType
from ragmem.errors import UsageError
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.ingestion.sanitize import sanitize_draft
from tests.services.ingestion.test_redaction_of_inputs import holding

CHOOSER = random.Random(31)
SECRET = "".join(CHOOSER.choice(string.ascii_letters + string.digits) for _ in range(36))
TOKEN = "gh" + "p_" + SECRET
NOTE = "We decided to log in once because the error of the old login was a timeout of two seconds."


@pytest.mark.parametrize(
    "words",
    [
        ("ingest", "-", "--project", TOKEN),
        ("ingest", "-", "--spec", f"spec-{TOKEN}"),
        ("ingest", "--buffer", "-", "--project", TOKEN),
        ("ingest", "--buffer", "-", "--spec", TOKEN),
        ("record", "gotcha", NOTE, "--project", TOKEN),
        ("agents", "heartbeat", TOKEN),
        ("agents", "publish", "build_done", "--from", TOKEN),
    ],
)
def test_a_name_that_holds_a_secret_is_refused_without_quoting_it(inside, tmp_path, words):
    home = str(tmp_path / "ragmem")
    told = inside(*words, stdin=NOTE, RAGMEM_HOME=home)
    assert told.returncode == 2
    assert "holds a secret" in told.stderr
    assert TOKEN not in told.stderr
    (tmp_path / "ragmem").mkdir(exist_ok=True)
    (tmp_path / "ragmem/any").write_text("")
    assert holding(tmp_path / "ragmem", SECRET) == []


def test_a_title_made_of_a_file_name_shows_no_secret(memory, notes):
    (notes / f"log-in-{TOKEN}.md").write_text(NOTE)
    memory.ingest(memory.ingestion.draft([notes], DraftOptions()).drafts)
    titles = [one.title for one in memory.catalog.memories.each()]
    assert any("[redacted: GitHub token]" in title for title in titles)
    assert not any(SECRET in title for title in titles)


def test_names_of_fields_hold_no_secret():
    draft = Draft(
        "notes",
        "/notes/a.md",
        NOTE,
        metadata={TOKEN: "a", FIELDS: json.dumps({"files_understood": {TOKEN: "the login"}})},
    )
    assert SECRET not in repr(sanitize_draft(draft, redactor=DEFAULT))


def test_a_sender_that_is_named_by_a_secret_is_refused(memory):
    memory.agents.heartbeat("bob")
    for send in (
        lambda: memory.agents.send("bob", "hello", sender=TOKEN),
        lambda: memory.agents.signal(MessageType.PAUSE.value, to="bob", sender=TOKEN),
    ):
        with pytest.raises(UsageError, match="holds a secret"):
            send()
    assert memory.agents.messages("bob") == []
