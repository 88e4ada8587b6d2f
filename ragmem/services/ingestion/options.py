"""The fields that a person sets for what is ingested, kept for later calls without them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from ragmem.domain.model import GIVEN_FIELDS, Draft, Kind, memory_id
from ragmem.frozen import dataclass
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class DraftOptions:
    """Fields that a user sets for the whole input; empty ones are detected."""

    kind: Kind | None = None
    tags: tuple[str, ...] = ()
    project: str = ""
    spec: str = ""
    at: datetime | None = None
    reset: bool = False
    """Whether the tags, the kind and the time that earlier calls set for the same files are dropped."""

    def apply(self, draft: Draft) -> Draft:
        """Return a draft with these fields. Its metadata records them for a later call without them."""
        kind = self.kind.value if self.kind else ""
        given = zip(
            GIVEN_FIELDS, (kind, "\n".join(self.tags), self.at.isoformat() if self.at else ""), strict=True
        )
        read = {name: value for name, value in draft.metadata.items() if name not in GIVEN_FIELDS}
        return _give(
            replace(draft, metadata=read), {name: told for name, told in given if told or self.reset}
        )


def keep_given(catalog: Catalog, drafts: Sequence[Draft]) -> list[Draft]:
    """Return drafts with the fields that a person set in an earlier call and not in this one."""
    ids = [draft.id or memory_id(draft.source, draft.scope, draft.uri) for draft in drafts]
    known = catalog.memories.get(ids) if catalog.exists() else {}
    kept = list[Draft]()
    for key, draft in zip(ids, drafts, strict=True):
        before = known[key].metadata if key in known else {}
        told = {name: before[name] for name in GIVEN_FIELDS if name in before and name not in draft.metadata}
        whole = _give(draft, told)
        said = {name: value for name, value in whole.metadata.items() if value or name not in GIVEN_FIELDS}
        kept.append(replace(whole, metadata=said))
    return kept


def _give(draft: Draft, given: Mapping[str, str]) -> Draft:
    kind, tags, moment = (given.get(name, "") for name in GIVEN_FIELDS)
    try:
        return replace(
            draft,
            kind=Kind(kind) if kind else draft.kind,
            tags=tuple(dict.fromkeys((*draft.tags, *filter(None, tags.split("\n"))))),
            event_time=datetime.fromisoformat(moment) if moment else draft.event_time,
            metadata={**draft.metadata, **given},
        )
    except ValueError:  # An export that another program wrote has a value of its own.
        return draft
