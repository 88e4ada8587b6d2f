"""Extract the outcome of a tool's result: commits, test summaries, lines that name an error."""

import re
from collections.abc import Iterator

from ragmem.domain.injection.memory_frame import FRAME_TAG
from ragmem.domain.injection.sanitization import sanitize_text
from ragmem.domain.secrets.commands import prints_secret
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import REPORT_LABEL, Act, ActType
from ragmem.domain.text.exchanges import SECRET_REACH, clip
from ragmem.frozen import dataclass
from ragmem.patterns import lazy
from ragmem.readers.transcripts.tools import Call

MAX_REPORT = 20_000
MIN_REPORT = 80
"""Characters of a subagent's report; a shorter one says no more than that it is done."""

LOOKED_AT = 6_000
"""Characters to examine at each end of a result: summaries are at the end, first errors at the beginning."""

MAX_LINES = 3
"""Maximum number of error lines and of summary lines."""

MAX_LINE = 240
MAX_ANSWER = 2000

_COMMIT = lazy(
    r"^[ \t]*\[(?P<branch>[^\]\n]{1,120}?)(?: \(root-commit\))? (?P<hash>[0-9a-f]{7,40})\] "
    r"(?P<subject>[^\n]{1,300})",
    re.MULTILINE,
)
_PULL = lazy(r"https?://[\w.-]{1,80}/[\w.-]{1,80}/[\w.-]{1,80}/(?:pull|-/merge_requests)/\d+")
_EXIT = lazy(r"\b(?:exit(?:ed with)?[ _]?code|exit[ _]status|Exit code)\W{0,4}(-?\d{1,3})\b", re.IGNORECASE)
_EXIT_REACH = 400
_SUM = lazy(
    r"^[= ]{0,60}\d+ (?:passed|failed|errors?|skipped|xfailed)\b[^\n]{0,160}"
    r"|^[ \t]*Tests?:? +(?:run: )?\d+[^\n]{0,120}|^[ \t]*Tests: [^\n]{1,120}|^test result: [^\n]{1,120}"
    r"|^[ \t]*\d+ (?:passing|failing|pending|examples?,)[^\n]{0,80}|^(?:ok|FAIL) +\t?[^\n]{1,120}"
    r"|^(?:Ran \d+ tests? in [^\n]{1,40}|OK|FAILED \([^\n]{1,60}\))$"
    r"|^Found \d+ (?:errors?|problems?)[^\n]{0,60}"
    r"|^Success: no issues[^\n]{0,60}|^All checks passed!?$|^(?:DONE|PASS) [^\n]{1,80}"
    r"|^BUILD (?:SUCCESSFUL|FAILED)",
    re.MULTILINE,
)
_ERRORS = (
    "error",
    "exception",
    "fatal:",
    "panic:",
    "failed",
    "failure",
    "--- fail",
    "no such file",
    "permission denied",
    "cannot ",
    "could not",
    "not found",
    "undefined",
    "refused",
    "timed out",
    "conflict",
)
"""Words of lines that name an error, in lower case."""

