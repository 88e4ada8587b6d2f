"""What is about to be done: the topics, files and commands of a prompt, of a file, or of a command line.

A prompt tells of work only where it says so: "I will push the release", "add a test", "how do we name this".
A question why something is as it is begins no work, and no rule applies to it.
"""

import re
import shlex
from itertools import islice

from ragmem.domain.retrieval.rule_phrases import Phrase, action, is_imperative, word_set
from ragmem.domain.retrieval.rule_topics import (
    ECOSYSTEM,
    PACKAGES,
    fold,
    topics_of_command,
    topics_of_path,
    vocabulary,
    words_of,
)
from ragmem.domain.text.words import stem
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_CHARS = 600
"""Characters of a prompt that are read: a longer one tells more than what is to be done."""

MAX_SENTENCES = 8
"""Sentences of a prompt that are read, and places of each where something may begin."""

MAX_COMMAND = 4_000
"""Characters of a command line that are read."""

_INTENT = lazy(
    r"\b(?:(?:i|we)(?:'ll| will|'d like to| would like to| want(?: to)?| need(?: to)?| have to| must"
    r"|(?:'m| am|'re| are)(?: going to| about to)?| plan to)(?: now)?"
    r"|let me|let us|let's|going to|about to|time to|ready to|help me(?: to)?|please"
    r"|(?:can|could|would|will) you(?: please)?|(?:can|could|should|shall|may) (?:i|we)"
    r"|how (?:do|to)(?: i| we)?|(?:before|when|while) (?:i|we)|is there (?:a|an|any)|i'd"
    r"|ich (?:will|mochte|moechte|werde|muss)|wir (?:wollen|mussen|muessen|werden|brauchen)|brauchen wir"
    r"|kannst du|lass uns|bitte|wie soll(?:te)? ich|je (?:vais|veux|dois|voudrais)|il (?:nous )?faut"
    r"|(?:tu )?peux(?:-tu)?|nous (?:allons|voulons|devons)|voy a|vamos a|quiero|queremos|necesitamos"
    r"|puedes|hay que|tengo que)(?=\s)"
)
_OPENING = lazy(r"\W*(?:(?:ok|okay|so|now|then|and|great|good|yes|ja|oui|si)\b\W*)*")
_NO_INTENT = lazy(
    r"\W*(?:why|who|whom|whose|when|what(?! should)|where(?! (?:should|shall|can|do i|do we))"
    r"|how(?! (?:do i|do we|should|shall|can|could|to))|which|did|does|has|have (?:i|you|we)|given|was|were"
    r"|is it|explain|find out|find (?:all|where)|show me|list|summari[sz]e|describe|tell me|look|read|compare"
    r"|warum|wieso|weshalb|wann|wer|wo|woher|welche\w*|was|wie (?:viele?|oft|lange)|zeig|pourquoi|quand|qui"
    r"|ou est|d'ou|combien|montre|por que|cuando|quien|donde|cuant\w+|busca|muestra|que)\b"
)
_FASTER = lazy(r"\b(?:faster|quicker|schneller|plus rapide|mas rapido)\b")
_CALL = lazy(
    r"\b(?:should|shall|do|can) (?:i|we) (?:call|name)\b"
    r"|\bwie soll\w* (?:ich|wir|das|die) .*(?:nennen|heissen)"
)
_AS_PACKAGE = lazy(
    r"\b(?:add|install|includ|use|using|pull)\w* .*\b(?:as an? (?:new )?(?:dependency|package|library)"
    r"|to (?:the|our) dependencies)\b|\b(?:add|install)\w* (?:an? |the |another )?(?:new |third-party )*"
    r"(?:dependency|package|library|crate|gem) `?(?!manager|graph|cache|lock|index|name"
    r"|version)[\w@/.-]+`?[.!]?$"
)
"""A package by its name: "add zod as a dependency", "add the package zod"."""
_NEED = lazy(
    r"\b(?:need|want|will|is there|moechte|mochte|wollen|brauchen|faut|veux|quiero|queremos|necesitamos)\b"
)
"""Markers that a thing may follow instead of what is done: "we need a library"."""
_TODAY = lazy(
    r"\b(?:we|i|wir|ich|on|nous)\s+(?=.*\b(?:now|today|tonight|tomorrow|heute|jetzt|morgen"
    r"|ce soir|maintenant|demain|aujourd'hui|hoy|ahora)\b)"
)
_SENTENCE = lazy(r"(?<=[.!?;])\s+|\n+")
EXTENSIONS = (
    r"(?:tsx?|jsx?|py|go|rs|rb|java|kt|cs|php|exs?|sql|proto|tf|md|ya?ml|toml|json|css|html|lock|xml|prisma"
    r"|graphql|sh|swift|dart|c|h|cpp|vue|svelte)"
)
"""The endings by which a name without folders is that of a file."""

PRODUCT = lazy(r"[A-Z]\w*\.(?:js|io|ai)|ASP\.NET")
"""Names that look like files."""

