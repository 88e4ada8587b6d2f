"""The cues of each kind and category of a text, which are inputs of the judge."""

import re
from collections.abc import Mapping

from ragmem.domain.model import Category, Kind
from ragmem.domain.text.cue_patterns import HEADING, CuePattern

MAX_CHARS = 20_000
"""Characters that are read: the beginning shows the subject, and classification stays cheap."""

_HEAD = rf"{HEADING}[^\n]{{0,60}}\b"

MAX_COUNT = 3


def _cues(table: str) -> tuple[tuple[float, CuePattern], ...]:
    """Return weighted patterns of lower-case text; each counts its distinct matches, at most MAX_COUNT.

    A row is a weight and a pattern; HEAD stands for the beginning of a heading, and a line that begins with |
    goes on with the row above.
    """
    rows = (row.split(" ", 1) for row in re.sub(r"\n +\|", "|", table).split("\n") if row.strip())
    return tuple((float(weight), CuePattern(pattern.replace("HEAD ", _HEAD))) for weight, pattern in rows)


_KIND_CUES = {
    Kind.PREFERENCE: _cues(r"""
3.0 HEAD (?:preferences?|conventions?|style|guidelines?|rules?|etiquette|criteria|boundaries)\b
2.0 HEAD (?:instructions|workflow|do not|don't|never|always|ask first|before you|safety|idioms)\b
1.0 \b(?:always|never)\b
1.5 \b(?:i|we|user|he|she|they)\s+(?:\w+\s+)?(?:prefers?|wants?|likes?|expects?|values?|insists?)\b
1.5 ^[ \t]{0,12}(?:[-*+]|\d{1,3}\.)?[ \t]{0,4}\**(?:do not|don't|avoid|prefer|must|no)\b
0.7 \b(?:must(?: not)?|should(?: not)?|do not|don't|avoid|prefer|instead of|make sure|ensure)\b
0.7 ^[ \t]{0,12}(?:[-*+]|\d{1,3}\.)[ \t]{0,4}\**(?:use|keep|run|write|add|put|name|follow|commit|check)\b
"""),
    Kind.ERROR: _cues(r"""
3.0 HEAD (?:root cause|symptoms?|bugs?|fix|fixes|troubleshooting|problem|errors?|friction|gotchas?)\b
2.0 \b(?:root cause|(?:the|see the) (?:issue|problem|bug|culprit)(?: was| is|\.)|real bug|race condition
  |regression)\b
1.5 \b(?:traceback|exception|stack trace|segfault|panic|crash\w*|deadlock|corrupt\w*)\b
2.0 \b(?:bugs?|false (?:positives?|negatives?)|overwr(?:ote|itten)|lost)\b
1.0 \bissues?\b
0.7 \b(?:doesn't|does not|isn't|is not|wasn't|didn't|can't|cannot|won't|aren't) \w+
1.0 \b(?:errors?|fail(?:s|ed|ing|ure|ures)?|fatal|broke|broken|breaks)\b
1.0 \bfix(?:ed|es)\b|\bthe fix\b|\bwork ?arounds?\b
0.7 \b(?:missing|wrong|stale|incorrect\w*|unexpected\w*|undefined)\b
"""),
    Kind.ARCHITECTURE: _cues(r"""
3.0 HEAD (?:architecture|design|structure|schema|components?|decision|configuration|environment
  |trade-?offs)\b
2.0 HEAD (?:overview|stack|setup|build|storage|interfaces?|api|data flow|layout|modules?|interop
  |integration)\b
1.5 \b(?:architecture|data model|pipeline|layers?|middleware|microservice\w*|design philosophy|adr)\b
1.0 \b(?:modules?|components?|schemas?|interfaces?|endpoints?|databases?|backends?|services?|protocols?)\b
1.0 \b(?:configur\w+|environment variables?|env vars?|settings?|dependenc\w+|requires?)\b
0.7 \b(?:implemented (?:in|by)|stored in|built on|written in|wraps|is used for|powered by|runs on
  |lives in)\b
0.7 `[\w.]*(?:/[\w.-]+)+/?`|^```(?:ts|typescript|sql|go|rust|json|ya?ml|toml)
0.4 `[^`\n]{2,60}`
0.7 ^[ \t]{0,12}[|\u2502]?[ \t]*(?:\u251c|\u2514)
"""),
    Kind.RESEARCH: _cues(r"""
3.0 HEAD (?:research|literature|references|bibliography|related work|papers?|survey|comparison
  |benchmarks?)\b
2.5 \b(?:arxiv|et al\.|doi\.org|proceedings|neurips|icml|acl|preprint|peer.reviewed)
1.5 \b(?:stud(?:y|ies) (?:shows?|found|finds)|according to|key findings|researchers|literature
  |hypothes[ie]s)\b
1.0 \b(?:papers?|surveys?|benchmarks?|compared (?:to|with)|alternatives|state of the art|evaluat\w+)\b
"""),
    Kind.GENERAL: _cues(r"""
2.0 ^[ \t]{0,12}[-*] \[[ xX]\]
2.0 HEAD (?:status|progress|next steps?|tasks?|to-?do|plan|timeline|phase|personas?|commits?|skills?)\b
3.0 ^#{1,6}[ \t][^\n]{0,20}\b(?:step|phase|task)\W{0,2}\d
1.0 \b(?:let me|i'll|i will|i'm going to|can you|could you|please|next,? i)\b
0.7 \b(?:phase \d|step \d|milestone|in progress|completed|next steps?|todo)\b
"""),
}  # fmt: skip

