"""Detect sentences that only narrate work: thanks, intentions, requests, progress and reports."""

import re
from enum import StrEnum

from ragmem.patterns import lazy


class SentencePurpose(StrEnum):
    """The purpose of a sentence."""

    STATES = "states"
    """It states a fact or an instruction."""
    REPORTS = "reports"
    """It reports what was just done, which the work itself shows."""
    CHATTER = "chatter"
    """It narrates the work: an acknowledgement, an intention, a request, an offer or a wait."""


_FLAGS = re.IGNORECASE

_LEAD = lazy(
    r"(?:[\s>*_#\-\u2013\u2014|+\u2022\u2705\u274c\u2713\u2714:!.,)]|\[[ xX]\]|\d{1,3}[.)]\s)*"
    r"(?:(?:user|assistant|human|claude)\s*:\s*)?"
)
_ACKNOWLEDGES = lazy(
    r"(?:thank(?:s|\s+you)\s+for\s[^.!?;,\u2013\u2014\n]{1,80}|ok(?:ay)?|great|thanks?(?: you)?|thx|perfect|"
    r"excellent|awesome|nice|cool|sure|yes|yep|yeah|got it|"
    r"understood|alright|all right|sounds good|looks good(?: to me)?|lgtm|good|wonderful|fantastic|"
    r"hello|hi|hey|sorry|absolutely|exactly|indeed|of course|no problem|no worries|you're (?:welcome|right)|"
    r"success|done|well done|"
    r"good (?:catch|point|idea|question|job|work))\b[*_]*(?:[!.,;:\s\u2014\u2013-]|$)+",
    _FLAGS,
)
_TURNS = lazy(
    r"(?:now|next|then|first|also|so|and|but|finally|meanwhile|again|alright|still|just|here)\b[,:\s]*",
    _FLAGS,
)
_CHATTER = lazy(
    # Intentions.
    r"let(?:'s|\u2019s|\s+me|\s+us)\b(?! know)|let me\b"
    r"|i(?:'ll|\u2019ll|\s+will|\s+shall|\s+need\s+to|\s+have\s+to|\s+want\s+to|\s+should|\s+can\s+see|"
    r"\s+see\b|\s+think\b|\s+understand|\s+now\s+have|\s+have\s+(?:enough|everything|all|what))"
    r"|i(?:'m|\u2019m|\s+am)\s+(?:now\s+)?(?:going|about|happy|glad|ready|sorry|still|working|looking|"
    r"checking)"
    r"|i(?:'d|\u2019d|\s+would)\s+(?:be\s+happy|like|suggest)"
    r"|(?:going|about|ready|time)\s+to\b|ready\s+for\b"
    r"|(?:step|task|phase)\s+\d+\b[^.]{0,60}$"
    # Questions and offers.
    r"|(?:can|could|would|will|shall|should|do|does|did|may|is|are|was|were|what|which|where|when|why|"
    r"who|how)\b[^.]*\?\W*$"
    r"|(?:can|could|would)\s+you\b|please\b|(?:do\s+you\s+)?want\s+me\s+to|let\s+me\s+know|feel\s+free"
    r"|(?:say|tell\s+me|just\s+say|reply)\s+[\"'\u201c\u2018]"
    r"|(?:lets|go\s+ahead|continue|proceed|keep\s+going|carry\s+on)\b"
    r"|on\s+to\s+the\s+next|see\s+you|talk\s+(?:soon|later)",
    _FLAGS,
)
_PROMPTS = lazy(
    r"(?:you are|act as|you're) (?:a|an|the|now)\b|your (?:\w+ ){0,2}(?:task|role|job|goal|"
    r"responsibility|mission) is\b",
    _FLAGS,
)
_STATUS = lazy(
    r"(?:\d[\d,.]*\s+)?"
    r"(?:all|everything|tests?|build|lint(?:er)?|ci|checks?|it|that|this|the\s+\w+)\s+(?:[\w()-]+\s+){0,4}"
    r"(?:pass(?:es|ed|ing)?|(?:is|are|looks?|seems?)\s+(?:now\s+|all\s+)?(?:green|good|fine|clean|done|"
    r"ready|complete|"
    r"working|fixed|up))(?:\s+(?:now|again|too))*\s*(?:\([^)\n]{1,40}\)\s*)?"
    r"(?:$|[.,;!:\u2014\u2013]|and\s+(?:[\w()-]+\s+){1,3}(?:is|are)\s+(?:green|clean|good|fine|done|ready)\b"
    r"|and\s+[\w-]+\s*(?:$|[.!]))"
    r"|all\s+(?:[\w-]+\s+){1,3}\w+ed\s+successfully\b"
    r"|(?:[\w-]+\s+){1,4}(?:completed?|finished|done)\s*(?:$|[.:!])|(?:we|i)(?:'re|\s+are|\s+am)\s+almost\b"
    r"|[^.,;]{0,40}\bseems?\s+to\s+work\b|[^.;]{0,60}\band\s+everything\s+(?:works|seems|is)\b"
    r"|(?:nothing|no)\s+(?:new|changes?|further|more|other|open|findings?|issues?|errors?|problems?|"
    r"comments?|updates?)\b|no\s+(?:user\s+)?action\s+(?:required|needed)"
    r"|(?:error|issue|bug|warning)[\s-]free\b|up\s+to\s+date\b|in\s+progress\b|almost\s+(?:done|there)"
    r"|(?:that|it|this)\s+(?:\w+\s+){0,2}works?\b(?!\s+(?:only|by|if|when|with))"
    r"|(?:quick|short|brief|status|progress)\s+(?:update|report|check)\b"
    r"|[^.,;]{0,40}\b(?:(?:is|are)\s+still\s+\w+ing|(?:is|are)\s+(?:thinking|looking|researching|waiting)|still\s+(?:waiting|running|working))\b|"
    r"[^.;]{0,80}\bso\s+far\b|[^.,;:]{0,60}\bi(?:'ll|\u2019ll|\s+will|'m\s+going|\u2019m\s+going"
    r"|\s+am\s+going)\b",
    _FLAGS,
)
_GOES_ON = lazy(
    r"(?:updat|mov|add|creat|fix|runn?|check|mak|remov|writ|test|committ?|push|implement|look|read|"
    r"verif[yi]|replac|renam|delet|install|refactor|bump|find|start|apply|chang|build|pull|fetch|merg|rebas|"
    r"do|show|explor|inspect|search|clean|updat|re-?run|re-?read|try|wait|see|proceed|continu)(?:e|y|ing)?\b",
    _FLAGS,
)
_GERUND = lazy(r"(?:re-?)?[a-z]{2,}ing\b", _FLAGS)
_FINITE = lazy(
    r"\b(?:is|are|was|were|will|would|can|cannot|must|should|does|did|may|might|never|always|only|"
    r"needs?|takes?|took|makes?|made|fails?|failed|breaks?|broke|causes?|caused|prove[sd]?|gives?|gave|"
    r"shows?|showed|requires?|returns?|panics?|kills?|cuts?|means?|leads?|led|avoids?|prevents?|drops?|"
    r"leaves?|deletes?|removes?|gets?|puts?|fix(?:es|ed)|because|instead)\b"
    r"|\w+n(?:'|\u2019)t\b",
    _FLAGS,
)
_NEXT_CLAUSE = lazy(r",\s+(?=(?:this|that|it|which|will|should|may|might|then|back|give|just)\b)", _FLAGS)
_FIRST_PERSON = lazy(r"\bI\b")
_MACHINE = lazy(
    r"\[(?:auto|system|hook|log|info|debug|warn|trace|notice|\d)[\w :./,-]{0,40}\]"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d\b|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)[: ]"
    r"|</?[a-z][\w:-]*[ >/]|\d+\s*\u2192|[0-9a-f]{7,40} \w|exit code:? \d|[\u23fa\u23bf\u2502\u251c\u2514]"
    r"|file (?:created|written|updated) successfully|heartbeat\b|keep-?alive:",
    _FLAGS,
)
_EVENT = lazy(
    r"(?:session|run|job|task|build|sync|backup|checkpoint|hook|server|process|agent|worker|snapshot|"
    r"auto-?save|cron)\s+(?:\S+\s+)?(?:started|ended|finished|completed|saved|resumed|stopped|written|"
    r"exited|ok)\b",
    _FLAGS,
)
_REPORTS = lazy(
    r"(?:(?:i|we)(?:'ve|\u2019ve|\s+have)?\s+(?:just\s+|also\s+|now\s+|already\s+)?)?"
    r"(?!(?:identified|discovered|learned|confirmed|verified|decided|agreed|need(?:ed)?|used|based|"
    r"caused|required|expected|supposed|allowed|observed|measured|noticed|realized|realised|preferred|"
    r"related|indeed|embed|speed|"
    r"feed|seed|shed|exceed|proceed|succeed|red|bed|hundred|blocked|rejected)\b)"
    r"(?:(?:re-?)?[a-z]{2,}ed|ran|re-?ran|wrote|rewrote|read|re-?read|built|rebuilt|made|went|did|took|"
    r"put|sent|got|split|set\s+up|cut|kept|left|began|brought)\s+"
    r"(?:the|a|an|all|both|each|every|any|another|some|two|three|four|five|\d+|it|this|that|these|those|"
    r"them|up|out|off|over|back|your|my|our|its|new|more|`|\*\*|[\w./-]*[./_][\w./-]*)"
    r"|(?:pushed|committed|merged|deployed|published|fixed|updated|cleaned|rebased|formatted|bumped|"
    r"done|created|removed|added|changed|renamed|moved)(?:\W*$|[*_`]*[.:;,(\u2014\u2013]|\s+(?:to|into|onto|"
    r"on|and)\b)",
    _FLAGS,
)
_REASONED = lazy(
    r"\b(?:because|since (?:the|it|they|we|there)|due to|caused|root cause|so that|otherwise|"
    r"in order to|the reason|turned out|to avoid|"
    r"to prevent|instead of|must|never|always|(?<!\d )fail(?:s|ed)|breaks?|broke)\b",
    _FLAGS,
)