_PATH = lazy(rf"(?<![\w:/@.-])((?:[\w.@-]+/)+[\w@-]+\.\w+|[\w-]+(?:\.[\w-]+)*\.{EXTENSIONS})(?![\w/])")
_OPERATORS = lazy(r"\s*(?:&&|\|\||[;|&\n])\s*")
_QUOTED = lazy(r"'[^']*'|\"[^\"]*\"")
_MARKS = lazy(r"[;&|\n]")
_WRAPPERS = word_set("sudo env time nice exec command then do")
_ASSIGNMENT = lazy(r"[A-Za-z_]\w*=\S*")


@dataclass(frozen=True, slots=True)
class Moment:
    """What is about to be done: its topics, its words as stems, its files and its commands."""

    topics: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    ecosystems: frozenset[str] = frozenset()
    """Those of its packages, where a file or a command names one."""

    def __bool__(self) -> bool:
        """Whether a rule may apply."""
        return bool(self.topics or self.paths or self.commands)


def moment_of_text(text: str) -> Moment:
    """Return what a prompt or a question begins; nothing for one that asks how something is."""
    topics, words = set[str](), set[str]()
    paths: list[str] = []
    for sentence in _SENTENCE.split(text[:MAX_CHARS])[:MAX_SENTENCES]:
        folded = fold(sentence).strip()
        opening = _OPENING.match(folded)
        begun = folded[opening.end() :] if opening else folded
        if not begun or _NO_INTENT.match(begun):
            continue
        found = _actions(begun)
        if found is None:
            continue
        said = words_of(begun)
        known = vocabulary()
        languages = {topic for word in said if (topic := known.thing(word)) in known.languages}
        topics |= found.topics | languages | _topics_of_commands(begun)
        words |= {stem(word) for word in said}
        paths += (path for path in _PATH.findall(sentence) if not PRODUCT.fullmatch(path))
    for path in paths:
        topics |= topics_of_path(path)
    return Moment(frozenset(topics), frozenset(words), tuple(paths))


def _actions(begun: str) -> Phrase | None:
    """Return all that a sentence sets out to do; None if it begins nothing."""
    phrases = [found for found in (_imperative(begun),) if found is not None]
    phrases += [
        action(words_of(begun[found.end() :]), needs_verb=not _NEED.search(found[0]))
        for found in islice(_INTENT.finditer(begun), MAX_SENTENCES)
    ]
    if today := _TODAY.match(begun):
        phrases.append(action(words_of(begun[today.end() :]), needs_verb=True))
    if not phrases:
        return None
    topics = frozenset().union(*(phrase.topics for phrase in phrases))
    if _FASTER.search(begun):
        topics |= {"performance"}
    if _CALL.search(begun):
        topics |= {"naming"}
    if _AS_PACKAGE.search(begun):
        topics |= {PACKAGES}
    return Phrase(topics)


def _topics_of_commands(begun: str) -> set[str]:
    """Return the topics of the commands that a sentence names: "run npm install zod"."""
    words = begun.replace("`", " ").split()
    programs = vocabulary().programs
    at = (place for place, word in enumerate(words) if word in programs)
    return {topic for place in at for topic in topics_of_command(words[place : place + 3])}


def _imperative(begun: str) -> Phrase | None:
    words = words_of(begun)
    if not words or not is_imperative(words[0]):
        return None
    return action(words, needs_verb=True)


def moment_of_path(path: str) -> Moment:
    """Return the moment before a file is edited; `path` is relative to its project, if any."""
    parts = re.split(r"[^\w]+", fold(path))
    ecosystem = ECOSYSTEM.get(path.rpartition("/")[2])
    known = frozenset({ecosystem}) if ecosystem else frozenset[str]()
    return Moment(topics_of_path(path), frozenset(map(stem, parts)), (path,), ecosystems=known)


def moment_of_command(line: str) -> Moment:
    """Return the moment before a command line runs."""
    topics, words = set[str](), set[str]()
    commands: list[tuple[str, ...]] = []
    # What is quoted, such as a message, runs nothing.
    plain = _QUOTED.sub(lambda found: _MARKS.sub(" ", found[0]), line[:MAX_COMMAND])
    for part in _OPERATORS.split(plain):
        given = _split(part)
        while given and (given[0] in _WRAPPERS or _ASSIGNMENT.fullmatch(given[0])):
            given = given[1:]
        if not given:
            continue
        given = [given[0].rpartition("/")[2] if given[0].startswith("/") else given[0], *given[1:]]
        named = [word for word in given if not word.startswith("-") or word == "--prod" or len(given) < 3]
        commands.append(tuple(given))
        topics |= topics_of_command(named)
        words |= {stem(fold(word)) for word in given}
    known = frozenset(ECOSYSTEM[command[0]] for command in commands if command[0] in ECOSYSTEM)
    return Moment(frozenset(topics), frozenset(words), (), tuple(commands), known)


def _split(part: str) -> list[str]:
    try:
        return shlex.split(part, comments=True)
    except ValueError:  # an open quote
        return part.split()
