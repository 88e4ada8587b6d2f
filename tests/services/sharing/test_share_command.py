"""Two members with a home each share over a git remote, by the command line alone."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from shared_remotes import git_daemon
from warm_homes import wait_until

from ragmem import client

NO_HOOKS = {"RAGMEM_HOOKS": "off"}
GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "2026-03-01T10:00:00Z"}

EVENTS = "# Events\n\nWe decided to keep the event log in Kafka, because it is replayed every night.\n"
QUEUE = "# Queue\n\nWe decided to use NATS for the queue, because Kafka needs too many brokers.\n"


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={**os.environ, **GIT},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


class Member:
    """A person with a clone and a home of their own."""

    def __init__(self, name, place, run, url="remote.git"):
        self.folder, self.home, self._run = place / name, place / f"home-{name}", run
        git(place, "clone", "-q", url, name)
        git(self.folder, "config", "user.email", f"{name}@example.com")
        git(self.folder, "config", "user.name", name)

    def __call__(self, *arguments, stdin="", **environ):
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            return self._run(*arguments, stdin=stdin, RAGMEM_HOME=str(self.home), **NO_HOOKS, **environ)
        finally:
            os.chdir(before)

    def tell(self, *arguments, **options):
        done = self(*arguments, **options)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def data(self, *arguments, **options):
        return json.loads(self(*arguments, "--json", **options).stdout)

    def decide(self, text, name="note.md"):
        path = self.home.parent / f"{self.folder.name}-{name}"
        path.write_text(f"---\ntype: decision\n---\n{text}", encoding="utf-8")
        # A person hands it in inside the clone, so that it belongs to the project.
        (self.folder / name).write_bytes(path.read_bytes())
        return self.tell("ingest", name).split()[0]

    def connect(self):
        """Connect Claude Code, whose settings are in a home folder of the member's own."""
        self.tell("connect", "claude-code", HOME=str(self.home))

    def begin(self, session):
        """Run the hook that `connect` wrote as Claude Code does, and return what the assistant is told."""
        settings = json.loads((self.home / ".claude" / "settings.json").read_text(encoding="utf-8"))
        (entry,) = settings["hooks"]["SessionStart"]
        event = {"session_id": session, "hook_event_name": "SessionStart", "source": "startup"}
        event |= {"transcript_path": str(self.home / f"{session}.jsonl"), "cwd": str(self.folder)}
        own = {"HOME": str(self.home), "RAGMEM_WARM": "on", "RAGMEM_HOOKS_QUERY_DEADLINE_S": "20"}
        own |= {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
        done = subprocess.run(
            ["sh", "-c", entry["hooks"][0]["command"]],
            input=json.dumps(event),
            env={**os.environ, **own},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""

    @property
    def name(self):
        return self.data("share")["member"]

    def config(self, text):
        folder = self.home / "config"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(text, encoding="utf-8")


def has_daemon():
    """Return whether git has its daemon here; some packages leave it out."""
    programs = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout
    return Path(programs.strip(), "git-daemon").exists()


@pytest.fixture
def remote(tmp_path):
    """Return the path of a repository of one commit that all clone."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    first = tmp_path / "first"
    git(tmp_path, "clone", "-q", "remote.git", "first")
    git(first, "config", "user.email", "x@example.com")
    git(first, "config", "user.name", "x")
    (first / "README.md").write_text("hello\n")
    git(first, "add", ".")
    git(first, "commit", "-qm", "first")
    git(first, "push", "-q", "origin", "HEAD:main")
    return tmp_path / "remote.git"


@pytest.fixture
def team(tmp_path, remote, ragmem):
    """Return Ada and Bob, who have cloned the same repository."""
    return Member("ada", tmp_path, ragmem), Member("bob", tmp_path, ragmem)


@pytest.mark.parametrize(
    "served",
    [
        pytest.param(False, id="a file remote"),
        pytest.param(
            True, id="git daemon", marks=pytest.mark.skipif(not has_daemon(), reason="git has no daemon here")
        ),
    ],
)
def test_what_ada_decided_is_told_to_bobs_assistant_with_her_name_after_review_and_not_before(
    served, tmp_path, remote, ragmem
):
    with git_daemon(tmp_path) if served else nullcontext(f"{tmp_path}/") as base:
        ada, bob = (Member(name, tmp_path, ragmem, f"{base}remote.git") for name in ("ada", "bob"))
        bob.connect()
        ada.decide(QUEUE)
        assert "shared 1 record" in ada.tell("share", "push", "--yes")
        assert "fetched 1 memory of 1 member" in bob.tell("share", "fetch")

    def told(session):
        question = bob("query", "which queue did we decide to use, NATS or Kafka?", "--all").stdout
        return question, bob("context").stdout, bob.begin(session)

    try:
        assert not any("NATS" in text for text in told("first"))
        assert "nothing found" in (bob.home / "state" / "hooks.log").read_text(), "the memory was asked"
        (waiting,) = bob.data("share", "review")["records"]
        assert waiting["member"] == ada.name
        assert waiting["title"] == "Queue"
        bob.tell("share", "review", "accept", waiting["id"])
        for text in told("second"):
            assert "NATS" in text
            assert f"from {ada.name}" in text
    finally:
        assert client.stop(str(bob.home / "data"), deadline=time.monotonic() + 10)
    assert git(bob.folder, "status", "--porcelain") == ""
    assert git(bob.folder, "for-each-ref", "refs/ragmem") == ""


def test_the_list_for_review_and_a_withdrawn_memory_name_the_next_command(team):
    ada, bob = team
    identifier = ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    assert "ragmem share review accept ID" in bob("share", "review").stderr
    ada.tell("share", "withdraw", identifier)
    assert "ragmem share push ID" in ada("share", "push", "--yes").stderr


def test_the_doctor_names_what_waits_for_a_review(team):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")

    def told():
        checks = bob.data("doctor", "--read-only")["checks"]
        return [(one["status"], one["detail"], one["fix"]) for one in checks if one["name"] == "sharing"]

    assert told() == [
        ("ok", "1 shared record waits for your review: remote 1", "ragmem share review"),
    ]
    bob.tell("share", "review", "reject", "--all")
    assert told() == []


def test_a_second_push_and_a_second_fetch_change_nothing(team):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    assert "nothing new" in ada.tell("share", "push")
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    before = bob.data("inspect", "memories", "--all")
    assert "nothing new" in bob.tell("share", "fetch")
    assert bob.data("inspect", "memories", "--all") == before


def test_the_first_push_asks_and_shares_nothing_without_an_answer(team):
    ada, _ = team
    ada.decide(QUEUE)
    done = ada("share", "push")
    assert done.returncode == 2
    assert "there is no terminal to confirm it" in done.stderr
    assert "refs/ragmem" not in git(ada.folder, "ls-remote", "origin")


def test_a_withdrawn_memory_is_told_no_more_and_its_text_is_gone_from_the_other_home(team):
    ada, bob = team
    mine = ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    assert "withdrawn: Queue" in ada.tell("share", "withdraw", mine, "--reason", "we chose otherwise")
    bob.tell("share", "fetch")
    assert "NATS" not in bob("query", "which queue did we decide to use, NATS?", "--all", "--nearest").stdout
    assert b"too many brokers" not in (bob.home / "data" / "memory.db").read_bytes()
    assert "NATS" in ada("query", "which queue did we decide to use, NATS?", "--all").stdout
    again = ada("share", "withdraw", mine)
    assert again.returncode == 2
    assert "is already withdrawn" in again.stderr
    assert "nothing new" in ada.tell("share", "push"), "a rule shares it again"
    assert "shared 1 record" in ada.tell("share", "push", mine), "her word shares it again"
    bob.tell("share", "fetch")
    assert [one["title"] for one in bob.data("share", "review")["records"]] == ["Queue"]


def test_a_changed_decision_replaces_its_former_text(team):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    ada.decide(QUEUE.replace("NATS", "Redis streams"))
    assert "shared 1 record" in ada.tell("share", "push")
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    found = bob.data("query", "which queue did we decide to use, because Kafka needs brokers?", "--all")
    assert [("Redis" in one["text"], bool(one["replaced"])) for one in found["matches"]] == [(True, True)]


def test_decisions_of_two_members_on_the_same_matter_are_both_kept_and_shown_as_a_conflict(team):
    ada, bob = team
    text = "# Queue broker\n\nWe decided to use {}, because Kafka needs too many brokers.\n"
    ada.decide(text.format("NATS"))
    bob.decide(text.format("RabbitMQ"))
    ada.tell("share", "push", "--yes")
    bob.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    accepted = bob.data("share", "review", "list", "--state", "accepted")["records"]
    assert [one["member"] for one in accepted] == [ada.name], "one's own is nothing to review"
    (conflict,) = bob.data("share", "conflicts")["conflicts"]
    assert {one["member"] for one in conflict["memories"]} == {ada.name, bob.name}
    assert ada("share", "conflicts").returncode == 1, "ada has not fetched yet"
    ada.tell("share", "fetch")
    assert len(ada.data("share", "conflicts")["conflicts"]) == 1


def test_a_muted_member_is_told_no_more_and_nothing_is_lost(team):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    asked = ("query", "which queue did we decide to use, NATS?", "--all")
    assert "NATS" in bob(*asked).stdout
    bob.tell("share", "mute", ada.name)
    assert "NATS" not in bob(*asked).stdout
    ada.decide(QUEUE.replace("queue", "event log"), "more.md")
    ada.tell("share", "push")
    bob.tell("share", "fetch")
    assert bob.data("share", "review")["records"] == []
    bob.tell("share", "unmute", ada.name)
    assert "NATS" in bob(*asked).stdout
    assert len(bob.data("share", "review")["records"]) == 1
    assert "is muted" in bob.tell("share", "mute", ada.name.partition("-")[0])
    unknown = bob("share", "mute", "nobody")
    assert unknown.returncode == 2
    assert ada.name in unknown.stderr


def test_what_is_rejected_is_told_to_nobody_and_can_be_let_in_later(team):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    (one,) = bob.data("share", "review")["records"]
    asked = ("query", "which queue did we decide to use, NATS?", "--all")
    bob.tell("share", "review", "reject", one["id"])
    assert bob("share", "review").returncode == 1
    assert "NATS" not in bob(*asked).stdout
    bob.tell("share", "review", "accept", one["id"])
    assert "NATS" in bob(*asked).stdout
    bob.tell("share", "review", "reject", one["id"])
    assert "NATS" not in bob(*asked).stdout


def test_without_review_it_is_told_at_once(team):
    ada, bob = team
    bob.config("[share]\nreview = false\n")
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    assert f"from {ada.name}" in bob("context").stdout


TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def test_a_secret_never_leaves_and_its_memory_only_with_consent(team):
    ada, bob = team
    secret = ada.decide(f"# Deploy\n\nWe decided to deploy with the token {TOKEN} on Fridays.\n")
    assert "a secret was removed" in ada("share", "push", "--yes").stderr
    named = ada("share", "push", secret)
    assert named.returncode == 2
    assert "a secret was removed" in named.stderr
    ada.tell("share", "push", "--consent", secret)
    bob.tell("share", "fetch")
    (one,) = bob.data("share", "review")["records"]
    (shown,) = bob.data("share", "review", "show", one["id"])["records"]
    assert "[redacted:" in shown["text"]
    assert "Fridays" in shown["text"]
    for place in (ada.home, bob.home):
        for path in place.rglob("*"):
            assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path


def test_the_reason_of_a_withdrawal_leaves_without_a_secret(team):
    ada, bob = team
    key = ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    ada.tell("share", "withdraw", key, "--reason", f"the token {TOKEN} was in it")
    bob.tell("share", "fetch")
    for place in (ada.home, bob.home):
        for path in place.rglob("*"):
            assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("project", "why"), [("user", "yours, and of no project"), ("unassigned", "of an unknown project")]
)
def test_what_belongs_to_no_project_never_leaves(team, project, why):
    ada, _ = team
    text = ada.tell("ingest", "-", "--project", project, stdin=QUEUE).split()[0]
    assert ada.data("share", "push", "--dry-run")["records"] == []
    named = ada("share", "push", text)
    assert named.returncode == 2
    assert why in named.stderr


def test_a_private_project_is_never_shared(team):
    ada, _ = team
    ada.decide(QUEUE)
    project = ada.data("share")["project"]
    ada.config(f'[share]\nprivate = ["{project}"]\n')
    done = ada("share", "push", "--yes")
    assert done.returncode == 2
    assert "is private" in done.stderr


def test_what_git_shares_already_and_ordinary_notes_stay(team):
    ada, _ = team
    ada.decide(QUEUE, "docs.md")
    git(ada.folder, "add", "docs.md")
    ada.tell("ingest", "-", stdin="The coffee machine is on the second floor next to the printer.\n")
    plan = ada.data("share", "push", "--dry-run")
    assert plan["records"] == []
    assert {one["reason"] for one in plan["stays"]} == {"its file is in the repository"}


def test_a_note_whose_head_says_gotcha_leaves_as_one(team):
    ada, bob = team
    (ada.folder / "lock.md").write_text("Gotcha: the deploy script prints its log to stderr on Mondays.\n")
    ada.tell("ingest", "lock.md")
    assert "  gotcha  " in ada.tell("share", "push", "--dry-run")
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    (one,) = bob.data("share", "review")["records"]
    bob.tell("share", "review", "accept", one["id"])
    (told,) = bob.data("query", "where does the deploy script print its log?", "--all")["matches"]
    assert (told["category"], told["metadata"]["type"]) == ("gotcha", "error")


def test_what_came_in_by_sharing_is_not_shared_further(team):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    assert bob.data("share", "push", "--dry-run")["records"] == []
    (one,) = bob.data("share", "review", "list", "--state", "accepted")["records"]
    named = bob("share", "push", one["memory"])
    assert named.returncode == 2
    assert "shared by another member" in named.stderr
    assert bob("share", "withdraw", one["memory"]).returncode == 2


def test_a_remote_that_is_gone_loses_nothing(team, tmp_path):
    ada, bob = team
    ada.decide(QUEUE)
    (tmp_path / "remote.git").rename(tmp_path / "away.git")
    done = ada("share", "push", "--yes")
    assert done.returncode == 3
    assert done.stderr.count("\n") <= 3
    (tmp_path / "away.git").rename(tmp_path / "remote.git")
    assert "shared 1 record" in ada.tell("share", "push", "--yes")
    ada.decide(EVENTS, "more.md")
    (tmp_path / "remote.git").rename(tmp_path / "away.git")
    assert ada("share", "push").returncode == 3
    assert ada.data("share")["unpushed"] == 1
    assert bob("share", "fetch").returncode == 3
    (tmp_path / "away.git").rename(tmp_path / "remote.git")
    assert "shared 1 record" in ada.tell("share", "push")
    assert "fetched 2 memories" in bob.tell("share", "fetch")


def test_gc_keeps_what_others_have_shared_and_never_promotes_it(team):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.decide(QUEUE)
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    shared = bob.data("share", "review", "list", "--state", "accepted")["records"][0]["memory"]
    (repository,) = (bob.home / "data" / "share").glob("*.git")
    (repository / "rewritten").touch()
    plan = bob.data("gc", "--dry-run", "--all")
    assert shared not in json.dumps(plan.get("archive", [])), plan
    assert (repository / "rewritten").exists(), "a dry run prunes nothing"
    bob.tell("gc", "--yes")
    assert not (repository / "rewritten").exists()
    found = bob.data("query", "which queue did we decide to use, NATS?", "--all")["matches"]
    assert found[0]["source"] != "shared", "one's own comes first"
    assert bob.tell("inspect", "memory", shared)


def test_an_export_carries_what_was_accepted_and_the_next_fetch_doubles_nothing(team, tmp_path):
    ada, bob = team
    ada.decide(QUEUE)
    ada.decide(EVENTS, "more.md")
    bob.decide("# Retry\n\nWe decided to retry three times, because the queue drops messages.\n")
    ada.tell("share", "push", "--yes")
    bob.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    for one in bob.data("share", "review")["records"]:
        bob.tell("share", "review", "accept" if one["title"] == "Queue" else "reject", one["id"])
    bob.tell("export", str(tmp_path / "bob.jsonl"))
    bob.home = tmp_path / "home-of-bob-anew"
    bob.tell("import", str(tmp_path / "bob.jsonl"))
    bob.tell("share", "fetch")
    assert sorted(one["title"] for one in bob.data("share", "review")["records"]) == ["Events", "Queue"]
    titles = [one["title"] for one in bob.data("inspect", "memories", "--all")["memories"]]
    assert sorted(titles) == ["Queue", "Retry"]
    assert f"from {ada.name}" in bob("query", "which queue did we decide to use, NATS?", "--all").stdout
    assert bob.data("share", "push", "--dry-run")["records"] == [], "what is shared is not shared again"


def _after(member, command, **environ):
    """Call the hook that runs after a command of an assistant."""
    event = {"session_id": "s1", "hook_event_name": "PostToolUse", "cwd": str(member.folder)}
    event |= {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {"stdout": ""}}
    own = {"RAGMEM_HOME": str(member.home), "RAGMEM_WARM": "off", "RAGMEM_MODELS_BACKEND": "fake"}
    own |= {"RAGMEM_STORE_BACKEND": "fake", "RAGMEM_HOOKS_QUERY_DEADLINE_S": "20"}
    done = subprocess.run(
        [sys.executable, "-m", "ragmem", "hook", "PostToolUse"],
        input=json.dumps(event),
        env={**os.environ, **own, **environ},
        cwd=member.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    log = member.home / "state" / "hooks.log"
    return log.read_text() if log.exists() else ""


def test_if_switched_on_a_git_push_shares_and_a_git_pull_fetches(team):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    ada.decide(QUEUE.replace("queue", "event log"), "more.md")
    assert "after git" not in _after(ada, "git push"), "nobody has switched it on"
    ada.config("[share]\nafter_git = true\n")
    bob.config("[share]\nafter_git = true\n")
    assert "after git: share push" in _after(ada, "git add . && git push -q origin main")
    assert wait_until(
        lambda: ada.data("share")["unpushed"] == 0 and ada.data("share")["members"][0]["memories"] == 2
    )
    assert "after git: share fetch" in _after(bob, "cd . && git pull --rebase")
    assert wait_until(lambda: len(bob.data("share", "review")["records"]) == 2)


@pytest.mark.parametrize(
    "command",
    [
        "git push --dry-run",
        "echo git push",
        "git -C /tmp push",
        "git log --grep push",
        "git stash push",
        "ls",
    ],
)
def test_other_commands_share_nothing(team, command):
    ada, _ = team
    assert "after git" not in _after(ada, command, RAGMEM_SHARE_AFTER_GIT="true")


def test_the_first_push_of_a_project_is_never_a_hooks(team):
    ada, _ = team
    ada.decide(QUEUE)
    assert "after git: share push" in _after(ada, "git push", RAGMEM_SHARE_AFTER_GIT="1")
    lock = ada.home / "state" / "hooks.share.push"
    assert wait_until(lambda: subprocess.run(["flock", "-n", lock, "true"], check=False).returncode == 0)
    assert "refs/ragmem" not in git(ada.folder, "ls-remote", "origin")


def test_what_a_scrub_removes_is_withdrawn_by_the_next_push(team):
    ada, bob = team
    ada.decide("# Deploy\n\nWe decided that customer ACME-991 deploys on Fridays, because they asked.\n")
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    done = ada("scrub", "ACME-991", "--yes")
    assert "your team has 1 memory" in done.stderr
    assert "shared" in ada.tell("share", "push")
    bob.tell("share", "fetch")
    assert "ACME-991" not in bob("query", "who deploys on Fridays, ACME-991?", "--all", "--nearest").stdout
    assert b"ACME-991" not in (bob.home / "data" / "memory.db").read_bytes()


def test_a_purge_of_what_was_shared_says_so_and_names_the_withdrawal(team):
    ada, bob = team
    mine = ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    done = ada("forget", mine, "--purge", "--yes")
    assert done.returncode == 0, done.stdout
    assert "0 left" in done.stdout or "left in" not in done.stdout
    command = next(line.split() for line in done.stderr.splitlines() if "share withdraw" in line)
    assert b"too many brokers" not in (ada.home / "data" / "memory.db").read_bytes()
    ada.tell(*command[1:])
    bob.tell("share", "fetch")
    assert bob.data("share", "review")["records"] == []


def test_what_bob_forgot_does_not_come_back(team):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    bob.tell("share", "fetch")
    bob.tell("share", "review", "accept", "--all")
    (one,) = bob.data("share", "review", "list", "--state", "accepted")["records"]
    bob.tell("forget", one["memory"], "--yes")
    ada.decide(QUEUE.replace("queue", "event log"), "more.md")
    ada.tell("share", "push")
    bob.tell("share", "fetch")
    bob.tell("share", "unmute", ada.name)
    asked = ("query", "which queue did we decide to use, NATS?", "--all")
    assert "NATS" not in bob(*asked).stdout
    bob.tell("forget", one["memory"], "--purge", "--yes")
    bob.tell("share", "unmute", ada.name)
    assert "NATS" not in bob(*asked).stdout
    assert "(withdrawn)" not in bob(*asked).stdout


def test_two_machines_of_one_member_share_as_one_and_nothing_twice(team, tmp_path, ragmem):
    ada, bob = team
    ada.decide(QUEUE)
    ada.tell("share", "push", "--yes")
    laptop = Member("laptop", tmp_path, ragmem)
    git(laptop.folder, "config", "user.email", "ada@example.com")
    laptop.decide(QUEUE)
    laptop.decide(EVENTS, "more.md")
    assert "shared 1 record" in laptop.tell("share", "push", "--yes")
    ada.tell("share", "fetch")
    bob.tell("share", "fetch")
    assert laptop.name == ada.name
    assert sorted(one["title"] for one in bob.data("share", "review")["records"]) == ["Events", "Queue"]
    (own,) = ada.data("share", "review")["records"]
    assert own["title"] == "Events", "unsigned, and from another machine: it waits like the others'"
    ada.tell("share", "review", "accept", own["id"])
    assert "event log" in ada("query", "which event log did we decide to use?", "--all").stdout
    again = ada.data("share", "push", "--dry-run")["records"]
    assert again == [], "what the other machine shares is not shared again"


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed")
def test_what_a_member_signs_is_verified_and_another_key_is_not_theirs(team, tmp_path, ragmem):
    ada, bob = team
    for name in ("old-key", "new-key"):
        key = tmp_path / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    git(ada.folder, "config", "gpg.format", "ssh")
    git(ada.folder, "config", "user.signingkey", f"{tmp_path}/old-key.pub")
    ada.decide(QUEUE)
    assert "1 record, signed" in ada.tell("share", "push", "--yes")
    assert f"the key of {ada.name}, seen for the first time" in bob("share", "fetch").stderr
    git(ada.folder, "config", "user.signingkey", f"{tmp_path}/new-key.pub")
    ada.decide(EVENTS, "more.md")
    ada.tell("share", "push")
    bob.tell("share", "fetch")
    found = {one["title"]: one["verdict"] for one in bob.data("share", "review")["records"]}
    assert found == {"Queue": "verified", "Events": "unknown"}


def test_a_text_that_stands_in_two_memories_leaves_once(team):
    ada, _ = team
    ada.decide(QUEUE)
    ada.decide(QUEUE, "copy.md")
    plan = ada.data("share", "push", "--dry-run")
    assert (len(plan["records"]), plan["shared"]) == (1, 1)


def test_a_text_that_is_too_long_for_a_record_stays(team):
    ada, _ = team
    ada.decide(QUEUE + "Because. " * 10_000)
    plan = ada.data("share", "push", "--dry-run")
    assert plan["records"] == []
    assert {one["reason"] for one in plan["stays"]} == {"cannot be shared: too large"}
