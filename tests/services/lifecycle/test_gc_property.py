"""No sequence of writes, gcs, restores, undos, pins and vanished files loses a text or a protected memory."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ragmem.api.memory import Ragmem
from ragmem.domain.lifecycle.folds import mask_values
from ragmem.domain.model import Draft, Scope
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.doctor.invariants import violations

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SUBJECTS = ("sourdough starter with rye flour", "crankshaft seal of the ferry", "roof of the garden shed")
WAYS = (
    "The {s} needs care in the cold, because it fails below {n} degrees.",
    "Below {n} degrees the {s} fails, and needs more care in the cold.",
    "In the cold, below {n} degrees, care for the {s}: it fails otherwise.",
    "Decision: we look at the {s} every {n} days, because it failed once.",
    "Checked the {s} at {n}:15, all {n} points were in good order again.",
    "Thank you, the {s} looks fine to me.",
)
texts = st.builds(
    lambda way, subject, number: way.format(s=subject, n=number),
    st.sampled_from(WAYS),
    st.sampled_from(SUBJECTS),
    st.integers(2, 40),
)


class Lives(RuleBasedStateMachine):
    """One home, with rules under which memories fold, and grow old after a few newer ones."""

    def __init__(self):
        super().__init__()
        self.folder = TemporaryDirectory()
        root = Path(self.folder.name)
        self.notes = root / "notes"
        self.notes.mkdir()
        sources = root / "sources.toml"
        sources.write_text(f'[sources.notes]\nglob = "{self.notes}/*.md"\nsignal = "off"\n')
        self.memory = Ragmem.open(
            environ={
                "RAGMEM_HOME": str(root / "home"),
                "RAGMEM_MODELS_BACKEND": "fake",
                "RAGMEM_LIFECYCLE_AGE_AFTER": "2",
            },
            home=root,
            cwd=root,
            sources_file=sources,
        )
        self.memory.prepare()
        self.accepted: set[str] = set()
        self.protected: set[str] = set()
        self.pinned: dict[str, str] = {}
        self.written = 0

    def take_note(self, identifiers):
        for item in self.memory.catalog.memories.get(identifiers).values():
            self.accepted.add(item.content_hash)
            if item.protected:
                self.protected.add(item.content_hash)

    @initialize()
    def fill(self):
        """Enough of one thing, so that a scale can be taken and there is something to fold."""
        self.write([way.format(s=subject, n=n) for way in WAYS for subject in SUBJECTS for n in (3, 5)])

    @rule(some=st.lists(texts, min_size=1, max_size=4))
    def write(self, some):
        drafts = []
        for text in some:
            self.written += 1
            moment = NOW + timedelta(minutes=self.written)
            drafts.append(Draft("ingest", f"/n/{self.written}", text, event_time=moment, scope=Scope("farm")))
        self.take_note([one.id for one in self.memory.ingest(drafts, rule="off")])

    @rule(said=st.lists(texts, min_size=1, max_size=4), session=st.sampled_from("st"))
    def speak(self, said, session):
        """A session says something whole, and parts of it once more."""
        drafts = []
        for begin in range(len(said)):
            self.written += 1
            moment = NOW + timedelta(minutes=self.written)
            text, metadata = " ".join(said[begin:]), {"session": session}
            place = f"/t/{self.written}"
            drafts.append(
                Draft("transcripts", place, text, event_time=moment, scope=Scope("farm"), metadata=metadata)
            )
        self.take_note([one.id for one in self.memory.ingest(drafts, rule="off")])

    @rule(name=st.sampled_from("abc"), text=texts)
    def write_file(self, name, text):
        path = self.notes / f"{name}.md"
        if path.exists():
            return
        former = [item for item in self.memory.catalog.memories.each() if item.uri == str(path)]
        path.write_text(text)
        self.memory.seed()
        # Who changes a file in its place has changed what it says: that is no loss.
        for item in former:
            for known in (self.accepted, self.protected):
                known.discard(item.content_hash)
            if item.id in self.pinned:
                self.pinned[item.id] = self.memory.memory(item.id).content_hash
        self.take_note(self.memory.catalog.memories.ids())

    @rule(name=st.sampled_from("abc"))
    def lose_file(self, name):
        (self.notes / f"{name}.md").unlink(missing_ok=True)

    @rule(
        missing=st.booleans(),
        allow_large=st.sampled_from((True, True, True, False)),
        in_time=st.sampled_from((True, True, True, False)),
    )
    def gc(self, missing, allow_large, in_time):
        plan = self.memory.gc.plan(missing=missing)
        try:
            self.memory.gc.apply(plan, allow_large=allow_large, budget_s=None if in_time else 0.05)
        except UsageError:
            assert plan.large
        self.take_note(self.memory.catalog.memories.ids())

    @rule()
    def gc_undisturbed(self):
        self.gc(missing=False, allow_large=True, in_time=True)

    @rule()
    def undo(self):
        try:
            self.memory.gc.undo()
        except NotFoundError:
            assert self.memory.catalog.archive.count() == 0 or all(
                run.undone for run in self.memory.gc.history()
            )

    @rule(which=st.integers(0, 10**6))
    def undo_any(self, which):
        runs = self.memory.catalog.archive.runs()
        if runs:
            run = runs[which % len(runs)].run
            try:
                self.memory.gc.undo(run)
            except NotFoundError:
                assert any(one.run == run and one.undone for one in self.memory.gc.history())

    @rule(which=st.integers(0, 10**6))
    def restore(self, which):
        lying = sorted(self.memory.catalog.archive.ids())
        if not lying:
            return
        wanted = lying[which % len(lying)]
        try:
            self.memory.gc.restore(wanted)
        except UsageError:
            assert wanted in self.memory.catalog.memories.ids()
            return
        assert wanted in self.memory.catalog.memories.ids()
        assert wanted not in self.memory.gc.plan().ids("remove", "archive")

    @rule(which=st.integers(0, 10**6), pinned=st.booleans())
    def pin(self, which, pinned):
        there = sorted(self.memory.catalog.memories.ids())
        if there:
            chosen = there[which % len(there)]
            self.memory.catalog.lives.pin(chosen, pinned=pinned, now=NOW)
            if pinned:
                self.pinned[chosen] = self.memory.memory(chosen).content_hash
            else:
                self.pinned.pop(chosen, None)

    @invariant()
    def no_text_is_lost(self):
        held = {item.content_hash for item in self.memory.catalog.memories.each()}
        assert self.accepted <= held | self.memory.catalog.archive.hashes()
        assert self.protected <= held
        assert set(self.pinned.values()) <= held

    @invariant()
    def what_folded_is_said_by_what_it_folded_behind(self):
        for item in self.memory.catalog.archive.each():
            kept = self.memory.catalog.memories.get([item.successor]).get(item.successor)
            if item.rule == "fold" and kept is not None:
                same = mask_values(kept.text) == mask_values(item.memory.text)
                assert same or " ".join(item.memory.text.split()) in " ".join(kept.text.split())

    @precondition(lambda self: self.written)
    @invariant()
    def the_store_is_sound(self):
        assert violations(self.memory.catalog, self.memory.store) == []

    def teardown(self):
        self.memory.close()
        self.folder.cleanup()


Lives.TestCase.settings = settings(
    max_examples=6, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
TestNothingIsLost = Lives.TestCase
