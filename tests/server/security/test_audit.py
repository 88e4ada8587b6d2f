"""The audit log: which requests leave a line, what stands in it, and what never does."""

import json
import stat

from ragmem.server.security.audit import FILE_NAME, AuditLog

TOKEN = "t" * 43
SECRET_TEXT = "We decided to call the harbour project Quillon, because Perth was taken."


def lines(folder):
    return [json.loads(line) for line in (folder / FILE_NAME).read_text().splitlines()]


def test_a_write_leaves_a_line_that_names_the_memory_and_no_word_of_it(client, tmp_path):
    state = tmp_path / "ragmem" / "state"
    # Reading leaves none, and what is refused has changed nothing.
    client.get("/graph/label/list")
    client.post("/query", query="why redis and not memcached")
    client.post("/query/data", query="why redis and not memcached")
    client.send("POST", "/documents/text", headers={"Authorization": ""}, json={"text": SECRET_TEXT})
    client.send("POST", f"/nowhere/{SECRET_TEXT}")
    client.send("POST", "/session", json={"token": TOKEN})
    assert not (state / FILE_NAME).exists()
    stored = client.post("/documents/text", text=SECRET_TEXT, file_source="quillon.md").json()
    client.post("/documents/text", text="", file_source="quillon.md")
    done, failed = lines(state)
    assert stat.S_IMODE((state / FILE_NAME).stat().st_mode) == 0o600
    assert (done["who"], done["method"], done["route"]) == ("token", "POST", "/documents/text")
    assert (done["status"], done["memories"]) == (200, stored["memory_ids"])
    assert len(done["request"]) == 16
    assert (failed["status"], "memories" in failed) == (422, False)
    text = (state / FILE_NAME).read_text()
    assert not [word for word in ("Quillon", "harbour", "quillon.md", TOKEN) if word in text]


def test_the_log_is_rotated_and_bounded(tmp_path):
    log = AuditLog(tmp_path / FILE_NAME, max_bytes=1_000, kept=3)
    for number in range(200):
        log.record(number=number)
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == [FILE_NAME, f"{FILE_NAME}.1", f"{FILE_NAME}.2"]
    assert all(path.stat().st_size < 1_100 and stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    numbers = [
        json.loads(line)["number"] for path in reversed(files) for line in path.read_text().splitlines()
    ]
    assert numbers == list(range(numbers[0], 200))


def test_a_log_that_cannot_be_written_is_told_once_and_hurts_nobody(tmp_path):
    said = []
    path = tmp_path / "folder" / FILE_NAME
    log = AuditLog(path, warn=said.append)
    path.parent.touch()
    log.record(one=1)
    log.record(two=2)
    assert len(said) == 1
    assert "writes are not audited" in said[0]
    path.parent.unlink()
    log.record(three=3)
    assert [line["three"] for line in lines(path.parent)] == [3]
    path.unlink()
    path.mkdir()
    log.record(four=4)
    assert len(said) == 2


def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path):
    said = []
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    (tmp_path / FILE_NAME).symlink_to(elsewhere)
    AuditLog(tmp_path / FILE_NAME, warn=said.append).record(one=1)
    assert elsewhere.read_text() == ""
    assert len(said) == 1
