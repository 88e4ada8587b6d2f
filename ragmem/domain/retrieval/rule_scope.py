"""What a standing rule is about, as its sentence says: what is done, files, a program, a language.

"Always run make fmt before committing" is about commits, "tests must not touch the network" about tests,
"use uv, not pip" about packages and the program pip. A sentence that is no rule has no scope, and neither
has one that is bound to a condition of its own. Only what is sure counts.
"""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from itertools import dropwhile, pairwise
from typing import Any

from ragmem.domain.retrieval.rule_moment import EXTENSIONS, PRODUCT, Moment
from ragmem.domain.retrieval.rule_phrases import (
    BELONGS,
    DETERMINERS,
    DUTIES,
    FILLERS,
    NOTHING,
    PLURAL,
    STOPS,
    SUBJECTS,
    Phrase,
    action,
    is_imperative,
    noun,
    running,
    word_set,
)
from ragmem.domain.retrieval.rule_topics import (
    ECOSYSTEM,
    PACKAGES,
    fold,
    topics_of_command,
    topics_of_program,
    vocabulary,
    words_of,
)
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_RULE = 400
"""Longest sentence that is read as a rule."""

MIN_WORDS = 2

MAX_CHARS = 20_000
"""Characters of a text that are read."""

_NEXT = word_set(
    "must mustn't never should shouldn't shall may cannot can't are aren't is isn't have has need needs"
    " do don't does doesn't always only go goes live lives use uses run runs carry carries stay stays come"
    " comes get gets finish finishes belong belongs contain contains end ends start starts begin begin"
    " name names require requires follow follows say says pass passes mussen muessen muss durfen duerfen"
    " darf sollen sind ist haben hat werden wird benutzen verwenden stehen steht gehoren gehoeren kommen"
    " immer doivent doit sont est ne n'est ont va vont contiennent restent toujours deben debe no son es"
    " van va tienen dependen siempre braucht brauchen nunca jamais nie niemals"
)
_DEONTIC = lazy(
    r"\b(?:must(?:n't)?|never|always|should(?:n't)?|shall|may (?:not|only)|only|do not|don't|needs? to"
    r"|required?|requires|forbidden|not allowed|prefer|avoid|ensure|make sure|instead of|ask|without asking"
    r"|nobody|no one|at most|at least|no more than|keine[nrms]?|nur|niemals|hochstens|hoechstens|muss"
    r"|mussen|muessen|nie|immer|aucune?|jamais|toujours|doit|doivent|au plus|nunca|siempre|deben?"
    r"|ningun[ao]?|como maximo)\b|, (?:not|nicht|et pas|no) |^\W*(?:no|not|every|each|all|any|kein)\b"
)
_REPORT = lazy(r"\b(?:was|were|had|did|used to|failed|broke|turned out|because|since|yesterday|ago)\b")
_CONDITIONS = word_set(
    "before after when whenever prior_to during upon bevor vor nach beim wenn avant quand lors antes despues"
    " cuando"
)
_CONDITION = lazy(rf"\b(?:{'|'.join(sorted(_CONDITIONS))})\b")
_AFTER = word_set("after nach apres despues")
_EACH = {
    "for": word_set("every each any all a an new"),
    "in": word_set("every each any all a an"),
    "on": word_set("every each"),
    "with": word_set("every each"),
}
_BEGINS_CONDITION = _CONDITIONS | _EACH.keys()
_ADVERBS = word_set(
    "always never do not don't please only first immer nie niemals bitte jamais toujours nunca siempre ne"
    " n' pas de d'"
)
_NOBODY = word_set("nobody we you one man wir")

_BAN = lazy(
    r"(?<![\w-])(?:never|not|no|instead of|rather than|over|don't use|do not use|don't run|do not run|without"
    r"|nicht|nie|niemals|statt|kein|keine|jamais|pas|nunca|en vez de)\s+"
    r"(?:use\s+|run\s+|with\s+|call\s+|mit\s+|directly\s+)?((?:`[^`\n]+`|[\w.-]+)"
    r"(?:\s*(?:,|or|and|oder|und|ou|o|nor)\s+(?:with\s+|mit\s+)?(?:`[^`\n]+`|[\w.-]+))*)"
)
_WORDS_TOO = word_set("go make black fly cap mix bundle jupyter git tox")
"""Programs whose name alone may be a word of the sentence."""
_USES = lazy(
    r"\b(?:use|uses|using|with|verwende|nimm|utilise|usa)\s+`?(pnpm|npm|yarn|uv|poetry|pipenv|conda)"
    r"(?=`|[\s,.;]|$)(?!`?\s+(?:-|run\b|\w+ing\b))"
)
_BLANK = lazy(r"\s+(?:<[^>]*>|\[[^\]]*\]|\{[^}]*\}|\.{3}|\u2026)")
"""What stands for any word of a command: `npm run <script>`."""
_ITEMS = lazy(r"`([^`\n]+)`|([\w.-]+)")

