"""Parse the claim of a sentence by rule: its words, its values, and what it declares obsolete."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from ragmem.domain.classification.filler import Voice, classify_voice
from ragmem.domain.lifecycle.change_cues import change_cues
from ragmem.domain.text.claim_words import stem, stem_of, stems, tokens, words_of

MAX_CHARS = 1200
"""Characters of a memory that are searched for claims; later text is detail."""

MAX_CLAIMS = 12

MAIN_CLAIMS = 2
"""The first claims of a memory state its subject; later ones explain it."""

MAX_WORDS = 60
"""Maximum words of a claim; more are data or a text without punctuation."""

LEAST_WORDS = 4
"""A reason begins after this many words; before them it is the claim itself."""

_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
# The pattern begins with white space, so that the search skips letters quickly.
_SENTENCE = re.compile(
    r"\s(?:(?<=[\w)\]`\"'*>][.!?;]\s)(?<!e\.g\.\s)(?<!i\.e\.\s)(?<!\bvs\.\s)(?<!\bcf\.\s)\s*(?=\S)"
    r"|(?<=:\s)\s*(?=[A-Z])|\s*[-\u2013\u2014]{1,3}\s+|(?<=\n)\s*(?:\n|[-*+#>|]|\d+[.)])\s*)"
)
_VALUE = re.compile(r"\d|^--?\w|[/\\]|\w\.\w|<|_")
_VERSIONED = re.compile(r"\b([A-Za-z][\w./-]*\w)[ @]v?(\d+(?:\.(?:\d+|x))+[\w.+-]*\b)")
_REASON = re.compile(
    r",? \b(?:because|since|so that|so|which|where|otherwise|although|after(?! all)|in order)\b |\("
)
_NOT = re.compile(
    r"\b(?:not|never|cannot|neither|nor|no|none|nobody|without|nothing|(?:is|are|was|were|does|do|did|has|have|ca"
    r"|wo|must|should)n't)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|cannot|without|nobody)|n't) (?:an? |the |any )?([a-z]{3,})", re.IGNORECASE
)
_ADDS = re.compile(r"\b(?:also|too|additionally|as well|besides|further)\b", re.IGNORECASE)
_PAST = re.compile(
    r"[ ,;(](?:[a-z]{3,}ed|was|were|did|had|got|went|came|took|kept|lost|broke|made|found|ran)\b"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|can|cannot|does|do|did|must|will|(?:is|are|does|do|ca)n't)\b"
    r"|(?<=\S )[a-z]{2,}(?<!s)s(?= \S)|(?<=\w )[a-z]{2,}ed\b"
    r"|(?<![\w./-])(?:went|ran|took|gave|live|use|need|go|run|come|rely)\b(?![./-]\w)"
)
_CODE_BEGINS = re.compile(
    r"[$/{}\[<@]|return\b|async |await |def |class |const |let |import |from \S+ import|cd |git |npm "
)
# All branches begin with punctuation, so that the search skips letters quickly.
_CODE_HAS = re.compile(r"[{};]$|=[>=]|\((?:\)\s*[;{]|(?<=\w\()\w*[\"'])")
_SAID = re.compile(
    r"(?:decision|hypothesis|suspect|suspicion|assum|theory|guess|(?:root )?cause|known)", re.IGNORECASE
)
_WHOLE = re.compile(r"\w+(?: \S+){2,}[.!]$")
_PLAN = re.compile(
    r"^(?:plan|todo|idea|proposal|goal|question|task|step|acceptance)\b|\?[\"'\u201d)\]*_`]*$"
    r"|\b(?:todo|decided to|going to|will|plans? to|planned|wants?(?: to)?|would|could|should"
    r"|let's|as soon as)\b"
    r"|\bcan be (?:removed|deleted|dropped|replaced)\b|\bto (?:replace|remove|drop|delete|rename|move)\b",
    re.IGNORECASE,
)
_HAPPENED = re.compile(
    r"\b(?:was|were|failed|succeeded|passed|took|ran|went|broke|had|did|crashed|lost|found|fixed|added|showed"
    r"|wrote|came|died|happened|hit|got|gave|started|finished|merged|pushed|measured)\b",
    re.IGNORECASE,
)
_STANDS = re.compile(
    r"\b(?:is|are|now|uses?|lives?|goes|go|has|have|needs?|requires?|can|cannot)\b", re.IGNORECASE
)
_ORDER = re.compile(
    r"^(?:user|rule|preference)\b\s*:|^(?:please |then )?(?:use|do|don't|never|always|make|keep|add|remove"
    r"|create|run|check|ensure|avoid|prefer|set|write|read|delete|move|replace|rename|put|install|update|verify|see"
    r"|follow|include|modify|assume|leave|commit|test|consider)\b"
    r"|(?:^|[,:] )(?:please )?do not\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:if|when|whenever|while|unless|once|with|without|before|after|for)\b", re.IGNORECASE
)
_FLAW = re.compile(
    r"\b(?:fails?|failing|bugs?|wrong|errors?|crash(?:es)?|broken?|corrupt\w*|races?|false|missing|slow)\b",
    re.IGNORECASE,
)
_OPPOSITES = tuple(
    (frozenset(map(stem, one.split())), frozenset(map(stem, other.split())))
    for one, other in (
        ("accept allow permit support take", "refuse reject forbid deny block lack"),
        ("on enable active", "off disable inactive"),
        ("require mandatory needed", "optional unnecessary"),
        ("passes works succeeds", "fails breaks broken"),
        ("include all", "exclude skip omit"),
        ("open", "closed"),
        ("sync synchronous synchronously", "async asynchronous asynchronously"),
        ("public", "private"),
        ("always", "never"),
        ("safe", "unsafe"),
        ("manual manually", "automatic automatically"),
        ("global shared", "local separate"),
        ("present", "missing absent"),
        ("true", "false"),
    )
)
_SIGNS = frozenset(word for pair in _OPPOSITES for side in pair for word in side)


@dataclass(frozen=True, slots=True)
class Negation:
    """A thing that a claim declares obsolete: the rule and its words; no words mean the whole claim."""

    rule: str
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Claim:
    """One sentence of a memory; properties that only a comparison needs are computed on demand.

    `main` is the sentence without its reason. `order` are the stems of its words and of the parts of its
    names.
    """

    text: str
    main: str
    order: tuple[str, ...]
    words: frozenset[str]
    ended: tuple[Negation, ...]

    @cached_property
    def values(self) -> frozenset[str]:
        """Tokens that may differ in the same fact: numbers, versions, paths, flags and names."""
        marked = (token for token in tokens(self.main) if not token.isalpha())
        return frozenset(token.lower() for token in marked if _VALUE.search(token))

    @cached_property
    def versions(self) -> frozenset[tuple[str, str]]:
        """The things whose version it states, with the version."""
        return frozenset((name.lower(), version) for name, version in _VERSIONED.findall(self.text))

    @cached_property
    def signs(self) -> frozenset[str]:
        """Its words that have an opposite."""
        return _SIGNS.intersection(map(stem_of, tokens(self.main)))

    @cached_property
    def negated(self) -> bool:
        """Whether it has a negation."""
        return bool(_NOT.search(self.main))

    @cached_property
    def denied(self) -> frozenset[str]:
        """The stems of the negated words."""
        return frozenset(stem(word.lower()) for word in _DENIED.findall(self.main))

    @cached_property
    def has_verb(self) -> bool:
        """Whether it has a word that is surely a verb."""
        return bool(_VERB.search(self.text))

    @cached_property
    def adds(self) -> bool:
        """Whether it describes an addition to the present state."""
        return bool(_ADDS.search(self.main))

    @cached_property
    def past(self) -> bool:
        """Whether it has a past tense."""
        return bool(_PAST.search(self.text))

    @cached_property
    def planned(self) -> bool:
        """Whether it describes a plan."""
        return bool(_PLAN.search(self.text))

    @cached_property
    def states(self) -> bool:
        """Whether it states the present: no plan, no past event, no code and no heading."""
        if self.planned or _is_code(self.text):
            return False
        event = _HAPPENED.search(self.text) and not _STANDS.search(self.text)
        return not event and bool(
            _VERB.search(self.text) or _SAID.match(self.text) or _WHOLE.match(self.text)
        )

    @cached_property
    def orders(self) -> bool:
        """Whether it is an instruction."""
        return bool(_ORDER.search(self.text))

    @cached_property
    def conditional(self) -> bool:
        """Whether it begins with a condition; another case may differ."""
        return bool(_CONDITION.match(self.text.lstrip("*_`\"' ")))

    @cached_property
    def flawed(self) -> bool:
        """Whether it describes a fault."""
        return bool(_FLAW.search(self.text))


def claims(text: str) -> tuple[list[Claim], list[Claim]]:
    """Return the main claims of a text, and all claims that can supersede others.

    The latter are the main ones, and later ones that declare something obsolete.
    """
    main: list[Claim] = []
    telling: list[Claim] = []
    for part in _SENTENCE.split(_FENCED.sub("\n\n", text[:MAX_CHARS])):
        sentence = part.strip(" \t#>-*;")
        leading = len(main) < MAIN_CLAIMS
        if (claim := _claim(sentence, leading=leading)) is not None:
            if leading:
                main.append(claim)
            telling.append(claim)
            if len(telling) == MAX_CLAIMS:
                break
    return main, telling


def _claim(text: str, *, leading: bool) -> Claim | None:
    """Parse the claim of a sentence.

    None where it has no words, where it only accompanies work, and for a further one that ends nothing.
    """
    ended = () if _is_code(text) else tuple(_negations(text))
    if not (leading or ended):
        return None
    if not any(one.words for one in ended) and classify_voice(text, listed=True) is Voice.CHATTER:
        return None
    cut = _REASON.search(text)
    main = text[: cut.start()] if cut and len(text[: cut.start()].split()) >= LEAST_WORDS else text
    order = tuple(chain.from_iterable(map(stems, tokens(main)[:MAX_WORDS])))
    return Claim(text, main, order, frozenset(order), ended) if order else None


def _is_code(text: str) -> bool:
    return _CODE_BEGINS.match(text) is not None or _CODE_HAS.search(text) is not None


def _negations(text: str) -> Iterator[Negation]:
    for ending in change_cues(text):
        if not ending.over:
            yield Negation(ending.rule)
        elif words := words_of(ending.over):
            yield Negation(ending.rule, words)


def opposite(one: Claim, other: Claim) -> bool:
    """Tell whether each claim has the opposite of a word of the other."""
    mine, theirs = one.signs - other.signs, other.signs - one.signs
    return bool(mine and theirs) and any(
        (mine & yes and theirs & no) or (mine & no and theirs & yes) for yes, no in _OPPOSITES
    )
