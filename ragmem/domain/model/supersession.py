"""Resolve which memories replace others, as their metadata declare, and apply it to matches."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from ragmem.domain.model import Match, Memory, PreviousVersion, Supersession
from ragmem.domain.model.document_place import LOCATOR, is_of_document
from ragmem.patterns import lazy

REPLACES = ("supersedes", "replaces", "obsoletes")
REPLACED_BY = ("superseded_by", "superseded-by", "replaced_by", "replaced-by", "obsoleted_by")
_NAME = lazy(r"[^\s,;\[\]\"']+")
_ENDING = lazy(r"\.[A-Za-z]\w*$")
DECLARED = "declared"
"""The rule of a declaration in a memory."""

RESTATED = "restated"
"""The rule of a newer memory that says the same of the same thing, with another value."""

PERHAPS_OUTDATED = "perhaps outdated"
"""The rule of a newer memory that probably supersedes an older one: a mark, which hides nothing."""

JUDGED_OUTDATED = "judged outdated"
"""The rule of a mark by a language model, which quotes the words of the newer memory."""

MARKS = (PERHAPS_OUTDATED, JUDGED_OUTDATED)
"""The rules of marks."""

MIN_ID = 4
"""Minimum characters of an id prefix."""

MIN_NAME = 3
"""Minimum characters of a file name; a shorter one ("a.md" without its ending) is ambiguous."""


def declared_references(metadata: Mapping[str, str], keys: Sequence[str]) -> tuple[str, ...]:
    """Return the ids, URIs and file names under any of the keys, each once."""
    told = [metadata[key] for key in keys if key in metadata]
    return tuple(dict.fromkeys(name for text in told for name in _NAME.findall(text)))


def names(reference: str, memory: Memory) -> bool:
    """Return whether a reference names a memory: by its id or a prefix, its URI, or its file's name.

    A file name may omit its folders and its extension.
    """
    if len(reference) >= MIN_ID and memory.id.startswith(reference.lower()):
        return True
    if reference == memory.uri:
        return True
    path = _file_of(memory)
    stem = path.rpartition("/")[2].rpartition(".")[0] if path == memory.uri else ""
    return any(
        len(file) >= MIN_NAME and (path.endswith(f"/{file}") or file == stem)
        for file in _files(reference.removeprefix("./"))
    )


def _files(reference: str) -> set[str]:
    """Return the names of a file in a reference: the whole, and the part before a locator."""
    return {reference, _file(reference)}


def _file_of(memory: Memory) -> str:
    """Return the path of the file that a memory was read from."""
    if is_of_document(memory.metadata):
        return memory.uri.removesuffix(f"#{memory.metadata.get(LOCATOR, '')}")
    return _file(memory.uri)


def _file(place: str) -> str:
    """Return a URI without the locator of a part of a file.

    A path may contain a "#"; a locator contains none and has no file extension.
    """
    path, _, part = place.rpartition("#")
    return path if path and not _ENDING.search(part) else place


def direct_successors(memories: Sequence[Memory]) -> dict[str, str]:
    """Return id of a superseded memory -> id of the one that replaces it, among these memories.

    Only memories of one project replace each other. Of several successors the latest by event time counts.
    Memories that replace each other in a circle are all returned.
    """
    declared = [
        (memory, replaces, replaced_by)
        for memory in memories
        if memory.metadata
        and any(
            (
                replaces := declared_references(memory.metadata, REPLACES),
                replaced_by := declared_references(memory.metadata, REPLACED_BY),
            )
        )
    ]
    if not declared:
        return {}
    find = _ReferenceIndex(memories)
    direct: dict[str, Memory] = {}
    for memory, replaces, replaced_by in declared:
        pairs = [(older, memory) for reference in replaces for older in find(reference)]
        pairs += [(memory, newer) for reference in replaced_by for newer in find(reference)]
        for older, newer in pairs:
            before = direct.get(older.id)
            if (
                newer.id != older.id
                and newer.scope.project == older.scope.project
                and (before is None or (newer.event_time, newer.id) > (before.event_time, before.id))
            ):
                direct[older.id] = newer
    return {older: newer.id for older, newer in direct.items()}


class _ReferenceIndex:
    """An index of memories by reference."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._sorted = sorted(memories, key=lambda memory: memory.id)
        self._ids = [memory.id for memory in self._sorted]
        self._files: dict[str, list[Memory]] = defaultdict(list)
        for memory in memories:
            file = _file_of(memory).rpartition("/")[2]
            for name in {file, file.rpartition(".")[0]}:
                self._files[name].append(memory)

    def __call__(self, reference: str) -> list[Memory]:
        """Return the memories that a reference names, in any order, each once."""
        wanted = reference.lower()
        start = bisect_left(self._ids, wanted)
        near = self._sorted[start : bisect_left(self._ids, wanted + "\x7f")] if len(wanted) >= MIN_ID else []
        files = (self._files.get(file.rpartition("/")[2], ()) for file in _files(reference))
        found = {memory.id: memory for memory in chain(near, *files)}
        return [memory for memory in found.values() if names(reference, memory)]