_PATH = lazy(
    r"(?<![\w:/@.-])((?:[\w.@*{}-]+/)+[\w.@*{},-]*|\*+\.[\w.*-]+"
    r"|\.[a-z]\w{0,9}(?:\.[a-z]\w{0,6})?(?=[\s`,;:)]|$)"
    rf"|[\w-]+(?:\.[\w-]+)*\.{EXTENSIONS}\b)"
)
_LEADS = lazy(
    r"\b(?:in|under|below|within|inside|beneath|of|edit|edits|editing|touch|touches|touching|change|changes"
    r"|changing|modify|modifying|to|a|an|the|unter|im|dans|sous|en|bajo|dentro|files?|folders?|directory"
    r"|and|or|matching|named|called|,)\s*[`(]?$"
)
_BINDING = lazy(
    r"\b(?:must|never|always|should|shall|only|do not|don't|avoid|generated|ask|keep|may not|required|prefer"
    r"|nur|nie|niemals|immer|keine|jamais|toujours|doivent|doit|nunca|siempre|deben?)\b|^\W*no\b",
    re.IGNORECASE,
)
_ALTERNATIVES = lazy(r"[A-Za-z]+(?:/[A-Za-z]+)+|[\d/.]+")
_TOKEN = lazy(r"`[^`\n]*`|[\w'\u2019]+")
_NO_CHANGE = lazy(r"(?:\bnot|\bnever|n't) (?:be )?(?:hand-)?(?:edit|touch|chang|modif)")
"""A ban that is about files wherever they stand: "agents must never edit db/schema.rb"."""
_UNDER = lazy(r"\b(?:under|below|inside|within|beneath|folder|directory|unter|sous|bajo)\W*$")
_DEFINES = ("\u2014", "\u2013", "-", ":", "=", "\u2192", "|")
"""Marks behind a path whose line explains it, as in a list of folders."""
_TOOL_LEADS = lazy(
    r"\b(?:run|runs|running|with|via|through|from|see|use|uses|using|read|call|execute|script|entry in|like"
    r"|example|e\.g\.|such as|copy|load|import|into|to the|from the"
    r"|(?:defined|described|documented|listed|found|explained|specified|needed|located|lives?|stored) in)"
    r"\s+(?:the |a )?[`(]?$"
)

_ITEM = lazy(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ x]\]\s+)?")
_PREFACE = lazy(r"^\W*from now on\b,?")
_WISH = lazy(r"^\W*(?:the )?user (?:always |strongly |really )?(?:prefers|wants|likes|expects|insists on)\b")
"""What stands before a rule: since when, and who wants it."""
_HEADING = lazy(r"\s{0,3}#{1,6}\s+(.+)")
_DECISION = lazy(
    r"\W*(?:[\d.]+\W+)?(?:(?:the|our|final) )?(?:decisions?|entscheidung|d[e\u00e9]cision|decisi[o\u00f3]n"
    r"|decis[a\u00e3]o)(?: outcome| made)?\W*(?:: .*)?",
    re.IGNORECASE,
)
"""The heading above what a record decides."""
_WEIGHS = lazy(
    r"\W*(?:[\d.]+\W+)?(?:considered (?:options|alternatives)|(?:options|alternatives) considered"
    r"|alternatives|pros|cons|pros and cons(?: of .*)?|non-?goals|decision drivers)\W*",
    re.IGNORECASE,
)
"""A heading of a text that weighs what may be done."""
_BESIDE = lazy(
    r"\W*(?:why|rationale|reasons?|motivation|background|context|examples?|considered|alternatives?|options?|pros"
    r"|cons|trade-?offs|(?:positive |negative |neutral )?consequences|positive|negative|risks?|impact|future"
    r"|status|what this|begr\u00fcndung|alternativen|konsequenzen|folgen|cons\u00e9quences|consecuencias)\b",
    re.IGNORECASE,
)
"""The beginning of a heading within a decision above what gives reasons or follows from it."""
_RUN_IN = lazy(r"\*\*([^*\n]{2,40})[.:]\*\*[ \t]")
"""A heading in the line: "**Documentation.** Keep each paragraph in one line."."""
_ARROW = lazy(r"[-=]>(?<=\s..)(?=\s)")
"""A definition or an example, and no sentence. Its first character is sought faster than the one before."""
_SKIP = lazy(r"\s*[|>]|(?:\t| {4})\s*(?![-*+\s]|\d{1,3}[.)])|\W*(?:\d+\W+)?\[[^]\n]+\]\([^)\n]+\.md\)\W*$")
"""Tables, quotes, code by its indent, and the entries of a table of contents."""
_ENDS = lazy(r"[.!?;:]\s+|\n")

