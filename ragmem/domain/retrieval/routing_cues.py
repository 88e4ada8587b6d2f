"""The cues for the type of answer that a question wants: for each its route, its weight and its patterns.

A pattern is matched with the output of `routing.mask_names`: lower case, with QUOTED, SYMBOL, HOST and TICKET
in place of quoted text, names of code, machines and tickets, so that a word inside a name is not a cue. In a
pattern <name> means words of `routing_words`, and three dots any text within one question.
"""

import re
from enum import StrEnum
from functools import cache, lru_cache

from ragmem.domain.retrieval.routing_words import WORDS, beginnings
from ragmem.frozen import dataclass

_WORD = re.compile(r"\w+")
_NAMED = re.compile("<([a-z]+)>")


class Route(StrEnum):
    """The type of answer that a question wants; the first of equal scores wins."""

    KNOWLEDGE = "knowledge"
    EPISODE = "episode"
    CODE = "code"
    RECON = "recon"
    OPERATIONAL = "operational"


@dataclass(frozen=True, slots=True)
class Cue:
    """A feature of a question: its route, its weight, and its patterns."""

    name: str
    route: Route
    weight: float
    patterns: tuple[str, ...]
    needs: str = ""
    """Every text with the cue contains one of these ("a|b&c|d": one of each group).

    A search is cheaper than compiling the patterns. A need that begins with a blank begins a word, and <name>
    are the beginnings of the words of that name.
    """

    def may_match(self, text: str) -> bool:
        """Return whether a text contains what the cue needs."""
        said = _spread(text)
        return all(any(map(said.__contains__, group)) for group in _groups(self.needs))

    def matches(self, text: str) -> bool:
        """Return whether a text has the cue: each of its patterns."""
        return self.may_match(text) and all(compiled(pattern).search(text) for pattern in self.patterns)


@lru_cache(maxsize=4)
def _spread(text: str) -> str:
    """Return a text, and its words with a blank on each side."""
    return f"{text}\n {' '.join(_WORD.findall(text))} "


