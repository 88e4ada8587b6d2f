"""Read what is done in a phrase: "add a column to the orders table" changes the schema.

A phrase is read as verb and object. The object is the noun before the first preposition: "a test server" is
no test. Verbs of many meanings count with an object of theirs only: a lock is released, and no version.
"""

from collections.abc import Sequence
from functools import lru_cache

from ragmem.domain.retrieval.rule_topics import PACKAGES, vocabulary
from ragmem.domain.text.words import stem
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_MODIFIERS = 3
"""Words before a noun that may narrow it."""


SHORT_WORD = 4


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


STOPS = word_set(
    ", ; : ( ) ? ! what for to in into on onto of from by with without at that which who when whenever"
    " where if because so and or but before after while until unless than as then via about per through"
    " against fur fuer zu zum zur im ins auf von vom mit ohne bei beim dass der_die und oder aber wenn"
    " weil bevor nach vor pour dans sur de du des avec sans que qui et ou mais quand si avant apres en"
    " para con sin por del al y o pero cuando antes despues not never nicht nie niemals jamais nunca"
)
FILLERS = word_set(
    "a an the this that these those my our your his her their its some any all every each no another new"
    " more first next following whole entire existing current latest last other such small big few little"
    " extra additional simple quick proper missing failing broken old second further just also please"
    " really quickly now today tonight then again together straight directly always only too first ein"
    " eine einen einem einer der die das den dem des alle jede jeder jedes jeden kein keine keinen neue"
    " neuen neuer neues unser unsere unseren jetzt bitte heute noch mal un une le la les l' tous toutes"
    " chaque nouvelle nouveau nouvelles nouveaux aucune aucun maintenant ce cette ces mon ma mes el los"
    " las una unos unas cada nueva nuevo nuevas nuevos todas todos ningun ninguna ahora esta este visual"
    " public external third-party real nothing up down unit hinzu jedem directo direkt direct me us uns"
    " dir ihr nous"
)
GENERIC = word_set(
    "code code_span file files function functions class classes method methods module modules field"
    " fields table tables tabelle tabla main master change changes work project projects template"
    " templates type types"
)
"""Nouns that say nothing of the activity: of "Python functions" the language is the scope."""

OBJECTS = word_set(
    "it this that these those now what all everything something changes change code work fix fixes branch"
    " files file module modules app application build builds package crate code_span source sources alles"
    " es das les los el la le lo tout todo changements cambios anderungen stand diff patch commit commits"
)
"""What is committed, pushed, merged, released or reviewed; of a lock or a message the verb says otherwise."""

NARROW = word_set("release commit push merge review formatting infrastructure")
"""Topics whose verbs have other meanings with other objects."""

THINGS_ONLY = frozenset({"error handling", "migration"})
"""Topics whose verbs count with a thing of the topic only: one raises a limit as well."""

MAKE = word_set(
    "add write create make build implement fix change update refactor remove delete drop put store save"
    " send show draw use set configure enable expose introduce extend open submit edit touch modify move"
    " replace generate hardcode handle mock stub inject wrap escape validate declare quote attach define"
    " design rework redo prepare include pick choose run start adjust insert keep ask prefer avoid give"
    " check pin need want require have do cut redesign style wire turn print return schreib schreibe"
    " schreiben erstelle erstellen fuge fuege mach mache baue bau andere aendere andern aendern loschen"
    " losche fugen brauchen brauche geben gib zeige benutze benutzen verwende verwenden ajoute ajouter"
    " ecris ecrire cree creer fais faire hagas escribas pongas uses modifie modifier utilise utiliser faut"
    " mets mettre escribe escribir anade anadir agrega agregar crea crear haz hacer cambia cambiar usa"
    " usar necesitamos necesito pon poner modifica modificar"
)
DUTIES = word_set(
    "bring rebuild regenerate update verify confirm lint squash rebase sign tell ping notify wait review"
    " read mention list explain leave return clean talk"
)
"""Further verbs of rules; as requests they begin no change."""

PRESCRIPTIONS = word_set("use prefer follow utilise usa verwende benutze")
"""Verbs whose object is what is prescribed: "use conventional commits" is about all commits."""