_STRONG = lazy(r"\b(?:must(?:n't)?|never|shall|should|may (?:not|only)|always)\b")
_NORMS = word_set(
    "use run keep prefer avoid ask put name follow pin write check publish format tag commit deploy"
)
"""Verbs of rules; other requests, such as "fix the tests", are mostly tasks."""

_STATES = word_set("is isn't has are aren't have does doesn't do don't runs uses names says passes")
_HABIT = lazy(
    r"\b(?:never|always|only|does(?:n't)? ?(?:not)?|also) \w+[^s\W]s\b|\b(?:does not|doesn't|isn't|is not)\b"
)
"""What something does, and not what to do: "the worker never retries"."""
_AUXILIARY = word_set("must should shall may can do not will never always only don't mustn't")


_REQUESTS = _NOBODY | DUTIES
_ASKS = _NORMS | DUTIES
_BEFORE_VERB = _NOBODY | _AUXILIARY
_BEFORE_SUBJECTS = FILLERS | SUBJECTS
_DEFINITE = word_set("the der die das le la el")
_VERBS = _NEXT - word_set("never always only nunca jamais nie niemals siempre immer")
_NO_VERBS = [*([word] for word in sorted(_VERBS)), ["("], [":"]]
"""Words after a noun that looks like a verb: "publish is", "format:"."""
_RELATIVE = word_set("that which who die das qui que")
_NONE_OF = word_set("jamais pas")
_IN = word_set("in im for dans en fur fuer pour")
_GENERAL = word_set(
    "every each all no a an any new alle jede jeder jedes keine kein chaque tous toutes aucune cada les"
    " las los todas todos la le el"
)
_NO = word_set("no keine kein aucune aucun ningun ninguna")
_NO_SUBJECTS = _REQUESTS | SUBJECTS | _NO


@dataclass(frozen=True, slots=True)
class Condition:
    """What a moment must have: all of the topics, and all of the words that narrow them, as stems."""

    topics: frozenset[str]
    words: frozenset[str] = frozenset()
    ecosystem: str = ""
    """That of the programs which a rule about packages names."""

    def holds(self, moment: Moment) -> bool:
        """Return whether a moment has all that is asked for."""
        if not moment.paths and self.topics <= vocabulary().languages:
            return False  # a prompt names a language for many reasons
        if self.ecosystem and moment.ecosystems and self.ecosystem not in moment.ecosystems:
            return False
        return self.topics <= moment.topics and self.words <= moment.words


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of one rule: any condition, any of the paths, any command that it bans.

    `start` is the position of its sentence in the text.
    """

    start: int
    conditions: tuple[Condition, ...] = ()
    paths: tuple[str, ...] = ()
    bans: tuple[str, ...] = ()

    def reason(self, moment: Moment) -> str:
        """Return why a moment is in scope, such as "writing tests" or "*.sql", else ""."""
        for path in moment.paths:
            for pattern in self.paths:
                if is_within(path, pattern):
                    return pattern
        for ban in self.bans:
            words = tuple(ban.split())
            if any(_has(command, words) for command in moment.commands):
                return ban
        held = (one for one in self.conditions if one.holds(moment))
        return next((", ".join(sorted(one.topics)) for one in held), "")


def _has(command: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a command begins with the first of some words and has the others."""
    return command[0] == words[0] and set(words) <= set(command)


