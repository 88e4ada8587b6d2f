"""What the tools are given: a folder of Markdown files, and questions whose answers are files."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from retrieval_sets import moment, read_lines

FOLDERS = ("memory", "prd", "session_summary", "plan_spec", "claude_md", "skill", "command", "agent")

QUICK_FOLDERS = ("memory",)

PLAIN = (
    (
        "kettle",
        "The office kettle trips the breaker when the label printer runs; we moved it to the hall socket.",
    ),
    (
        "migration",
        "Decided: the invoices table is split by year in March, because vacuum took forty minutes.",
    ),
    ("zsh", "Fixed the slow shell: compinit ran twice; the second call stood in the prompt theme's file."),
    ("release", "Releases are cut before noon, so that a bad one can be pulled the same day."),
    (
        "turbine",
        "Turbine 14 reports negative wind when its clock drifts by two seconds; set the clock first.",
    ),
    (
        "fonts",
        "The export embeds the whole font unless the subset flag is set; that saved 9 MB a document.",
    ),
    ("review", "Nadia wants reviews with the risk first and the style last; nits go into one comment."),
    (
        "queue",
        "The dead letter queue is drained by hand on purpose: each message there has been a bug so far.",
    ),
    ("bees", "Hive seven swarmed in May after the supers were added too late; add them at seven frames."),
    (
        "latency",
        "p99 of the search page fell from 900 to 210 ms by asking for the facets in a second request.",
    ),
)
"""More memories that name nothing, as unlike each other as possible: some tools refuse what is similar."""

NAMED = (
    (
        "checkout",
        "Decided: CheckoutService keeps sessions in Redis, no PostgreSQL; see src/checkout/session_store.py.",
    ),
    (
        "pipeline",
        "Fixed the GitHub Actions job `nightly-build`: Docker was full; docker/prune.sh runs first.",
    ),
    (
        "parser",
        "Miguel Santos moved parse_invoice() from billing/parser.py to billing/reader.py for InvoiceReader.",
    ),
    (
        "search",
        "SearchIndex in Elasticsearch is rebuilt by scripts/reindex.py, which Priya Raman starts by hand.",
    ),
    (
        "login",
        "LoginForm.tsx asks Keycloak for a token; without VITE_AUTH_URL it stays white in Firefox.",
    ),
    (
        "metrics",
        "Prometheus scrapes PaymentWorker on port 9464; Jonas Weber made the Grafana board.",
    ),
    (
        "migrate",
        "Alembic revision 4f2a adds orders.currency; OrderRepository in app/orders.py writes it.",
    ),
    (
        "cache",
        "The TypeScript client caches UserProfile in IndexedDB; logout() in web/src/auth.ts clears it.",
    ),
    (
        "mail",
        "MailGateway retries with tenacity, five times; Sendgrid answers 429, said Aisha Khan.",
    ),
    (
        "terraform",
        "Terraform in infra/main.tf makes the S3 bucket that AWS Lambda `report-export` fills.",
    ),
)
"""Ten more that name people, tools, files and symbols: what a graph is made of, and what costs to store."""

MORE = {"plain": PLAIN, "named": NAMED}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the names of the files that answer it; none: nothing does."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder of notes and its questions; a file is known by its name, which none other has."""

    name: str
    folder: Path
    questions: tuple[Question, ...]
    files: int
    characters: int


def _corpus(name: str, folder: Path, questions: Sequence[Question]) -> Corpus:
    paths = list(folder.rglob("*.md"))
    names = {path.name for path in paths}
    if len(names) < len(paths):
        raise SystemExit(f"{name}: two files have the same name")
    kept = tuple(question for question in questions if question.gold <= names)
    size = sum(len(path.read_text(encoding="utf-8", errors="replace")) for path in paths)
    return Corpus(name, folder, kept, len(paths), size)


def read_notes(data: Path, questions: Path, to: Path, *, quick: bool) -> Corpus:
    """Copy the real notes to a folder; with `quick` one sort of them and the questions that it answers."""
    for folder in QUICK_FOLDERS if quick else FOLDERS:
        (to / folder).mkdir(parents=True)
        for path in (data / folder).glob("*.md"):
            shutil.copy(path, to / folder / path.name)
    rows = read_lines(questions / "dev.jsonl")
    asked = [Question(row["query"], frozenset(Path(name).name for name in row["gold"])) for row in rows]
    return _corpus("notes", to, asked)


def read_set(data: Path, to: Path) -> Corpus:
    """Write each document of a retrieval set as a file with its date; questions are asked of all of them."""
    to.mkdir(parents=True)
    names = {}
    for number, row in enumerate(read_lines(data / "docs.jsonl")):
        path = to / f"document-{number:05}.md"
        title = row.get("title") or ""
        path.write_text(f"# {title}\n\n{row['text']}" if title else row["text"], encoding="utf-8")
        when = moment(row.get("ts") or "")
        if when:
            os.utime(path, (when.timestamp(), when.timestamp()))
        names[row["id"]] = path.name
    asked = [
        Question(row["query"], frozenset(names[name] for name in row["gold"]))
        for row in read_lines(data / "queries.jsonl")
    ]
    return _corpus(data.name, to, asked)
