"""The state of the memory now, for questions that ask for it: what waits, what runs, what was done last."""

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
from ragmem.services.models.usage import Ledger, Limit, amount, format_sums
from ragmem.services.retrieval.asking import Fact
from ragmem.storage.activity.model_record import ACTIVE, NEXT
from ragmem.storage.home.catalog import Catalog

LATEST = 5
"""Operations of the log that are told."""


AGENT = "agent "
"""What the names of facts on agents begin with; the rest is the id."""

STALE = "stale"

MOST_AGENTS = 20
"""Agents that are told, those heard of last."""

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
"""By the beginning of a fact's name: the words by which a question asks for it."""


def state_now(
    catalog: Catalog, ledger: Ledger, agents: Sequence[Agent] = (), *, home: Path, now: datetime
) -> tuple[Fact, ...]:
    """Return what is so now: who is at work, what waits, a change of model, spend, the last work.

    `agents` are those that have checked in; who has stopped, or was not heard of for too long, is told last.
    Reads the catalog and the ledger only; contacts no model and opens no store.
    """
    states = catalog.overview.count_by("state")
    pending, buffered = states.get(State.PENDING, 0), states.get(State.BUFFERED, 0)
    facts = [
        *_agents(agents, now, catalog.redactor),
        Fact("indexed", f"{states.get(State.INDEXED, 0):,}"),
        Fact("pending", f"{pending:,}" + (": `ragmem seed` indexes them" if pending else ""), pending > 0),
        Fact("buffered", f"{buffered:,}"),
        Fact("in the archive", f"{catalog.archive.count():,}"),
        *_models(catalog, reembedding_pid(home)),
        *_spend(ledger.limits(), format_sums(ledger.today())),
    ]
    done = (
        Fact(f"{entry['operation']}, {_ago(now - entry['at'])}", _counts(entry["detail"]))
        for entry in catalog.log.entries(limit=LATEST)
    )
    return (*facts, *done)


def asked_for(question: str, facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the facts that answer a question: agents at work, and of the memory's state what it names.

    Agents that were not heard of for too long are told where no other is at work. What waits is an answer
    where something waits; that nothing does may be said of other work.
    """
    words = set(re.findall(r"[\w.:@-]*\w", question.lower()))
    agents = [fact for fact in facts if fact.name.startswith(AGENT)]
    named = [fact for fact in agents if fact.name.removeprefix(AGENT).lower() in words]
    if not named and speaks_of_agents(question):
        here = [fact for fact in agents if not fact.value.startswith(STOPPED)]
        named = [fact for fact in here if not fact.value.startswith(STALE)] or here
    return (*named, *(fact for fact in facts if _is_named(fact, words)))


def at_work_by(agents: Sequence[Agent], ids: Sequence[str]) -> list[Agent]:
    """Return the agents of these ids (none: those that have not stopped); nothing where an id is nobody's."""
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


def _gone(agent: Agent) -> str:
    return STOPPED if agent.status == STOPPED else STALE if agent.stale else ""


def _agents(agents: Sequence[Agent], now: datetime, redactor: Redactor) -> list[Fact]:
    return [
        Fact(f"{AGENT}{agent.id}", _told_agent(agent, now, redactor), agent.stale and agent.status != STOPPED)
        for agent in sorted(agents, key=lambda agent: bool(_gone(agent)))[:MOST_AGENTS]
    ]


def _told_agent(agent: Agent, now: datetime, redactor: Redactor) -> str:
    marks = [_gone(agent), "paused" if agent.paused else "", "to stop" if agent.should_stop else ""]
    state = ", ".join(filter(None, (*marks, agent.status if agent.status != STOPPED else "")))
    done = "" if agent.progress is None else f" ({agent.progress} %)"
    task = f": {agent.current_task}" if agent.current_task else ""
    place = f", in {agent.project_path}" if agent.project_path else ""
    return redactor.redact(f"{state}{task}{done}{place}, seen {_ago(now - agent.last_seen)}")[0]


def _models(catalog: Catalog, worker: int) -> list[Fact]:
    active, coming = catalog.models.read(ACTIVE), catalog.models.read(NEXT)
    facts = [Fact("embedding model", active.model if active else "none yet")]
    if coming is not None:
        how = (
            f"process {worker} makes its vectors"
            if worker
            else "nobody makes its vectors: `ragmem models resume`"
        )
        facts.append(Fact("next embedding model", f"{coming.model}, {how}", not worker))
    return facts


def _spend(limits: Sequence[Limit], today: str) -> list[Fact]:
    facts = [Fact("spent today", today)]
    for limit in limits:
        value = f"{amount(limit, limit.used)} of {amount(limit, limit.cap)}"
        facts.append(Fact(f"cap {limit.key}", value, limit.reached))
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