def classify_purpose(sentence: str, *, listed: bool = False) -> SentencePurpose:
    """Classify a sentence by how it opens.

    Thanks and turns of speech ("now", "so") are skipped first; the words after them decide. A report with a
    reason is a statement. A list item (`listed`) may open with a verb in -ing and still be a rule.
    """
    at = _LEAD.match(sentence)
    start = at.end() if at else 0
    if _MACHINE.match(sentence) or _MACHINE.match(sentence, start):
        return SentencePurpose.CHATTER
    opened = turned = False
    for _ in range(MOST_OPENERS):
        thanks = _ACKNOWLEDGES.match(sentence, start)
        turn = None if thanks else _TURNS.match(sentence, start)
        found = thanks or turn
        if found is None:
            break
        opened = True
        turned = turn is not None
        start = found.end()
    rest = sentence[start:]
    if _is_narration(rest, opened=opened, turned=turned, listed=listed):
        return SentencePurpose.CHATTER
    chatter = _EVENT.match(rest) or _STATUS.match(rest)
    if not (chatter or _REPORTS.match(rest) or _is_tally(rest)) or _REASONED.search(rest):
        return SentencePurpose.STATES
    return SentencePurpose.CHATTER if chatter else SentencePurpose.REPORTS


def _is_tally(rest: str) -> bool:
    """Return whether a sentence only counts: three or more fragments between commas, most with a number."""
    scraps = rest.split(",")
    if len(scraps) < SCRAPS or max(len(scrap.split()) for scrap in scraps) > SCRAP_WORDS:
        return False
    counted = sum(any(letter.isdigit() for letter in scrap) for scrap in scraps)
    return 2 * counted > len(scraps) and not _FINITE.search(rest)


def _is_narration(rest: str, *, opened: bool, turned: bool, listed: bool) -> bool:
    """Return whether the words after the opening only narrate the work."""
    if rest.rstrip("*_ )\"'").endswith("?") or _CHATTER.match(rest) or _PROMPTS.match(rest):
        return True
    words = len(rest.split())
    if opened and words < FEWEST_WORDS:
        return True
    if turned and _GOES_ON.match(rest):
        return True
    if listed or words > MOST_WORDS or not _GERUND.match(rest):
        return False
    clause = _NEXT_CLAUSE.split(rest, maxsplit=1)[0]
    return opened or _FIRST_PERSON.search(rest) is not None or not _FINITE.search(clause)


SCRAPS = 3
SCRAP_WORDS = 6

MOST_WORDS = 16
"""A longer sentence that opens with a verb in -ing is more than a progress report."""

MOST_OPENERS = 4
"""Thanks and turns of speech that are skipped at the beginning of a sentence."""

FEWEST_WORDS = 4
"""A sentence with fewer words after a word of thanks is empty."""
