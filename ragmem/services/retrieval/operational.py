"""The current state of the memory, for questions about it: pending work, running work, last operations."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ragmem.domain.model import State
from ragmem.domain.retrieval.routing_frames import speaks_of_agents
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.agents import STOPPED, Agent
from ragmem.services.models.reembed import reembedding_pid
from ragmem.services.models.usage import Ledger, Limit, format_amount, format_sums
from ragmem.services.retrieval.question import Fact
from ragmem.storage.activity.model_record import ACTIVE, NEXT
from ragmem.storage.home.catalog import Catalog

LATEST = 5
"""Number of log entries that are returned."""


AGENT = "agent "
"""Prefix of the names of facts about agents, before the id."""

STALE = "stale"

MOST_AGENTS = 20
"""Maximum number of agents, the latest ones."""

_SUBJECTS: Mapping[str, str] = {
    "indexed": r"indexed|index|memories",
    "pending": r"pending|waiting|unindexed|index|indexed|indexing|memories|embedd?ed",
    "buffered": r"buffered|memories",
    "in the archive": r"archived?",
    "embedding model": r"embedd\w+|vectors?",
    "next embedding model": r"embedd\w+|vectors?|models?",
    "spent today": r"spen[dt]\w*|costs?|budget|tokens",
    "cap ": r"spen[dt]\w*|costs?|budget|caps?|tokens",
}
"""Prefix of a fact's name -> pattern of the words of questions about it."""


def current_state(
    catalog: Catalog, ledger: Ledger, agents: Sequence[Agent] = (), *, home: Path, now: datetime
) -> tuple[Fact, ...]:
    """Return the current facts: agents, pending memories, a change of model, spending, last operations.

    `agents` are those that have checked in; stopped and stale ones come last. Reads only the catalog and the
    ledger; contacts no model and opens no store.
    """
    states = catalog.overview.count_by("state")
    pending, buffered = states.get(State.PENDING, 0), states.get(State.BUFFERED, 0)
    facts = [
        *_agent_facts(agents, now, catalog.redactor),
        Fact("indexed", f"{states.get(State.INDEXED, 0):,}"),
        Fact("pending", f"{pending:,}" + (": `ragmem seed` indexes them" if pending else ""), pending > 0),
        Fact("buffered", f"{buffered:,}"),
        Fact("in the archive", f"{catalog.archive.count():,}"),
        *_model_facts(catalog, reembedding_pid(home)),
        *_spend_facts(ledger.limits(), format_sums(ledger.today())),
    ]
    done = (
        Fact(f"{entry['operation']}, {_ago(now - entry['at'])}", _counts(entry["detail"]))
        for entry in catalog.log.entries(limit=LATEST)
    )
    return (*facts, *done)


def select_facts(question: str, facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the facts that answer a question: active agents, and the named facts of the memory's state.

    Stale agents are returned only if no other is active. Pending and buffered memories are returned only if
    there are any, because the question may mean other work.
    """
    words = set(re.findall(r"[\w.:@-]*\w", question.lower()))
    agents = [fact for fact in facts if fact.name.startswith(AGENT)]
    named = [fact for fact in agents if fact.name.removeprefix(AGENT).lower() in words]
    if not named and speaks_of_agents(question):
        here = [fact for fact in agents if not fact.value.startswith(STOPPED)]
        named = [fact for fact in here if not fact.value.startswith(STALE)] or here
    return (*named, *(fact for fact in facts if _is_named(fact, words)))


def active_agents(agents: Sequence[Agent], ids: Sequence[str]) -> list[Agent]:
    """Return the agents with these ids (none: those that have not stopped); nothing if an id is unknown."""
    if not ids:
        return [agent for agent in agents if agent.status != STOPPED]
    known = {agent.id.lower(): agent for agent in agents}
    return [known[name.lower()] for name in ids] if all(name.lower() in known for name in ids) else []


def _is_named(fact: Fact, words: set[str]) -> bool:
    for beginning, subject in _SUBJECTS.items():
        if fact.name.startswith(beginning):
            waits = beginning in {"pending", "buffered"}
            empty = fact.value == "0"
            return not (waits and empty) and any(re.fullmatch(subject, word) for word in words)
    return False


def _absence(agent: Agent) -> str:
    return STOPPED if agent.status == STOPPED else STALE if agent.stale else ""


def _agent_facts(agents: Sequence[Agent], now: datetime, redactor: Redactor) -> list[Fact]:
    return [
        Fact(
            f"{AGENT}{agent.id}",
            _describe_agent(agent, now, redactor),
            agent.stale and agent.status != STOPPED,
        )
        for agent in sorted(agents, key=lambda agent: bool(_absence(agent)))[:MOST_AGENTS]
    ]


def _describe_agent(agent: Agent, now: datetime, redactor: Redactor) -> str:
    marks = [_absence(agent), "paused" if agent.paused else "", "to stop" if agent.should_stop else ""]
    state = ", ".join(filter(None, (*marks, agent.status if agent.status != STOPPED else "")))
    done = "" if agent.progress is None else f" ({agent.progress} %)"
    task = f": {agent.current_task}" if agent.current_task else ""
    place = f", in {agent.project_path}" if agent.project_path else ""
    return redactor.redact(f"{state}{task}{done}{place}, seen {_ago(now - agent.last_seen)}")[0]


def _model_facts(catalog: Catalog, worker: int) -> list[Fact]:
    active, coming = catalog.models.read(ACTIVE), catalog.models.read(NEXT)
    facts = [Fact("embedding model", active.model if active else "none yet")]
    if coming is not None:
        how = f"process {worker} makes its vectors" if worker else "not in progress: `ragmem models resume`"
        facts.append(Fact("next embedding model", f"{coming.model}, {how}", not worker))
    return facts


def _spend_facts(limits: Sequence[Limit], today: str) -> list[Fact]:
    facts = [Fact("spent today", today)]
    for limit in limits:
        value = f"{format_amount(limit, limit.used)} of {format_amount(limit, limit.cap)}"
        facts.append(Fact(f"cap {limit.key}", value, limit.is_reached))
    return facts


def _counts(detail: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value}" for name, value in detail.items() if value not in (0, "", None, [], {})
    )


def _ago(age: timedelta) -> str:
    minutes = max(0, int(age.total_seconds() // 60))
    for unit, size in (("d", 1440), ("h", 60)):
        if minutes >= 2 * size:
            return f"{minutes // size} {unit} ago"
    return f"{minutes} min ago"
