"""The contract of stores."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

from ragmem.domain.model import (
    USER,
    Chunk,
    Entity,
    Extraction,
    Memory,
    Record,
    Relation,
    Scope,
    content_hash,
    digest,
)
from ragmem.errors import UsageError
from ragmem.ports import Mode, Store
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.sqlite import SQLiteDatabase

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of the first test memory."""

ROUNDING = 0.02
"""How much a cosine may differ from the exact one: stores may keep vectors in 8 bits."""

EQUAL = 1e-4
"""How much two cosines of one chunk may differ within one store."""


def make_record(
    name: str,
    text: str,
    *,
    entities: Sequence[str] = (),
    relations: Sequence[tuple[str, str]] = (),
    project: str = USER,
    hours: int = 0,
) -> Record:
    """Return a record of one memory; each paragraph is a chunk, and the first one names the entities."""
    moment = EPOCH + timedelta(hours=hours)
    memory = Memory(
        id=digest("contract", name),
        source="contract",
        uri=f"/contract/{name}",
        text=text,
        title=name,
        event_time=moment,
        created_at=moment,
        updated_at=moment,
        content_hash=content_hash(text),
        scope=Scope(project),
    )
    chunks = []
    position = 0
    for order, paragraph in enumerate(text.split("\n\n")):
        chunks.append(
            Chunk(
                id=digest("contract-chunk", name, str(order), paragraph),
                memory_id=memory.id,
                order=order,
                text=paragraph,
                start=position,
                end=position + len(paragraph),
            )
        )
        position += len(paragraph) + 2
    extraction = Extraction(
        chunk_id=chunks[0].id,
        entities=tuple(Entity(one, "concept", f"{one} as told by {name}.") for one in entities),
        relations=tuple(
            Relation(source, target, "uses", f"{source} uses {target} as told by {name}.")
            for source, target in relations
        ),
    )
    return Record(memory=memory, chunks=tuple(chunks), extractions=(extraction,))


