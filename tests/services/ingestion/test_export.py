"""Exports hold everything and come back identical; what is no sound export is refused as a whole."""

import gzip
import hashlib
import io
import json
import os
import stat
import tracemalloc
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.backends.fake import FakeModels, FakeStore
from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Category, Kind, Memory, Scope, State, Tier, content_hash, memory_id
from ragmem.domain.model.lifecycle import LifecycleState
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import NotFoundError, SourceError, UsageError
from ragmem.services.ingestion import entity_names
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.index import index, record_of
from ragmem.services.processes.progress import Silent
from ragmem.services.transfer.export_reader import ExportReader
from ragmem.services.transfer.exporter import export, export_file
from ragmem.services.transfer.importer import import_export
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import ArchiveEntry
from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Recall
from ragmem.storage.lifecycle.supersessions import Supersession
from ragmem.storage.maintenance.catalog_export import Contents, Project, Selection
from ragmem.storage.memories.files import SeenFile

NOW = datetime(2026, 6, 1, 12, 30, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(days=40)


def make(uri="a.md", text="We pin the driver because version 3 has an error.", **more):
    scope = more.pop("scope", Scope())
    memory = Memory(
        id=memory_id("notes", scope, uri),
        source="notes",
        uri=uri,
        text=text,
        title=f"title of {uri}",
        event_time=NOW,
        created_at=NOW,
        updated_at=NOW,
        content_hash=content_hash(text),
        scope=scope,
        state=State.INDEXED,
    )
    return replace(memory, **more)


def with_chunks(memory, **sizes):
    return memory, chunks_of(memory, ChunkingSettings(**sizes), redactor=DEFAULT)


class Home:
    """A catalog and the fake store around it."""

    def __init__(self, folder):
        self.catalog = Catalog.at(Path(folder), busy_timeout=2)
        self.contents = Contents(self.catalog.database)
        self.store = FakeStore(FakeModels(), self.catalog.database)

    def fill(self, *memories):
        self.catalog.prepare()
        self.contents.write_memories([with_chunks(memory) for memory in memories])
        return self

    def index(self):
        index(
            self.catalog,
            self.store,
            [record_of(*with_chunks(one), DEFAULT) for one in self.memories().values()],
        )

    def export(self, *, now=NOW, selection=None):
        written = io.BytesIO()
        export(self.catalog, written.write, selection=selection or Selection(), now=now, progress=Silent())
        return written.getvalue()

    def import_(self, raw, **options):
        with ExportReader(None, stream=io.BytesIO(raw)) as source:
            return import_export(
                self.catalog, lambda: self.store, source, now=LATER, progress=Silent(), **options
            )

    def memories(self):
        return {memory.id: memory for memory in self.catalog.memories.each()}

    def close(self):
        self.catalog.close()


@pytest.fixture
def home(tmp_path):
    with closing(Home(tmp_path / "home")) as home:
        yield home


@pytest.fixture
def other(tmp_path):
    with closing(Home(tmp_path / "other")) as home:
        yield home


def lines_of(raw):
    return [json.loads(line) for line in raw.splitlines()]


def rewritten(raw, change):
    """Return an export whose lines were changed, under an end that fits them."""
    header, *lines, _ = lines_of(raw)
    lines = change(lines) or lines
    body = [json.dumps(line).encode() + b"\n" for line in lines]
    end = {"type": "end", "lines": len(lines) + 1, "sha256": hashlib.sha256(b"".join(body)).hexdigest()}
    return b"".join([json.dumps(header).encode() + b"\n", *body, json.dumps(end).encode() + b"\n"])


# --- identity

# Anything but surrogates, which UTF-8 does not have: NULs, controls, line ends of all sorts, all scripts. And
# no secret: an import redacts it. Hypothesis draws strings of our own source code too, so that it finds some.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40).filter(
    lambda text: not list(DEFAULT.find(text))
)
moments = st.datetimes(timezones=st.just(UTC))


