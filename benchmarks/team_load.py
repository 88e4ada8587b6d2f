"""Measure a team's server on PostgreSQL: fifty clients at once, a small and a large memory, and its index.

    python benchmarks/team_load.py [--memories N] [--small N] [--own N] [--clients N] [--seconds S]
        [--folder DIR] [--json FILE] [--markdown FILE]

A PostgreSQL server of its own and a real `ragmem serve` share the cores with the clients. GET /health, which
reads nothing, says in the same run what a request costs at least. Each client asks in a project of its own.
Recall is that of the ten nearest vectors beside an exact scan, among as many rows as a question asks for.
"""

import argparse
import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import agents
import common
import serve
from stores import team_store

MEMORIES, SMALL, OWN = 500_000, 50_000, 500
CLIENTS = 50
NEAREST = 10

PAPER, PEOPLE = 10_000_000, 500
"""Memories and people of a deployment that is calculated, not measured."""

RANKS = (0, 9, 49)
"""Projects in which recall is measured: the largest, a middle one, the smallest."""

SETTINGS: Mapping[str, tuple[str, int]] = {
    "index, no iterative scan, ef_search 200": ("off", 200),
    "index, strict order, ef_search 200": ("strict_order", 200),
    "index, relaxed order, ef_search 40": ("relaxed_order", 40),
    "index, relaxed order, ef_search 400": ("relaxed_order", 400),
    "index, relaxed order, ef_search 800": ("relaxed_order", 800),
}
ASKED, AS_ASKED = "as ragmem queries", ("relaxed_order", 400)

ROWS = 120
"""Chunks that a question asks for; the ten nearest of them count."""

_INDEX_ONLY = "; ".join(
    f"SET LOCAL {name} = off" for name in ("enable_seqscan", "enable_bitmapscan", "enable_sort")
)
"""Makes the server take the index of vectors even where it takes comparing all of a project for cheaper."""