def _run_threads(work: Callable[[int], None], count: int) -> None:
    """Run the function in several threads, and raise an exception of any of them."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


class _RefusedError(Exception):
    """The exception of `finish` in these tests."""


def _refuse() -> None:
    raise _RefusedError


class StoreContract:
    """The contract of a store; override `open_store`."""

    REDIS = make_record(
        "redis",
        "redis caches the sessions of the billing service",
        entities=("Redis", "Billing"),
        relations=(("Billing", "Redis"),),
    )
    KAFKA = make_record(
        "kafka",
        "kafka carries the events of the billing service\n\nits topics are partitioned by customer",
        entities=("Kafka", "Billing"),
        relations=(("Billing", "Kafka"),),
        hours=1,
    )
    ELSEWHERE = make_record(
        "elsewhere",
        "redis caches nothing in the other project",
        entities=("Redis", "Other"),
        relations=(("Other", "Redis"),),
        project="other",
        hours=2,
    )

    def open_store(self, database: Database) -> Store:
        """Return the store under test on this database, with an embedder that distinguishes words."""
        raise NotImplementedError

    def open_database(self, tmp_path: Path) -> Database:
        """Return a new, empty database for a store; override it for another database than SQLite."""
        return SQLiteDatabase(tmp_path / "home")

    @contextlib.contextmanager
    def _open_store(self, tmp_path: Path) -> Iterator[tuple[Store, Database]]:
        database = self.open_database(tmp_path)
        store = self.open_store(database)
        try:
            yield store, database
        finally:
            store.close()
            database.close()

    @contextlib.contextmanager
    def _open_filled_store(self, tmp_path: Path, *records: Record) -> Iterator[Store]:
        with self._open_store(tmp_path) as (store, _):
            store.put(records)
            yield store

    @staticmethod
    def _picture(store: Store) -> Any:
        """Return the visible state of a store in a comparable form."""
        return (
            store.memory_ids(),
            dict(store.statistics()),
            sorted((entity.name, degree) for entity, degree in store.entities(limit=1000)),
            [(hit.chunk_id, round(hit.score, 5)) for hit in store.search("redis kafka billing", limit=50)],
        )

    def test_a_store_that_was_never_written_to_is_empty(self, tmp_path: Path) -> None:
        """Reading creates nothing and fails nowhere."""
        with self._open_store(tmp_path) as (store, _):
            assert store.search("anything", limit=5) == []
            assert store.entities() == []
            assert store.neighbours("Redis") == []
            assert store.memory_ids() == set()
            assert set(store.statistics().values()) == {0}

    def test_what_was_put_is_found(self, tmp_path: Path) -> None:
        """The nearest chunk comes first, with its memory, ranks count from 1 and scores are cosines."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA) as store:
            hits = store.search("redis caches sessions", limit=10)
            assert hits[0].chunk_id == self.REDIS.chunks[0].id
            assert hits[0].memory_id == self.REDIS.memory.id
            assert [hit.rank for hit in hits] == [1, 2, 3]
            assert all(one.score >= other.score for one, other in itertools.pairwise(hits))
            assert all(-1 - ROUNDING <= hit.score <= 1 + ROUNDING for hit in hits)
            assert store.memory_ids() == {self.REDIS.memory.id, self.KAFKA.memory.id}

    def test_the_same_text_scores_one(self, tmp_path: Path) -> None:
        """A query equal to a chunk has the highest cosine."""
        with self._open_filled_store(tmp_path, self.REDIS) as store:
            assert abs(store.search(self.REDIS.chunks[0].text, limit=1)[0].score - 1) < ROUNDING

    def test_chunks_that_are_compared_score_as_in_a_search(self, tmp_path: Path) -> None:
        """Also before any search, only of these projects; unknown chunks are absent."""
        question = "redis caches sessions"
        records = (self.REDIS, self.KAFKA, self.ELSEWHERE)
        chunks = [chunk.id for record in records for chunk in record.chunks]
        with self._open_store(tmp_path) as (store, _):
            assert store.similarities(question, chunks) == {}
            store.put(records)
            found = store.similarities(question, [*chunks, "unknown", chunks[0]])
            scores = {hit.chunk_id: hit.score for hit in store.search(question, limit=10)}
            assert set(found) == set(scores) == set(chunks)
            assert all(abs(found[key] - scores[key]) < EQUAL for key in chunks)
            assert set(store.similarities(question, chunks, projects=["other"])) == {chunks[-1]}
            assert store.similarities(question, chunks, projects=[]) == {}
            assert store.similarities(question, []) == {}
            store.delete([self.REDIS.memory.id])
            assert set(store.similarities(question, chunks)) == set(chunks[1:])

    def test_the_vectors_of_a_project_can_be_read_in_bulk(self, tmp_path: Path) -> None:
        """Each chunk once with its memory, of unit length, and none of another project."""
        with self._open_store(tmp_path) as (store, _):

            def owners_in(project: str, memory_ids: Sequence[str] | None = None) -> dict[str, str]:
                owners: dict[str, str] = {}
                for block in store.vector_blocks(project, memory_ids=memory_ids):
                    assert len(block.chunk_ids) == len(block.memory_ids) == len(block.vectors)
                    assert not owners.keys() & set(block.chunk_ids)
                    assert all(abs(float(row @ row) - 1) < EQUAL for row in block.vectors)
                    owners |= zip(block.chunk_ids, block.memory_ids, strict=True)
                return owners

            assert owners_in(USER) == {}
            store.put([self.REDIS, self.KAFKA, self.ELSEWHERE])
            redis, kafka = (
                {chunk.id: one.memory.id for chunk in one.chunks} for one in (self.REDIS, self.KAFKA)
            )
            assert owners_in(USER) == redis | kafka
            assert owners_in(USER, [self.KAFKA.memory.id, "unknown"]) == kafka
            assert owners_in("other", [self.KAFKA.memory.id]) == {}
            assert owners_in(USER, []) == owners_in("unknown") == {}
            store.delete([self.REDIS.memory.id])
            assert owners_in(USER) == kafka
            assert {store.answering_model()} == {model for model, _ in store.vector_models()}

    def test_the_nearest_of_a_vector_are_those_of_its_text(self, tmp_path: Path) -> None:
        """A chunk's own vector finds that chunk first, as its text would."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA, self.ELSEWHERE) as store:
            for block in store.vector_blocks(USER):
                found = store.nearest_to(block.vectors, limit=2, project=USER)
                assert [[hit.rank for hit in hits] for hits in found] == [[1, 2]] * len(block.vectors)
                assert [hits[0].chunk_id for hits in found] == list(block.chunk_ids)
                assert all(abs(hits[0].score - 1) < ROUNDING for hits in found)
                assert store.nearest_to(block.vectors, limit=2, project="unknown") == [[]] * len(found)
                assert store.nearest_to(block.vectors[:0], limit=2, project=USER) == []

    def test_a_chunk_tells_its_entities_and_who_else_names_them(self, tmp_path: Path) -> None:
        """Within its project, without entities that too many name and without deleted chunks."""
        redis, kafka, elsewhere = (one.chunks[0].id for one in (self.REDIS, self.KAFKA, self.ELSEWHERE))
        with self._open_store(tmp_path) as (store, _):

            def mentions(*chunks: str, project: str = USER, most: int = 9) -> dict[str, dict[str, set[str]]]:
                found = store.mentions(chunks, project=project, most=most)
                return {
                    chunk: {name: set(naming) for name, naming in names.items()}
                    for chunk, names in found.items()
                }

            assert mentions(redis) == {}
            store.put([self.REDIS, self.KAFKA, self.ELSEWHERE])
            assert mentions(redis, "unknown", self.KAFKA.chunks[1].id) == {
                redis: {"Redis": {redis}, "Billing": {redis, kafka}}
            }
            assert mentions(redis, kafka, most=1) == {redis: {"Redis": {redis}}, kafka: {"Kafka": {kafka}}}
            assert mentions(redis, project="other") == {}
            assert mentions(elsewhere, project="other") == {
                elsewhere: {"Redis": {elsewhere}, "Other": {elsewhere}}
            }
            assert mentions() == {}
            store.delete([self.KAFKA.memory.id])
            assert mentions(redis, kafka) == {redis: {"Redis": {redis}, "Billing": {redis}}}

    def test_the_whole_graph_can_be_read_in_order(self, tmp_path: Path) -> None:
        """Every entity and relation of a project once, and none of another's."""
        with self._open_store(tmp_path) as (store, _):
            assert list(store.nodes(USER)) == []
            assert list(store.edges(USER)) == []
            store.put([self.REDIS, self.KAFKA, self.ELSEWHERE])
            assert [(one.name, one.type, degree) for one, degree in store.nodes(USER)] == [
                ("Billing", "concept", 2),
                ("Kafka", "concept", 1),
                ("Redis", "concept", 1),
            ]
            ends = [("Billing", "Kafka"), ("Billing", "Redis")]
            assert [(one.source, one.target) for one in store.edges(USER)] == ends
            assert [(one.keywords, one.weight) for one in store.edges("other")] == [("uses", 1.0)]
            assert [one.name for one, _ in store.nodes("other")] == ["Other", "Redis"]
            assert list(store.edges("unknown")) == []
            store.delete([self.REDIS.memory.id])
            assert [one.name for one, _ in store.nodes(USER)] == ["Billing", "Kafka"]

    def test_each_part_of_the_graph_tells_its_chunks(self, tmp_path: Path) -> None:
        """The latest first, up to the limit, within the project."""
        redis, kafka, elsewhere = (one.chunks[0].id for one in (self.REDIS, self.KAFKA, self.ELSEWHERE))
        with self._open_store(tmp_path) as (store, _):
            assert store.chunks_naming(["Billing"], project=USER, most=9) == {}
            for record in (self.REDIS, self.KAFKA, self.ELSEWHERE):
                store.put([record])
            naming = store.chunks_naming(["Billing", "Redis", "Nobody"], project=USER, most=9)
            assert {name: list(chunks) for name, chunks in naming.items()} == {
                "Billing": [kafka, redis],
                "Redis": [redis],
            }
            assert list(store.chunks_naming(["Billing"], project=USER, most=1)["Billing"]) == [kafka]
            assert list(store.chunks_naming(["Redis"], project="other", most=9)["Redis"]) == [elsewhere]
            pairs = [("Billing", "Redis"), ("Kafka", "Billing"), ("Kafka", "Redis")]
            relating = store.chunks_relating(pairs, project=USER, most=9)
            assert {pair: list(chunks) for pair, chunks in relating.items()} == {
                ("Billing", "Redis"): [redis],
                ("Kafka", "Billing"): [kafka],
            }
            assert store.chunks_relating([("Billing", "Redis")], project="other", most=9) == {}
            store.delete([self.KAFKA.memory.id])
            assert list(store.chunks_naming(["Billing"], project=USER, most=9)["Billing"]) == [redis]

    def test_no_more_hits_than_asked_for(self, tmp_path: Path) -> None:
        """A limit of 0 gives no hits."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA) as store:
            assert len(store.search("billing", limit=2)) == 2
            assert store.search("billing", limit=0) == []

    def test_the_graph_can_be_read(self, tmp_path: Path) -> None:
        """Entities by prefix in any case, most connected first; neighbours from both ends."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA) as store:
            assert [(one.name, degree) for one, degree in store.entities()] == [
                ("Billing", 2),
                ("Kafka", 1),
                ("Redis", 1),
            ]
            assert [one.name for one, _ in store.entities("rE")] == ["Redis"]
            assert store.entities("x") == []
            assert {other.name for _, other in store.neighbours("Billing")} == {"Kafka", "Redis"}
            [(relation, other)] = store.neighbours("Kafka")
            assert {relation.source, relation.target} == {"Billing", "Kafka"}
            assert other.name == "Billing"

    def test_putting_twice_is_putting_once(self, tmp_path: Path) -> None:
        """Also when both are in one call."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA) as store:
            before = self._picture(store)
            store.put([self.REDIS])
            store.put([self.KAFKA, self.KAFKA])
            assert self._picture(store) == before

    def test_a_changed_record_replaces_its_old_self(self, tmp_path: Path) -> None:
        """Nothing of the old text, entities or relations remains."""
        changed = make_record("redis", "valkey took over", entities=("Valkey",))
        with self._open_filled_store(tmp_path, self.REDIS) as store:
            store.put([changed])
            assert [hit.chunk_id for hit in store.search("redis", limit=9)] == [changed.chunks[0].id]
            assert [one.name for one, _ in store.entities()] == ["Valkey"]
            assert store.neighbours("Redis") == []

    def test_a_record_can_change_its_project(self, tmp_path: Path) -> None:
        """It leaves the old one."""
        moved = make_record("redis", self.REDIS.memory.text, entities=("Redis",), project="other")
        with self._open_filled_store(tmp_path, self.REDIS) as store:
            store.put([moved])
            assert store.search("redis", limit=9, projects=[USER]) == []
            assert len(store.search("redis", limit=9, projects=["other"])) == 1
            assert store.entities(project=USER) == []

    def test_deleting_everything_leaves_nothing(self, tmp_path: Path) -> None:
        """All counts are 0 again."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA, self.ELSEWHERE) as store:
            store.delete([self.REDIS.memory.id, self.KAFKA.memory.id, self.ELSEWHERE.memory.id])
            assert set(store.statistics().values()) == {0}
            assert store.search("redis", limit=9) == []
            assert store.entities() == []

    def test_deleting_one_leaves_the_other_as_if_alone(self, tmp_path: Path) -> None:
        """Shared entities stay, with the words of the remaining memory."""
        with self._open_filled_store(tmp_path / "alone", self.REDIS) as store:
            alone = self._picture(store)
        with self._open_filled_store(tmp_path / "both", self.REDIS) as store:
            store.put([self.KAFKA])
            store.delete([self.KAFKA.memory.id])
            assert self._picture(store) == alone
            [(billing, _)] = store.entities("Billing")
            assert "kafka" not in billing.description

    def test_deleting_what_is_not_there_is_harmless(self, tmp_path: Path) -> None:
        """On an empty store too."""
        with self._open_store(tmp_path) as (store, _):
            store.delete(["unknown"])
            store.put([self.REDIS])
            before = self._picture(store)
            store.delete(["unknown"])
            store.delete([])
            assert self._picture(store) == before

    def test_a_put_whose_finish_fails_did_not_happen(self, tmp_path: Path) -> None:
        """The record that it would have replaced is unchanged, and the next put works."""
        changed = make_record("redis", "valkey took over", entities=("Valkey",))
        with self._open_filled_store(tmp_path, self.REDIS) as store:
            before = self._picture(store)
            try:
                store.put([changed, self.KAFKA], finish=_refuse)
            except _RefusedError:
                pass
            else:
                raise AssertionError("the error of finish was lost")
            assert self._picture(store) == before
            store.put([self.KAFKA])
            assert store.memory_ids() == {self.REDIS.memory.id, self.KAFKA.memory.id}

    def test_a_delete_whose_finish_fails_did_not_happen(self, tmp_path: Path) -> None:
        """The memory is still there."""
        with self._open_filled_store(tmp_path, self.REDIS) as store:
            before = self._picture(store)
            with contextlib.suppress(_RefusedError):
                store.delete([self.REDIS.memory.id], finish=_refuse)
            assert self._picture(store) == before

    def test_repairing_a_sound_store_takes_nothing_out(self, tmp_path: Path) -> None:
        """Everything is there as before."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA, self.ELSEWHERE) as store:
            before = self._picture(store)
            assert store.repair().get("memories", 0) == 0
            assert self._picture(store) == before
            assert store.check() == []

    def test_what_was_taken_out_whole_can_be_put_again(self, tmp_path: Path) -> None:
        """The store is empty in between, and as before in the end."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA, self.ELSEWHERE) as store:
            before = self._picture(store)
            store.repair(whole=True)
            assert set(store.statistics().values()) == {0}
            assert store.memory_ids() == set()
            assert store.search("redis", limit=9) == []
            store.put([self.REDIS, self.KAFKA, self.ELSEWHERE])
            assert self._picture(store) == before

    def test_finish_runs_within_the_transaction(self, tmp_path: Path) -> None:
        """It runs once, also without records, and its writes are durable."""
        with self._open_store(tmp_path) as (store, database):
            catalog = Catalog(database)
            catalog.prepare()

            def finish() -> None:
                # Joins the store's transaction if there is one, as the two tests above verify.
                catalog.log.write("finish", {}, now=EPOCH)

            store.put([self.REDIS], finish=finish)
            store.put([], finish=finish)
            store.delete([self.REDIS.memory.id], finish=finish)
            assert len(catalog.log.entries()) == 3

    def test_projects_never_mix(self, tmp_path: Path) -> None:
        """Neither in the vectors nor in the graph."""
        with self._open_filled_store(tmp_path, self.REDIS, self.ELSEWHERE) as store:
            assert {hit.memory_id for hit in store.search("redis", limit=9, projects=[USER])} == {
                self.REDIS.memory.id
            }
            assert {hit.memory_id for hit in store.search("redis", limit=9, projects=["other"])} == {
                self.ELSEWHERE.memory.id
            }
            assert len(store.search("redis", limit=9, projects=[USER, "other"])) == 2
            assert len(store.search("redis", limit=9)) == 2
            assert store.search("redis", limit=9, projects=[]) == []
            assert store.search("redis", limit=9, projects=["unknown"]) == []
            assert {one.name for one, _ in store.entities(project="other")} == {"Redis", "Other"}
            assert {other.name for _, other in store.neighbours("Redis", project=USER)} == {"Billing"}
            store.delete([self.ELSEWHERE.memory.id])
            assert {one.name for one, _ in store.entities()} == {"Redis", "Billing"}

    def test_another_opening_sees_what_was_put(self, tmp_path: Path) -> None:
        """The store is durable."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA) as store:
            before = self._picture(store)
        with self._open_store(tmp_path) as (store, _):
            assert self._picture(store) == before

    def test_a_memory_without_entities_is_found(self, tmp_path: Path) -> None:
        """Vectors need no graph."""
        plain = make_record("plain", "nothing but words")
        with self._open_filled_store(tmp_path, plain) as store:
            assert len(store.search("words", limit=3)) == 1
            store.delete([plain.memory.id])
            assert set(store.statistics().values()) == {0}

    def test_there_is_nothing_to_sweep_after_puts_and_deletes(self, tmp_path: Path) -> None:
        """A sweep removes damage; in a sound store it finds and changes nothing."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA, self.ELSEWHERE) as store:
            store.delete([self.KAFKA.memory.id])
            before = self._picture(store)
            assert set(store.sweep(dry_run=True).values()) <= {0}
            assert set(store.sweep().values()) <= {0}
            assert self._picture(store) == before

    def test_puts_replacements_and_deletes_leave_a_sound_store(self, tmp_path: Path) -> None:
        """The store's own invariants hold after each step, even before the first one."""
        changed = make_record("redis", "redis caches the ledger now", entities=("Redis", "Ledger"))
        with self._open_store(tmp_path) as (store, _):
            assert store.check(deep=True) == []
            for step in (
                lambda: store.put([self.REDIS, self.KAFKA, self.ELSEWHERE]),
                lambda: store.put([changed]),
                lambda: store.delete([self.KAFKA.memory.id]),
                store.sweep,
            ):
                step()
                assert store.check() == []
                assert store.check(deep=True) == []

    def test_threads_can_put_and_search_at_once(self, tmp_path: Path) -> None:
        """Nothing is lost and nothing fails."""
        with self._open_store(tmp_path) as (store, _):

            def work(number: int) -> None:
                for turn in range(3):
                    name = f"thread-{number}-{turn}"
                    store.put([make_record(name, f"{name} says hello", entities=("Hub", name))])
                    assert store.search(name, limit=3)

            _run_threads(work, 3)
            assert len(store.memory_ids()) == 9
            assert len(store.entities(limit=99)) == 10

    def test_threads_that_put_at_once_all_tell_of_a_shared_entity(self, tmp_path: Path) -> None:
        """No thread overwrites the merge of another."""
        with self._open_store(tmp_path) as (store, _):

            def work(number: int) -> None:
                name = f"teller-{number}"
                store.put([make_record(name, name, entities=("Hub", name), relations=(("Hub", name),))])

            _run_threads(work, 4)
            tellers = {f"teller-{number}" for number in range(4)}
            assert {found.name for _, found in store.neighbours("Hub")} == tellers

    def test_two_open_stores_see_what_the_other_put(self, tmp_path: Path) -> None:
        """Each has its own connections to the same database."""
        with self._open_store(tmp_path) as (one, _):
            one.put([self.REDIS])
            with self._open_store(tmp_path) as (other, _):
                assert other.search("redis", limit=9)
                other.put([self.KAFKA])
                assert one.memory_ids() == {self.REDIS.memory.id, self.KAFKA.memory.id}
                assert len(one.search("billing", limit=9)) == 3
                assert {found.name for _, found in one.neighbours("Billing")} == {"Kafka", "Redis"}
                one.delete([self.REDIS.memory.id])
                assert other.memory_ids() == {self.KAFKA.memory.id}
                assert {found.name for _, found in other.neighbours("Billing")} == {"Kafka"}

    def test_closing_twice_is_fine(self, tmp_path: Path) -> None:
        """Also before anything was done."""
        with self._open_store(tmp_path) as (store, _):
            store.close()
            store.close()