@st.composite
def memories(draw):
    text = draw(st.one_of(texts, st.text("ab\n# \0", max_size=400), st.just("word " * 20_000)))
    source, uri = draw(texts.filter(bool)), draw(texts)
    scope = Scope(draw(texts.filter(bool)), draw(texts))
    tier = draw(st.sampled_from(Tier))
    return Memory(
        id=memory_id(source, scope, uri),
        source=source,
        uri=uri,
        text=text,
        title=draw(texts),
        event_time=draw(moments),
        created_at=draw(moments),
        updated_at=draw(moments),
        content_hash=content_hash(text),
        scope=scope,
        kind=draw(st.sampled_from(Kind)),
        category=draw(st.sampled_from(Category)),
        tier=tier,
        state=State.BUFFERED
        if tier is Tier.DISCARD
        else draw(st.sampled_from([State.INDEXED, State.PENDING])),
        protected=draw(st.booleans()),
        summary=draw(texts),
        tags=tuple(draw(st.lists(texts, max_size=3))),
        metadata=draw(
            st.dictionaries(texts, texts, max_size=3).filter(
                lambda fields: DEFAULT.redact_document(dict(fields)) == fields
            )
        ),
        recalls=draw(st.integers(0, 2**63 - 1)),
    )


projects = st.builds(Project, texts.filter(bool), texts, texts, texts, texts, st.tuples(texts))
files = st.builds(
    SeenFile,
    texts.filter(bool),
    texts.filter(bool),
    st.integers(0, 2**63 - 1),
    st.integers(-(2**62), 2**63 - 1),
    texts,
    st.dictionaries(texts, st.integers(0, 9), max_size=2),
)
archived = st.builds(ArchiveEntry, texts.filter(bool), texts, moments, memories(), texts, texts)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    held=st.lists(memories(), max_size=4, unique_by=lambda memory: memory.id),
    known=st.lists(projects, max_size=2, unique_by=lambda project: project.id),
    gone=st.lists(archived, max_size=2),
    seen=st.lists(files, max_size=2),
)
def test_an_import_into_an_empty_home_exports_the_same_bytes(held, known, gone, seen):
    with (
        TemporaryDirectory() as folder,
        closing(Home(f"{folder}/a")) as one,
        closing(Home(f"{folder}/b")) as two,
    ):
        one.fill(*held)
        one.contents.write_projects(known)
        one.catalog.archive.write(gone)
        one.contents.write_files(seen)
        first = one.export()

        two.import_(first)

        second = two.export(now=LATER)
        assert second.splitlines()[1:] == first.splitlines()[1:]
        assert {**json.loads(second.splitlines()[0]), "exported_at": 0} == {
            **json.loads(first.splitlines()[0]),
            "exported_at": 0,
        }
        assert {memory.id: replace(memory, state=State.INDEXED) for memory in held} == {
            key: replace(memory, state=State.INDEXED) for key, memory in two.memories().items()
        }
        for memory in held:
            assert two.catalog.memories.chunks(memory) == one.catalog.memories.chunks(memory)
        assert two.store.memory_ids() == {m.id for m in held if m.state is not State.BUFFERED}


def test_chunks_keep_their_ids_whatever_the_sizes_are_here(home, other):
    memory = make(text="# One\n\nfirst words\n\n# Two\n\nother words\n")
    home.catalog.prepare()
    home.contents.write_memories([with_chunks(memory, max_chars=20, min_chars=1)])
    other.import_(home.export())

    chunks = other.catalog.memories.chunks(memory)
    assert len(chunks) == 2
    assert chunks == home.catalog.memories.chunks(memory)


def test_an_export_can_be_cut_to_projects_sources_kinds_and_dates(home):
    wanted = make("wanted.md", kind=Kind.ERROR, scope=Scope("tideline"))
    home.fill(
        wanted,
        make("kind.md", scope=Scope("tideline")),
        make("project.md", kind=Kind.ERROR),
        make("old.md", kind=Kind.ERROR, scope=Scope("tideline"), event_time=NOW - timedelta(days=9)),
    )
    for name in ("tideline", "gullwing"):
        home.catalog.projects.remember(name, name=name, root=f"/repos/{name}")
    selection = Selection(
        projects=("tideline",), sources=("notes",), kinds=(Kind.ERROR,), since=NOW - timedelta(days=1)
    )
    header, project, memory, _ = lines_of(home.export(selection=selection))

    assert (project["id"], memory["id"]) == ("tideline", wanted.id)
    assert header["counts"] == {"projects": 1, "memories": 1, "archive": 0, "lifecycle": 0, "files": 0}


