"""Send thousands of generated requests to every operation of the server, and check each answer.

schemathesis makes them of /openapi.json: half are as the description says, half are wrong in some way. The
server is a real one on a port of this machine, over a home that is thrown away, so that what deletes is asked
too. Models are the fake ones, a language model among them, which changes nothing in what is checked.
"""

import asyncio
import json
import logging
import math
import random
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import common
import hypothesis
import requests
import schemathesis
import uvicorn
from schemathesis import GenerationMode
from schemathesis.core.errors import SchemathesisError
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks as openapi_checks

from ragmem.api.memory import Ragmem
from ragmem.backends.fake import FakeModels
from ragmem.backends.fake.language_model import FakeLanguageModel
from ragmem.config.loader import load
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.sharing.record import SharedMemory, encode, record_id
from ragmem.domain.sharing.state import Verdict
from ragmem.server.app import create_app
from ragmem.server.security.origin import Names
from ragmem.server.uvicorn_server import bind
from ragmem.services.ingestion.options import DraftOptions
from ragmem.storage.sharing.shared_records import MEMORY, SharedRecord

CASES = 2_200
QUICK = 180
TOKEN = "f" * 43
MARKER = "api"
"""The section of the document that --markdown updates."""

ENDLESS = {
    (
        "GET",
        "/messages",
    ): "a stream that ends only with the client; tests/server/agents reads it",
    ("GET", "/agents/events"): "the same",
    ("GET", "/events"): "it waits for up to five minutes on request; the same tests read it",
}
"""Operations that are not asked, and why."""

CHECKS = (
    schemathesis.checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
    openapi_checks.positive_data_acceptance,
    openapi_checks.missing_required_header,
    openapi_checks.unsupported_method,
)

NOTES = {
    "deploy": "We decided to deploy PostgreSQL 16 with Kubernetes because the old host ran full.",
    "cache": "We use Redis 7 for sessions because Memcached lost data after each restart.",
    "driver": "The error `connection reset` came from psycopg 3.1; we pin psycopg 3.2 for PostgreSQL.",
    "queue": "The queue is bounded at 700 entries, because Celery filled the memory of the host in May.",
    "vault": "Secrets are in Vault 1.15 now, since an environment file was committed to GitHub by mistake.",
}
NAMES = ("PostgreSQL", "Redis", "psycopg")
MEMBERS = ("ada", "bob")
"""Members of a team that have decided the same matter differently."""

KNOWN = 0.3
"""The share of requests in which a name or id is put that there is, so that not all of them find nothing."""


@dataclass
class Tally:
    """What came of one operation."""

    name: str
    cases: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def accepted() -> schemathesis.Config:
    """Return what counts as accepted and refused.

    400 is an answer to a request that is as the description says: dates such as 2026-02-31, and fields that
    are mutually exclusive, are nothing that a schema tells. Nor is 415: which files are read, their names
    tell.
    """
    return schemathesis.Config.from_dict(
        {
            "checks": {
                "positive_data_acceptance": {
                    "expected-statuses": ["2xx", "400", "401", "403", "404", "409", "415", "429"]
                },
                "negative_data_rejection": {
                    "expected-statuses": [
                        "400",
                        "401",
                        "403",
                        "404",
                        "409",
                        "411",
                        "413",
                        "415",
                        "422",
                        "429",
                    ]
                },
            }
        }
    )


