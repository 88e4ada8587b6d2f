"""The steps of a round of the reliability driver: for each operation a seeded sequence around it."""

import gzip
import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import common
from crashes.world import (
    HANDED,
    Expected,
    Place,
    Step,
    id_of,
    make_chatter,
    make_long,
    make_text,
    note_id,
    outcomes,
    sha,
    word_in,
    words_of,
)

from ragmem.domain.model import Draft

KINDS = {
    "create": "first start",
    "ingest": "ingest, one by one",
    "batch": "ingest, batches",
    "beside": "ingest beside another writer",
    "update": "update",
    "forget": "delete",
    "undo": "undo",
    "gc": "gc",
    "lifecycle": "gc with the lifecycle, and its undoing",
    "purge": "restoring from the archive, and purging it",
    "seed": "seed",
    "rebuild": "re-embed",
    "remodel": "change of model",
    "vectors": "vector files",
    "migrate": "migrate",
    "export": "export",
    "import": "import",
    "backup": "backup",
    "restore": "restore",
    "repair": "doctor --repair",
}
"""The operations that are killed, with their names in the table."""

FIXTURES = common.REPOSITORY / "tests" / "data" / "homes"

DONATED = 70
"""Memories of an export that is imported: two batches."""

FIRST = 24
"""Memories that a new world begins with."""

FEWEST, GROWTH = 14, 140
"""Memories that a round takes from at most, and that a world may get besides its first ones."""

LONG, SENTENCES = 29, 60
"""Memories and their chunks in a world whose searches use the vectors' files: above the limit of the exact
search. Seven more make the 256 rows from which they are appended, twelve fewer the share to compact from."""

SENTENCE = 90
"""Characters of a chunk in that world."""


