"""Second hop: find chunks that complete the best ones, by the names that both mention.

A question such as "who founded the company behind Redis" is answered by two memories that share a name which
is not in the question. For any question `graph_list` takes the chunks that mention an entity of one of the
best chunks and have words of the question that this one lacks. For a question with the form of two hops
`hop_list` asks once more, with the name in place of the words that the best chunk answers.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property

from ragmem.domain.model import Hit
from ragmem.domain.retrieval.hops import capitalized_names, rest_of
from ragmem.domain.text.words import stem, words_of
from ragmem.ports import Store
from ragmem.storage.fulltext.terms import STOP_WORDS, LexicalHits
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import Passage
from ragmem.storage.names.aliases import spellings

FIRST = 3
"""Number of memories that a second hop starts from; with five, chance links outweigh the gain."""

POOL = 50
"""Number of hits whose texts are searched for the names: the graph has only the ten most specific names of a
chunk."""

BEYOND = 20
"""Maximum number of further chunks that share a name by the graph only, starting with the rarest names."""

HUB = 32
"""A name in more chunks than this links everything with everything, and is ignored."""

RARITY = math.log(1000)
"""A name in 1000 chunks would have the weight 0, one in a single chunk has 1."""

LEAD_CHARS = 80
"""Number of characters at the beginning of a text that show its topic, like its title."""

MERELY_NAMED = 0.25
"""Weight of a chunk that only mentions the entity, relative to one about it."""

ENOUGH = 0.2
"""Share of the question's words that a second chunk must add to count fully: many chunks have one word of ten
by chance."""

MOST_PARTS = 3
"""Words of a name that are sought one by one before the name as a whole."""

SURE_LETTERS, ENDING = 3, 3
"""All forms of a word share its prefix: all letters but the last three, and at least three."""

AROUND = 24
"""Letters around a name in which its words may have other endings, and other characters between them."""

NAMES = 32
"""Maximum entities of one chunk that are followed; a model may have found hundreds."""

HOP_STARTS = 2
"""Number of memories that a question of two hops starts from; a third one adds chance links."""

TEXT_NAMES = 32
"""Maximum names of one chunk that are looked up."""

HOP_CHUNKS = 40
"""Maximum number of chunks that are read for the names in the starts, starting with the rarest names."""

PROMISING = 0.2
"""Minimum promise of the name with which the question is asked once more."""

PLAIN = 0.3
"""Weight of a chunk without any of the words that the start lacks, when names are chosen: the answer may say
it in other words."""

NEARER, LINKED = 1.8, 0.27
"""Score per cosine by which a chunk is nearer to the question with the name than to the question as it was
asked, and for the strongest link. Fitted as the ranking's weights are; each of two sets of such questions
gives nearly the same on its own."""


@cache
def _empty_words() -> frozenset[str]:
    return frozenset(map(stem, STOP_WORDS))


class _Name:
    """An entity's name in searchable form, its chunks in the graph, and those whose texts may have it."""

    def __init__(
        self, entity: str, words: Sequence[str], known: Sequence[str], possible: Sequence[str] = ()
    ) -> None:
        self.entity = entity
        self.flat = _flat(words)
        # What has the only word of a name has the name.
        self.known = known if len(words) > 1 else tuple(dict.fromkeys((*known, *possible)))
        self.chunks = tuple(dict.fromkeys((*known, *possible)))
        # The longest first: it is the rarest, and marks the place.
        parts = sorted(entity.lower().split(), key=len, reverse=True)
        self.beginnings = [part[: max(SURE_LETTERS, len(part) - ENDING)] for part in parts[:MOST_PARTS]]
        self.reach = len(entity) + AROUND


