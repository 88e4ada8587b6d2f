"""The JSON shapes of memories and matches, the same for every command."""

from datetime import datetime
from typing import Any

from ragmem.domain.model import GIVEN_FIELDS, SHORT_ID_LENGTH, Category, Kind, Match, Memory, State, Tier
from ragmem.domain.model.decay import Decay, age_days
from ragmem.domain.model.document_place import LOCATOR, document_place
from ragmem.domain.records.records import FIELDS, fields_text, record_of
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.services.retrieval.excerpts import excerpt, find_secrets_near
from ragmem.services.retrieval.output_fields import OutputField, output_example, output_values, rfc3339
from ragmem.services.retrieval.sources import RULE_IN_SCOPE
from ragmem.services.retrieval.supersessions import (
    PREVIOUS_VERSION_FIELDS,
    previous_version_line,
    previous_version_shapes,
    superseded_shape,
)

SHOWN_ELSEWHERE = 3
"""Maximum other projects with the same text in a line; the JSON fields have all of them."""


MEMORY_FIELDS: tuple[OutputField[Memory], ...] = (
    OutputField(
        "id",
        str,
        lambda memory, _: memory.short_id,
        "3q7hn2zk5x4m",
        "The id as people see it: the first 12 characters.",
    ),
    OutputField("full_id", str, lambda memory, _: memory.id, "3q7hn2zk5x4mcd2p6qwr7s2t3u"),
    OutputField("source", str, lambda memory, _: memory.source, "memory"),
    OutputField(
        "origin", str, lambda memory, _: memory.origin, "", "The member who shared it; empty for others."
    ),
    OutputField(
        "uri",
        str,
        lambda memory, _: memory.uri,
        "/home/ada/notes/deploy.md",
        "Its origin: a path, path#part, or a given name.",
    ),
    OutputField("title", str, lambda memory, _: memory.title, "Deploy"),
    OutputField(
        "place",
        str,
        lambda memory, _: document_place(memory.metadata),
        "",
        'Its location in a document: "report.pdf, page 3"; empty for others.',
    ),
    OutputField(
        "locator",
        str,
        lambda memory, _: memory.metadata.get(LOCATOR, ""),
        "",
        'The part after the # of its uri: "page=3".',
    ),
    OutputField("kind", Kind, lambda memory, _: memory.kind.value, "architecture"),
    OutputField("category", Category, lambda memory, _: memory.category.value, "none"),
    OutputField("tier", Tier, lambda memory, _: memory.tier.value, "ingest"),
    OutputField("state", State, lambda memory, _: memory.state.value, "indexed"),
    OutputField("project", str, lambda memory, _: memory.scope.project, "user"),
    OutputField("spec", str, lambda memory, _: memory.scope.spec, ""),
    OutputField("tags", list[str], lambda memory, _: list(memory.tags), ["deploy"]),
    OutputField("protected", bool, lambda memory, _: memory.protected, example=False),
    OutputField(
        "event_time",
        datetime,
        lambda memory, _: rfc3339(memory.event_time),
        "2026-03-15T10:00:00Z",
        "The event time, if the source has one.",
    ),
    OutputField("created_at", datetime, lambda memory, _: rfc3339(memory.created_at), "2026-03-15T10:00:05Z"),
    OutputField("updated_at", datetime, lambda memory, _: rfc3339(memory.updated_at), "2026-03-15T10:00:05Z"),
    OutputField("metadata", dict[str, Any], lambda memory, _: dict(memory.metadata), {}),
)
"""The JSON fields of a memory in each list. `memory_shape` removes the secrets from all of them."""


def memory_shape(memory: Memory, *, verbatim: bool = False, redactor: Redactor) -> dict[str, Any]:
    """Return a memory as JSON fields, without secrets and texts; `verbatim`: as stored, with its texts."""
    shape = output_values(MEMORY_FIELDS, memory, redactor)
    if verbatim:
        return shape | {"text": memory.text, "summary": memory.summary}
    for name in GIVEN_FIELDS:
        shape["metadata"].pop(name, None)
    redacted: dict[str, Any] = redactor.redact_document(shape)
    if item := record_of(memory):
        # In serialized JSON a quoted secret has escaped quotes and is not recognized.
        redacted["metadata"][FIELDS] = fields_text(redactor.redact_document(dict(item.fields)))
    return redacted


def best_chunk_text(match: Match, redactor: Redactor) -> str:
    """Return the text of the best chunk without secrets, including those that extend beyond it."""
    whole, start, end = match.memory.indexed_text, match.chunk.start, match.chunk.end
    # What is stored with its secrets is searched as a whole: a heading far above may name a column of them.
    found = (
        redactor.find(whole) if redactor.stored else find_secrets_near(match.memory, [(start, end)], redactor)
    )
    return cover(whole, found, start, end)


def ageing_shape(memory: Memory, policy: Decay, *, now: datetime) -> dict[str, float]:
    """Return the effect of age on a memory's score now, by decay.json; ages in days."""
    age, half_life = age_days(memory.event_time, now), policy.half_life(memory.kind)
    fresh = policy.recency(age, half_life)
    return {
        "age_days": round(age, 2),
        "half_life_days": half_life,
        "recency": round(fresh, 4),
        "age_factor": round(policy.age_factor(fresh), 4),
    }


