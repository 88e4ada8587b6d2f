"""The texts and steps of the reliability driver, and the expected state after them."""

import hashlib
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragmem.domain.classification.signal import MIN_CHARS
from ragmem.domain.model import USER, Draft, Scope, memory_id

SOURCE = "notes"
"""The one configured source: files in the notes folder of a world."""

HANDED = "handed"
"""The source of what is handed in by the API."""

HUBS = ("PostgreSQL", "RedisCache", "BillingService", "DeployQueue", "SearchIndex")
SEEDING = ("seed", "rebuild", "remodel")
"""The steps that read all notes on disk."""

LIVING = ("lifecycle", "unlive")
"""The steps that move memories between the store and the archive, some at a time."""

GRADUAL = (*SEEDING, "import", *LIVING)
"""The steps that are done as a whole for each memory only; a later run goes on."""

BATCH = 48
"""Memories of one acceptance within an ingest."""


def sha(text: str) -> str:
    """Return the hash that is logged for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def words_of(token: str) -> str:
    """Return the one word by which a made-up text is found."""
    return f"token{token}"


def word_in(text: str) -> str:
    """Return the word by which a made-up text is found."""
    return next(word for word in text.split() if word.startswith("token"))


def make_text(chance: random.Random, token: str, *, paragraphs: int | None = None) -> str:
    """Return a note that is worth keeping, with entities of its own and some that others share."""
    count = paragraphs or chance.choice((1, 1, 2, 4, 9))
    parts = [f"# Note {words_of(token)}"]
    for number in range(count):
        one, other = chance.sample(HUBS, 2)
        parts.append(
            f"We decided that Worker{token} uses {one} because the error of {other} came from a stale lock"
            f" (part {number}). The fix was in `worker_{token}_{number}.py`, the config pattern is in"
            f" deploy/{token}.toml and {words_of(token)} was resolved by version 3.{number}."
        )
    return "\n\n".join(parts)


def make_long(chance: random.Random, token: str, sentences: int) -> str:
    """Return a note of many sentences without entities: many vectors that cost little."""
    verbs, things = ("crossed", "left", "met", "saw"), ("harbour", "quay", "lighthouse", "ferry", "bridge")
    parts = [f"We found that {words_of(token)} was decided because of an error with a fix."]
    parts += [
        f"In hour {number} of {words_of(token)} the pilot {chance.choice(verbs)} the {chance.choice(things)}."
        for number in range(sentences)
    ]
    return "\n\n".join(parts)


def make_chatter(token: str) -> str:
    """Return a text of so little signal that it is only buffered."""
    return f"ok thanks {words_of(token)}"


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one world; `log` lies outside of the home."""

    root: Path
    chunk: int = 0
    """Characters of a chunk at most, where it is not as by default."""

    @property
    def home(self) -> Path:
        """What RAGMEM_HOME names."""
        return self.root / "ragmem"

    @property
    def data(self) -> Path:
        """Where the database lies."""
        return self.home / "data"

    @property
    def notes(self) -> Path:
        """What seed reads."""
        return self.root / "user" / "notes"

    @property
    def user(self) -> Path:
        """The person's home."""
        return self.root / "user"

    @property
    def sources(self) -> Path:
        """The file that configures the one source."""
        return self.root / "sources.toml"

    @property
    def no_sources(self) -> Path:
        """A file with a source that has no files: seed then finishes what is pending and reads nothing."""
        return self.root / "no-sources.toml"

    def prepare(self) -> None:
        """Make the folders that are not ragmem's own."""
        self.notes.mkdir(parents=True, exist_ok=True)
        self.sources.write_text(f'[sources.{SOURCE}]\nglob = "~/notes/**/*.md"\nkind = "auto"\n')
        self.no_sources.write_text('[sources.nothing]\nglob = "~/nothing/*.md"\n')