def test_what_an_older_release_called_trash_is_imported_as_the_archive(home, other):
    home.fill(make("1.md"))
    gone = make("2.md", text="what was thrown away")
    home.catalog.archive.write([ArchiveEntry("run1", "asked", NOW, gone)])
    header, memory, archived, end = lines_of(home.export())
    counts = {"projects": 0, "memories": 1, "trash": 1, "files": 0}
    former = {key: value for key, value in archived.items() if key not in {"reason", "successor"}}
    former |= {"type": "trash", "trashed_at": former.pop("archived_at")}
    body = b"".join(json.dumps(line).encode() + b"\n" for line in (memory, former))
    lines = ({**header, "schema": 1, "counts": counts}, {**end, "sha256": hashlib.sha256(body).hexdigest()})
    first, last = (json.dumps(line).encode() + b"\n" for line in lines)

    other.import_(first + body + last)

    assert list(other.catalog.archive.each()) == [ArchiveEntry("run1", "asked", NOW, gone)]


def test_an_export_is_of_one_moment(home):
    home.fill(*(make(f"{number}.md", text=f"text {number}") for number in range(150)))
    with closing(Home(home.catalog.database.home)) as writer:
        written = []

        def write(raw):
            if not written:
                writer.fill(make("later.md", text="written while the export runs"))
                writer.catalog.memories.remove([make("7.md").id])
            written.append(raw)

        done = export(home.catalog, write, now=NOW, progress=Silent())

    assert done.counts["memories"] == 150
    assert {line["uri"] for line in map(json.loads, written) if line["type"] == "memory"} == {
        f"{number}.md" for number in range(150)
    }


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_neither_exporting_nor_importing_holds_all_in_memory(home, other, tmp_path, packed):
    count, size = 120, 200_000
    home.catalog.prepare()
    home.contents.write_memories([(make(f"{n}.md", text=f"{n} " + "x" * size), ()) for n in range(count)])
    target = tmp_path / ("all.jsonl.gz" if packed else "all.jsonl")
    tracemalloc.start()
    try:
        export_file(home.catalog, target, now=NOW, progress=Silent())
        with ExportReader(target) as source:
            source.check()
            assert sum(1 for _ in source.entries()) == count
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < count * size / 4


# --- files


def test_a_file_is_private_and_the_same_each_time(home, tmp_path):
    home.fill(make())
    for name in ("one.jsonl.gz", "two.jsonl.gz"):
        export_file(home.catalog, tmp_path / name, now=NOW, progress=Silent())

    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.jsonl.gz").read_bytes()) == home.export()
    assert stat.S_IMODE((tmp_path / "one.jsonl.gz").stat().st_mode) == 0o600


def test_a_file_is_replaced_only_when_forced(home, tmp_path):
    home.fill(make())
    target = tmp_path / "memory.jsonl"
    target.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        export_file(home.catalog, target, now=NOW, progress=Silent())
    assert target.read_text() == "mine"

    export_file(home.catalog, target, force=True, now=NOW, progress=Silent())
    assert target.read_bytes() == home.export()


def test_a_failed_export_leaves_what_was_there(home, tmp_path):
    home.fill(make(), make("b.md"))
    with home.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET kind = 'nonsense' WHERE uri = 'b.md'")
    target = tmp_path / "memory.jsonl"
    target.write_text("mine")
    with pytest.raises(Exception, match="is damaged"):
        export_file(home.catalog, target, force=True, now=NOW, progress=Silent())

    assert target.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["memory.jsonl"]