@contextmanager
def server(folder: Path, *, store: str) -> Iterator[tuple[str, Ragmem, dict[str, Any]]]:
    """Serve a filled home from a thread; give its address, its memory and its description."""
    environ = {
        "HOME": str(folder),
        "RAGMEM_HOME": str(folder / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": store,
        "RAGMEM_SERVE_WRITES_PER_MINUTE": "0",
        "RAGMEM_SHARE_MEMBER": "fuzz",
    }
    settings = load(environ=environ, home=folder, cwd=folder)
    models = FakeModels(language_model=FakeLanguageModel("valid"))
    with Ragmem(settings, home=folder, cwd=folder, models=models) as memory:
        fill(folder, memory)
        app = create_app(memory, token=TOKEN, names=Names("127.0.0.1"))
        listening = bind("127.0.0.1", 0)
        running = uvicorn.Server(
            uvicorn.Config(app, log_level="error", access_log=False, lifespan="on", loop="asyncio", ws="none")
        )
        thread = threading.Thread(target=lambda: asyncio.run(running.serve(sockets=[listening])))
        thread.start()
        while not running.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", memory, app.openapi()
        finally:
            for end in getattr(app.state, "endings", ()):
                end()
            running.should_exit = True
            thread.join()


def fill(folder: Path, memory: Ragmem) -> None:
    """Store some notes, forget one, let a session be told of them, and take in what members have shared."""
    notes = folder / "notes"
    (notes / ".git").mkdir(parents=True)
    for name, text in NOTES.items():
        (notes / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
    handed = memory.ingestion.draft([notes], DraftOptions())
    stored = memory.ingest(handed.drafts, projects=handed.projects)
    memory.forget([stored[-1].id])
    memory.injections.anticipate("fuzz", "why do we pin psycopg for PostgreSQL", everywhere=True)
    memory.query("PostgreSQL")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    for member in MEMBERS:
        text = f"We decided to keep the queue in {member.upper()}-MQ."
        encoded = encode(SharedMemory(member, at, at, "The queue broker", text, record_type="decision"))
        memory.catalog.shared.add(
            [
                SharedRecord(
                    stored[0].memory.scope.project,
                    record_id(encoded),
                    member,
                    MEMORY,
                    encoded.decode(),
                    Verdict.UNSIGNED,
                    at,
                    approval=Approval.PROPOSED,
                )
            ]
        )


class Known:
    """Ids and names that there are, put into some of the requests."""

    def __init__(self, memory: Ragmem, seed: int) -> None:
        self._random = random.Random(seed)
        self._memory = memory

    def put_into(self, case: schemathesis.Case) -> None:
        """Put some into a request, or not."""
        if self._random.random() > KNOWN:
            return
        ids = sorted(self._memory.catalog.memories.ids() | self._memory.catalog.archive.ids())
        parameters = case.path_parameters or {}
        if "identifier" in parameters and ids:
            parameters["identifier"] = self._random.choice(ids)[:12]
        query = case.query or {}
        for name in ("name", "from", "to", "label", "around", "prefix"):
            if isinstance(query, dict) and name in query:
                query[name] = self._random.choice(NAMES)
        body = case.body
        if "/shared" in case.path:
            self._put_shared(parameters, query, body)
        elif isinstance(body, dict):
            if ids and _are_words(body.get("ids")):
                body["ids"] = [self._random.choice(ids)]
            if isinstance(body.get("query"), str) and len(body["query"]) > 2:
                body["query"] = "why do we pin psycopg for PostgreSQL"
            if isinstance(body.get("model"), str):
                body["model"] = self._random.choice(self._models())

    def _put_shared(self, *places: Any) -> None:
        """Put the project, a member and the ids of records into what has a place for them."""
        (project,) = self._memory.sharing.projects()
        key = self._random.choice([one.id for one in self._memory.catalog.shared.each(project)])
        known = {"project": project, "member": self._random.choice(MEMBERS), "identifier": key, "ids": [key]}
        for place in places:
            if isinstance(place, dict):
                place.update((name, value) for name, value in known.items() if name in place)

    def _models(self) -> list[str]:
        models = self._memory.models
        named = [models.embedder.model_id]
        return [*named, models.language_model.model_id] if models.language_model else named


def ask_all(
    url: str,
    memory: Ragmem,
    document: dict[str, Any],
    *,
    cases: int,
    seed: int,
    only: str = "",
    turns: bool = False,
) -> list[Tally]:
    """Return what came of each operation, asked so often that all requests together are about `cases`.

    With `turns` operations are asked rightly and wrongly in turn, each one way only: to make requests is what
    takes the time.
    """
    schema = schemathesis.openapi.from_dict(document, config=accepted())
    operations = [found.ok() for found in schema.get_all_operations()]
    asked = [
        one
        for one in operations
        if (one.method.upper(), one.path) not in ENDLESS and (not only or only in one.path)
    ]
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    each = math.ceil(cases / (len(asked) * (1 if turns else len(modes))))
    known = Known(memory, seed)
    tallies = []
    for number, operation in enumerate(asked):
        tally = Tally(f"{operation.method.upper()} {operation.path}")
        begun = time.perf_counter()
        for mode in (modes[(number + seed) % len(modes)],) if turns else modes:
            _ask(url, operation, mode, tally, known, each=each, seed=seed)
        if not tally.cases:
            # What has no parameters cannot be asked wrongly.
            _ask(url, operation, GenerationMode.POSITIVE, tally, known, each=each, seed=seed)
        tally.seconds = time.perf_counter() - begun
        tallies.append(tally)
    return tallies


def _ask(
    url: str, operation: Any, mode: GenerationMode, tally: Tally, known: Known, *, each: int, seed: int
) -> None:
    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=each,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def send(case: schemathesis.Case) -> None:
        if mode is GenerationMode.POSITIVE:
            known.put_into(case)
        tally.cases += 1
        try:
            response = case.call(base_url=url, headers={"X-API-Key": TOKEN}, timeout=60)
        except (requests.RequestException, ValueError, UnicodeError) as error:
            tally.failures.setdefault(
                f"no answer: {type(error).__name__}", f"{error}\n{case.as_curl_command()}"
            )
            return
        tally.statuses[response.status_code] += 1
        try:
            case.validate_response(response, checks=list(CHECKS), headers={"X-API-Key": TOKEN})
        except FailureGroup as group:
            for failure in group.exceptions:
                if not _of_several_fields(failure, response):
                    tally.failures.setdefault(type(failure).__name__, _told(failure, case, response))

    try:
        send()
    except (hypothesis.errors.Unsatisfiable, SchemathesisError) as error:
        # An operation without parameters cannot be asked wrongly.
        if mode is GenerationMode.POSITIVE:
            tally.failures.setdefault("no request could be made", str(error))
    except BaseException as error:
        if type(error).__name__ not in {"SkipTest", "Skipped"}:
            raise


def _are_words(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def _of_several_fields(failure: BaseException, response: Any) -> bool:
    """Return whether a request was refused for what several fields say together, which no schema tells."""
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code != 422:
        return False
    problems = json.loads(response.text)["detail"]
    return isinstance(problems, list) and all(problem["loc"] == ["body"] for problem in problems)


def _told(failure: BaseException, case: Any, response: Any) -> str:
    return f"{failure}\n{response.status_code} {response.text[:300]}\n{case.as_curl_command()[:1500]}"


def document_of(tallies: Sequence[Tally], seconds: float, seed: int) -> dict[str, Any]:
    """Return all figures."""
    return {
        "machine": common.machine(),
        "schemathesis": schemathesis.__version__,
        "seed": seed,
        "seconds": round(seconds, 1),
        "operations": len(tallies),
        "cases": sum(tally.cases for tally in tallies),
        "statuses": dict(sorted(sum((tally.statuses for tally in tallies), Counter()).items())),
        "failures": {tally.name: tally.failures for tally in tallies if tally.failures},
        "left_out": {f"{method} {path}": why for (method, path), why in ENDLESS.items()},
        "each": {
            tally.name: {"cases": tally.cases, "statuses": dict(sorted(tally.statuses.items()))}
            for tally in tallies
        },
    }


def said(figures: dict[str, Any]) -> str:
    """Return the figures as a section of the documentation."""
    statuses = ", ".join(f"{status}: {count:,}" for status, count in figures["statuses"].items())
    failed = sum(len(found) for found in figures["failures"].values())
    left_out = "; ".join(f"`{name}` ({why})" for name, why in figures["left_out"].items())
    return (
        f"`benchmarks/fuzz_api.py` (schemathesis {figures['schemathesis']}, seed {figures['seed']}) sent"
        f" {figures['cases']:,} generated requests to {figures['operations']} operations on"
        f" {figures['machine']['date']}, half of them wrong in some way: {failed} failures of"
        f" {len(CHECKS)} checks.\nAnswers by status: {statuses}.\nNot tested: {left_out}.\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, print the table, and return 1 where anything failed."""
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument(
        "--cases", type=int, default=CASES, metavar="N", help=f"requests, about (default {CASES:,})"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another one makes other requests")
    parser.add_argument("--only", default="", metavar="PART", help="only paths that this is a part of")
    wanted = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    begun = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        server(Path(folder), store="fake" if wanted.quick else "lightrag") as (url, memory, document),
    ):
        cases = QUICK if wanted.quick else wanted.cases
        tallies = ask_all(
            url, memory, document, cases=cases, seed=wanted.seed, only=wanted.only, turns=wanted.quick
        )
    figures = document_of(tallies, time.perf_counter() - begun, wanted.seed)
    for tally in tallies:
        for check, told in tally.failures.items():
            print(f"FAILED {tally.name}: {check}\n{told}\n", file=sys.stderr)
    rows = [
        (
            tally.name,
            str(tally.cases),
            " ".join(f"{status}:{count}" for status, count in sorted(tally.statuses.items())),
            str(len(tally.failures) or ""),
        )
        for tally in tallies
    ]
    print(common.table(("operation", "cases", "answers", "failures"), rows))
    print(f"{figures['cases']:,} cases in {figures['seconds']} s")
    if wanted.json:
        common.write_json(wanted.json, figures)
    if wanted.markdown:
        common.write_section(wanted.markdown, MARKER, said(figures))
    return 1 if figures["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