def successors(memories: Sequence[Memory]) -> dict[str, str]:
    """Return id of a superseded memory -> id of its last successor, among these memories.

    See `direct_successors`; memories that replace each other in a circle are not superseded.
    """
    direct = direct_successors(memories)
    last: dict[str, str] = {}
    for key in direct:
        seen = {key}
        place = key
        while place in direct and direct[place] not in seen:
            place = direct[place]
            seen.add(place)
        if place not in direct:
            last[key] = place
    return last


def replace_superseded(
    matches: Sequence[Match], known: Mapping[str, Supersession], *, history: bool = False
) -> list[Match]:
    """Return the matches without those that another of them replaces, which takes their better score.

    `known` are supersessions by the older id, in addition to those that the memories declare. The term
    `superseded` is the score that a match takes over, and `replaced` lists the matches that it replaces. With
    `history` all matches stay, and the older ones have `superseded` set. So does a match whose successor is
    not among the matches.
    """
    links = {**_declared_supersessions([match.memory for match in matches]), **known}
    if history:
        return [replace(match, superseded=links.get(match.memory.id)) for match in matches]
    by_id = {match.memory.id: match for match in matches}
    links = {older: link for older, link in links.items() if older in by_id}
    if not links:
        return list(matches)
    kept = {
        key: replace(match, superseded=links[key]) if key in links else match
        for key, match in by_id.items()
        if key not in links or links[key].newer not in by_id
    }
    for older, link in links.items():
        if older not in kept and link.newer in kept:
            kept[link.newer] = _with_score(kept[link.newer], by_id[older].score, link)
    return list(kept.values())


AS_NEAR = 0.95
"""Share of another match's score for words from which a match has as many words of the question."""


def _is_as_near(one: Match, other: Match) -> bool:
    return one.terms.get("lexical", 0.0) >= AS_NEAR * other.terms.get("lexical", 0.0)


def mark_outdated(matches: Sequence[Match], known: Mapping[str, Supersession]) -> list[Match]:
    """Return the matches with their marks; a marked one passes its better score on to the newer one.

    `known` are the marks by the older id. The score stays where the newer one is no match, and where the
    older one has more words of the question: then the question may tell two things apart that the mark
    confuses. A language model has read both, and confuses them less.
    """
    by_id = {match.memory.id: match for match in matches}
    for link in sorted(known.values(), key=lambda link: (link.older_at, link.older)):
        if link.older in by_id:
            older, newer = by_id[link.older], by_id.get(link.newer)
            by_id[link.older] = replace(older, outdated=link)
            passes = newer is not None and (link.rule == JUDGED_OUTDATED or _is_as_near(newer, older))
            if newer is not None and passes and newer.score < older.score:
                terms = {**newer.terms, "superseded": older.score}
                by_id[link.newer] = replace(newer, score=older.score, terms=terms)
    return list(by_id.values())


def _declared_supersessions(memories: Sequence[Memory]) -> dict[str, Supersession]:
    """Return the supersessions that memories declare, by the older one's id."""
    last = successors(memories)
    by_id = {memory.id: memory for memory in memories} if last else {}
    found = {}
    for older, newer in last.items():
        one, other = by_id[older], by_id[newer]
        reason = f"{other.uri} takes the place of {one.uri}"
        found[older] = Supersession(
            older, newer, one.event_time, other.event_time, DECLARED, reason, other.updated_at
        )
    return found


def _with_score(match: Match, score: float, link: Supersession) -> Match:
    """Return a match with the score of one that it replaces, if that is higher."""
    replaced = (*match.replaced, PreviousVersion(link))
    if score <= match.score:
        return replace(match, replaced=replaced)
    return replace(match, score=score, terms={**match.terms, "superseded": score}, replaced=replaced)