@dataclass(slots=True)
class Expected:
    """What is in a home: id -> hash of the text, and run -> the same for what it removed, in order.

    `optional` are memories of little worth, which a seed indexes or discards.
    """

    memories: dict[str, str] = field(default_factory=dict)
    archive: dict[str, dict[str, str]] = field(default_factory=dict)
    optional: dict[str, str] = field(default_factory=dict)

    def copy(self) -> "Expected":
        """Return one that can be changed."""
        archive = {run: dict(held) for run, held in self.archive.items()}
        return Expected(dict(self.memories), archive, dict(self.optional))

    def differences(self, found: "Expected") -> list[str]:
        """Return how what was found differs, one line each; the names of runs do not count."""
        lines = []
        for identifier in sorted(self.memories.keys() | found.memories.keys()):
            wanted, got = self.memories.get(identifier), found.memories.get(identifier)
            if wanted == got or (got is not None and got == self.optional.get(identifier)):
                continue
            if got is None:
                lines.append(f"lost: the memory {identifier} is gone")
            elif wanted is None:
                lines.append(f"the memory {identifier} is there, and should not be")
            else:
                lines.append(f"lost: the memory {identifier} has another text")
        if sorted(map(sorted, map(dict.items, self.archive.values()))) != sorted(
            map(sorted, map(dict.items, found.archive.values()))
        ):
            lines.append(
                f"the archive has {[len(held) for held in found.archive.values()]} memories by run,"
                f" not {[len(held) for held in self.archive.values()]}"
            )
        return lines


@dataclass(frozen=True, slots=True)
class Step:
    """One operation; `kind` is one of crashes.writer.ACTIONS.

    `options`: keep_days of the archive; missing (gc); text and without_files (search); models (what the home
    is opened with from here on); notes (of a seeding: name -> text of all notes on disk); file (export,
    import, backup, restore); brings (import: what the file holds); damage (repair: SQL that breaks something
    first).
    """

    kind: str
    drafts: tuple[Draft, ...] = ()
    ids: tuple[str, ...] = ()
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Notes that are written (None: removed) before the operation begins."""
    options: Mapping[str, Any] = field(default_factory=dict)


def id_of(draft: Draft) -> str:
    """Return the id that a draft's memory will have."""
    return memory_id(draft.source, draft.scope, draft.uri)


def note_id(place: Place, name: str) -> str:
    """Return the id of the memory of a note."""
    return memory_id(SOURCE, Scope(USER), str(place.notes / name))


def outcomes(
    step: Step,
    before: Expected,
    notes: Iterable[Mapping[str, Any]],
    place: Place,
    saved: Mapping[str, Expected],
) -> list[Expected]:
    """Return what may be found after each part of a step that is done as a whole, the last one at its end.

    `notes` is what the writer logged about the step so far, such as gc's plan; `saved` is what each backup
    holds.
    """
    if step.kind == "restore":
        return [saved[step.options["file"]]]
    if step.kind == "import":
        return [Expected({**before.memories, **step.options["brings"]}, before.archive)]
    maker = {
        "ingest": _after_ingest,
        "forget": _after_forget,
        "undo": _after_undo,
        "gc": _after_gc,
        "lifecycle": _after_lifecycle,
        "unlive": _after_unlive,
        "bring": _after_bring,
        "purge": _after_purge,
        **dict.fromkeys(SEEDING, _after_seed),
    }.get(step.kind)
    return [before] if maker is None else maker(step, before, list(notes), place)


def _after_ingest(step: Step, before: Expected, notes: list[Any], place: Place) -> list[Expected]:
    del notes, place
    states = []
    now = before.copy()
    for start in range(0, len(step.drafts), BATCH):
        now = now.copy()
        now.memories.update({id_of(draft): sha(draft.text) for draft in step.drafts[start : start + BATCH]})
        states.append(now)
    return states


def _after_forget(step: Step, before: Expected, notes: list[Any], place: Place) -> list[Expected]:
    del place
    now = before.copy()
    run = next((note["run"] for note in notes if "run" in note), "?")
    now.archive[run] = {identifier: now.memories.pop(identifier) for identifier in step.ids}
    return [now]