class _PassageText:
    """A passage in which names are searched; only the words around a possible place are cut out."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self.plain = f"{passage.title}\n{passage.heading}\n{passage.text}".lower()

    @cached_property
    def _lead(self) -> str:
        beginning = self.passage.text.lstrip()[:LEAD_CHARS].partition("\n")[0]
        return _flat(words_of(f"{self.passage.title}\n{self.passage.heading}\n{beginning}"))

    def names(self, name: "_Name") -> bool:
        """Return whether a name is in the text, perhaps with other endings."""
        text, beginning = self.plain, name.beginnings[0]
        if not all(other in text for other in name.beginnings):
            return False
        at = text.find(beginning)
        while at >= 0:
            # Cutting the whole text into stems would cost more than all else here.
            start, end = max(0, at - name.reach), at + name.reach
            start = text.find(" ", start, at) + 1 if start else 0
            end = text.rfind(" ", at, end) if end < len(text) else end
            if name.flat in _flat(words_of(text[start:end])):
                return True
            at = text.find(beginning, at + AROUND // 2)
        return False

    def is_about(self, name: "_Name") -> bool:
        """Return whether a name is in the title, the headings or the first line."""
        return name.flat in self._lead


def graph_list(
    catalog: Catalog,
    store: Store,
    question: str,
    *,
    words: LexicalHits,
    limit: int,
    seeds: Sequence[Hit],
) -> list[Hit]:
    """Return the chunks that share an entity with the best seeds and add to them, best first.

    `seeds` are the fused hits of the other lists, best first; their scores relative to the first are their
    weights. `words` tells which words of the question they have. A hit's score is in 0..1:
    1 is a chunk about a rare thing that the best seed mentions, with enough of the question's words that this
    seed lacks. Nothing is found if the best seeds have all words of the question or mention nothing.
    """
    if limit < 1 or not seeds or words.find_words is None:
        return []
    # A word that nobody wrote cannot be added.
    every = sum(1 << n for n, share in enumerate(words.frequencies.values()) if share)
    lacking = {chunk: every & ~has for chunk, has in words.having.items()}
    first = [hit for hit in _best_per_memory(seeds, lacking) if lacking[hit.chunk_id]]
    starts = catalog.memories.passages([hit.chunk_id for hit in first])
    named = _new_names(catalog, store, question, [starts[hit.chunk_id] for hit in first])
    if not any(named.values()):
        return []
    pool = [hit.chunk_id for hit in seeds[:POOL]]
    rarest = sorted((name.known for names in named.values() for name in names), key=len)
    beyond = list(dict.fromkeys(chunk for known in rarest for chunk in known if chunk not in pool))[:BEYOND]
    having = {**words.having, **words.find_words(beyond)}
    # What has none of the words that a start lacks adds nothing to it.
    sought = 0
    for hit in first:
        sought |= lacking[hit.chunk_id]
    adding = [chunk for chunk in (*pool, *beyond) if having.get(chunk, 0) & sought]
    read = {key: _PassageText(passage) for key, passage in catalog.memories.passages(adding).items()}
    best = max(seeds[0].score, 0.0)
    found: dict[str, float] = {}
    for hit in first:
        trust = (max(hit.score, 0.0) / best) ** 2 if best else 1.0
        begun, lacks = starts[hit.chunk_id], lacking[hit.chunk_id]
        others = {
            chunk: other
            for chunk, other in read.items()
            if having[chunk] & lacks
            and other.passage.project == begun.project
            and other.passage.memory_id != begun.memory_id
        }
        for chunk, strength in _linked_chunks(others, named[hit.chunk_id]).items():
            added = (having[chunk] & lacks).bit_count() / len(words.frequencies)
            score = trust * strength * min(1.0, added / ENOUGH)
            if score > found.get(chunk, 0.0):
                found[chunk] = score
    ranked = sorted(found, key=lambda chunk: (-found[chunk], chunk))[:limit]
    return [
        Hit(chunk, read[chunk].passage.memory_id, rank, found[chunk])
        for rank, chunk in enumerate(ranked, start=1)
    ]


def hop_list(
    catalog: Catalog,
    store: Store,
    question: str,
    *,
    words: LexicalHits,
    limit: int,
    seeds: Sequence[Hit],
) -> list[Hit]:
    """Return the chunks that answer the rest of a question of two hops, best first; as `graph_list`.

    The names that one of the best seeds mentions, in the graph or with capitals, lead to the chunks that have
    them. With the most promising name the question is asked once more: the name, and the words that the seed
    lacks. A hit's score is in 0..1. It grows with the cosine that the chunk gains by the new question, so
    what was near to the old one gains nothing. Raises BackendError.
    """
    if limit < 1 or not seeds or words.find_words is None:
        return []
    every = (1 << len(words.frequencies)) - 1
    lacking = {chunk: every & ~has for chunk, has in words.having.items()}
    first = [hit for hit in _best_per_memory(seeds, lacking, HOP_STARTS) if lacking[hit.chunk_id]]
    starts = catalog.memories.passages([hit.chunk_id for hit in first])
    named = _names_of_texts(catalog, question, starts, _new_names(catalog, store, question, starts.values()))
    rarest = sorted((name for names in named.values() for name in names), key=lambda name: len(name.chunks))
    chunks = list(dict.fromkeys(chunk for name in rarest for chunk in name.chunks))[:HOP_CHUNKS]
    read = {key: _PassageText(passage) for key, passage in catalog.memories.passages(chunks).items()}
    having = words.find_words(read)
    best = max(seeds[0].score, 0.0)
    hops: list[tuple[float, Hit, _Name, dict[str, float]]] = []
    for hit in first:
        trust = (max(hit.score, 0.0) / best) ** 2 if best else 1.0
        begun, lacks = starts[hit.chunk_id], lacking[hit.chunk_id]
        elsewhere = {
            chunk: other
            for chunk, other in read.items()
            if other.passage.project == begun.project and other.passage.memory_id != begun.memory_id
        }
        for name in named[hit.chunk_id]:
            others = {chunk: elsewhere[chunk] for chunk in name.chunks if chunk in elsewhere}
            linked = {chunk: trust * link for chunk, link in _linked_chunks(others, [name]).items()}
            promise = 0.0
            for chunk, link in linked.items():
                added = (having.get(chunk, 0) & lacks).bit_count() / len(words.frequencies)
                promise = max(promise, link * (PLAIN + min(1.0, added / ENOUGH)))
            if promise >= PROMISING:
                hops.append((promise, hit, name, linked))
    if not hops:
        return []
    # Each name costs an embedding, and with three of them no more is found.
    _, hit, name, linked = min(hops, key=lambda hop: (-hop[0], hop[1].chunk_id, hop[2].flat))
    known = frozenset(words_of(_PassageText(starts[hit.chunk_id]).plain))
    before = store.similarities(question, list(linked))
    after = store.similarities(f"{name.entity} {rest_of(question, known, STOP_WORDS)}", list(linked))
    found = {
        chunk: min(1.0, gain)
        for chunk in after.keys() & before.keys()
        if (gain := NEARER * (after[chunk] - before[chunk]) + LINKED * linked[chunk]) > 0
    }
    ranked = sorted(found, key=lambda chunk: (-found[chunk], chunk))
    return [
        Hit(chunk, read[chunk].passage.memory_id, rank, found[chunk])
        for rank, chunk in enumerate(ranked[:limit], start=1)
    ]


def _names_of_texts(
    catalog: Catalog, question: str, starts: Mapping[str, Passage], named: Mapping[str, Sequence[_Name]]
) -> dict[str, list[_Name]]:
    """Return start -> the names that other chunks may have: those of the graph, and those of its text."""
    from ragmem.storage.fulltext.name_search import find_chunks_by_names  # noqa: PLC0415 - numpy

    asked = {*words_of(question), *_empty_words()}
    spelt: dict[str, dict[str, str]] = {}
    for key, begun in starts.items():
        spelt[key] = {name.flat: name.entity for name in named[key]}
        for name in capitalized_names(begun.text):
            words = words_of(name)
            if not asked.issuperset(words) and len(spelt[key]) < TEXT_NAMES:
                spelt[key].setdefault(_flat(words), name)
    possible: dict[str, dict[str, list[str]]] = {}
    for project in {begun.project for begun in starts.values()}:
        keys = [key for key, begun in starts.items() if begun.project == project]
        names = {name for key in keys for name in spelt[key].values()}
        chunks = find_chunks_by_names(catalog.database, names, project=project, most=HUB)
        possible |= dict.fromkeys(keys, chunks)
    found: dict[str, list[_Name]] = {}
    for key in starts:
        known = {name.flat: name.known for name in named[key]}
        found[key] = [
            _Name(name, flat.split(), known.get(flat, ()), possible[key].get(name, ()))
            for flat, name in spelt[key].items()
            if flat in known or name in possible[key]
        ]
    return found


def _best_per_memory(seeds: Sequence[Hit], known: Mapping[str, int], most: int = FIRST) -> list[Hit]:
    """Return the best hit of each of the best memories that are there."""
    best: dict[str, Hit] = {}
    for hit in seeds:
        if hit.chunk_id in known:
            best.setdefault(hit.memory_id, hit)
        if len(best) == most:
            break
    return list(best.values())


def _new_names(
    catalog: Catalog, store: Store, question: str, starts: Collection[Passage]
) -> dict[str, list[_Name]]:
    """Return start -> the names in it that are not in the question, in any of their spellings."""
    asked = {*words_of(question), *_empty_words()}
    named: dict[str, list[_Name]] = {start.chunk_id: [] for start in starts}
    for project in dict.fromkeys(start.project for start in starts):
        chunks = [start.chunk_id for start in starts if start.project == project]
        mentions = store.mentions(chunks, project=project, most=HUB)
        followed = {chunk: list(entities.items())[:NAMES] for chunk, entities in mentions.items()}
        entities = {entity for pairs in followed.values() for entity, _ in pairs}
        others = spellings(catalog.database, project, entities) if entities else {}
        for chunk, names in followed.items():
            for entity, known in names:
                spelt = {spelling: words_of(spelling) for spelling in (entity, *others.get(entity, ()))}
                # An entity that the question has under another name is not new.
                if any(asked.issuperset(words) for words in spelt.values()):
                    continue
                named[chunk] += [_Name(spelling, words, known) for spelling, words in spelt.items()]
    return named


def _linked_chunks(others: Mapping[str, _PassageText], names: Sequence[_Name]) -> dict[str, float]:
    """Return chunk -> strength of those of other memories that have any of the names."""
    strengths: dict[str, float] = {}
    texts = [(chunk, other.plain) for chunk, other in others.items()]
    for name in names:
        beginning = name.beginnings[0]
        naming = {chunk for chunk in name.known if chunk in others}
        # Here, as few texts have even that: a hundred texts are searched for ten names.
        near = [chunk for chunk, plain in texts if beginning in plain]
        naming.update([chunk for chunk in near if chunk not in naming and others[chunk].names(name)])
        if len(naming) > HUB:
            continue
        rarity = 1.0 - math.log(max(2, len(name.chunks))) / RARITY
        for chunk in naming:
            weight = rarity if others[chunk].is_about(name) else rarity * MERELY_NAMED
            strengths[chunk] = max(weight, strengths.get(chunk, 0.0))
    return strengths


def _flat(words: Sequence[str]) -> str:
    """Return words as one text in which sequences of words can be searched."""
    return f" {' '.join(words)} "