@cache
def _groups(needs: str) -> list[list[str]]:
    for name in dict.fromkeys(_NAMED.findall(needs)):
        needs = needs.replace(f"<{name}>", "|".join(beginnings(name)))
    return [group.split("|") for group in needs.split("&") if group]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of a cue with the words that it names."""
    for word, meant in WORDS.items():
        pattern = pattern.replace(f"<{word}>", meant)
    return re.compile(pattern.replace("...", r"[^?\n]{0,80}?"))


def _cue(name: str, route: Route, weight: float, *alternatives: str, needs: str = "") -> Cue:
    return Cue(name, route, weight, ("|".join(alternatives),), needs)


_KNOWLEDGE = (
    _cue("how", Route.KNOWLEDGE, 3,
         r"\bhow (?:to|do(?! things| we stand)|does|can|could|should|would|must|is|are|long)\b", needs="how"),
    _cue("how to", Route.KNOWLEDGE, 3,
         r"\bhow (?:to|(?:do|can|could|should|would|must) (?:i|we|you|one)\b(?! stand))", needs="how"),
    _cue("why, in the present", Route.KNOWLEDGE, 3,
         r"\b(?:why|how come) (?:is|are|does|do|must|should|can|isn't|don't|doesn't)\b",
         needs="why|how come"),
    _cue("why, in the past", Route.KNOWLEDGE, 3.5, r"\b(?:why|how come) (?:did|was|were|have|had)\b",
         needs="why|how come"),
    _cue("why", Route.KNOWLEDGE, 1, r"\bwhy\b", needs="why"),
    _cue("what is", Route.KNOWLEDGE, 1.5, r"\bwhat(?:'s| is| are| does)\b", needs="what"),
    _cue("a rule or a reason", Route.KNOWLEDGE, 2.5,
         r"\b(?:recommended|best (?:way|practice)|convention|rules?|polic(?:y|ies)|difference between|purpose"
         r"|meaning|means?|guidelines?|supposed to|allowed|forbidden|right way|proper way|safe to|ok(?:ay)?"
         r" to|pros and cons|trade-?offs?|rationale|reason(?:ing)? (?:behind|for)|idea behind|checklist"
         r"|format|requirements?|prefer(?:red)?|by default|known (?:fix|workaround|issue|solution|bug)"
         r"|fix for|workaround|a good (?:fit|idea|choice))\b",
         needs="recommend|best|convention|rule|polic|difference|purpose|mean|guideline|supposed|allowed"
               "|forbidden|way|safe|ok|pros|trade|rationale|reason|idea|checklist|format|requirement"
               "|prefer|default|known|fix|workaround|good"),
    _cue("what it does at any time", Route.KNOWLEDGE, 2.5,
         r"\b(?:does|do|can|will)\b...\b(?:matter|mean|support|work|keep|apply|cost|affect|behave|count"
         r"|happen)\b", needs="do|can|will"),
    _cue("a way to do it", Route.KNOWLEDGE, 2.5,
         r"\b(?:commands?|steps?|way|trick|flag|option|setting|script|recipe|instructions?) (?:to|for"
         r"|that)\b", needs=" to| for| that"),
    _cue("advice", Route.KNOWLEDGE, 3,
         r"\b(?:should (?:i|we|you|new|an?|the|it|tests?)|(?:do|does|must|may) (?:i|we|you|one) (?:have to"
         r"|need)|(?:do|does|must|may) (?:i|we|you|one)|can (?:i|we)|have to|what happens|is it|explain|must"
         r"|is there (?:a|any|some) (?:way|trick|option|setting|rule|reason|limit))\b",
         needs="should|do |does|can |have to|what happens|is it|is there|explain|must|may "),
    _cue("what we decided", Route.KNOWLEDGE, 8,
         r"\bwhat (?:did we|have we|was|were|is)\b...\b(?:decided?|decision|agreed?|chose|choose)"
         r" (?:about|on(?! \w+day)|for|regarding|to)\b", needs="what"),
)  # fmt: skip

_EPISODE = (
    _cue("what one of us did", Route.EPISODE, 3,
         r"\b(?:did|had|have|has|was|were) <we>\b",
         r"\b<we> (?:already |first |then |last |just |finally )?<past>\b",
         needs=" we | i | you | he | she | they | anyone | anybody | someone | somebody | team | user "),
    _cue("when it happened", Route.EPISODE, 4,
         r"\b(?:when|what (?:day|date|time|week)|since when|how long ago) (?:did|was|were|had|has|have)\b",
         r"\b(?:which|what) (?:day|date|week|session|commit|sprint|release|version)"
         r" (?:did|was|were|has|had|<past>)\b", needs="when|what|which|how long"),
    _cue("who did it", Route.EPISODE, 4,
         r"\bwho(?:se)? (?:\w+ly )?(?:first |originally )?<past>\b", r"\bwhose (?:idea|decision) was\b",
         needs="who"),
    _cue("what somebody said", Route.EPISODE, 4,
         r"\b(?:did|had|has) (?:\w+ ){1,4}(?:say|tell|suggest|propose|think|want|ask|object|decide|choose|try"
         r"|complain|prefer|recommend|mention|argue|answer|promise|insist|conclude)\b",
         needs="did |had |has "),
    _cue("a time in the past", Route.EPISODE, 2.5,
         r"\b(?:yesterday|last (?:time|week|month|night|year|sprint|session|(?:mon|tues|wednes|thurs|fri"
         r"|satur|sun)day)|(?:previous|earlier|prior|recent|past) (?:sessions?|conversations?|chats?|runs?"
         r"|attempts?|weeks?"
         r"|days?|sprints?)|(?:this|that) (?:morning|day|week)|(?:long|days?|weeks?|months?|hours?) ago"
         r"|(?:on|since) (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:week|month|day|night|evening|morning"
         r"|afternoon) of|back (?:in|when|then)|(?:in|during|from) <month>|\d{1,2}(?:st|nd|rd|th)?(?: of)?"
         r" <month>|20\d\d-\d\d|the day|sessions? (?:from|of|on|with))\b",
         needs="yesterday|last |previous|earlier|prior|recent|past |morning|day|week|night|evening|afternoon"
               "|back | ago | jan| feb| mar| apr| may| jun| jul| aug| sep| oct| nov| dec|20|session"),
    _cue("how it went", Route.EPISODE, 3,
         r"\b(?:outcome|upshot|result of (?:the|our) (?:meeting|discussion|experiment|attempt|review)s?"
         r"|how ...\b(?:went|ended?|turned out|unfolded|play(?:ed)? out|worked out)"
         r"|how did ...\b(?:go|end|turn out|work out|come about|react|respond)"
         r"|(?:leave|left|stop|broke|break) off|ended up|did ...\bend up|where did ...\bstop"
         r"|remember (?:the|when|how)|walk me through|summar(?:ise|ize|y)|recap|recount|story|timeline"
         r"|chronolog\w*|in order|what happened|first seen|history of|attempt(?:s|ed)?|tried|try"
         r"|talk(?:ed)? about|discuss(?:ed)?|came up|conversation|conclusions?)\b",
         needs="outcome|upshot|result| went | end| turned| unfold| play| worked| did | off |remember"
               "|walk|summar|recap|recount|story|timeline"
               "|chrono|order|happened|seen|history|attempt|tri|try|talk|discuss|came|conversation"
               "|conclusion"),
    _cue("asked in the past tense", Route.EPISODE, 2.5,
         r"(?:^|[:,;] )(?:and |so |but |then )?(?:(?:in|on) )?(?:what|which|how|where|who)\b(?: \S+){0,4}"
         r" (?:did|was|were|had)\b", needs="did|was|were|had"),
    _cue("an event", Route.EPISODE, 2,
         r"\b(?:retro(?:spective)?s?|stand-?ups?|post-?mortems?|kick-?offs?|meetings?|outages?|incidents?"
         r"|(?:minutes|notes) (?:of|from)|in the end|on (?:what|which) (?:date|day))\b",
         needs="retro|stand|mortem|kick|meeting|outage|incident|minutes|notes|in the end|date|day"),
    _cue("a past tense", Route.EPISODE, 1, r"\b(?:did|was|were|had)\b", needs="did|was|were|had"),
)  # fmt: skip

_CODE = (
    _cue("what relates to it", Route.CODE, 2.5,
         r"\b(?:who|what|which|anything|anyone|something|nothing|that|<unit>|SYMBOL)(?: [\w-]+){0,3}"
         r" <relates>(?: (?:on|from|to))? (?!(?:me|us|we|i|you|in order)\b)",
         needs=" who | what | which | anything | anyone | something | nothing | that |SYMBOL|<unit>"
               "&<relates>"),
    _cue("which parts, with a symbol", Route.CODE, 2,
         r"\b(?:which|list|all|every)(?: \w+)? <unit>\b...SYMBOL",
         needs="SYMBOL& which | list | all | every &<unit>"),
    _cue("a relation to a symbol", Route.CODE, 2.5,
         r"\b<relates>(?: (?:on|from|to|by|the|of|all|an?))* SYMBOL|SYMBOL(?: \S+)? <relates>\b",
         needs="SYMBOL&<relates>"),
    _cue("where it is defined", Route.CODE, 4,
         r"\bwhere(?:'s| is| are| do| does)\b...\b(?:defined?|declared?|implemented|used|called|instantiated"
         r"|registered|imported|referenced|created|handled|set|live)\b", needs="where"),
    _cue("does it relate", Route.CODE, 3.5,
         r"^(?:does|do) (?!i\b|we\b|you\b)...\b(?:imports?|calls?|references?|depends?|extends?|overrides?"
         r"|implements?|invokes?|subclass(?:es)?|wraps?|instantiates?)\b", needs="do"),
    _cue("where we relate to it", Route.CODE, 3.5, r"\bwhere (?:do|does) ...\b<relates>\b...SYMBOL",
         needs="SYMBOL"),
    _cue("which parts run", Route.CODE, 3,
         r"\b(?:which|what|all|every) (?:\w+ )?(?:functions?|methods?|hooks?|handlers?|callbacks?|code"
         r"|lines?)"
         r" (?:\w+ )?(?:runs?|fires?|executes?|pulls?|derives?)\b",
         needs=" which | what | all | every & run| fire| execute| pull| derive"),
    _cue("the parts of a symbol", Route.CODE, 3,
         r"\b(?:fields?|methods?|members?|parameters?|arguments?|attributes?|properties|columns?|variants?)"
         r" (?:does|do|has|have|of|are (?:in|on)|exist on) (?:the )?SYMBOL",
         r"\bwhere (?:does|do|is) (?:the )?SYMBOL\b", needs="SYMBOL"),
    _cue("related passively", Route.CODE, 3.5,
         r"\b(?:called|used|invoked|executed|run|triggered|imported|implemented|overridden|tested|covered"
         r"|referenced|instantiated|raised|handled) (?:by|from|in|through) (?:the )?SYMBOL",
         r"\b<unit> (?:is|are|that are|get|gets) (?:never |not |only |also |still |ever )?(?:called|used"
         r"|imported|overridden|tested|covered|referenced|instantiated|exported|executed)\b",
         needs="SYMBOL| is | are | get"),
    _cue("relating", Route.CODE, 3,
         r"\b(?:calling|importing|using|overriding|extending|referencing|inheriting from|implementing"
         r"|depending on|instantiating)(?: \w+){0,3} SYMBOL", needs="SYMBOL"),
    _cue("a way through the code", Route.CODE, 3.5,
         r"\b(?:paths?|flow|chain|route) (?:from|between|to) (?:the )?SYMBOL",
         r"\b(?:through|via) (?:which|what)\b",
         r"\b(?:call|code|control|data) (?:paths?|flow) (?:from|to|between|into)\b",
         r"\b(?:gets?|goes|flows?|travels?) from ...SYMBOL ...to\b|\bfrom ...to (?:the )?SYMBOL",
         r"\bhands? (?:over|off) to\b|\bas (?:an? )?(?:argument|parameter)s?\b",
         needs="SYMBOL|through|via|path|flow|hand|as "),
    _cue("where it stands", Route.CODE, 3,
         r"\b(?:location|definition|declaration|signature)s?(?: of| for)?\b...SYMBOL",
         r"^(?:def|class|fn|func|function|struct|interface) SYMBOL",
         r"SYMBOL (?:location|definition|source|signature|body)\b", needs="SYMBOL"),
    _cue("its tests", Route.CODE, 3,
         r"^(?:please )?(?:find|list|show|which|what|where|are there)(?: me| are)?(?: the| all| any)?"
         r" (?:unit |integration )?tests? (?:for|of|covering|cover|that|which|touch|exercise)\b",
         r"\btests?\b(?: \w+)? (?:for|of|on|covering|that|which)\b...SYMBOL", needs="test"),
    _cue("a change of a symbol", Route.CODE, 3,
         r"\b(?:drop|delete|remove|rename|move|touch|inline|split|refactor|parameter|argument"
         r"|signature)\b...SYMBOL", needs="SYMBOL"),
    _cue("structure", Route.CODE, 4,
         r"\b(?:callers?|callees?|call (?:graph|chain|sites?|tree|hierarchy)|subclass(?:es)?|superclass"
         r"|base class(?:es)?|inherits?(?:ed)? (?:from|by)|inheritance|implementations? of|implementers?"
         r"|usages?|(?:what|which|list|all)(?: \S+){0,3} references to|dependents|import (?:graph|cycle"
         r"|chain)s?|circular (?:imports?|dependenc(?:y|ies))|dependency (?:graph|tree)|reachable from"
         r"|blast radius|dead code|unused|overrid(?:es?|den)|(?:definition|signature|parameters|methods"
         r"|members|fields) of)\b",
         needs="caller|callee|call |class|inherit|implement|usage|references|dependen|import"
               "|reachable|blast|dead"
               "|unused|overrid|ion of|ure of|ers of|ods of|lds of"),
    _cue("what a change breaks", Route.CODE, 4,
         r"\b(?:what (?:all )?(?:else )?(?:breaks|would break|will break|is affected|has to (?:change|move)"
         r"|needs to change)|what ...\b(?:have|needs?)(?:s)? to (?:touch|change|move|adapt|update|adjust)"
         r"|affected (?:by|if)|if i (?:rename|change|remove|delete|move|drop|touch)"
         r"|(?:delete|remove|rename|drop|change)\b...\bwithout breaking"
         r"|impact of (?:changing|renaming|removing|deleting)|ripple)\b",
         needs="break|affected|has to|have|need|if i|impact|ripple"),
    _cue("anywhere in the code", Route.CODE, 2.5,
         r"\b(?:handled|used|called|referenced|imported|mentioned|tested|covered|instantiated|overridden"
         r"|set|read)"
         r" (?:anywhere|somewhere|elsewhere|outside|by|from|in any)\b|\bin the (?:tree|code ?base)\b",
         needs="handled|used|called|ed |overridden|set|read|in the"),
    _cue("a symbol", Route.CODE, 1.5, r"SYMBOL", needs="SYMBOL"),
)  # fmt: skip

_RECON = (
    _cue("a flaw", Route.RECON, 3.5, r"\b<flaw>\b",
         needs="vulnerab|cve|exploit|inject|xss|ssrf|csrf|rce|idor|traversal|pollution|deseriali"
               "|backdoor|leak"
               "|misconfig|security|privilege|attack|takeover|weak|insecure|unpatched|unauth|redirect|advisor"),
    _cue("a scanner", Route.RECON, 3.5, r"\b<tool>\b",
         needs="semgrep|bandit|trivy|nuclei|nmap|snyk|gitleaks|trufflehog|nikto|zap|burp|grype|codeql|gosec"
               "|sonarqube|nessus|openvas|govulncheck|audit|dependabot|masscan|amass|subfinder|sqlmap|ffuf"
               "|fuzzer"),
    _cue("a scan", Route.RECON, 2.5,
         r"\b(?:scans?|scanners?|scanned|audits?|audited|pen-?test(?:s|ing|ers?)?|penetration test"
         r"|recon(?:naissance)?|red team|bug bounty|threat model)\b",
         needs="scan|audit|pen|recon|red team|bug bounty|threat"),
    _cue("what a scan said", Route.RECON, 6,
         r"\bdid (?:\S+ ){0,3}(?:scan(?:ner)?|audit|pen-?test|assessment|fuzz\w+|<tool>)\b...\b(?:say"
         r"|report|find"
         r"|show|tell|uncover|come up|turn up|flag|catch|detect|reveal)\b",
         needs="did & scan| audit| pen| assessment| fuzz|<tool>"),
    _cue("findings", Route.RECON, 4,
         r"\b(?:(?:(?:high|critical|medium|low) )?findings?|(?:critical|high) (?:issues?|alerts?)|criticals"
         r"|flag(?:ged)?|turn(?:ed)? up)\b", needs="finding|issue|alert|criticals|flag|turn"),
    _cue("severity", Route.RECON, 4, r"\b(?:severity|(?:high|medium|low|critical)[- ]risk|cvss)\b",
         needs="severity|risk|cvss"),
    _cue("exposure", Route.RECON, 3.5,
         r"\b(?:exposed?|exposes|exposure|internet[- ]facing|publicly \w+|to the (?:internet|public|outside)"
         r"|open ports?|ports? (?:is|are) open|subdomains?|without (?:auth\w*|a login|logging in|credentials"
         r"|a password)|anonymous(?:ly)? access|world[- ](?:readable|writable)|attack surface|unprotected"
         r"|default (?:passwords?|credentials)|outdated|fingerprint\w*|(?:is|are) ...\bpublic"
         r"|public (?:buckets?|endpoints?)|buckets?|(?:another|other) (?:users?|customers?|tenants?)'?s?)\b",
         needs="expos|facing|public|to the|port|subdomain|without|anonymous|world|attack|unprotected|default"
               "|outdated|fingerprint|bucket|other "),
    _cue("untrusted input", Route.RECON, 4,
         r"\b(?:untrusted|attackers?|user[- ](?:controlled|supplied)|tainted|unsaniti[sz]ed|saniti[sz]\w*"
         r"|unescaped|malicious|hostile|adversar\w*|hackers?|spoof\w*|forged?|bypass\w*|escapes?|hijack\w*"
         r"|tamper\w*|impersonat\w*|steal\w*|stolen|crafted|any origin|arbitrary (?:files?|code|commands?)"
         r"|escalat\w*|brute[- ]forc\w*|request parameters)\b",
         needs="untrusted|attack|user|tainted|saniti|unescaped|malicious|hostile|adversar|hacker|spoof|forge"
               "|bypass|escape|hijack|tamper|impersonat|steal|stolen|crafted|any origin|arbitrary|escalat"
               "|brute|request param"),
    _cue("into a sink", Route.RECON, 4,
         r"\b(?:into|in|to|reach(?:es)?) (?:an? |the )?(?:raw )?(?:sql|shell|html|eval|exec|template|query"
         r"|command)s? (?:strings?|commands?|statements?|calls?|quer(?:y|ies))\b",
         needs="sql|shell|html|eval|exec|template|query|command"),
    _cue("secrets", Route.RECON, 3,
         r"\b(?:secrets?|credentials?|passwords?|(?:api |access )?(?:keys|tokens)|private"
         r" keys?)\b...\b(?:committed"
         r"|found|hard-?coded|leak\w*|in (?:the |our )?(?:repo\w*|(?:git )?history|logs?|code)|plain ?text"
         r"|anywhere|checked in)\b|\bhard-?coded\b", needs="secret|credential|password|key|token|coded"),
    _cue("a weak setting", Route.RECON, 2,
         r"\b(?:tls|ssl|cipher|certificate|header|cors|cookie|permissions?|acls?|firewall)s?\b...\b(?:weak"
         r"|expired|missing|self-signed|too (?:open|wide|broad)|open|lax|misconfigured)\b",
         needs="tls|ssl|cipher|certificate|header|cors|cookie|permission|acl|firewall"),
    _cue("a missing protection", Route.RECON, 3.5,
         r"\b(?:lacks?|lacking|miss(?:es|ing)?|without|no|skips?|not) (?:\w+ )?(?:auth\w*|rate[- ]?limit\w*"
         r"|validation|encryption|csrf|csp|hsts|security headers?|mfa|2fa|tls|https|access control|escaping"
         r"|sandbox\w*)\b|\b(?:as|with) root\b|\broot privileges\b", needs="lack|miss|no|skip|root|without"),
    _cue("a report of a test", Route.RECON, 3,
         r"\b(?:fuzz(?:ing|ed)?|(?:dependency|security|scan(?:ner)?|audit|assessment|vulnerability|<tool>)"
         r" (?:reports?|results?|review)|uncover(?:ed)?|nasty|risky|dangerous|suspicious|sensitive|ssl labs"
         r"|attack(?:s|ed|ing)?|abused?|outside (?:the|our) (?:company|network|vpn|office))\b",
         needs="fuzz|report|result|review|uncover|nasty|risky|dangerous|suspicious|sensitive|ssl labs|attack"
               "|abuse|outside"),
    _cue("a host", Route.RECON, 1.5, r"HOST", needs="HOST"),
    _cue("security", Route.RECON, 2, r"\b(?:security|hacked|breach(?:ed)?|compromised?|hardening)\b",
         needs="security|hack|breach|compromise|hardening"),
)  # fmt: skip

_NOW_IS = r"\b(?:is|are|isn't|aren't|has|have|hasn't)\b"
_THING = r"\b(?:<actor>|<work>)\b"
_IN_STATE = r"\b<state>\b"

_OPERATIONAL = (
    _cue("now", Route.OPERATIONAL, 4,
         r"\b(?:right now|at the moment|at this (?:very )?moment|currently|at present|just now|as of now"
         r"|presently)\b", needs="now|at |current|presently"),
    _cue("within minutes", Route.OPERATIONAL, 3,
         r"\b(?:yet|by now|(?:in|during|for|within) (?:the )?(?:last|past) (?:\S+ )?(?:minutes?|seconds?"
         r"|hour))\b", needs="yet|by now|minute|second|hour"),
    _cue("a yes or no of now", Route.OPERATIONAL, 2,
         r"^(?:is|are|has|have|isn't|aren't|hasn't) (?!it\b|there (?:a|any)\b|we\b|i\b|you\b)",
         needs="is|are|has|have"),
    Cue("is it in a state", Route.OPERATIONAL, 4, (_NOW_IS, _THING, _IN_STATE),
        "is|are|has|have&<actor>|<work>&<state>"),
    Cue("a state", Route.OPERATIONAL, 2, (_THING, _IN_STATE), "<actor>|<work>&<state>"),
    _cue("a look at work", Route.OPERATIONAL, 2.5,
         r"^(?:<actor>|<work>) (?:list|overview)$",
         r"^(?:please )?(?:show|list|display|check|print|view|get)(?: me| us)?(?: the| all| my| our)*(?:"
         r" \w+)?"
         r" (?:<actor>|<work>)\b", needs="show|list|display|check|print|view|get"),
    _cue("who is at it", Route.OPERATIONAL, 4,
         r"\b(?:who(?:'s| is| has|)|(?:is|has) (?:someone|anyone|anybody|somebody|nobody|no ?one))"
         r"(?: (?:currently|still|now|already))? (?:on|at|got|taken|claimed|working|handling|doing|running"
         r"|assigned|holding|using|blocking|the lock)\b",
         r"\bwhat(?:'s| is| are) (?:[\w-]+ ){1,4}(?:doing|up to|working on|waiting (?:for|on)|stuck on|busy"
         r" with"
         r"|blocked (?:by|on))", needs="who|is |has |what"),
    _cue("what is in a state", Route.OPERATIONAL, 4,
         r"\bwhat(?:'s| is|(?: \w+)? remains?) (?:still |now )?(?:running|pending|queued|blocked|waiting|left"
         r"|next|open|in (?:progress|the queue|the sprint)|blocking)\b",
         r"\banything (?:waiting|running|listening|stuck|left|queued|pending|blocked)\b",
         needs="what|anything"),
    _cue("holds a lock", Route.OPERATIONAL, 2.5,
         r"\b(?:holds?|holding|owns?|has|have)\b...\b(?:locks?|locked|live|claims?|leases?|slots?)\b",
         needs="hold|own|has|have"),
    _cue("progress", Route.OPERATIONAL, 4,
         r"\bhow far (?:along|is|are|has|have)\b",
         r"\bhow(?:'s| is| are)(?: \S+){1,6} (?:going|coming along|doing|progressing|holding up)\b",
         r"\bhow do (?:things|we) (?:look|stand)\b",
         r"\b(?:what|how) (?:do|does) (?:the|my|our) (?:\w+ )?(?:<actor>|<work>) look\b",
         r"\b(?:percent(?:age)?|eta|progress|any (?:news|word) (?:on|of|from|for|with))\b",
         needs="how far|how's|how is|how are| stand | look |percent| eta |progress|any "),
    _cue("how many are left", Route.OPERATIONAL, 3,
         r"\bhow (?:many|much)(?: \S+){0,6} (?:left|remaining|queued|pending|running|waiting|in progress"
         r"|active|up"
         r"|online|idle|busy)\b", needs="how m"),
    _cue("finished yet", Route.OPERATIONAL, 3,
         r"\b(?:has|have|hasn't|haven't|did|is|are|when will)\b(?! (?:we|i|you|they"
         r"|what)\b)...\b(?:finish(?:ed)?"
         r"|checked? in|completed?|started up|come (?:back|up(?! with))|come through|pass(?:ed)?|go through"
         r"|done|land|report(?:ed)? (?:back|in)|respond(?:ed)?|died?|crash(?:ed)?|already|started)\b",
         needs="ha|did|is|are|when& finish| check| complete| started | come | pass| go | done | land | report"
               "| respond| die| crash| already "),
    _cue("still going", Route.OPERATIONAL, 2.5,
         r"\bstill (?:<state>|working|there|on|being|in|syncing|compiling|building|processing|to)\b",
         needs="still"),
    _cue("status", Route.OPERATIONAL, 3.5,
         r"\b(?:status|state) of\b|\b(?:current|present|latest) (?:status|state)\b"
         r"|\b(?:status|state)(?: \S+)?\s*$|^status\b|\bstatus (?:now|report|please)\b|\b(?:health"
         r"|uptime)\b", needs="stat|health|uptime"),
    _cue("work to be done", Route.OPERATIONAL, 3,
         r"\b(?:open|pending|running|active|live|blocked|queued|unfinished|remaining|outstanding|idle|stuck"
         r"|waiting|failed|stale|in-progress) (?:\w+ )?(?:<actor>|<work>)\b",
         r"\b(?:assigned to|waiting for (?:my|me|us|an?)|awaiting|(?:nobody|no ?one) has \w+)\b",
         needs="open|pending|running|active|live|blocked|queued|unfinished|remaining|outstanding|idle|stuck"
               "|waiting|failed|stale|in-progress|assigned|nobody|no one|noone"),
    _cue("it needs somebody", Route.OPERATIONAL, 2.5,
         r"\b(?:needs?|wants?|requires?) (?:an? |my )?(?:restart|approval|attention|answer|input|review"
         r"|decision"
         r"|help|reply|owner)\b|\bwithout an? (?:owner|assignee)\b", needs="need|want|require|without"),
)  # fmt: skip

CUES = (*_KNOWLEDGE, *_EPISODE, *_CODE, *_RECON, *_OPERATIONAL)
"""The cues; each counts once."""