def _after_bring(step: Step, before: Expected, notes: list[Any], place: Place) -> list[Expected]:
    del notes, place
    now = before.copy()
    states = []
    for identifier in step.ids:
        now = now.copy()
        run = [name for name, held in now.archive.items() if identifier in held][-1]
        now.memories[identifier] = now.archive[run].pop(identifier)
        now.archive = {name: held for name, held in now.archive.items() if held}
        states.append(now)
    return states


def _after_purge(step: Step, before: Expected, notes: list[Any], place: Place) -> list[Expected]:
    del notes, place
    return [Expected(dict(before.memories), {} if step.options.get("keep_days") == 0 else before.archive)]


def _after_lifecycle(step: Step, before: Expected, notes: list[Any], place: Place) -> list[Expected]:
    """Return the end only: a kill leaves some of it done, see `conserved`."""
    del step, place
    now = before.copy()
    planned = next((note for note in notes if "leaving" in note), None)
    if planned is not None:
        run = next((note["run"] for note in notes if "run" in note), "?")
        gone = {identifier: now.memories.pop(identifier) for identifier in planned["leaving"]}
        if gone:
            now.archive[run] = gone
    return [now]


def _after_unlive(step: Step, before: Expected, notes: list[Any], place: Place) -> list[Expected]:
    """Return the end only, as above."""
    del step, place
    now = before.copy()
    planned = next((note for note in notes if "returning" in note), None)
    # A run that archived nothing has nothing to return.
    if planned is not None and planned["returning"]:
        now.archive.popitem()
        now.memories.update(planned["returning"])
    return [now]


def _after_undo(step: Step, before: Expected, notes: list[Any], place: Place) -> list[Expected]:
    del step, notes, place
    if not before.archive:
        return [before]
    now = before.copy()
    _, held = now.archive.popitem()
    now.memories = {**held, **now.memories}
    return [now]


def _after_gc(step: Step, before: Expected, notes: list[Any], place: Place) -> list[Expected]:
    del step, place
    removed = next((note["remove"] for note in notes if "remove" in note), None)
    if removed is None:
        return [before]
    run = next((note["run"] for note in notes if "run" in note), "?")
    states = []
    now = before.copy()
    if removed:
        now.archive[run] = {identifier: now.memories.pop(identifier) for identifier in removed}
        states.append(now)
    return states or [before]


def _after_seed(step: Step, before: Expected, notes: list[Any], place: Place) -> list[Expected]:
    """Return the end only: what lies between is checked memory by memory, see `between`."""
    del notes
    now = before.copy()
    for name, text in step.options["notes"].items():
        identifier = note_id(place, name)
        now.optional.pop(identifier, None)
        if len(text) < MIN_CHARS:
            now.memories.pop(identifier, None)
            now.optional[identifier] = sha(text)
        else:
            now.memories[identifier] = sha(text)
    return [now]


def between(before: Expected, after: Expected, found: Expected) -> list[str]:
    """Return where what was found is neither as before nor as after, memory by memory."""
    mixed = before.copy()
    mixed.optional = dict(after.optional)
    for identifier in before.memories.keys() | after.memories.keys():
        if found.memories.get(identifier) == after.memories.get(identifier):
            if identifier in after.memories:
                mixed.memories[identifier] = after.memories[identifier]
            else:
                mixed.memories.pop(identifier, None)
    return mixed.differences(found)


def conserved(before: Expected, after: Expected, found: Expected) -> list[str]:
    """Return where what gc left is neither as before nor as after, or lacks a text that was there."""
    wrong = []
    for identifier in sorted(before.memories.keys() | after.memories.keys() | found.memories.keys()):
        got = found.memories.get(identifier)
        if got not in {before.memories.get(identifier), after.memories.get(identifier)}:
            wrong.append(f"the memory {identifier} is neither as before nor as after")
    wanted = {
        *before.memories.values(),
        *(text for held in before.archive.values() for text in held.values()),
    }
    kept = {*found.memories.values(), *(text for held in found.archive.values() for text in held.values())}
    if lost := wanted - kept:
        wrong.append(f"lost: {len(lost)} texts are neither in the memories nor in the archive")
    return wrong