@pytest.mark.parametrize("name", ["/dev/null", ".", "nowhere/x.jsonl"])
def test_what_cannot_become_a_file_is_left_alone(home, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    home.fill(make())
    with pytest.raises(UsageError):
        export_file(home.catalog, Path(name), force=True, now=NOW, progress=Silent())
    assert not Path("/dev/null").is_file()


# --- conflicts


def test_importing_twice_is_importing_once(home, other):
    home.fill(make(), make("b.md"))
    raw = home.export()
    assert other.import_(raw).new == 2
    before = other.memories()

    again = other.import_(raw)
    assert (again.new, again.changed, again.unchanged) == (0, 0, 2)
    assert other.memories() == before
    assert [entry["operation"] for entry in other.catalog.log.entries()] == ["import"]


@pytest.mark.parametrize(
    ("keep", "incoming_is_newer", "wins"),
    [
        ("newer", True, "incoming"),
        ("newer", False, "existing"),
        ("existing", True, "existing"),
        ("incoming", False, "incoming"),
    ],
)
def test_of_two_versions_the_newer_or_the_named_one_stays(home, other, keep, incoming_is_newer, wins):
    shift = timedelta(microseconds=1 if incoming_is_newer else -1)
    home.fill(
        make(text="incoming words", content_hash=content_hash("incoming words"), updated_at=NOW + shift)
    )
    other.fill(make(text="existing words", content_hash=content_hash("existing words"))).index()
    done = other.import_(home.export(), keep=keep)

    assert (done.changed, done.kept) == ((1, 0) if wins == "incoming" else (0, 1))
    [memory] = other.memories().values()
    assert (memory.text, memory.state) == (f"{wins} words", State.INDEXED)
    assert other.store.search(f"{wins} words", limit=1)[0].score > 0.99


def test_of_two_versions_equally_old_the_one_here_stays(home, other):
    home.fill(make(text="incoming words"))
    other.fill(make(text="existing words"))
    assert other.import_(home.export()).kept == 1


def test_a_file_whose_memory_stays_another_is_read_again_by_seed(home, other):
    home.fill(make(text="incoming words"), make("b.md"))
    home.contents.write_files(
        [SeenFile("notes", uri, 1, 2, "rules", {"ingest": 1}) for uri in ("a.md", "b.md")]
    )
    other.fill(make(text="existing words"))
    other.import_(home.export(), keep="existing")

    assert [file.path for file in other.contents.files()] == ["b.md"]


def test_a_memory_that_fades_leaves_the_store_and_the_names(home, other):
    other.fill(make(text="We pin `tide.py` because `pier/tide.py` has an error.")).index()
    entity_names.learn_names(other.catalog, list(other.contents.memories()))
    assert other.store.memory_ids()
    assert other.catalog.names.canonical("user", ["tide.py"])
    home.fill(make(state=State.BUFFERED, tier=Tier.DISCARD, updated_at=LATER))
    other.import_(home.export())

    assert other.store.memory_ids() == set()
    assert [memory.state for memory in other.memories().values()] == [State.BUFFERED]
    assert not other.catalog.names.canonical("user", ["tide.py"])


def lived(home):
    """Give a home's two memories lives: pinned, reprieved, recalled, superseded and merged."""
    catalog = home.fill(make("a.md"), make("b.md")).catalog
    first, second = sorted(home.memories())
    catalog.lives.put(
        [LifeRow(first, LifecycleState.PROVEN, feedback=-2, reason="merged"), LifeRow(second, pinned=True)],
        now=NOW,
    )
    catalog.lives.add_recalls([Recall(second, "s2", NOW), Recall(second, "s1", LATER)])
    catalog.supersessions.put([Supersession(first, second, NOW, LATER, "value", "3 to 4", LATER)])
    catalog.gc_runs.link("run", {second: ["gone", first]})
    return first, second


def test_lives_recalls_supersessions_and_merges_come_back_as_they_were(home, other):
    first, second = lived(home)
    raw = home.export()
    assert [line["type"] for line in lines_of(raw)[3:-1]] == [
        "life", "life", "recall", "recall", "supersession", "merge", "merge",
    ]  # fmt: skip
    assert other.import_(raw).lifecycle == 7
    assert other.export() == raw
    assert other.import_(raw).lifecycle == 0
    assert other.catalog.lives.all() == home.catalog.lives.all()
    assert [recall.session for recall in other.catalog.lives.recalls([second])] == ["s1", "s2"]
    assert other.catalog.gc_runs.originals([second]) == {second: sorted(["gone", first])}


def test_a_part_of_an_export_has_the_lives_of_that_part_alone(home):
    lived(home)
    home.fill(make("c.md", scope=Scope("kiln")))
    raw = home.export(selection=Selection(projects=("kiln",)))
    assert {line["type"] for line in lines_of(raw)} == {"header", "memory", "end"}


def test_an_import_keeps_the_life_that_is_here_and_adds_a_pin(home, other):
    first, second = lived(home)
    other.fill(make("a.md"), make("b.md"))
    other.catalog.lives.put([LifeRow(first, reprieves=1), LifeRow(second, reprieves=2)], now=NOW)
    other.import_(home.export())
    assert other.catalog.lives.of([first])[first] == LifeRow(first, reprieves=1)
    kept = other.catalog.lives.of([second])[second]
    assert (kept.pinned, kept.reprieves) == (True, 2)


def test_no_import_hides_what_says_something_else_here(home, other):
    first, second = lived(home)
    older, newer = (home.memories()[key].uri for key in (first, second))
    other.fill(make(older, text="Here it says another thing.", updated_at=LATER), make(newer))
    other.import_(home.export())
    assert other.catalog.supersessions.all() == []
    other.import_(home.export(), keep="incoming")
    assert [item.older for item in other.catalog.supersessions.all()] == [first]


def test_what_is_pinned_here_stays_in_sight_whatever_an_export_says(home, other):
    first, _ = lived(home)
    other.fill(make("a.md"), make("b.md")).catalog.lives.put([LifeRow(first, pinned=True)], now=NOW)
    other.import_(home.export())
    assert other.catalog.supersessions.all() == []


def test_a_pin_that_comes_in_brings_a_memory_back_into_sight(home, other):
    first, _ = lived(home)
    other.import_(home.export())
    assert [item.older for item in other.catalog.supersessions.all()] == [first]
    home.catalog.supersessions.drop([first])
    home.catalog.lives.put([LifeRow(first, pinned=True)], now=NOW)
    other.import_(home.export())
    assert other.catalog.lives.of([first])[first].pinned
    assert other.catalog.supersessions.all() == []


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (("life", "life", "eternal"), '"life" is "eternal"'),
        (("life", "pinned", 1), '"pinned" is not true or false'),
        (("recall", "session", ""), '"session" is empty'),
        (("supersession", "newer_at", "today"), '"newer_at" is not a date'),
        (("merge", "original", None), '"original" is not a text'),
    ],
)
def test_a_line_of_the_lifecycle_that_is_not_sound_refuses_the_export(home, other, edit, what):
    lived(home)
    kind, field, value = edit

    def change(lines):
        next(line for line in lines if line["type"] == kind)[field] = value

    with pytest.raises(SourceError, match=what):
        other.import_(rewritten(home.export(), change))