class NativeModesContract(StoreContract):
    """The contract of a store with LightRAG's own modes; override `open_store`."""

    def test_a_subgraph_has_nodes_and_edges(self, tmp_path: Path) -> None:
        """The document has LightRAG's form and stays within depth and limit."""
        with self._open_store(tmp_path) as (store, _):
            assert store.native is not None
            assert not store.native.subgraph("*")["nodes"]
            store.put([self.REDIS, self.KAFKA])
            near = store.native.subgraph("Redis", depth=1, project=USER)
            assert {node["id"] for node in near["nodes"]} == {"Redis", "Billing"}
            assert [{edge["source"], edge["target"]} for edge in near["edges"]] == [{"Redis", "Billing"}]
            assert near["is_truncated"] is False
            assert len(store.native.subgraph("Redis", depth=2, project=USER)["nodes"]) == 3
            whole = store.native.subgraph("*", limit=2, project=USER)
            assert len(whole["nodes"]) == 2
            assert whole["is_truncated"] is True
            assert not store.native.subgraph("no such entity", project=USER)["nodes"]

    def test_every_mode_answers(self, tmp_path: Path) -> None:
        """With keywords given, none of them needs a language model."""
        with self._open_filled_store(tmp_path, self.REDIS, self.KAFKA) as store:
            assert store.native is not None
            for mode in get_args(Mode):
                answer = store.native.native_query(
                    "redis caches", mode, keywords=["redis"], limit=5, project=USER
                )
                assert answer["status"] == "success", mode
                assert answer["data"]["chunks"], mode

    def test_a_query_that_is_too_short_is_refused(self, tmp_path: Path) -> None:
        """The error quotes it."""
        with self._open_filled_store(tmp_path, self.REDIS) as store:
            assert store.native is not None
            complaint = ""
            try:
                store.native.native_query("ab", "mix", keywords=[], limit=5, project=USER)
            except UsageError as error:
                complaint = str(error)
            assert '"ab"' in complaint
