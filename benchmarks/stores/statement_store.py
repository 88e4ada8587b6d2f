"""The store that benchmarks/statements.py asks: notes, sessions, texts that look alike, and later notes."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from inputs.retrieval_sets import RetrievalSet
from inputs.transcript_texts import Said
from lifecycle import filler

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope

LATER = 25
"""Later notes of a project of sessions: some more than the 20 from which gc looks at a memory."""

SOURCES = {
    "memory": "memory",
    "prd": "prds",
    "session_summary": "sessions",
    "plan_spec": "plans",
    "claude_md": "claudemds",
    "skill": "skills",
    "command": "commands",
    "agent": "agents",
}
"""Folder of the corpus -> source of the memories."""

ALIKE = {
    "which port does {name} listen on": {
        f"{name}-service": f"The {name}-service listens on port {port} and answers health checks there."
        for name, port in (("auth", 8080), ("billing", 8081), ("search", 8082), ("mail", 8083))
    },
    "what is the nginx proxy timeout for {name} requests": {
        name: f"The nginx proxy timeout is {seconds}s for {name} requests, and the client body limit is 8 MB."
        for name, seconds in (("api", 30), ("upload", 60), ("report", 90))
    },
}
"""Question -> name -> a text of a memory of its own: two groups of texts that differ in names and numbers."""


MADE_UP = ("/notes/", "alike/")
"""How the places of the later notes and of the groups begin."""

TALK = ("|said", "|thought")


def drafts_of(found: RetrievalSet, said: Sequence[Said]) -> list[Draft]:
    """Return the notes, the transcripts, the groups and the later notes as drafts, oldest first."""
    drafts = []
    for draft in found.drafts:
        folder, _, name = draft.uri.partition("/")
        scope = Scope("/".join(name.split("__")[:2]))
        at = draft.event_time or found.latest
        drafts.append(replace(draft, source=SOURCES.get(folder, folder), scope=scope, event_time=at))
    for one in said:
        session = {"session": one.place.partition("#")[0]}
        scope = Scope(one.project)
        drafts.append(
            Draft("transcripts", one.place, one.text, event_time=one.at, scope=scope, metadata=session)
        )
    drafts += _alike(found.latest)
    for project in sorted({one.scope.project for one in drafts if one.source == "transcripts"}):
        drafts += [
            filler(project, number, found.latest + timedelta(hours=number + 1)) for number in range(LATER)
        ]
    return sorted(drafts, key=lambda draft: (draft.event_time or found.latest, draft.uri))


def _alike(at: datetime) -> Iterable[Draft]:
    for number, named in enumerate(ALIKE.values()):
        for place, (name, text) in enumerate(named.items()):
            yield Draft(
                "transcripts",
                f"alike/{name}|said",
                text,
                event_time=at - timedelta(hours=9 - place),
                scope=Scope(f"alike/{number}"),
                metadata={"session": f"alike/{number}"},
            )


def chosen(said: Sequence[Said], room: int) -> list[Said]:
    """Return all that was said, then thought, then done, then returned by tools, as far as there is room."""
    kept: list[Said] = []
    for sort in ("said", "thought", "done", "returned"):
        of_sort = [one for one in said if one.sort == sort]
        left = room - len(kept)
        if left < len(of_sort):
            # Evenly spaced, so that no session ends early.
            of_sort = [of_sort[place * len(of_sort) // left] for place in range(left)] if left > 0 else []
        kept += of_sort
    return kept


def store(memory: Ragmem, drafts: Sequence[Draft]) -> None:
    """Put the drafts into the store; notes are kept whatever their signal."""
    notes = [draft for draft in drafts if draft.source != "transcripts"]
    texts = [draft for draft in drafts if draft.source == "transcripts"]
    memory.ingest(notes, rule="off")
    memory.ingest(texts)
    memory.inbox.index_pending()
    memory.retrieval.calibrate()