def is_within(path: str, pattern: str) -> bool:
    """Return whether a file is in a folder, has a name or a suffix, or matches a glob."""
    plain = f"/{path.replace(chr(92), '/').lstrip('/')}"
    if "*" in pattern:
        return fnmatch(plain, f"*/{pattern.lstrip('/')}") or fnmatch(plain.rpartition("/")[2], pattern)
    if pattern.startswith(".") and "/" not in pattern:
        return plain.endswith(pattern)
    whole = f"/{pattern.strip('/').removeprefix('./')}"
    return plain.endswith(whole) or f"{whole}/" in plain


def scopes_of(text: str, title: str = "") -> tuple[Scope, ...]:
    """Return the scopes of the rules in a text, in order. Reads the first 20,000 characters.

    An item below a heading such as "Tests" that names no scope has that of the heading, or of the title. Of a
    record with a heading "Decision" only what that has below it, and says firmly, is a rule.
    """
    found: list[Scope] = []
    headings = [heading[1] for line in text[:MAX_CHARS].splitlines() if (heading := _HEADING.match(line))]
    is_record = any(_DECISION.fullmatch(one) or _WEIGHS.fullmatch(one) for one in headings)
    for place, line, above in _lines(text[:MAX_CHARS], title, is_record=is_record):
        item = _ITEM.match(line)
        body = line[item.end() :] if item else line
        begin, about = place + (item.end() if item else 0), above if item else ()
        if (lead := _RUN_IN.match(body)) and (named := _heading(lead[1])):
            begin, body, about = begin + lead.end(), body[lead.end() :], named
        for offset, sentence in _sentences(body):
            if sentence.endswith(":") and (label := _heading(sentence[:-1])):
                about = label
                if _NEXT.isdisjoint(words_of(sentence)[1:]):  # "tests must:" is a rule as well
                    continue
            if is_record and not _STRONG.search(fold(sentence)):
                continue
            if (scope := _scope(begin + offset, sentence, about)) is not None:
                found.append(scope)
    return tuple(found)


def _lines(text: str, title: str, *, is_record: bool) -> Iterator[tuple[int, str, tuple[Condition, ...]]]:
    """Yield the lines that may be rules: where each begins, and the condition of the heading above it."""
    above = _heading(title)
    start, is_code = 0, False
    deciding, beside = 0, 0  # the levels of the headings that are open
    for line in text.splitlines(keepends=True):
        place, start = start, start + len(line)
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif is_code or _SKIP.match(line):
            continue
        elif heading := _HEADING.match(line):
            above = _heading(heading[1])
            level = len(line.split(maxsplit=1)[0])
            deciding = _open_level(deciding, level, begins=_DECISION.fullmatch(heading[1]) is not None)
            beside = _open_level(beside, level, begins=_BESIDE.match(heading[1]) is not None)
        elif not is_record or (deciding and not beside):
            yield place, line, above


def _open_level(before: int, level: int, *, begins: bool) -> int:
    """Return the level of the section that is open below a heading of a level, 0 if none is."""
    if begins:
        return level
    return before if level > before else 0


def pack_scopes(scopes: Sequence[Scope]) -> list[Any]:
    """Return scopes as lists, texts and numbers."""
    return [
        [
            scope.start,
            [[sorted(one.topics), sorted(one.words), one.ecosystem] for one in scope.conditions],
            list(scope.paths),
            list(scope.bans),
        ]
        for scope in scopes
    ]


def unpack_scopes(packed: Sequence[Any]) -> tuple[Scope, ...]:
    """Return the scopes that `pack_scopes` was given; raises TypeError or ValueError for anything else."""
    return tuple(
        Scope(
            start,
            tuple(
                Condition(frozenset(topics), frozenset(words), ecosystem)
                for topics, words, ecosystem in conditions
            ),
            tuple(paths),
            tuple(bans),
        )
        for start, conditions, paths, bans in packed
    )


known_scopes_of = lru_cache(maxsize=4_096)(scopes_of)
"""`scopes_of` with a memory: after a write only new texts are read for their rules."""


def _sentences(line: str) -> Iterator[tuple[int, str]]:
    start = 0
    for end in (*(match.end() for match in _ENDS.finditer(line)), len(line)):
        if (said := line[start:end].strip()) and len(said) <= MAX_RULE and not said.endswith("?"):
            yield start, said.strip("*_ ")
        start = end


def _heading(title: str) -> tuple[Condition, ...]:
    """Return the condition of a heading that names a topic and nothing else."""
    phrase = noun(words_of(title.strip(" #*\n")))
    plain = phrase.topics and not phrase.words
    return (Condition(phrase.topics),) if plain else ()


