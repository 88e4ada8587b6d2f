"""The words that several cues of the router share: things with a state, people, program parts, flaws."""

import re
from collections.abc import Mapping
from types import MappingProxyType

_LITERAL = re.compile(r"[a-z]+(?![?a-z])|[a-z]+(?=[a-z]\?)")
"""The characters that a word of a pattern has in any case."""

_WORDS = {
    "actor": """
(?:sub-?)?agents? workers? runners? daemons? servers? services? bots? watchers? containers? pods?
processe?s? terminals? worktrees? clusters? instances? nodes? crawlers? schedulers? assistants? vms?
machines? codex claude gemini copilot cursor
""",
    "work": """
tasks? jobs? sessions? queues? builds? workflows? pipelines? approvals? deploy(?:ment)?s? releases?
runs? batch(?:es)? migrations? imports? syncs? backups? tickets? requests? uploads? downloads? indexing
seed(?:ing)? locks? todos? ci
""",
    "state": """
running idle busy finished done completed? stuck pending blocked waiting queued alive up down online
offline active paused stopped hung hanging healthy stalled progressing going failing free available
ready listening live in\\sprogress under\\sway underway overdue unassigned assigned in\\sflight awaiting
unclaimed claimed open green red reachable responding responsive remain(?:s|ing)? left through scheduled
attached connected locked over
""",
    "we": "we i you he she they anyone anybody someone somebody the\\steam the\\suser",
    "past": """
[a-z]{3,}ed said told wrote chose found fixed broke made brought came\\sup went began ran did got was
were had led rewrote built gave took left saw knew thought sent set kept lost won held met paid spent
""",
    "relates": """
calls? imports? uses? inherits? extends? implements? overrides? references? depends? covers? exercises?
invokes? instantiates? subclass(?:es)? re-?exports? exports? reads? writes? touch(?:es)? hits? consumes?
constructs? wraps? handles? mentions? points? returns? raises? throws? satisf(?:y|ies) embeds?
decorates? registers? includes? requires? tests? asserts? checks? mocks? derives? pulls? defines?
declares? executes? triggers? loads? spawns? creates? emits? subscribes? tak(?:e|es)
""",
    "unit": """
functions? methods? class(?:es)? modules? files? packages? types? structs? interfaces? traits? tests?
test\\scases? call\\s?sites? code\\spaths? components? enums? constants? handlers? symbols? variables?
fields? imports? paths? entry\\spoints? commands? places? code crates? librar(?:y|ies) specs? suites?
hooks? callbacks?
""",
    "tool": """
semgrep bandit trivy nuclei nmap snyk gitleaks trufflehog nikto zap burp grype codeql gosec sonarqube
nessus openvas govulncheck pip-audit npm\\saudit cargo\\saudit dependabot masscan amass subfinder sqlmap
ffuf fuzzer
""",
    "flaw": """
vulnerabilit(?:y|ies) vulnerable cves? exploit(?:s|able|ed)? inject(?:s|ed|ions?)? xss ssrf csrf rce idor
(?:path|directory)\\straversal prototype\\spollution deseriali[sz]ation backdoors? leaks? leaked
misconfigur(?:ation|ations|ed)
security\\s(?:issues?|holes?|problems?|bugs?|weakness(?:es)?|posture|gaps?) privilege\\sescalation
attack\\svectors? takeover weak(?:ness(?:es)?)? insecure unpatched unauthenticated open\\sredirects?
(?:security\\s)?advisor(?:y|ies)
""",
}
WORDS: Mapping[str, str] = MappingProxyType(
    {name: f"(?:{'|'.join(words.split())})" for name, words in _WORDS.items()}
    | {"month": "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"}
)
"""Patterns by the name under which a cue uses them."""


def beginnings(name: str) -> list[str]:
    """Return with what the words of a name begin, after a blank; without one where something may precede."""
    found = []
    for word in _WORDS[name].split():
        bare = word.removeprefix("(?:sub-?)?")
        literal = _LITERAL.match(bare)
        found.append((" " if bare == word else "") + (literal[0] if literal else ""))
    return found