def load(environ: Mapping[str, str], home: Path, asked: Sequence[str], options: Any) -> dict[str, Any]:
    """Return what one client and many take, for GET /health and for questions."""
    found: dict[str, Any] = {}

    def question(at: int) -> tuple[str, str, Any]:
        document = {
            "query": asked[at // team_store.PROJECTS % len(asked)],
            "projects": [team_store.project(at % team_store.PROJECTS)],
        }
        return "POST", "/v1/memory/query", document

    def health(_: int) -> tuple[str, str, Any]:
        return "GET", "/health", None

    with agents.serving({**environ, "HOME": str(home)} | serve.VARIABLES, home) as server:
        asyncio.run(serve.loaded(server, options.clients, options.seconds / 2, question, writing=False))
        for name, request in (("GET /health", health), ("question", question)):
            for clients in (1, options.clients):
                common.tell(f"{name}, {clients} clients")
                before = team_store.processor_s(options.folder)
                figures = asyncio.run(serve.loaded(server, clients, options.seconds, request, writing=False))
                after = team_store.processor_s(options.folder)
                each = None if before is None or after is None else (after - before) / figures["n"]
                found[f"{name}, {clients}"] = {**figures, "database_s": each}
        found["rss_kb"] = server.status("VmRSS")
    return found


def recall(url: str, pool: team_store.Pool, count: int) -> list[dict[str, Any]]:
    """Return for each project and each setting how much of the exact answer is found, and how soon."""
    import orjson
    import psycopg

    vectors = [orjson.dumps(one, option=orjson.OPT_SERIALIZE_NUMPY).decode() for one in pool.asked[:count]]
    found = []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET jit = off")
        (table,) = connection.execute(
            "SELECT tablename FROM pg_tables WHERE tablename LIKE 'lightrag_vdb_chunks%'"
        ).fetchone()
        spaces = dict(connection.execute("SELECT project, workspace FROM ragmem.store_workspaces").fetchall())
        (version,) = connection.execute(
            "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        ).fetchone()
        iterative = [int(part) for part in version.split(".")[:2]] >= [0, 8]
        chosen = [(f"{team_store.shares()[n]:.1%}", [spaces[team_store.project(n)]]) for n in RANKS]
        near = f"SELECT id, content_vector <=> %(v)s::vector AS d FROM {table} WHERE workspace = ANY(%(w)s)"
        direct = f"{near} ORDER BY content_vector <=> %(v)s::vector LIMIT {ROWS}"
        exact = f"WITH mine AS MATERIALIZED ({near}) SELECT * FROM mine ORDER BY d LIMIT {ROWS}"

        def ask(statement: str, begin: str, vector: str, places: list[str]) -> tuple[float, set[str]]:
            with connection.transaction():
                connection.execute(begin)
                began = time.perf_counter()
                rows = connection.execute(statement, {"v": vector, "w": places}, prepare=False).fetchall()
                took = time.perf_counter() - began
                return took, {key for key, _ in sorted(rows, key=lambda row: row[1])[:NEAREST]}

        for share, places in (*chosen, ("all", list(spaces.values()))):
            common.tell(f"recall in a project of {share}")
            best = [ask(exact, "SELECT 1", vector, places) for vector in vectors]
            compared = statistics.median(seconds for seconds, _ in best)
            for name, (scan, search) in {**SETTINGS, ASKED: AS_ASKED}.items():
                if scan != "off" and not iterative:
                    continue
                begin = f"SET LOCAL hnsw.ef_search = {search}"
                begin += f"; SET LOCAL hnsw.iterative_scan = {scan}" if iterative else ""
                begin += "" if name == ASKED else f"; {_INDEX_ONLY}"
                answers = [ask(direct, begin, vector, places) for vector in vectors]
                shares = [
                    len(got & right) / len(right) for (_, got), (_, right) in zip(answers, best, strict=True)
                ]
                found.append(
                    {
                        "share": share,
                        "setting": name,
                        "recall": statistics.fmean(shares),
                        "worst": min(shares),
                        "ratio": statistics.median(seconds for seconds, _ in answers) / compared,
                        "p50": statistics.median(seconds for seconds, _ in answers),
                        "exact_p50": compared,
                    }
                )
    return found


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures."""
    sizes = (300, 1_000) if options.quick else (options.small, options.memories)
    document: dict[str, Any] = {"machine": common.machine(), "clients": options.clients, "sizes": {}}
    pool = team_store.pool(options.data, options.cache, 300 if options.quick else team_store.REAL)
    document["dimensions"] = pool.asked.shape[1]
    with team_store.server(options.folder) as url:
        for size in sizes:
            own = 2 * team_store.PROJECTS if options.quick or size > team_store.WHOLE else options.own
            address, home, filled = team_store.make(url, options.folder, pool, size, own)
            environ = team_store.environment(home, address)
            document["sizes"][size] = {"filled": filled, **load(environ, home, pool.questions, options)}
        document["recall"] = recall(address, pool, 5 if options.quick else options.questions)
    return document


def rows_of(document: dict[str, Any]) -> list[list[str]]:
    """Return the lines of the table of loads."""
    rows = []
    clients = document["clients"]
    small, large = document["sizes"].values()
    for name in ("GET /health", "question"):
        for count in (1, clients):
            row = [f"{name}, {count} client{'s' * (count > 1)}"]
            for one in (small, large):
                figures, base = one[f"{name}, {count}"], one[f"GET /health, {count}"]
                row += [
                    common.milliseconds(figures["p50"]),
                    common.milliseconds(figures["p95"]),
                    f"{figures['per_second'] / base['per_second']:.3f}",
                ]
            ratio = large[f"{name}, {count}"]["p95"] / small[f"{name}, {count}"]["p95"]
            rows.append([*row, f"{ratio:.2f}"])
    return rows


def notes_of(document: dict[str, Any]) -> list[str]:
    """Return what the table does not say."""
    (few, small), (many, large) = document["sizes"].items()
    failed, asked = Counter[int](), 0
    for one in (small, large):
        for name, figures in one.items():
            if isinstance(figures, dict) and "statuses" in figures and name.startswith("question"):
                asked += figures["n"]
                failed += Counter(
                    {status: n for status, n in figures["statuses"].items() if int(status) != 200}
                )
    built, copied = large["filled"], small["filled"]
    memory = (large["rss_kb"] - small["rss_kb"]) * 1024 / (many - few)
    index = built["index_bytes"] / many
    return [
        (
            f"{few:,} and {many:,} memories in {team_store.PROJECTS} projects, the smallest"
            f" {team_store.shares()[-1]:.1%} of all; requests per second relative to GET /health"
            " with as many clients"
        ),
        f"statuses other than 200 in {asked:,} questions: {dict(failed) or 'none'}",
        (
            f"bytes per memory in the database: {copied['own_bytes']:,.0f} including its names and relations,"
            f" {copied['copied_bytes']:,.0f} without; of these {index:,.0f} in the vector index"
        ),
        (
            f"bytes per memory in the server's process: {memory:,.0f};"
            f" the index takes {built['index_seconds'] * 1e6 / many:,.0f} s per million vectors, on one core"
        ),
        (
            f"{copied['own']:,} memories were ingested by ragmem, {copied['own_per_second']:.1f} a second,"
            f" the others copied with COPY, {built['copied_per_second']:.0f} a second; at {many:,}"
            " only into the tables that a search reads; vectors are mixtures of two real ones with noise"
        ),
    ]


def paper(document: dict[str, Any]) -> list[list[str]]:
    """Return what was measured beside the same for ten million memories and 500 people, by proportion."""
    (few, small), (many, large) = document["sizes"].items()
    copied, built = small["filled"], large["filled"]
    clients = document["clients"]

    def server(one: dict[str, Any]) -> float:
        figures = one[f"question, {clients}"]
        return float(figures["server_cores"] / figures["per_second"])

    def database(one: dict[str, Any]) -> float:
        return float(one[f"question, {clients}"]["database_s"])

    def grown(at_few: float, at_many: float) -> float:
        return at_many + (at_many - at_few) / (many - few) * (PAPER - many)

    index, dimensions = built["index_bytes"] / many, document["dimensions"]
    gigabytes = [
        ("database with names and relations", copied["own_bytes"]),
        ("database without them", copied["copied_bytes"]),
        ("index of the chunks' vectors, HNSW", index),
        ("the same with 16-bit numbers (halfvec)", index - 2 * dimensions),
        ("the same as StreamingDiskANN, 2 bits a dimension, 50 neighbours", dimensions / 4 + 50 * 8),
    ]
    rows = [
        [f"{name}, GB", f"{each * many / 1e9:.1f}", f"{each * PAPER / 1e9:,.0f}"] for name, each in gigabytes
    ]
    resident = [one["rss_kb"] * 1024 for one in (small, large)]
    return [
        *rows,
        ["one server's process, GB", f"{resident[1] / 1e9:.1f}", f"{grown(*resident) / 1e9:,.1f}"],
        [
            "HNSW built by one core, hours (at least)",
            f"{built['index_seconds'] / 3600:.2f}",
            f"{built['index_seconds'] / many * PAPER / 3600:,.1f}",
        ],
        *(
            [
                f"processor time of {name} per question, ms",
                f"{each(large) * 1e3:.0f}",
                f"{grown(each(small), each(large)) * 1e3:,.0f}",
            ]
            for name, each in (("a server's process", server), ("PostgreSQL", database))
        ),
        [
            f"cores of both for {PEOPLE} people with one question a minute each",
            "",
            f"{PEOPLE / 60 * sum(grown(each(small), each(large)) for each in (server, database)):.1f}",
        ],
    ]


def main() -> None:
    """Run the benchmark."""
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/ragmem-vectors"), metavar="DIR")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/ragmem-team"), metavar="DIR")
    parser.add_argument("--memories", type=int, default=MEMORIES, metavar="N")
    parser.add_argument("--small", type=int, default=SMALL, metavar="N")
    parser.add_argument(
        "--own", type=int, default=OWN, metavar="N", help="memories of the small one by ragmem"
    )
    parser.add_argument("--clients", type=int, default=CLIENTS, metavar="N")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="S", help="of each load")
    parser.add_argument("--questions", type=int, default=40, metavar="N", help="for the recall")
    options = parser.parse_args()
    document = {"benchmark": "team_load", **measure(options)}
    small, large = document["sizes"]
    headers = ["request"]
    for size in (small, large):
        headers += [f"p50 ms at {size:,}", "p95 ms", "share of /health"]
    common.report(
        "team-load",
        document,
        [*headers, "p95, large / small"],
        rows_of(document),
        options=options,
        notes=notes_of(document),
    )
    rows = [
        [
            f"{one['share']}, {one['setting']}",
            f"{one['recall']:.3f}",
            f"{one['worst']:.1f}",
            f"{one['ratio']:.3f}",
        ]
        for one in document["recall"]
    ]
    common.report(
        "team-recall",
        document,
        [
            "share of the project, search",
            "recall@10",
            "worst question",
            "time / exact scan",
        ],
        rows,
        options=argparse.Namespace(json=None, markdown=options.markdown),
        notes=[f"{large:,} memories, {options.questions} questions, one by one on one connection"],
    )

    common.report(
        "team-paper",
        document,
        ["what", f"measured at {large:,}", f"calculated for {PAPER:,}"],
        paper(document),
        options=argparse.Namespace(json=None, markdown=options.markdown),
        notes=[
            "bytes and index building grow linearly; the cost of a question grows as between the two sizes"
        ],
    )


if __name__ == "__main__":
    main()
