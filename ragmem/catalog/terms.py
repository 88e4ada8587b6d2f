"""What a full text search is, whichever database carries it out: its words, its weights, its answer."""

import re
from dataclasses import dataclass

from ragmem.domain.model import Hit

MAX_TERMS = 48
"""Distinct words of a query that are searched; of a longer query the rarest count."""

# title, heading, text, tags: a word in a title says more of a memory than one in its text.
WEIGHTS = (3.0, 2.0, 1.0, 2.0)

_WORD = re.compile(r"\w+")

# Words that say nothing of what is sought: function words of English, as any search engine drops them.
STOP_WORDS = frozenset(
    (
        "a an and are as at be been but by can could did do does for from had has have he her his how i "
        "if in into is it its me my no not of on or our she should so than that the their them then there "
        "these they this to us was we were what when where which who whom why will with would you your"
    ).split()
)


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """The chunks that share words with a query, best first, and how much of the query each covers.

    `coverage` is the share (0..1) of the query's idf mass whose words occur in the chunk.
    """

    hits: list[Hit]
    coverage: dict[str, float]


def terms_of(query: str) -> list[str]:
    """Return the distinct words of a query that are worth searching, in their order."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))
    telling = [word for word in words if word not in STOP_WORDS]
    return telling or words