@dataclass(slots=True)
class World:
    """A home with what must be in it, and what can be asked of it."""

    place: Place
    kind: str
    models: str
    expected: Expected = field(default_factory=Expected)
    words: dict[str, str] = field(default_factory=dict)
    """Hash of a text -> a word that finds it."""
    texts: dict[str, Draft] = field(default_factory=dict)
    """Id -> what was last handed in."""
    notes: dict[str, str] = field(default_factory=dict)
    """What lies in the folder that seed reads."""
    gone: set[str] = field(default_factory=set)
    """Ids of notes that no longer lie there."""
    former: str = ""
    """The model that a change of model has changed from."""
    saved: dict[str, Expected] = field(default_factory=dict)
    """File -> what a backup holds."""
    beside: list[Step] = field(default_factory=list)
    """What a second writer does in this round, which nobody kills."""
    donor: "World | None" = None
    """Whose export is imported."""
    rounds: int = 0
    base: int = 0
    count: int = 0

    @classmethod
    def make(cls, place: Place, *, kind: str, models: str) -> Self:
        """Return a world without a memory, or with those of an older release."""
        world = cls(place, kind, models)
        if kind == "migrate":
            world._unpack(min(FIXTURES.iterdir()))
        return world

    @property
    def usable(self) -> bool:
        """Return whether there is enough to change and remove, and not too much to check after every kill."""
        there = sum(key in self.expected.memories for key in self.texts)
        return there >= FEWEST and len(self.expected.memories) <= GROWTH + self.base

    @property
    def large(self) -> bool:
        """Return whether looking for each chunk would take too long after every kill."""
        return self.kind == "vectors"

    @property
    def export(self) -> str:
        """Where a donor's export lies."""
        return str(self.place.root / "donated.jsonl.gz")

    def after(self, step: Step, notes: list[dict[str, Any]]) -> list[Expected]:
        """Return what may be found after each part of a step, see `outcomes`."""
        return outcomes(step, self.expected, notes, self.place, self.saved)

    def end(self, step: Step) -> None:
        """Take over what a step settles by having ended."""
        if step.kind == "backup" and "file" in step.options:
            self.saved[step.options["file"]] = self.expected.copy()

    def _unpack(self, fixture: Path) -> None:
        self.place.data.mkdir(parents=True)
        database = self.place.data / "memory.db"
        database.write_bytes(gzip.decompress((fixture / "memory.db.gz").read_bytes()))
        database.chmod(0o600)
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT id, text FROM memories ORDER BY id").fetchall()
        self.expected.memories = {identifier: sha(text) for identifier, text in rows}

    def token(self) -> str:
        """Return what no other text of this world has."""
        self.count += 1
        return f"{self.count}{'abcdefgh'[self.count % 8]}x"

    def draft(self, chance: random.Random, *, paragraphs: int | None = None) -> Draft:
        """Return a new note."""
        token = self.token()
        return Draft(HANDED, f"/handed/{token}", make_text(chance, token, paragraphs=paragraphs))

    def said(self, text: str) -> Draft:
        """Return a note that says just this."""
        return Draft(HANDED, f"/handed/{self.token()}", text)

    def long_draft(self, chance: random.Random) -> Draft:
        """Return a note with many chunks."""
        token = self.token()
        return Draft(HANDED, f"/handed/{token}", make_long(chance, token, SENTENCES))

    def changed(self, chance: random.Random, draft: Draft) -> Draft:
        """Return another text for the same place; now and then one of low signal."""
        token = self.token()
        text = make_chatter(token) if chance.random() < 0.2 else make_text(chance, token)
        return Draft(HANDED, draft.uri, text)

    def handed(self, chance: random.Random, count: int) -> list[str]:
        """Return ids of memories that were handed in and are there."""
        there = sorted(key for key in self.texts if key in self.expected.memories)
        return chance.sample(there, min(count, len(there)))

    def first_steps(self, chance: random.Random) -> list[Step]:
        """Return what fills a new world."""
        if self.kind == "donor":
            drafts = [self.draft(chance) for _ in range(DONATED)]
            self.remember(drafts)
            return [Step("ingest", drafts=tuple(drafts)), Step("export", options={"file": self.export})]
        if self.kind == "vectors":
            drafts = [self.long_draft(chance) for _ in range(LONG)]
        elif self.kind == "common":
            drafts = [self.draft(chance) for _ in range(FIRST)]
        else:
            return []
        self.remember(drafts)
        return [Step("ingest", drafts=tuple(drafts))]

    def remember(self, drafts: list[Draft]) -> None:
        """Note how the drafts are found."""
        for draft in drafts:
            identifier = id_of(draft)
            self.texts[identifier] = draft
            self.words[sha(draft.text)] = word_in(draft.text)

    def begin(self, step: Step) -> None:
        """Take over what a step settles by being begun."""
        self.remember(list(step.drafts))
        if "models" in step.options:
            self.former, self.models = self.models, step.options["models"]
        for name, text in step.files.items():
            if text is None:
                del self.notes[name]
                self.gone.add(note_id(self.place, name))
            else:
                self.notes[name] = text
                self.words[sha(text)] = word_in(text)

    def doubt(self, step: Step, event: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with gc's plan: it may remove duplicates, and notes whose file is gone."""
        if step.kind != "gc":
            return []
        removing = set(event.get("remove", ()))
        held = self.expected.memories
        staying = {text for identifier, text in held.items() if identifier not in removing}
        gone = self.gone if step.options.get("missing") else set()
        return [
            f"gc would remove {identifier}, of which there is no other"
            for identifier in sorted(removing)
            if identifier not in held or (held[identifier] not in staying and identifier not in gone)
        ]


def plan(kind: str, world: World, chance: random.Random) -> tuple[list[Step], int]:
    """Return the steps of a round and the first one at which the kill may come."""
    maker = {
        "create": _create,
        "ingest": _ingest,
        "batch": _batch,
        "beside": _beside,
        "update": _update,
        "forget": _forget,
        "undo": _undo,
        "gc": _gc,
        "lifecycle": _lifecycle,
        "purge": _purge,
        "seed": _seed,
        "rebuild": _rebuild,
        "remodel": _remodel,
        "vectors": _vectors,
        "migrate": _migrate,
        "export": _export,
        "import": _import,
        "backup": _backup,
        "restore": _restore,
        "repair": _repair,
    }[kind]
    return maker(world, chance)


def _one(world: World, chance: random.Random) -> Step:
    return Step("ingest", drafts=(world.draft(chance),))


def _create(world: World, chance: random.Random) -> tuple[list[Step], int]:
    return [_one(world, chance) for _ in range(3)], 0


def _migrate(world: World, chance: random.Random) -> tuple[list[Step], int]:
    return [Step("open"), _one(world, chance), _one(world, chance)], 0


def _ingest(world: World, chance: random.Random) -> tuple[list[Step], int]:
    return [_one(world, chance) for _ in range(8)], chance.randint(0, 5)


def _batch(world: World, chance: random.Random) -> tuple[list[Step], int]:
    steps = []
    for _ in range(3):
        # Now and then more than one transaction accepts.
        size = chance.choice((3, 8, 15, 52))
        paragraphs = 1 if size > 20 else None
        steps.append(
            Step("ingest", drafts=tuple(world.draft(chance, paragraphs=paragraphs) for _ in range(size)))
        )
    return steps, chance.randint(0, 1)


def _beside(world: World, chance: random.Random) -> tuple[list[Step], int]:
    world.beside = [_one(world, chance) for _ in range(8)]
    return _ingest(world, chance)


def _update(world: World, chance: random.Random) -> tuple[list[Step], int]:
    ids = world.handed(chance, 14)
    steps = []
    while ids:
        part = [ids.pop() for _ in range(min(len(ids), chance.choice((1, 1, 2, 6))))]
        drafts = [world.changed(chance, world.texts[identifier]) for identifier in part]
        steps.append(Step("ingest", drafts=tuple(drafts)))
    return steps, chance.randint(0, len(steps) // 2)


def _forget(world: World, chance: random.Random) -> tuple[list[Step], int]:
    ids = world.handed(chance, 9)
    steps = []
    while ids:
        part = [ids.pop() for _ in range(min(len(ids), chance.choice((1, 2, 3))))]
        steps.append(Step("forget", ids=tuple(part)))
    return steps, chance.randint(0, len(steps) // 2)


def _undo(world: World, chance: random.Random) -> tuple[list[Step], int]:
    ids = world.handed(chance, 9)
    steps = []
    for start in range(0, len(ids), 3):
        # Undoing the latest run brings back what was just removed.
        steps += [Step("forget", ids=tuple(ids[start : start + 3])), Step("undo")]
    return steps, chance.choice((1, 1, 3))


def _gc(world: World, chance: random.Random) -> tuple[list[Step], int]:
    originals = [world.draft(chance) for _ in range(3)]
    copies = [Draft(HANDED, f"{draft.uri}-copy", draft.text) for draft in originals]
    note = f"{world.token()}.md"
    text = make_text(chance, world.token())
    steps = [
        Step("forget", ids=tuple(world.handed(chance, 2))),
        Step("seed", files={note: text}, options={"notes": {**world.notes, note: text}}),
        Step("ingest", drafts=(*originals, *copies)),
        Step("gc", files={note: None}, options={"missing": True}),
        Step("undo"),
        Step("gc"),
        _one(world, chance),
    ]
    return steps, chance.choice((3, 3, 5))


def _lifecycle(world: World, chance: random.Random) -> tuple[list[Step], int]:
    drafts = [world.draft(chance) for _ in range(6)]
    for _ in range(3):
        about = words_of(world.token())
        drafts += [world.said(way.format(about=about)) for way in ALIKE]
    printed = words_of(world.token())
    drafts += [world.said(f"Job {n} wrote {n} files of the {printed} to the cellar again") for n in range(5)]
    steps = [Step("ingest", drafts=tuple(drafts)), Step("lifecycle"), Step("unlive"), Step("lifecycle")]
    return [*steps, _one(world, chance)], chance.choice((1, 1, 2, 3))


ALIKE = (
    "The {about} fails with an error in the cold, because the lock of it is stale.",
    "In the cold the {about} fails: its lock is stale, and an error is all that is told.",
    "We decided to warm the {about}, because it fails with a stale lock in the cold.",
    "A stale lock is why the {about} fails in the cold, and the error says nothing of it.",
)
"""Ways of saying one thing; one of them is protected."""


def _purge(world: World, chance: random.Random) -> tuple[list[Step], int]:
    keep = {"keep_days": chance.choice((0, 30))}
    ids = world.handed(chance, 6)
    steps = [
        Step("forget", ids=tuple(ids[:4]), options=keep),
        Step("bring", ids=tuple(ids[:2]), options=keep),
        Step("forget", ids=tuple(ids[4:]), options=keep),
        Step("purge", options=keep),
        _one(world, chance),
    ]
    return steps, chance.choice((1, 3))


def _seed(world: World, chance: random.Random) -> tuple[list[Step], int]:
    files: dict[str, str | None] = {
        f"{world.token()}.md": make_text(chance, world.token()) for _ in range(chance.choice((2, 12, 40)))
    }
    known = sorted(world.notes)
    for name in chance.sample(known, min(6, len(known))):
        token = world.token()
        files[name] = make_chatter(token) if chance.random() < 0.4 else make_text(chance, token)
    return [Step("seed", files=files, options={"notes": {**world.notes, **files}}), _one(world, chance)], 0


def _rebuild(world: World, chance: random.Random) -> tuple[list[Step], int]:
    return [Step("rebuild", options={"notes": dict(world.notes)}), _one(world, chance)], 0


def _remodel(world: World, chance: random.Random) -> tuple[list[Step], int]:
    other = "fake" if world.models == "fake-2" else "fake-2"
    return [Step("remodel", options={"models": other, "notes": dict(world.notes)}), _one(world, chance)], 0


def _vectors(world: World, chance: random.Random) -> tuple[list[Step], int]:
    words = f"{words_of('1bx')} worker lock"
    search = Step("search", options={"text": words})
    # The first search finds no files and writes all of them, the second appends, the sweep writes them anew.
    first = Step("search", options={"text": words, "without_files": True})
    large = [world.long_draft(chance) for _ in range(7)]
    steps = [first, Step("ingest", drafts=tuple(large)), search]
    steps += [Step("forget", ids=tuple(world.handed(chance, 12))), search, Step("sweep"), search]
    return steps, chance.choice((0, 0, 1, 2, 2, 5, 5))


def _export(world: World, chance: random.Random) -> tuple[list[Step], int]:
    names = [str(world.place.root / f"out-{world.token()}.jsonl{end}") for end in ("", ".gz", "")]
    return [Step("export", options={"file": name}) for name in names], chance.randint(0, 1)


def _import(world: World, chance: random.Random) -> tuple[list[Step], int]:
    assert world.donor is not None
    world.words = dict(world.donor.words)
    world.count = world.donor.count
    brought = Step(
        "import", options={"file": world.donor.export, "brings": dict(world.donor.expected.memories)}
    )
    return [brought, _one(world, chance)], 0


def _backup(world: World, chance: random.Random) -> tuple[list[Step], int]:
    return [_one(world, chance), Step("backup"), Step("backup")], 1


def _restore(world: World, chance: random.Random) -> tuple[list[Step], int]:
    name = {"file": str(world.place.root / f"backup-{world.token()}.tar.gz")}
    later = [_one(world, chance), Step("forget", ids=tuple(world.handed(chance, 2)))]
    steps = [Step("backup", options=name), *later, Step("restore", options=name), _one(world, chance)]
    return steps, 3


def _repair(world: World, chance: random.Random) -> tuple[list[Step], int]:
    return [Step("repair", options={"damage": chance.choice(DAMAGES)}), _one(world, chance)], 0


DAMAGES = (
    "DELETE FROM store_chunk_vectors WHERE seq % 3 = 0",
    "DELETE FROM store_nodes WHERE rowid % 4 = 0",
    "UPDATE store_chunk_vectors SET vector = x'0102' WHERE seq % 5 = 0",
    "DELETE FROM lexicon_memories WHERE memory % 3 = 0",
    "UPDATE chunks SET end_at = end_at - 5 WHERE (memory + position) % 4 = 0",
    "DELETE FROM store_documents WHERE rowid % 3 = 0",
    "DELETE FROM store_mentions WHERE chunk % 3 = 0",
    "UPDATE store_documents SET extractions = x'00' WHERE rowid % 4 = 0",
)
"""What a repair is given to mend; all of it can be made anew from the catalog's texts."""