_NONE = lazy(r"\b(?:0|no) (?:errors?|failed|failures?|exceptions?)\b", re.IGNORECASE)
_BAD_SUM = lazy(r"[1-9]\d* (?:failed|failing|errors?)|FAIL")
_BLOCKS = ("<private", FRAME_TAG, "-----begin ")
_COLOURS = lazy(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_NOISE = lazy(r"^\s*(?:Exit code|Chunk ID|Wall time|Process exited|Original token count|Output:|<)")
_SAID = lazy(r"the user said:\s*(?P<said>.{1,4000})", re.DOTALL | re.IGNORECASE)
_REJECTED = lazy(
    r"The user doesn't want to (?:proceed with|take) this|doesn't want to proceed"
    r"|\AThe user denied this operation|\A\{\"status\":\"denied\""
    r"|\A(?:Skipping t|T)ool \[[^\]\n]{0,200}\] (?:due|was (?:not executed|interrupted))",
    re.IGNORECASE,
)
_USAGE = lazy(r"^(?:agentId: |<usage>)[^\n]{0,400}(?:\n[a-z_]+: \d+)*(?:</usage>)?\s*$", re.MULTILINE)
_LAUNCHED = lazy(
    r"[{\[]|(?:async )?(?:agent|task|subagent) (?:was )?(?:launched|started|spawned|is running)\b",
    re.IGNORECASE,
)
_NOTE = lazy(r"\n\n?Note: The user's next message.*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a result; `undone` removes the acts of the call itself."""

    acts: tuple[Act, ...] = ()
    commits: tuple[str, ...] = ()
    pull_requests: tuple[str, ...] = ()
    undone: bool = False


def outcome_of(call: Call, text: str, *, failed: bool = False, redactor: Redactor) -> Outcome:
    """Return the outcome in the result of a call."""
    if call.asks:
        said = clip(sanitize_text(text[: LOOKED_AT + SECRET_REACH], redactor), MAX_ANSWER, redactor)
        return Outcome((Act(ActType.ADDED, said),) if said and not failed else ())
    if failed and _REJECTED.search(text[:_EXIT_REACH]):
        found = _SAID.search(text[:LOOKED_AT])
        said = _NOTE.sub("", found["said"]).strip() if found else ""
        return Outcome((Act(ActType.ADDED, said),) if said else (), undone=True)
    if call.delegates:
        report = report_of(text, call.acts[0].text if call.acts else "", redactor)
        return Outcome((report,) if report and not failed else ())
    if not call.runs:
        return Outcome(undone=failed and bool(call.files))
    code = _exit_code(text)
    broken = code != 0 if code is not None else failed
    if not (broken or call.tests or call.commits or call.pulls):
        return Outcome()
    text = _ends_of(text, redactor)
    acts: list[Act] = []
    commits: list[str] = []
    if call.commits:
        for made in _COMMIT.finditer(text):
            commits.append(made["hash"])
            acts.append(
                Act(ActType.COMMITTED, f"{made['hash'][:12]} {_clip_line(made['subject'], redactor)}")
            )
    pulls = tuple(dict.fromkeys(_PULL.findall(text))) if call.pulls else ()
    acts.extend(Act(ActType.REPORTED, f"{address} {call.pull_title}".rstrip()) for address in pulls)
    sums = [found.group().strip("= ") for found in _SUM.finditer(text)] if call.tests else []
    bad = [line for line in dict.fromkeys(sums) if _BAD_SUM.search(line)]
    told = [_clip_line(line, redactor) for line in (*bad[: MAX_LINES - 1], *sums[-1:])]
    acts.extend(Act(ActType.REPORTED, line) for line in dict.fromkeys(told))
    if broken or bad:
        acts.extend(Act(ActType.FAILED, line) for line in _errors(text, call, redactor) if line not in told)
    # The command is redundant if its result names the commit.
    named = bool(commits) and all(act.deed is ActType.RAN for act in call.acts)
    return Outcome(tuple(acts), tuple(commits), pulls, undone=named)


def report_of(text: str, task: str, redactor: Redactor) -> Act | None:
    """Return the final report of a subagent as an act; None if the text is a notice that it was started."""
    report = sanitize_text(_USAGE.sub("", text[:MAX_REPORT]), redactor).strip()
    if len(report) < MIN_REPORT or _LAUNCHED.match(report):
        return None
    return Act(ActType.RETURNED, f"{REPORT_LABEL}{f' ({task})' if task else ''}:\n\n{report}")


def _ends_of(text: str, redactor: Redactor) -> str:
    """Return both ends of a result, without private and injected blocks."""
    if len(text) > 2 * LOOKED_AT:
        text = f"{text[:LOOKED_AT]}\n{text[-LOOKED_AT:]}"
    lowered = text.lower()
    if any(mark in lowered for mark in _BLOCKS):
        text = sanitize_text(text, redactor)
    return _COLOURS.sub("", text) if "\x1b" in text else text


def _exit_code(text: str) -> int | None:
    for part in (text[:_EXIT_REACH], text[-_EXIT_REACH:]):
        if "xit" in part and (found := _EXIT.search(part)):
            return int(found[1])
    return None


def _errors(text: str, call: Call, redactor: Redactor) -> list[str]:
    """Return the first lines and the last line that name an error; without them, the last line.

    For a command that prints a secret the last line is left out, because it may be the secret.
    """
    lowered = text.lower()
    first = sorted(at for word in _ERRORS for at in _places(lowered, word))
    last = max((lowered.rfind(word) for word in _ERRORS), default=-1)
    named = list(dict.fromkeys(filter(None, (_line(text, at, redactor) for at in first))))[: MAX_LINES - 1]
    if last >= 0 and (line := _line(text, last, redactor)):
        named = list(dict.fromkeys((*named, line)))
    if named or any(prints_secret(act.text) for act in call.acts):
        return named
    # A single line of a key or manifest does not look like a secret: redaction needs the lines before it.
    rest = sanitize_text(text[-LOOKED_AT:], redactor).splitlines()[-20:]
    return next(
        ([_clip_line(line, redactor)] for line in reversed(rest) if line.strip() and not _NOISE.match(line)),
        [],
    )


def _clip_line(line: str, redactor: Redactor) -> str:
    return clip(sanitize_text(line[: 4 * MAX_LINE + SECRET_REACH], redactor), MAX_LINE, redactor)


def _places(text: str, word: str) -> Iterator[int]:
    """Yield the positions of a word in the first lines that contain it."""
    at = -1
    for _ in range(MAX_LINES):
        at = text.find(word, at + 1)
        if at < 0:
            return
        yield at
        end = text.find("\n", at)
        at = end if end >= 0 else len(text)


def _line(text: str, at: int, redactor: Redactor) -> str:
    """Return the truncated line around a position; empty for one that reports no error."""
    end = text.find("\n", at)
    line = text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)]
    return "" if _NOISE.match(line) or _NONE.search(line[:MAX_LINE]) else _clip_line(line, redactor)
