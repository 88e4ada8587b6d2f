"""Distinguish ordinary words of a language from words that must be names."""

from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

from ragmem.heap import word_cache
from ragmem.patterns import lazy

VOCABULARY = Path(__file__).parents[2] / "backends/minilm/vocab.txt"
"""The words of the bundled embedder: some 20,000 that English texts use most, a line each."""

MIN_PART = 3
"""Letters of a part of a compound; shorter parts would explain almost any word."""

_TECHNICAL = frozenset(
    """
    ack admin analytics api args argv async auth autocomplete backtick blob bootstrap bytecode captcha
    changelog cli config configs const constructor cron crypto ctx dataset dedup deps deserialize dict dicts
    diff dist dup embed emit emoji endpoint enum env eval failover fallback fixture fmt frontmatter glob
    glyph goroutine heredoc heuristic hype iframe impl inbox infra ingest init inline interpolation janitor
    kwargs lambda lexer lib libs lint linter loopback memoization middleware modulo msg multiplier mutex
    namespace noop oauth onboarding ops param parameterized params parse perf pluggable plugin popup
    postmortem prod proxied quantization readme realtime refactor regex regexes repo repos req res rigor
    rollback rpc rubric sandbox sdk serialize shebang shim src std stderr stdin stdio stdout struct subshell
    sudo sync telemetry tmp todo tokenize tooltip tuple typo unicode unix upsert url util utils uuid venv
    ver verbatim vnet vocab vpn webhook wildcard worktree yaml zsh
    """.split()
)
"""Terms of the trade that the vocabulary lacks."""

_ENDINGS = tuple(
    "s es d ed r er rs ers ing ings ly able ness less ful ize ized izes izing ization ation ations ion ions "
    "al ally ic ical ive ity ies ied ment ments or ors y".split()
)
_SUFFIX = lazy(
    r"(?:tions?|ity|ities|ness|ments?|ous|ive|able|ible|ally|ism|ist|ance|ence|ency|ing|ized|izing|ology|"
    r"ography|[ai]bly|ize|istic|ithic|ial|ical|ional)$"
)
"""Endings that hardly any product has."""

_ADVERBS = ("up", "out", "off", "in", "on")
"""Second parts of nouns made of verbs: markup, rollout, plugin."""

_PREFIX = lazy(r"(?:auto|cross|de|dis|inter|micro|mini|multi|non|over|post|pre|re|sub|super|un|under)")


@cache
def _words() -> frozenset[str]:
    """Return the vocabulary without its pieces and signs; read once, when a first word is asked about."""
    lines = VOCABULARY.read_text(encoding="utf-8").split()
    return _TECHNICAL.union(line for line in lines if len(line) >= MIN_PART and line.isalpha())


@word_cache(32768)
def is_ordinary(word: str) -> bool:
    """Return whether a lower-case word is of English, or derived from or composed of such words."""
    words = _words()
    if len(word) < MIN_PART or word in words or _SUFFIX.search(word):
        return True
    if "-" in word:
        return all(is_ordinary(part) for part in word.split("-"))
    if any(word + ending in words for ending in ("s", "d", "ed", "ing")) or _is_derived(word, words):
        return True
    base = _PREFIX.sub("", word, count=1)
    if base != word and len(base) >= MIN_PART and (base in words or _is_derived(base, words)):
        return True
    if any(word.endswith(end) and word.removesuffix(end) in words for end in _ADVERBS):
        return True
    parts = ((word[:at], word[at:]) for at in range(MIN_PART, len(word) - MIN_PART + 1))
    return any(one in words and other in words for one, other in parts if len(word) > 2 * MIN_PART)


def _is_derived(word: str, words: AbstractSet[str]) -> bool:
    """Return whether a word without one of the endings is a word: maps, caching, flagged, queries."""
    for ending in _ENDINGS:
        base = word.removesuffix(ending)
        if base != word and len(base) >= MIN_PART:
            doubled = base[:-1] if base[-1] == base[-2] else base
            if base in words or f"{base}e" in words or f"{base}y" in words or doubled in words:
                return True
    return False
