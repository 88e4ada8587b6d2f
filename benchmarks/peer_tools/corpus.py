"""The input of the tools: a folder of Markdown files, and questions whose answers are files."""

import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inputs.retrieval_sets import moment, read_lines

FOLDERS = ("memory", "prd", "session_summary", "plan_spec", "claude_md", "skill", "command", "agent")

SEED = 8
"""For the notes of a smaller run."""


def _named(text: str) -> tuple[tuple[str, str], ...]:
    """Return name and text of each paragraph, whose first line is the name."""
    parts = (part.partition("\n") for part in text.strip().split("\n\n"))
    return tuple((name, " ".join(body.split())) for name, _, body in parts)


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
    ("review", "The lead wants reviews with the risk first and the style last; nits go into one comment."),
    (
        "queue",
        "The dead letter queue is drained by hand on purpose: each message there has been a bug so far.",
    ),
)
"""More memories that name nothing, as unlike each other as possible: some tools refuse what is similar."""

NAMED = _named(
    """
checkout
Decided with Priya Raman: CheckoutService keeps its sessions in Redis and no longer in PostgreSQL, because
the table `checkout_sessions` was locked whenever the nightly export ran. The code is in
src/checkout/session_store.py; `SessionStore.renew()` extends the time to live on each request. Redis runs
with appendonly, so a restart loses at most a second of carts, which Support can live with. The old table
goes in March.

pipeline
Fixed: the GitHub Actions job `nightly-build` failed three times in a row with no space left on device.
Docker kept layers of every branch on the runner. scripts/docker_prune.sh now runs first and removes images
older than two days; Jonas Weber set the limit. BuildKit's cache stays, it saves six minutes of each run of
the Gradle tests. Look into build/reports when it happens again.

parser
Miguel Santos moved `parse_invoice()` from billing/parser.py to billing/reader.py, where InvoiceReader calls
it for PDF and for XML alike. The cause was a circular import with TaxTable. Callers import it from
billing.reader now; the old place warns until release 4.2. pdfplumber reads the totals, and lxml checks the
XML against schemas/invoice.xsd before anything is stored.

search
SearchIndex in Elasticsearch is rebuilt by scripts/reindex.py, which Aisha Khan starts by hand after each
change of the mapping. It writes to a second index and moves the alias `products-live` at the end, so that
ProductSearch answers all the time. A rebuild takes forty minutes. When it stops in the middle, start it
again: documents have the id of the row in MySQL and are never doubled.

login
LoginForm.tsx asks Keycloak for a token and stays white in Firefox when VITE_AUTH_URL is missing, because
`useAuth()` throws before ErrorBoundary is mounted. Lena Fischer put the check into web/src/main.tsx, which
shows a message instead. In Chrome the same mistake showed an empty form. Storybook has a story for both.
The variable belongs into .env.local and not into the Dockerfile.

metrics
Prometheus scrapes PaymentWorker on port 9464 every fifteen seconds, and the board in Grafana is made from
deploy/grafana/payments.json, so never change it by hand. Tomas Novak added the histogram
`payment_duration_seconds` after Stripe answered slowly for a whole evening. Alertmanager pages when its
ninety-fifth percentile is above four seconds for ten minutes; Slack gets the rest.

migrate
Alembic revision 4f2a adds the column orders.currency with EUR as its default, and OrderRepository in
app/orders/repository.py writes it. Deploy the code after the migration and never before: SQLAlchemy reads
all columns of Order. Hana Sato tried it on a copy of the database of 90 GB; it took two seconds, since
PostgreSQL keeps the default in the catalog. The downgrade is tested as well.

cache
The TypeScript client keeps UserProfile in IndexedDB by way of Dexie, and `logout()` in
web/src/auth/session.ts clears it. Before that, the next user of a shared tablet saw the name of the one
before, which Omar Haddad reported. Playwright covers it in tests/e2e/logout.spec.ts. Safari empties the
store by itself after a week without a visit, so nothing may live there alone.
"""
)
"""Notes that name people, tools, files and symbols: what a graph is made of, and what costs to store."""

WHOLE = _named(
    """
mail
MailGateway retries with tenacity, five times with a growing pause, when Sendgrid answers 429. Nadia Petrova
found that the pause was the same for all workers, so that they came back together;
`wait_random_exponential` in mail/gateway.py spreads them. Celery keeps the task until it is acknowledged.
What fails for good goes to the table `mail_dead`, and Support sees it in Metabase.

terraform
Terraform in infra/main.tf makes the S3 bucket that the AWS Lambda `report-export` fills every night. Lucas
Meyer moved the state from his laptop to the bucket `tf-state` with a lock in DynamoDB, after two people had
applied at once. Plan in the pull request, apply from main by GitHub Actions. Never rename the module
`reports`: Terraform would delete the bucket and make another.

mobile
The Flutter app crashed on Android 14 when OrderDetails opened from a push message, because `NavigatorKey`
was null before the first frame. Ines Costa waits for it in lib/push/router.dart. Firebase Crashlytics shows
no further case since build 318. On iOS the same code was never slow enough to fail. The test in
integration_test/push_test.dart starts the app cold on purpose.

queue
ImportWorker reads from RabbitMQ with a prefetch of one, because a file of CatalogImport may take minutes
and the others waited behind it. Erik Lund measured twenty and one on staging; with one, the last file was
done in half the time. The setting is in config/workers.yaml, `prefetch_count`. Kubernetes scales the
deployment by the length of the queue, with KEDA, up to eight pods.

dates
ReportBuilder wrote dates in the zone of the server, so that orders of the last hour of a month stood in the
next one. Maria Rossi changed reports/builder.py to use `zoneinfo` with the zone of the shop, which
ShopSettings keeps since revision 81bc. Pandas turned the column into UTC on the way to Excel, which
openpyxl refuses, so `strip_zone()` runs last. freezegun tests both ends of the hour.
"""
)
"""Notes of the same kind, each stored by a process of its own."""

MORE = {"plain": PLAIN, "named": NAMED}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the names of the files that answer it; none: nothing does."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder of notes and its questions; a file is known by its name, which none other has; size: bytes."""

    name: str
    folder: Path
    questions: tuple[Question, ...]
    files: int
    size: int


def _corpus(name: str, folder: Path, questions: Sequence[Question]) -> Corpus:
    paths = list(folder.rglob("*.md"))
    names = {path.name for path in paths}
    if len(names) < len(paths):
        raise SystemExit(f"{name}: two files have the same name")
    kept = tuple(question for question in questions if question.gold <= names)
    size = sum(path.stat().st_size for path in paths)
    return Corpus(name, folder, kept, len(paths), size)


def read_notes(data: Path, questions: Path, to: Path, *, count: int | None) -> Corpus:
    """Copy the real notes to a folder, with `count` so many, and keep the questions that these answer.

    Of fewer notes, half answer the first questions, so that some are left to ask; the others are drawn.
    """
    paths = [path for folder in FOLDERS for path in sorted((data / folder).glob("*.md"))]
    rows = read_lines(questions / "dev.jsonl")
    asked = [Question(row["query"], frozenset(Path(name).name for name in row["gold"])) for row in rows]
    if count is not None and count < len(paths):
        gold = [name for question in asked for name in sorted(question.gold)][: count // 2]
        random.Random(SEED).shuffle(paths)
        paths = sorted(paths, key=lambda path: path.name not in gold)[:count]
    for path in paths:
        (to / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to / path.parent.name / path.name)
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