def test_a_dry_run_counts_and_changes_nothing(home, other):
    home.fill(make(), make("b.md"))
    assert other.import_(home.export(), dry_run=True).new == 2
    assert not other.catalog.exists()

    other.fill(make())
    done = other.import_(home.export(), dry_run=True)
    assert (done.new, done.unchanged, len(other.memories())) == (1, 1, 1)


def test_without_a_model_what_was_imported_is_found_by_text(home, other):
    from ragmem.errors import BackendError

    home.fill(make())

    def no_store():
        raise BackendError("there is no model")

    with ExportReader(None, stream=io.BytesIO(home.export())) as source:
        done = import_export(other.catalog, no_store, source, now=LATER, progress=Silent())

    assert (done.new, done.waiting, done.note) == (1, 1, "there is no model")
    assert [memory.state for memory in other.memories().values()] == [State.PENDING]


def test_a_killed_import_goes_on_where_it_was(home, other):
    home.fill(*(make(f"{number}.md", text=f"text {number}") for number in range(120)))
    raw = home.export()

    class KilledError(Exception):
        pass

    class Kill(Silent):
        def advance(self, steps=1):
            raise KilledError

    with ExportReader(None, stream=io.BytesIO(raw)) as source, pytest.raises(KilledError):
        import_export(other.catalog, lambda: other.store, source, now=LATER, progress=Kill())
    durable = len(other.memories())
    assert 0 < durable < 120

    done = other.import_(raw)
    assert (done.unchanged, done.new) == (durable, 120 - durable)
    assert other.export() == raw


# --- what is refused


def _drop_last(raw):
    return raw[: raw.rindex(b'{"type":"end"')]


def _edit(key, value):
    def change(lines):
        lines[0][key] = value

    return lambda raw: rewritten(raw, change)


def _edit_chunk(key, value):
    def change(lines):
        lines[0]["chunks"][0][key] = value

    return lambda raw: rewritten(raw, change)


def _without(key):
    return lambda raw: rewritten(raw, lambda lines: lines[0].pop(key) and None)


def _header(**fields):
    return lambda raw: b"\n".join(
        [json.dumps({**lines_of(raw)[0], **fields}).encode(), *raw.splitlines()[1:], b""]
    )