_ERROR = CuePattern(
    r"\b(?:errors?|bugs?|fail(?:s|ed|ing|ures?)?|issue|problem|crash\w*|exception|root cause|broken|"
    r"race condition|"
    r"incorrectly|missing|wrong|conflict|corrupt\w*|doesn't work|didn't work|not working|denied)\b"
)
_FIX = CuePattern(
    r"\b(?:fixed|fixes|the fix|fix(?:ed)? (?:by|with|is|was)|resolved|solved|solution|"
    r"work ?arounds?|corrected|now works?|works now|replac(?:ed|ing) .{1,60} with|changed .{1,80} to|"
    r"switched .{0,40}to|needs to be set|added .{1,60} to)"
)
_FINDING = CuePattern(
    r"\b(?:root cause|(?:the|see the) (?:issue|problem|culprit|bug)(?: was| is|\.)|caused by|identified|"
    r"turned out|because|due to)"
)
_CATEGORY_CUES = {
    Category.GOTCHA: _cues(r"""
2.0 \b(?:gotchas?|pitfalls?|caveats?|beware|watch out|careful|trap|footgun)\b
1.5 \b(?:root cause|race condition|real (?:bug|problem)|false (?:positive|confidence|negative)s?
  |known (?:issue|bug|pattern))\b
1.5 \b(?:silently|unexpectedly|counter-?intuitive\w*|surprising\w*|misleading|not sufficient|despite
  |even though)\b
1.0 \b(?:does not|doesn't|do not|don't|isn't|is not|can't|cannot|won't) \w+
1.0 \bnot\b|\bonly (?:when|if|works)\b|\bmust be\b|\botherwise\b
0.5 \b(?:warning|important|note)\b
"""),
    Category.PATTERN: _cues(r"""
2.0 \bpatterns?\b
1.0 \b(?:convention|idiom|approach|template|recipe|the way (?:we|this)|follows? the same|reuse[sd]?
  |helper)\b
"""),
    Category.BEST_PRACTICE: _cues(r"""
2.0 \bbest practices?\b
2.0 HEAD (?:conventions?|guidelines?|style|rules?|principles?|criteria|workflow|idioms|safety|practices?)\b
1.0 \b(?:always|never|must|should|prefer|avoid|ensure|make sure|do not|don't)\b
1.0 ^[ \t]{0,12}(?:[-*+]|\d{1,3}\.)[ \t]{0,4}\**(?:use|keep|run|write|add|follow|commit|check|test|avoid
  |prefer)\b
"""),
}  # fmt: skip


def kind_scores(text: str) -> Mapping[str, float]:
    """Return name -> evidence for each kind and category by their cues. Reads the first 20,000 characters."""
    read = text[:MAX_CHARS].lower()
    scores = {f"kind {kind}": _score(read, cues) for kind, cues in _KIND_CUES.items()}
    scores |= {f"category {category}": _score(read, cues) for category, cues in _CATEGORY_CUES.items()}
    found = (("finding", _FINDING), ("fix", _FIX), ("error", _ERROR))
    return scores | {name: float(cue.search(read) is not None) for name, cue in found}


def _score(text: str, cues: tuple[tuple[float, CuePattern], ...]) -> float:
    """Return the sum over the cues of weight times distinct matches (three at most)."""
    score = 0.0
    for weight, pattern in cues:
        found = set()
        for match in pattern.finditer(text):
            found.add(match.group().strip())
            if len(found) == MAX_COUNT:
                break
        score += weight * len(found)
    return score