def _scope(start: int, sentence: str, above: tuple[Condition, ...]) -> Scope | None:
    """Return the scope of a sentence; None if it is no rule, or says nothing of where it applies."""
    folded = fold(sentence)
    given = words_of(_WISH.sub("prefer", _PREFACE.sub("", folded)))
    words = list(dropwhile(_ADVERBS.__contains__, given))
    if len(words) < MIN_WORDS or given[0] == "if" or _ARROW.search(sentence):
        return None
    if sentence.endswith(":") and not _DEONTIC.search(folded):
        return None
    subject = _subject(words)
    if not _is_rule(folded, words, subject):
        return None
    paths, bans = _paths(sentence, words), _bans(folded)
    told = _conditions(words)
    if not told and not _CONDITION.match(words[0]):
        told = _with_languages(subject if subject.topics else _imperative(given, words), words)
    told = (*told, *_packages(folded, bans, paths))
    is_firm = words[0] in _NORMS or words[0] in _NO or words != given or _STRONG.search(folded)
    if not (told or paths or bans) and len(words) > MIN_WORDS and is_firm:
        told = _above(words, above)
    return Scope(start, told, paths, bans) if told or paths or bans else None


def _above(words: Sequence[str], above: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return the scope of a heading; below "Tests" what says "run" is about running them."""
    if words[0] != "run":
        return above
    return tuple(Condition(running(one.topics)) for one in above)


def _is_rule(folded: str, words: Sequence[str], subject: Phrase) -> bool:
    """Return whether a sentence says what to do, not what was done or is the case."""
    is_request = is_imperative(words[0]) or words[0] in _REQUESTS
    if words[0] in _DEFINITE and not subject.topics:
        return _STRONG.search(folded) is not None and _REPORT.search(folded) is None
    if _DEONTIC.search(folded):
        if is_request or words[0] in _GENERAL:
            return True
    elif not (
        words[0] in _NORMS
        or (words[0] in _NOBODY and words[1] in _NORMS)
        or (_is_general(words, subject) and not any(map(str.isdigit, folded)))
        or _tells_when(words)
    ):
        return False
    return _REPORT.search(folded) is None and _HABIT.search(folded) is None


def _tells_when(words: Sequence[str]) -> bool:
    """Return whether a sentence asks for something before or when something is done."""
    if not _conditions(words):
        return False
    if words[0] in _ASKS or is_imperative(words[0]):
        return True
    comma = words.index(",") + 1 if "," in words else len(words)
    return (
        words[0] in _CONDITIONS and words[comma : comma + 1] != [] and (words[comma] not in _BEFORE_SUBJECTS)
    )


def _is_general(words: Sequence[str], subject: Phrase) -> bool:
    """Return whether a sentence is about all of a kind: "resources carry", not "the resource carries"."""
    verb = next((word for word in words[1:7] if word in _NEXT and word != "may"), "")
    if words[0] in _GENERAL or PLURAL.match(words[0]):
        return verb != ""
    return bool(subject.topics) and verb not in _STATES and verb != ""


def _subject(words: Sequence[str]) -> Phrase:
    """Return the subject of a sentence about all of its kind: "tests must", "every image needs"."""
    if not words or is_imperative(words[0]) or (words[0] in DETERMINERS and words[0] not in _GENERAL):
        return NOTHING
    is_special = words[0] in FILLERS and words[0] not in _GENERAL  # "public functions must"
    for place, word in enumerate(words[:7]):
        if word in _NEXT and place:
            return NOTHING if is_special and word not in _AUXILIARY else noun(words[:place])
        if word in STOPS and word not in BELONGS:
            break
    return NOTHING


def _imperative(given: Sequence[str], words: Sequence[str]) -> Phrase:
    """Return what a request is about; `words` are those `given` without adverbs at the beginning."""
    if words[0] in _NO:
        return noun(words[1:], follow=_NEXT)
    place = 0
    while place < len(words) and words[place] in _BEFORE_VERB:
        place += 1
    is_verb = place or is_imperative(words[0]) or words[0] in DUTIES
    if is_verb and words[place:] and words[place + 1 : place + 2] not in _NO_VERBS:
        found = action(words[place:], needs_verb=True)
        if found.topics:
            return found
    # In German the verb of a request may stand at its end, and in French a noun alone after "jamais de".
    last = vocabulary().verb(words[-1]) if words[-1].endswith("en") else ""
    if last:
        return Phrase(frozenset({last}))
    return noun(words) if given[0] in _NONE_OF and words != given else NOTHING


def _with_languages(phrase: Phrase, words: Sequence[str]) -> tuple[Condition, ...]:
    """Return a phrase as a condition, together with the languages that the sentence names by "in"."""
    known = vocabulary()
    within = [
        noun(words[place:], follow=_NEXT).topics or {known.thing(word)}
        for place, word in enumerate(words)
        if known.thing(word) in known.languages and place and words[place - 1] in _IN
    ]
    topics = phrase.topics.union(*within)
    return (Condition(topics, phrase.words),) if topics else ()


def _conditions(words: Sequence[str]) -> tuple[Condition, ...]:
    """Return what a rule names as its moment: "before committing", "when you add an endpoint"."""
    found: list[Condition] = []
    for place, word in enumerate(words):
        if word not in _BEGINS_CONDITION or (place and word in _AFTER):  # what must have been done before
            continue
        is_each = words[place + 1 : place + 2] and words[place + 1] in _EACH.get(word, ())
        if not (word in _CONDITIONS or is_each):
            continue
        until = (one for one, other in enumerate(words) if one > place and other in _NEXT)
        phrase = action(words[place + 1 : next(until, len(words))])
        if phrase.topics:
            found.append(Condition(phrase.topics, phrase.words))
    return tuple(found)


def _paths(sentence: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the files and folders that a rule is about, not those that it uses."""
    found: list[str] = []
    if not (_BINDING.search(sentence) or _is_general(words, NOTHING)):
        return ()
    verb = _verb_at(sentence, words)
    for match in _PATH.finditer(sentence):
        before = sentence[: match.start()].lower()
        after = sentence[match.end() :].lstrip("` )*")
        if (
            _TOOL_LEADS.search(before)
            or PRODUCT.fullmatch(match[1])
            or before.endswith(("as a ", "as a `"))
            or after[:1] in _DEFINES
            or before.count("(") > before.count(")")  # an explanation
            or match.start() > verb
        ):
            continue
        if not before.strip("`* (") or after.startswith(("files", "file ")) or _LEADS.search(before):
            if _ALTERNATIVES.fullmatch(match[1].rstrip(".,")) and not _UNDER.search(before):
                continue
            found.append(match[1].rstrip(".,"))
    return tuple(dict.fromkeys(path for path in found if len(path) > 1 and path.lower() != "and/or"))


def _verb_at(sentence: str, words: Sequence[str]) -> int:
    """Return the position of the verb; what follows it is not a scope, but a demand on the subject.

    "All tests must live in tests/" is about tests, not about that folder. A request has no subject.
    """
    is_request = is_imperative(words[0]) or words[0] in _NO_SUBJECTS or _CONDITION.match(words[0])
    if is_request or _NO_CHANGE.search(sentence):
        return len(sentence)
    tokens = [(fold(match[0]), match.start()) for match in _TOKEN.finditer(sentence)]
    found = (at for (before, _), (word, at) in pairwise(tokens) if word in _VERBS and before not in _RELATIVE)
    return next(found, len(sentence))


def _packages(folded: str, bans: Sequence[str], paths: Sequence[str]) -> tuple[Condition, ...]:
    """Return the condition of a rule that names a program which installs packages, to use or to avoid."""
    banned = (
        words[0]
        for words in map(str.split, () if paths else bans)
        if PACKAGES in (topics_of_command(words) if len(words) > 1 else topics_of_program(words[0]))
    )
    named = [*(match[1] for match in _USES.finditer(folded)), *banned]
    return (Condition(frozenset({PACKAGES}), ecosystem=ECOSYSTEM.get(named[0], "")),) if named else ()


def _bans(folded: str) -> tuple[str, ...]:
    """Return the programs and commands that a rule says not to use."""
    programs = vocabulary().programs
    found: dict[str, None] = {}
    if _HABIT.search(folded):
        return ()
    for match in _BAN.finditer(folded):
        for span, word in _ITEMS.findall(match[1]):
            named = _BLANK.sub("", span).strip() or word.rstrip(".")
            first = named.split()[:1]
            if first and first[0] in programs and (span or first[0] not in _WORDS_TOO):
                found[named] = None
    return tuple(found)
