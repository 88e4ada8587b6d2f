"""How specific a sentence is: a statement is, what only accompanies work is not."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.classification.substance import evidence_types, worth_of

SUBSTANTIAL = (
    "Books.app stores the reading progress in the sidecar plist, not in the SQLite library.",
    "Use instancedMesh for the towers: above 200 meshes the frame rate drops below 30 fps.",
    "Never read the clock inside the render loop, pass the time of the engine tick down instead.",
    "Vector dimension mismatch after switching models: drop the collection and embed again.",
    "Our API returns 202 and not 200 for queued jobs; clients that check for 200 report a failure.",
    "The staging database is reset every Sunday at 03:00 UTC, long experiments belong elsewhere.",
    "Deleting a user leaves the login rows behind: the key was made without ON DELETE CASCADE.",
    "Two writers on one SQLite file over NFS corrupt it; keep the database on a local disk.",
    "Restarting the daemon drops all subscriptions, clients have to subscribe again in 30 seconds.",
    "Fixed by adding `.cache/` to the exclude file, because the watcher followed the symlink.",
    "Running the formatter over generated files breaks the snapshot tests on Windows.",
)

WITHOUT = (
    "Perfect, that did the trick! Thank you so much for the quick help.",
    "Running the full test suite now, this will take a couple of minutes.",
    "All 214 tests pass now, committed as 3f2a9bc and pushed to origin.",
    "Next I'll look at the storage layer and see whether the migration is picked up.",
    "Updated the README as you asked and fixed two typos in the installation section.",
    "Still waiting for the review, will ping again after lunch if there is no answer.",
    "Could you please have a look at the last commit and tell me what you think of it?",
    "Ok, I removed the debug output and re-ran the tests, they are all green.",
    "No findings in this round, the linter and the type checker have nothing to complain about.",
    "Heartbeat: worker 3 alive, queue empty, last job 00:12:44 ago, memory 212 MB.",
    "[auto-sync] 14:22:10 mirror of 3 buckets written, 118 objects, no action required.",
    "Rebased on main, resolved two trivial conflicts in the lock file, pushed.",
    "Nightly run 41, 12 clusters checked, 0 merged, 3.1 s, 212 MB at its most.",
    "Swapped every call of the old helper for the new one. Looks good, all green!",
)


@pytest.mark.parametrize("text", SUBSTANTIAL)
def test_a_specific_statement_is_worth_something(text):
    assert worth_of(text) >= 1


@pytest.mark.parametrize("text", WITHOUT)
def test_what_only_accompanies_work_is_worth_less(text):
    assert max(map(worth_of, text.split(". "))) < min(map(worth_of, SUBSTANTIAL))


def test_the_evidence_is_named():
    found = evidence_types("The import must run before `seed_users.py`, because the key is checked at once.")
    assert {"rule", "cause", "identifier"} <= found


@settings(deadline=None)
@given(st.text(max_size=400))
def test_any_sentence_is_scored_and_always_alike(text):
    assert worth_of(text) == worth_of(text) >= 0


@pytest.mark.parametrize(
    "part", ["word-", "a/", "I ", "is still ", "ok ok ", "the x ", "`", '"', "- \n", "[auto ", "has have "]
)
def test_a_text_made_to_take_long_takes_no_longer(part):
    started = time.thread_time()
    worth_of(part * (20_000 // len(part)))
    assert time.thread_time() - started < 2