ELSEWHERE_FIELDS: tuple[OutputField[Memory], ...] = (
    OutputField("id", str, lambda memory, _: memory.short_id, "5x4m3q7hn2zk"),
    OutputField("full_id", str, lambda memory, _: memory.id, "5x4m3q7hn2zkcd2p6qwr7s2t3u"),
    OutputField("project", str, lambda memory, _: memory.scope.project, "shop"),
    OutputField(
        "uri", str, lambda memory, redactor: redactor.redact(memory.uri)[0], "/home/ada/shop/notes/deploy.md"
    ),
)
"""The JSON fields of a memory of another project with the same text as a match."""


def elsewhere_line(match: Match, redactor: Redactor) -> str:
    """Return the project of a match, and the projects and uris with the same text; "" if there are none."""
    # The uri of a text without a file leads nowhere.
    shown = [
        f"{one.scope.project}: {f'[{one.short_id}]' if one.uri.startswith('stdin:') else one.uri}"
        for one in match.elsewhere[:SHOWN_ELSEWHERE]
    ]
    more = len(match.elsewhere) - len(shown)
    if not shown:
        return ""
    others = redactor.redact(", ".join(shown))[0] + (f" and {more} more" if more else "")
    return f"in {match.memory.scope.project}, also in {others}"


MATCH_FIELDS: tuple[OutputField[Match], ...] = (
    OutputField("score", float, lambda match, _: round(match.score, 4), 0.67),
    OutputField(
        "heading", str, lambda match, redactor: redactor.redact_document(match.chunk.heading), "Deploy"
    ),
    OutputField(
        "text",
        str,
        lambda match, redactor: best_chunk_text(match, redactor).strip(),
        "We decided to deploy PostgreSQL 16 with Kubernetes because the old host ran full.",
        "The best chunk.",
    ),
    OutputField(
        "duplicates", list[str], lambda match, _: [one[:SHORT_ID_LENGTH] for one in match.duplicates], []
    ),
    OutputField(
        "elsewhere",
        list,
        lambda match, redactor: [output_values(ELSEWHERE_FIELDS, one, redactor) for one in match.elsewhere],
        [],
        "Memories of other projects with the same text.",
    ),
    OutputField(
        "replaced",
        list,
        lambda match, redactor: previous_version_shapes(match.replaced, redactor),
        [output_example(PREVIOUS_VERSION_FIELDS)],
    ),
    OutputField(
        "superseded_by", dict, lambda match, redactor: superseded_shape(match.superseded, redactor), None
    ),
    OutputField(
        "perhaps_outdated",
        dict,
        lambda match, redactor: superseded_shape(match.outdated, redactor),
        None,
        "The newer memory that it ranks below.",
    ),
    OutputField(
        "unmerged_branch",
        str,
        lambda match, redactor: redactor.redact(match.unmerged)[0],
        "",
        "The branch on which it was made, if that is not merged into the checked-out branch.",
    ),
    OutputField(
        "neighbour",
        str,
        lambda match, _: match.neighbour,
        "",
        "The id of the more relevant neighbouring memory in the same session, by which it was found.",
    ),
    OutputField(
        "approval",
        str,
        lambda match, _: match.approval,
        "",
        "proposed or rejected while no person has accepted it; see `ragmem approve`.",
    ),
)
"""The JSON fields of a match besides those of its memory."""


def match_shape(
    match: Match, *, question: str | None = None, explain: bool = False, redactor: Redactor
) -> dict[str, Any]:
    """Return a match as JSON fields without secrets: the memory without its whole text, best chunk, score.

    With a `question` the excerpt has the sentences that answer it.
    """
    # The excerpt first: what it searches for secrets includes the chunk.
    said = None if question is None else excerpt(match, question, redactor=redactor)
    shape = memory_shape(match.memory, redactor=redactor) | output_values(MATCH_FIELDS, match, redactor)
    if said is not None:
        shape["excerpt"] = said
    if explain:
        shape["terms"] = {name: round(value, 4) for name, value in match.terms.items()}
    return shape


def explain_match(match: Match, redactor: Redactor) -> list[str]:
    """Return lines that explain the place of a match: its ranks, its terms, and its duplicates."""
    ranks = {name.removesuffix("_rank"): rank for name, rank in match.terms.items() if name.endswith("_rank")}
    terms = {name: value for name, value in match.terms.items() if not name.endswith("_rank")}
    lines = ["found by " + ", ".join(f"{name} {rank:.0f}" for name, rank in ranks.items())] if ranks else []
    lines += [name for name in terms if name.startswith(RULE_IN_SCOPE)]
    shown = {name: value for name, value in terms.items() if not name.startswith(RULE_IN_SCOPE)}
    lines.append("  ".join(f"{name}={value:.4g}" for name, value in shown.items()))
    if match.duplicates:
        lines.append("behind it: " + ", ".join(key[:SHORT_ID_LENGTH] for key in match.duplicates))
    return lines + [previous_version_line(former, redactor=redactor) for former in match.replaced]