PARTS = word_set("field fields type types table tables template templates")
"""Nouns that make another thing of the one before: a password field is no password."""

STORING = word_set(
    "put store save send keep log print commit hardcode share write pass hide rotate read commit set"
    " speichere lege mets guarda pon"
)
"""What is done to a secret; a token of a parser is added or counted."""

DETERMINERS = word_set(
    "a an the this that these those my our your his her their its some any all every each no ein eine"
    " einen einem einer der die das den dem alle jede jedem jeder jedes jeden kein keine keinen un une le"
    " la les tous toutes chaque aucune aucun el los las una unos unas cada ningun ninguna"
)
SHOWS = word_set("show zeige")
SUBJECTS = word_set("you we i they he she one man on wir du ich")
_PLACES = word_set("logging documentation ci release deploy") | {"user interface", "user texts"}
"""Topics that a place names: what is written to the logs is logged."""

BELONGS = word_set("of for von fur fuer de du des pour para")
_ALL = word_set("every each all any jede jeden jeder jedes alle chaque tous cada todos")
_BEFORE_VERBS = FILLERS | SUBJECTS
_VERBS = MAKE | DUTIES
_INDEFINITE = word_set("a an ein eine einen un une una")
_AFTER_LOG = word_set("in out on off into")
_NO_PACKAGES = OBJECTS - {"code_span"}
_PARTS = frozenset({"user interface"})
"""Topics that a part names: who changes the size of a button changes the button."""
_INTO = word_set("to in into on onto in_die auf dans sur en")
PLURAL = lazy(r"[a-z_-]{3,}(?:s|en|er)$")
_INFLECTED = lazy(r"(?:ing|[^s]s|ed)$")
_VERSION = lazy(r"v?\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class Phrase:
    """The topics of a phrase, and the stems of the words that narrow its noun."""

    topics: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


NOTHING = Phrase()


def noun(words: Sequence[str], *, follow: frozenset[str] = frozenset()) -> Phrase:
    """Return what the noun at the beginning of some words names, up to a preposition or a mark.

    A word after the noun makes it a part of another one, unless it is a word of `follow`, such as a verb, or
    the noun is a plural. What the noun is for or of narrows it as well: "tests for the importer".
    """
    found: set[str] = set()
    narrow: list[str] = []
    known = vocabulary()
    last, end = "", len(words)
    for place, word in enumerate(words):
        topic = known.thing(word)
        if word in STOPS or (found and word in follow):
            end = place
            break
        if word in FILLERS or word.endswith("ly") or (word in GENERIC and not topic):
            if found and word in PARTS and not found <= known.languages:
                return NOTHING
        elif topic:
            found.add(topic)
        elif found and _may_follow(word, last):
            break
        elif found:
            return NOTHING
        elif word not in known.programs:
            narrow.append(word)
        last = word
    if not found or len(narrow) > MAX_MODIFIERS:
        return NOTHING
    return Phrase(frozenset(found), frozenset(map(stem, (*narrow, *_complement(words[end:])))))


def _may_follow(word: str, noun: str) -> bool:
    """Return whether a word after a noun is no noun: a name, a German verb, or any word after a plural."""
    is_german = word.endswith("en") and len(word) > SHORT_WORD
    return "_" in word or is_german or (PLURAL.match(noun) is not None and noun not in FILLERS)


def _complement(words: Sequence[str]) -> list[str]:
    """Return the words of what a noun is for or of; none for "for every bug"."""
    if len(words) < 2 or words[0] not in BELONGS or words[1] in _ALL:
        return []
    found: list[str] = []
    for word in words[1:]:
        if word in STOPS:
            break
        if word not in FILLERS and word not in GENERIC:
            found.append(word)
    return found[:MAX_MODIFIERS]


def action(words: Sequence[str], *, needs_verb: bool = False) -> Phrase:
    """Return what is done in some words that begin with a verb, or with a noun unless one `needs_verb`."""
    start = 0
    while start < len(words) and words[start] in _BEFORE_VERBS:
        start += 1
    if start == len(words) or (start and words[start - 1] in DETERMINERS):
        return NOTHING if needs_verb else noun(words[start:])
    verb, rest = words[start], words[start + 1 :]
    topic = vocabulary().verb(verb)
    done = _done(topic, rest) if topic else None
    if done is not None:
        return done
    if not topic and _base(verb) not in _VERBS:
        return NOTHING if needs_verb else noun(words[start:])
    if verb in SHOWS and not (rest and rest[0] in _INDEFINITE):
        return NOTHING
    return _made(_base(verb), rest)


@lru_cache(maxsize=4096)
def is_imperative(word: str) -> bool:
    """Return whether a word is a verb as a request begins with it."""
    if word in MAKE:
        return True
    known = vocabulary()
    # Of a verb with many endings only the shortest: "migrate", and no "migrations".
    stems = [one for one in known.beginnings[1] if word.startswith(one)]
    is_base = word in known.verbs or bool(stems and len(word) <= len(stems[0]) + 1)
    return is_base and not _INFLECTED.search(word)


def _made(verb: str, rest: Sequence[str]) -> Phrase:
    """Return what a verb without a topic of its own, such as "add", does to its object."""
    phrase = noun(rest)
    topics = phrase.topics
    if verb == "run":
        return Phrase(running(topics), phrase.words)
    if "secrets" in topics and verb not in STORING:
        topics -= {"secrets"}
    if verb in PRESCRIPTIONS:  # "prefer running one test" is about running
        return action(rest) if rest[:1] and rest[0].endswith("ing") else Phrase(topics)
    return Phrase(topics, phrase.words) if topics else _place(rest)


def running(topics: frozenset[str]) -> frozenset[str]:
    """Return topics of what is run: tests are run, and not written."""
    return frozenset("running tests" if topic == "writing tests" else topic for topic in topics)


def _base(verb: str) -> str:
    """Return a verb without its English ending, as in MAKE."""
    if verb in MAKE:
        return verb
    for ending in ("ing", "es", "ed", "s", "n", "d"):
        if verb.endswith(ending) and len(verb) > len(ending) + 2:
            root = verb.removesuffix(ending)
            for form in (root, f"{root}e", root[:-1]):
                if form in MAKE:
                    return form
    return verb


def _object(words: Sequence[str]) -> list[str]:
    """Return the words of an object without fillers."""
    found: list[str] = []
    for word in words:
        if word in STOPS:
            break
        if word not in FILLERS or word in OBJECTS:
            found.append(word)
    return found


def _done(topic: str, rest: Sequence[str]) -> Phrase | None:
    """Return what a verb of a topic says with its object; None if it has another meaning here."""
    phrase = noun(rest)
    # "push the release" is of both.
    both = Phrase(frozenset({topic}) | phrase.topics)
    if topic in NARROW:
        return both if _fits(topic, rest) else None
    if topic in THINGS_ONLY:
        return phrase if topic in phrase.topics else None
    if topic == PACKAGES:
        return phrase if phrase.topics - vocabulary().languages else _package(rest)
    if topic == "logging":
        return None if rest[:1] and rest[0] in _AFTER_LOG else Phrase(frozenset({topic}))
    return phrase if topic == "naming" and phrase.topics - {topic} else both


def _fits(topic: str, rest: Sequence[str]) -> bool:
    """Return whether an object is one of those that are committed, released and the like."""
    given = _object(rest)
    if topic == "infrastructure" and rest and not given:  # one applies for a job as well
        return False
    known = vocabulary()
    return all(word in OBJECTS or known.thing(word) or _VERSION.fullmatch(word) for word in given)


def _package(rest: Sequence[str]) -> Phrase | None:
    """Return that of packages if an object is the name of one: a word without an article."""
    given = [word for word in _object(rest) if not _VERSION.fullmatch(word)]
    if len(given) != 1 or rest[0] != given[0] or given[0] in _NO_PACKAGES:
        return None
    is_one = PLURAL.match(given[0]) is None or any(map(_VERSION.fullmatch, rest))
    return Phrase(frozenset({PACKAGES})) if is_one else None


def _place(rest: Sequence[str]) -> Phrase:
    """Return the topic of the place into which something is put: "write it to the logs"."""
    for place, word in enumerate(rest):
        places = _PLACES if word in _INTO else _PARTS if word == "of" else frozenset()
        if places and (found := noun(rest[place + 1 :]).topics & places):
            return Phrase(found)
    return NOTHING