DAMAGES = {
    "empty": (lambda _: b"", "it is empty"),
    "cut after a line": (_drop_last, "it is truncated after line 3"),
    "cut within a line": (lambda raw: raw[:-40], "line 4: not valid JSON"),
    "cut within gzip": (lambda raw: gzip.compress(raw)[:-20], "it is truncated or damaged after line"),
    "a flipped bit in gzip": (
        lambda raw: (packed := gzip.compress(raw))[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:],
        "it is truncated or damaged after line",
    ),
    "a changed word": (
        lambda raw: raw.replace(b"title of a.md", b"title of A.md"),
        "line 4: the lines before it differ from what was written",
    ),
    "a line less": (
        lambda raw: b"\n".join([*raw.splitlines()[:2], raw.splitlines()[3], b""]),
        "line 3: the lines before it differ",
    ),
    "a line more": (lambda raw: raw + b"{}\n", "line 5: it follows the end"),
    "an empty line": (lambda raw: raw.replace(b"\n", b"\n\n", 1), "line 2: not valid JSON"),
    "twice the same": (lambda raw: rewritten(raw, lambda lines: [*lines, lines[-1]]), "line 4: out of order"),
    "another order": (lambda raw: rewritten(raw, lambda lines: lines[::-1]), "line 3: out of order"),
    "no object": (lambda raw: rewritten(raw, lambda _: [[1]]), "line 2: not a JSON object"),
    "no type": (_without("type"), "line 2: it has no type"),
    "an unknown type": (_edit("type", "secret"), 'line 2: the type "secret" is unknown'),
    "a second header": (_edit("type", "header"), "line 2: a second header"),
    "a missing field": (_without("uri"), 'line 2: "uri" is missing'),
    "an unknown field": (_edit("colour", "red"), 'line 2: the field "colour" is unknown'),
    "a number for a text": (_edit("title", 7), 'line 2: "title" is not a text'),
    "a truth for a number": (_edit("recalls", True), 'line 2: "recalls" is not a whole number'),
    "a negative number": (_edit("recalls", -1), 'line 2: "recalls" is out of range'),
    "a number without end": (_edit("recalls", 2**63), 'line 2: "recalls" is out of range'),
    "an unknown kind": (_edit("kind", "joke"), 'line 2: "kind" is "joke", not one of preference'),
    "a date that is none": (_edit("event_at", "soon"), 'line 2: "event_at" is not a date'),
    "a date without zone": (_edit("event_at", "2026-01-01"), 'line 2: "event_at" has no time zone'),
    "a date before the first": (
        _edit("event_at", "0001-01-01T00:00:00+02:00"),
        'line 2: "event_at" is not a date',
    ),
    "a tag that is no text": (_edit("tags", [1]), 'line 2: "tags" contains something other than text'),
    "metadata that nests": (
        _edit("metadata", {"a": {}}),
        'line 2: "metadata" contains something other than text',
    ),
    "an id that is none": (_edit("id", "../../etc/passwd"), 'line 2: "id" is not the id of a memory'),
    "a false hash": (_edit("text", "other words"), 'line 2: "content_hash" is not that of the text'),
    "a chunk beyond the text": (_edit_chunk("end", 10_000), "line 2: chunk 0 lies outside of the text"),
    "a chunk that ends first": (_edit_chunk("start", 100), "line 2: chunk 0 lies outside of the text"),
    "a half character": (
        lambda raw: raw.replace(b"title of a.md", b"title \xff a.md"),
        "line 3: not valid JSON",
    ),
    "a lone surrogate": (
        lambda raw: raw.replace(b"title of a.md", b"title \\ud800"),
        "line 3: not valid JSON",
    ),
    "a newer schema": (_header(schema=99), "line 1: a newer ragmem wrote it: its schema is 99"),
    "another format": (_header(format="mail"), "line 1: it does not begin an export of ragmem"),
    "other JSON lines": (lambda _: b'{"task": "x"}\n', "line 1: it has no type"),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_export_imports_nothing(home, other, damage, words):
    home.fill(make(), make("b.md"))
    raw = damage(home.export())
    with pytest.raises(SourceError) as refused:
        other.import_(raw)

    assert str(refused.value).startswith(f'cannot import "standard input": {words}')
    assert not other.catalog.exists()


def test_a_stream_that_is_no_export_is_not_read_to_its_end(other):
    class Endless(io.RawIOBase):
        taken = 0

        def read(self, size=-1):
            assert size >= 0
            self.taken += size
            return b"\0" * size

    stream = Endless()
    with ExportReader(None, stream=stream) as source, pytest.raises(SourceError, match="longer than"):
        source.check()
    assert stream.taken < 10_000_000


def test_a_pipe_is_read_as_a_file_is(home, tmp_path):
    home.fill(make())
    read, write = os.pipe()
    os.write(write, gzip.compress(home.export()))
    os.close(write)
    with ExportReader(Path(f"/dev/fd/{read}")) as source:
        assert source.check() == {"header": 1, "memory": 1}
        assert [memory.uri for memory, _ in source.entries()] == ["a.md"]
    os.close(read)


def test_no_file_is_opened_because_an_export_names_it(home, other, tmp_path):
    secret = tmp_path / "secret.md"
    os.mkfifo(secret)  # whoever opened it would hang
    home.fill(make(str(secret), source="memory"))
    home.contents.write_files([SeenFile("memory", str(secret), 1, 2, "rules", {})])
    home.catalog.projects.remember("p", name="p", root=str(secret))
    other.import_(home.export())
    assert [memory.uri for memory in other.memories().values()] == [str(secret)]


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(NotFoundError, match=r'there is no file "nope\.jsonl"'):
        ExportReader(Path("nope.jsonl"))


# --- the command line


def test_the_commands_carry_a_memory_from_home_to_home(inside, tmp_path):
    inside("ingest", "-", "--project", "user", stdin="PostgreSQL keeps our sessions.")
    target = tmp_path / "all.jsonl.gz"
    written = json.loads(inside("export", str(target), "--json").stdout)
    assert written["counts"]["memories"] == 1
    assert written["bytes"] == target.stat().st_size

    there = {"RAGMEM_HOME": str(tmp_path / "there")}
    done = inside("import", str(target), **there)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "imported 1 new memory and 0 changed; 0 unchanged, 0 kept as they are\n"
    assert "PostgreSQL" in inside("query", "sessions", "--all", **there).stdout
    piped = inside("export", **there).stdout
    assert piped.splitlines()[1:] == gzip.decompress(target.read_bytes()).decode().splitlines()[1:]
    assert json.loads(inside("import", "-", "--json", stdin=piped).stdout)["unchanged"] == 1


@pytest.mark.parametrize("purge", [(), ("--purge",)])
def test_what_was_forgotten_here_comes_back_by_no_import_unless_a_person_says_so(inside, tmp_path, purge):
    one, two = ({"RAGMEM_HOME": str(tmp_path / name)} for name in ("one", "two"))
    dump = str(tmp_path / "memory.jsonl")
    for text in ("The pool leaks when the pump runs longer than an hour.", "Gulls nest on the west wall."):
        key = inside("ingest", "-", stdin=text, **one).stdout.strip()
    inside("export", dump, **one)
    inside("import", dump, **two)
    assert inside("forget", key, "--yes", *purge, **two).returncode == 0
    for options in (("--dry-run",), (), ("--keep", "existing")):
        done = json.loads(inside("import", dump, "--json", *options, **two).stdout)
        assert (done["new"], done["unchanged"], done["forgotten"]) == (0, 1, 1)
    assert "1 forgotten here" in inside("import", dump, **two).stdout
    assert "Gulls" not in inside("query", "gulls wall", **two).stdout
    assert json.loads(inside("import", dump, "--json", "--keep", "incoming", **two).stdout)["new"] == 1
    assert json.loads(inside("import", dump, "--json", **two).stdout)["forgotten"] == 0
    assert "Gulls" in inside("query", "gulls wall", **two).stdout


def test_what_another_home_forgot_is_not_forgotten_where_it_is_stored(inside, tmp_path):
    one, two = ({"RAGMEM_HOME": str(tmp_path / name)} for name in ("one", "two"))
    dump, text = str(tmp_path / "memory.jsonl"), "Gulls nest on the west wall."
    for home in (one, two):
        key = inside("ingest", "-", stdin=text, **home).stdout.strip()
        inside("ingest", "-", stdin="The pool leaks when the pump runs longer than an hour.", **home)
    inside("forget", key, "--yes", **one)
    inside("export", dump, **one)
    for _ in range(2):
        inside("import", dump, **two)
    lines = inside("export", "-", **two).stdout.splitlines()
    assert not [line for line in lines if '"type":"forgotten"' in line]
    assert [line for line in lines if text in line and '"type":"memory"' in line]


def test_a_dry_run_of_export_writes_no_file(inside, tmp_path):
    inside("ingest", "-", stdin="PostgreSQL keeps our sessions.")
    done = inside("export", str(tmp_path / "all.jsonl"), "--dry-run")
    assert (done.returncode, done.stdout) == (0, "would write 1 memory\n")
    assert not (tmp_path / "all.jsonl").exists()
