"""The words that count for or against keeping a text, by type, with the weight of each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class EvidenceType(StrEnum):
    """The type of a piece of evidence; its value is its name in an explanation."""

    DECISION = "decision"
    CAUSE = "cause"
    FIX = "fix"
    FINDING = "finding"
    DENIAL = "denial"
    """A negation or a failure."""
    CONSTRAINT = "constraint"
    RULE = "rule"
    SETTING = "setting"
    """Configuration, location or composition."""
    NAMES = "names"
    """Identifiers, paths, options and files that the text names."""
    TELLING_HEADING = "telling heading"
    PROTECTED = "decision or standing instruction"

    FOREIGN = "another language"
    """Words of other languages are not in this table, so they must not count against a text."""

    PASSING = "of the moment"
    """Plans and status, which are useful for a short time."""

    CHATTER = "chatter"
    EXHORTATION = "exhortation"
    """General advice that names nothing."""
    PROMPT = "prompt"
    BLANKS = "blanks to fill in"
    NOTICE = "notice of a program"
    PROGRESS = "progress"
    REQUEST = "request"
    ERRAND = "order of the moment"
    ORDER = "order that names nothing"
    OUTPUT = "output"
    CODE = "code"
    LITTLE = "says little"
    VAGUE = "names nothing"


@dataclass(frozen=True, slots=True)
class Cues:
    """The words of one type: each distinct one adds `weight`, and at most `most` of them count."""

    weight: float
    most: int
    words: str


WORDS: Mapping[EvidenceType, Cues] = {
    EvidenceType.DECISION: Cues(
        0.5,
        4,
        """
        decided, decision, decisions, chose, chosen, agreed, accepted, adopted, approved, rejected, settled
        on, opted for, instead of, rather than, in favour of, in favor of, trade-off, trade-offs, tradeoff,
        tradeoffs, on purpose, intentional, intentionally, deliberate, deliberately, by design, we use, we
        keep, we do not, we don't, rationale, non-goal, non-goals, out of scope, deferred, no longer,
        deprecated, superseded, philosophy, principle, principles, invariant, invariants
        """,
    ),
    EvidenceType.CAUSE: Cues(
        1,
        3,
        """
        because, due to, caused by, root cause, root causes, the issue is, the issue was, the problem is,
        the problem was, turned out, turns out, which means, this means, that means, so that, leads to, led
        to, leading to, results in, resulting in, otherwise, therefore, hence, the reason, reason, causing,
        causes, caused, prevents, which is why, that's why, this is why, comes from, came from, depends on,
        relies on, triggers, triggered by, so it, so the
        """,
    ),
    EvidenceType.FIX: Cues(
        0.5,
        3,
        """
        fixed, fixes, the fix, resolved, solved, the solution, workaround, workarounds, work around, works
        around, corrected, replaced, replacing, reverted, changed to, switched to, needs to be, mitigation,
        mitigated, recovery, restored, bypass, bypassed
        """,
    ),
    EvidenceType.FINDING: Cues(
        1,
        3,
        """
        identified, discovered, found, learned, learnt, confirmed, revealed, measured, observed, finding,
        findings, learnings, lesson, lessons, gotcha, gotchas, caveat, caveats, pitfall, pitfalls, trap,
        known issue, known issues, known bug, known pattern, bug, bugs, regression, race condition,
        deadlock, leak, leaks, silently, surprisingly, unexpectedly, incorrectly, effectively, false
        positive, false positives, i understand, i see the, stale, corrupted, mismatch, overwrote,
        overwritten
        """,
    ),
    EvidenceType.DENIAL: Cues(
        0.5,
        3,
        """
        does not, doesn't, do not, don't, is not, isn't, are not, aren't, was not, wasn't, didn't, did not,
        cannot, can't, won't, will not, never, not, no, without, nothing, neither, fails, failing, failed,
        missing, wrong, broken
        """,
    ),
    EvidenceType.CONSTRAINT: Cues(
        0.5,
        4,
        """
        must, must not, required, requires, require, only, always, unless, except, limit, limits, limited
        to, maximum, minimum, at most, at least, mandatory, forbidden, allowed, prohibited, exactly,
        restricted, even if, even when, only when, only if, before, after
        """,
    ),
    EvidenceType.RULE: Cues(
        0.5,
        3,
        """
        prefer, prefers, preferred, preference, preferences, avoid, convention, conventions, keep, favor,
        favour, guideline, guidelines, rules, wants, values, likes, should not, shouldn't, style, naming,
        standard, idioms
        """,
    ),
    EvidenceType.SETTING: Cues(
        0.5,
        4,
        """
        environment variable, environment variables, env var, env vars, configured, configuration, config,
        setting, settings, default, defaults, defaults to, port, version, versions, installed, lives in,
        live in, stored in, located in, located at, defined in, used for, uses, used by, using, built on,
        based on, runs on, enabled, disabled, set to, points to, contains, consists of, supports,
        implements, handles, returns, reads, writes, wraps, maps, stores, validates, format, schema, table,
        field, fields, module, modules, database, layer, framework, dependency, dependencies, directory
        """,
    ),
    EvidenceType.PASSING: Cues(
        0.5,
        1,
        """
        next step, next steps, todo, tbd, open items, open questions, acceptance criteria, in progress, not
        yet, implementation plan, will be, to be done, milestone
        """,
    ),
    EvidenceType.CHATTER: Cues(
        -1,
        2,
        """
        thanks, thank you, great, hello, hi, awesome, perfect, absolutely right, you're right, helpful,
        sounds good, nice, indeed, interestingly, okay, congratulations, lgtm, cool
        """,
    ),
    EvidenceType.EXHORTATION: Cues(
        -0.5,
        3,
        """
        ensure, ensures, consider, considers, appropriate, appropriately, proper, properly, comprehensive,
        thorough, thoroughly, concise, clear, clearly, relevant, robust, effective, efficient, efficiently,
        best practice, best practices, where appropriate, as needed, if necessary, make sure, quality, edge
        cases, potential, maintainable, scalable, seamless, various, strive, aim to, be careful,
        high-quality, well-documented, user-friendly, leverage
        """,
    ),
    EvidenceType.PROMPT: Cues(
        -0.5,
        2,
        """
        you are a, you are an, you are the, you are tasked, tasked with, your task, your role, your job, act
        as, the user's, user's request, subagent, subagents, sub-agents, task tool, clarifying questions,
        ask the user, expert, template, placeholder, report back, for each, read and follow, read the
        following, specialist, responsible for, this skill, this command, this agent, step by step
        """,
    ),
}
"""The words of each type, matched as whole words in any case; each counts once."""

NAMED = Cues(0.5, 4, "")
"""The weight of each distinct name; the pattern NAME finds them."""

SHAPES: Mapping[EvidenceType, float] = {
    EvidenceType.PROTECTED: 3,
    EvidenceType.FOREIGN: 2,
    EvidenceType.TELLING_HEADING: 1,
    EvidenceType.LITTLE: -2,
    EvidenceType.VAGUE: -1,
    EvidenceType.NOTICE: -2,
    EvidenceType.BLANKS: -1,
    EvidenceType.ERRAND: -2,
    EvidenceType.ORDER: -3,
    EvidenceType.PROGRESS: -1,
    EvidenceType.REQUEST: -0.5,
    EvidenceType.OUTPUT: -2,
    EvidenceType.CODE: -1.5,
}
"""The weight of the shape of a text; orders, progress, requests, output and code count by their share."""

PROGRESS = re.compile(
    r"\b(?:let me|let us|let's|i'll|i will|i'm going to|i am going to|going to|now i need|i need to|"
    r"while we wait|moving on|i'm now)\b"
)
"""Phrases that report work in progress, in lower case."""

REQUEST = re.compile(
    r"\b(?:can you|could you|would you|please|help me|i need to understand|i want you|lets|attached|give me|"
    r"tell me|show me|do you|act as|ask the user|you are (?:a|an|the|tasked)|your (?:role|job|task))\b|\?\s*$"
)
"""Phrases that make a request, in lower case."""

COMMON = frozenset(
    """
    the a an of to is are was be and or in on at for with by from as that this it its not no if when but so
    has have can will only all
    """.split()
)
"""Common English words; hardly any English sentence lacks them."""

FOREIGN_WORDS = frozenset(
    """
    der das und ist nicht mit weil auf für von zu dem des ein eine einen einem einer wird wurde wurden werden
    auch sich bei nach aus wenn dass wir ich haben hat
    le la les une et pas pour que qui dans sur avec parce nous cette ce du au sont plus
    el los las por para con porque se del como ya pero esta este cuando una
    il lo gli che non perché perche della del nel sono questo questa
    de het een en niet omdat dat ook voor naar wordt zijn
    um uma não nao com quando mas foi da
    och att det som inte är på av ett
    yang untuk tidak karena dengan ini itu pada dari kami
    ve bir için bu değil çünkü
    nie się że na oraz
    """.split()
)
"""Common words of other languages with Latin letters."""

VERBS = frozenset(
    """
    add adjust aggregate analyze analyse answer apply ask assess build call capture check choose collect
    commit compare configure consider create define delete deploy describe design determine develop document
    ensure establish evaluate execute explain extract fetch find fix flag focus follow gather generate get
    give identify implement include install integrate investigate list load look maintain make map modify
    note open optimize perform plan prepare provide push read refactor reference remove rename repeat
    replace report research return review revisit run save search select send set show spawn start study
    submit suggest summarize summarise test think track try understand update use validate verify write
    """.split()
)
"""Verbs that begin an order."""

ERRANDS = VERBS - frozenset(
    "add keep run set use apply follow install make note open ensure maintain consider".split()
)
"""Verbs that begin an order that is finished once it is carried out."""

OUTPUT_LINE = re.compile(
    r"\d+(?:→|\t|\s*│)|[0-9a-f]{7,10} |Exit code|⏺|[│└├^]|\(eval\)|(?:fatal|error|warning|Error):|\*\* \(|"
    r"\$ |> (?=[a-z])|at \S{1,200}\(|File created successfully|ls: |"
    r"[\[\]{}][\s,\[\]{}]*$|[\[{]\s*[\"\d{\[]|\"[^\"\n]{0,80}\"\s*[:,]"
)
"""Beginnings of lines that a program printed."""

QUOTED_SENTENCE = re.compile(r"[\[{]?\s*\"[^\"]{30}")
"""The beginning of a list of sentences written as data, which is read as sentences."""

CODE_LINE = re.compile(
    r"(?:import|from|def|class|const|let|var|return|public|async|await|export|function)\b"
    r"[^.!?\n]{0,80}[=;(){}\[\]\"']"
    r"|(?:(?:if|for|while) \(|print\(|\}|\)|//|#!|</?[a-zA-Z])|\w{1,60}\([^()]{0,80}\)\s*$"
)
"""Beginnings of lines of code."""

NOTICE = re.compile(r"<[a-z][\w-]{0,40}>")
"""Beginnings of texts that a program inserted into a conversation."""

BLANK = re.compile(
    r"\$ARGUMENTS\b|\{\{(?! ?(?:secrets|github|env|inputs|matrix)\.)[^}\n]{1,60}\}\}"
    r"|(?<![\w`\[])\[(?!redacted:)[A-Za-z][^\],\n]{1,60}\](?![(\[:])|\{[a-z][a-z _-]{2,60}\}"
)
HEADINGS: Mapping[EvidenceType, re.Pattern[str]] = {
    EvidenceType.TELLING_HEADING: re.compile(
        r"\b(?:decisions?|cause|gotchas?|learnings?|outcome|conventions?|preferences?|rules?|architecture|"
        r"design|config\w*|environment|constraints?|trade-?offs|safety|stack|known|issues?|fix|troubleshooting|"
        r"why|never|always|do not|schema|structure|flow|layout|findings?|idioms|patterns?|context|guidance|"
        r"guidelines|testing|build|deploy\w*|integration|interop|storage)\b"
    ),
    EvidenceType.PASSING: re.compile(
        r"\b(?:phase|step|tasks?|todo|next|plan|goals?|open[_ ]items|overview|summary|requirements|"
        r"acceptance criteria|scope|vision|status|progress|timeline|milestones?|scenario|personas?|option|"
        r"example|template|usage|actions?|objective)\b"
    ),
}
"""Headings above facts, and headings above plans and status, in lower case."""

NAME = re.compile(
    r"(?<![\w/.~<-])[\w.~-]{0,60}(?:/[\w.-]{1,80}){1,20}"
    r"|\b[A-Z][A-Z0-9]{0,30}_[A-Z0-9_]{1,60}\b|\b[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,9}\b"
    r"|\b[A-Za-z]{0,30}[a-z][A-Z]\w{1,60}\b"
    r"|(?<![\w-])--?[a-z][\w-]{1,40}"
    r"|\b\w{1,60}\.(?:py|md|ts|tsx|js|go|rs|json|jsonl|toml|yaml|yml|sh|sql|ex|exs|cfg|ini|db|txt|html|css)\b"
    r"|\b\w{1,60}\(\)"
)
NUMBER = re.compile(r"(?<![\w.])[v~≤≥<>]?=?\d[\d,.]{0,20}(?:%|\+|[a-zA-Z]{1,2})?(?!\w)")
PROPER = re.compile(
    r"(?<=[a-z,] )[A-Z][\w-]{0,40}[a-z]|\b(?!NOT\b|MUST\b|NEVER\b|ALWAYS\b|ONLY\b|DO\b)[A-Z]{2,6}\b"
)
"""A capitalized name inside a sentence, or an acronym."""
