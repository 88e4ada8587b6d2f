"""By no way in does a secret come to lie in a file, and none goes out to a provider."""

import base64
import random
import string
import tempfile
from pathlib import Path

from ragmem import __main__, inbox
from ragmem.__main__ import run
from ragmem.inbox.redaction import redact_write
from ragmem.services.ingestion.options import DraftOptions

CHOOSER = random.Random(9)
TOKEN = "gh" + "p_" + "".join(CHOOSER.choice(string.ascii_letters + string.digits) for _ in range(36))
NOTE = f"# The quay\n\nWe decided to log in with {TOKEN} because the error of the old login was a timeout.\n"


def holding(folder: Path, value: str = TOKEN) -> list[str]:
    """Return the files below a folder that hold a value, as it is or encoded."""
    raw = value.encode()
    forms = (raw, value.encode("utf-16-le"), base64.b64encode(raw)[:-4])
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path.name for path in files if any(form in path.read_bytes() for form in forms)]


def test_a_seeded_note_is_stored_without_its_secret_and_unchanged_the_second_time(memory, notes, tmp_path):
    (notes / "quay.md").write_text(NOTE)
    first = memory.seed()
    second = memory.seed()
    memory.close()
    assert sum(one.new for one in first.tallies) >= 1
    assert sum(one.new + one.changed for one in second.tallies) == 0
    assert holding(tmp_path / "ragmem") == []


def test_what_is_written_with_redaction_off_is_found_on_disk_and_by_doctor(open_memory, tmp_path):
    off = open_memory(RAGMEM_SECRETS_REDACT="false")
    off.ingest(off.ingestion.draft([], DraftOptions(), text=NOTE.encode()).drafts)
    off.close()
    assert holding(tmp_path / "ragmem")
    on = open_memory()
    check = next(one for one in on.doctor.examine().checks if one.name == "secrets")
    assert check.status == "warning"
    assert check.fix == "ragmem scrub"
    assert "1 holds" in check.detail


def test_a_remembered_text_waits_without_its_secret(memory, tmp_path):
    memory.remember(
        NOTE, title=f"Log in with {TOKEN}", tags=[TOKEN], metadata={"password": "Winter" + "2024!x"}
    )
    assert holding(tmp_path / "ragmem") == []
    assert holding(tmp_path / "ragmem", "Winter2024") == []


def test_a_text_that_is_private_as_a_whole_is_refused(inside, tmp_path):
    home = str(tmp_path / "ragmem")
    told = inside("ingest", "-", stdin="<private>all of it</private>", RAGMEM_HOME=home)
    assert told.returncode == 2
    assert "empty without its private parts" in told.stderr
    told = inside("ingest", "--buffer", "--text", "<private>all</private>", RAGMEM_HOME=home)
    assert told.returncode == 2


def test_a_file_that_is_private_as_a_whole_is_passed_over_and_replaces_what_was_stored_of_it(
    inside, memory, tmp_path
):
    home = str(tmp_path / "ragmem")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tide.md").write_text("The tide table of the quay is read at noon, for the error of the clock.")
    (notes / "own.md").write_text("<private>the key hangs behind the lighthouse</private>")
    told = inside("ingest", str(notes), RAGMEM_HOME=home)
    assert told.returncode == 0
    assert "own.md: the text is empty without its private parts" in told.stderr
    assert [Path(one.uri).name for one in memory.catalog.memories.each()] == ["tide.md"]
    (notes / "tide.md").write_text("<private>The tide table of the quay is read at noon.</private>")
    assert inside("ingest", str(notes), RAGMEM_HOME=home).returncode == 0
    assert [one.text for one in memory.catalog.memories.each()] == [""]


def test_the_inbox_follows_the_settings_of_the_person(tmp_path):
    environ = {"RAGMEM_HOME": str(tmp_path)}
    config = tmp_path / "config"
    config.mkdir()
    (config / "config.toml").write_text('[secrets]\nallow = ["ghp_.*"]\nextra = ["QUAY-[0-9]{4}"]\n')
    write = redact_write(
        {"text": f"{TOKEN} at " + "QUAY-" + "1234, key"}, environ=environ, home="/nowhere", cwd="/nowhere"
    )
    assert write["text"] == f"{TOKEN} at [redacted: secret], key"


def test_a_plain_text_waits_as_it_is(tmp_path):
    write = {"text": "The tide table loads in 40 ms."}
    assert redact_write(write, environ={"RAGMEM_HOME": str(tmp_path)}, home="/", cwd="/") is write
    assert not inbox.inbox_folder(tmp_path).startswith("inbox")


def test_the_report_of_a_bug_quotes_no_secret(monkeypatch, capsys, tmp_path):
    def broken(_):
        raise ValueError(f"cannot read {TOKEN}")

    monkeypatch.setattr(__main__, "_dispatch", broken)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert run(["query", "x"]) == 70
    assert TOKEN not in capsys.readouterr().err
    assert holding(tmp_path) == []


KEY = [value * 4 for value in ("Tg5xPtc34HdjowEs", "9UNRBfuZhRw7YBWW", "0MYEfytqeAN029rH")]
BEGIN, END = (f"-----{word} RSA PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))


def test_no_comment_of_code_shows_a_secret_that_its_lines_made_one(inside, tmp_path):
    folder = tmp_path / "tide"
    folder.mkdir()
    block = "\n".join((BEGIN, *KEY, END))
    (folder / "one.ts").write_text(f"/**\n{block}\n*/\nexport class Quay {{ gate = 1; }}\n")
    word = "Harbour" + "77xQ9"
    (folder / "two.rs").write_text(
        f"/// | user | password |\n/// |------|------|\n/// | bob | {word} |\nconst GATE: u8 = 1;\n"
    )
    assert inside("ingest", "--code", str(folder), RAGMEM_HOME=str(tmp_path / "ragmem")).returncode == 0
    for value in (*KEY, word):
        assert holding(tmp_path / "ragmem", value) == []
