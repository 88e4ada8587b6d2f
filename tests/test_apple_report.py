"""The report that a person with a Mac makes: it runs here too, and tells nothing of the person."""

import getpass
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts/apple_report.sh"


def report(*words, cwd):
    return subprocess.run(
        [str(SCRIPT), *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "TMPDIR": str(cwd)},
    )


def test_a_report_names_each_section_and_neither_person_nor_machine(tmp_path):
    place = tmp_path / "report.md"
    words = ("--environment", sys.prefix, "--quick", "--only", "machine", "--only", "completions")
    done = report(*words, "--out", str(place), cwd=tmp_path)
    assert done.returncode == 0, done.stderr + place.read_text()
    text = place.read_text()
    assert "| Machine and versions | ok |" in text
    assert "| Completions and start | ok |" in text
    assert re.search(r"^bash +exit code 0", text, re.MULTILINE)
    private = {getpass.getuser(), socket.gethostname(), str(SCRIPT.parents[1]), str(tmp_path)}
    assert not [word for word in private if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)]
    # The temporary home is gone.
    assert [one.name for one in tmp_path.iterdir()] == ["report.md"]


def test_what_the_machine_lacks_is_left_out_and_is_no_failure(tmp_path):
    words = ("--environment", sys.prefix, "--only", "language", "--out", "report.md")
    assert report(*words, cwd=tmp_path).returncode == 0
    assert "no model was named by --language" in (tmp_path / "report.md").read_text()


def test_a_wrong_call_is_told_before_anything_is_installed(tmp_path):
    assert "Usage: scripts/apple_report.sh" in report("--help", cwd=tmp_path).stdout
    for words, said in (
        (("--environment",), "--environment needs a folder"),
        (("--environment", "nowhere"), "no Python in nowhere"),
        (("--environment", sys.prefix, "--out", "no/such/folder.md"), 'cannot write "no/such/folder.md"'),
        (("--environment", sys.prefix, "--only", "nothing"), "invalid choice"),
    ):
        done = report(*words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
