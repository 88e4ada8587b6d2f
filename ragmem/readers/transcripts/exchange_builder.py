"""Build exchanges from the records of any assistant."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ragmem.domain.classification.greeting import is_order
from ragmem.domain.injection.sanitization import sanitize_text
from ragmem.domain.model import digest
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import Act, ActType, Exchange
from ragmem.domain.text.exchanges import SECRET_REACH, clip
from ragmem.patterns import lazy
from ragmem.readers.dates import parse_time
from ragmem.readers.transcripts.cleanup import is_command
from ragmem.readers.transcripts.outcomes import outcome_of, report_of
from ragmem.readers.transcripts.tools import Call

MAX_PART = 24_000
"""Characters of an exchange after which a new part begins."""

MAX_TEXT = 20_000
MAX_ASKED = 12_000
"""Maximum characters of one text and of a question: a longer paste is a log."""

REPEATED = 400
"""Characters of the question at the beginning of each further part."""

REMEMBERED = 160
"""Characters of the previous question."""

MOST_SEEN = 500
"""Maximum number of questions for detecting a copy of a session in the same file."""

MOST_EDITS = 1000
"""Maximum number of edits that are counted in one part."""

LEAST = 8
"""Minimum characters that an act counts."""

MIN_SUMMARY = 200
"""Minimum characters of a session's summary."""

MAX_NAME = 60
"""Characters of the name of an unknown type."""

MAX_WORD = 2_048
_BLANK = lazy(r"\s")

_STATE_FIELDS = ("session", "agent", "cwd", "branch", "model", "entry")
_KEY_LENGTH = 12


@dataclass
class OpenExchange:
    """An incomplete exchange; each action and edit is stored with its message."""

    asked: str
    key: str = ""
    others: set[str] = field(default_factory=set)
    part: int = 1
    began: object = None
    ended: object = None
    position: int = 0
    carried: str = ""
    acts: list[tuple[str, Act]] = field(default_factory=list)
    calls: dict[str, tuple[Call, str]] = field(default_factory=dict)
    edits: Counter[tuple[str, str]] = field(default_factory=Counter)
    commits: dict[str, None] = field(default_factory=dict)
    pull_requests: dict[str, None] = field(default_factory=dict)
    summaries: list[str] = field(default_factory=list)
    messages: set[str] = field(default_factory=set)
    size: int = 0
    interrupted: bool = False

    def files(self) -> dict[str, int]:
        """Return the number of edits of each file."""
        files: dict[str, int] = {}
        for (_, path), times in self.edits.items():
            files[path] = files.get(path, 0) + times
        return files


class ExchangeBuilder:
    """The state of a session while it is read, and its open exchange.

    At the beginning of an exchange or a part, `carried` is the whole state: reading on from there with it
    gives the same exchanges.
    """

    def __init__(self, assistant: str, carried: str = "", position: int = 0, *, redactor: Redactor) -> None:
        state: dict[str, Any] = orjson.loads(carried) if carried else {}
        self.assistant = assistant
        self.redactor = redactor
        self.session = str(state.get("session", ""))
        self.agent = str(state.get("agent", ""))
        self.cwd = str(state.get("cwd", ""))
        self.branch = str(state.get("branch", ""))
        self.model = str(state.get("model", ""))
        self.entry = str(state.get("entry", ""))
        self.number = int(state.get("number", 0))
        self.flags: dict[str, Any] = dict(state.get("flags", {}))
        self.position = position
        self.closed: Exchange | None = None
        self.problems: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self._before = str(state.get("before", ""))
        self._seen: dict[str, None] = dict.fromkeys(state.get("seen", ()))
        self._is_repeating = bool(state.get("repeating"))
        self._summaries: list[str] = list(state.get("summaries", ()))
        self._open: OpenExchange | None = None
        if begun := state.get("open"):
            self._reopen(begun)

    # Questions

    def ask(self, asked: str, *, key: str = "", at: object = None) -> None:
        """Close the open exchange and begin that of a question, unless the question is a repetition."""
        if not asked:
            return
        asked = asked if len(asked) <= MAX_ASKED else asked[:MAX_ASKED] + "…"
        key = digest(key, length=_KEY_LENGTH) if key else ""
        now = self._open
        if now is not None and (
            (key and (key == now.key or key in now.others)) or self._is_repeated(now, asked)
        ):
            return
        if key and key in self._seen:
            self._close()
            self._is_repeating = True
            return
        self._is_repeating = False
        if now is not None and not now.acts and now.part == 1:
            if not is_command(now.asked) and len(now.asked) + len(asked) <= MAX_ASKED:
                now.asked = f"{now.asked}\n\n{asked}"
                now.others.add(key)
                self._add_seen(key)
                return
            # A command without an answer passes its number on to the next question.
            self.number -= 1
            self._open = None
        else:
            self._close()
        carried = self._state()
        self.number += 1
        self._add_seen(key)
        self._open = OpenExchange(asked, key, began=at, ended=at, position=self.position)
        self._open.carried = carried
        self._open.summaries, self._summaries = self._summaries, []

    def add(self, text: str, *, message: str = "") -> None:
        """Record a text of the person while the assistant works."""
        self._add_act(Act(ActType.ADDED, text), message)

    def report(self, text: str, task: str, *, message: str = "") -> None:
        """Record the final report of a subagent, unless it was recorded."""
        act = report_of(text, task, self.redactor)
        if act and self._open is not None and all(act != known for _, known in self._open.acts):
            self._add_act(act, message)

    def summarize(self, text: str) -> None:
        """Record the summary of the session that the assistant's model wrote for a compaction.

        One at the beginning of a file belongs to the first question.
        """
        text = sanitize_text(_cut(text), self.redactor)
        if len(text) < MIN_SUMMARY or self._is_repeating:
            return
        summaries = self._open.summaries if self._open is not None else self._summaries
        if text not in summaries:
            summaries.append(text)

    def begin_session(self, session: str) -> None:
        """Close the open exchange, and begin a further session of the same document."""
        self._close()
        self.session, self.number, self._before = session, 0, ""

    def has_closed(self, key: str) -> bool:
        """Return whether the question with this key belongs to a closed exchange."""
        name = digest(key, length=_KEY_LENGTH)
        now = self._open
        return name in self._seen and not (now and (name == now.key or name in now.others))

    def interrupt(self) -> None:
        """Record that the person interrupted the assistant."""
        if self._open is not None:
            self._open.interrupted = True

    # Answers

    def touch(self, at: object) -> None:
        """Record the time of the latest work in the open exchange."""
        if self._open is not None and at is not None:
            self._open.began = self._open.began or at
            self._open.ended = at

    def is_repeated(self, message: str) -> bool:
        """Return whether a message of the open exchange was seen before; record it."""
        if self._open is None or self._is_repeating:
            return True
        if message in self._open.messages:
            return True
        self._open.messages.add(message)
        self._open.size += LEAST
        return False

    def replace_message(self, message: str) -> bool:
        """Remove the acts of a message that is sent again; False if it belongs to an earlier part."""
        now = self._open
        if now is None or self._is_repeating or message in now.messages:
            return False
        if any(owner == message for owner, _ in now.acts):
            now.size -= sum(len(act.text) for owner, act in now.acts if owner == message)
            now.acts = [pair for pair in now.acts if pair[0] != message]
            now.edits = Counter({edit: times for edit, times in now.edits.items() if edit[0] != message})
        return True

    def say(self, text: str, *, message: str = "") -> None:
        """Record a text of the assistant, unless it repeats one of the latest."""
        text = text.replace("\r\n", "\n").strip()
        if not text or self._open is None:
            return
        last = [act.text for _, act in self._open.acts[-4:] if act.deed is ActType.SAID]
        if _cut(text) not in last:
            self._add_act(Act(ActType.SAID, text), message)

    def call(self, call: Call, name: str = "", *, message: str = "") -> None:
        """Record the call of a tool, whose result may follow under this name."""
        now = self._open
        if now is None or self._is_repeating:
            return
        for act in call.acts:
            # A to-do list is written again whenever one of its items is done.
            if act.deed is not ActType.PLANNED or all(act != known for _, known in now.acts):
                self._add_act(act, message)
        for path in call.files:
            if (message, path) in now.edits or len(now.edits) < MOST_EDITS:
                now.edits[message, path] += 1
        if name:
            now.calls[name] = (call, message)

    def result(self, name: str, text: str, *, failed: bool = False, message: str = "") -> None:
        """Record the outcome of a tool's result; results of unknown calls are ignored."""
        now = self._open
        if now is None or self._is_repeating or name not in now.calls:
            return
        call, owner = now.calls.pop(name)
        outcome = outcome_of(call, text, failed=failed, redactor=self.redactor)
        if outcome.undone:
            undone = set(map(id, call.acts))
            now.acts = [pair for pair in now.acts if id(pair[1]) not in undone]
            now.edits -= Counter((owner, path) for path in call.files)
        for act in outcome.acts:
            self._add_act(act, message or owner)
        now.commits |= dict.fromkeys(outcome.commits)
        now.pull_requests |= dict.fromkeys(outcome.pull_requests)

    def link(self, address: str) -> None:
        """Record the address of a pull request of the open exchange."""
        if self._open is not None and address and not self._is_repeating:
            self._open.pull_requests[address] = None

    def skip(self, sort: str, *, known: bool) -> None:
        """Count a record that is left out; one of an unknown type is a problem."""
        if known:
            self.left_out[sort] += 1
        else:
            self.problems[f'unknown record "{sort[:MAX_NAME]}"' if sort else "record without a type"] += 1

    # The flow

    def close_part(self, position: int) -> None:
        """Close the open part after a record if it is too long, and begin the next one."""
        now = self._open
        if now is None or now.size < MAX_PART or (now.calls and now.size < 2 * MAX_PART):
            return
        self.closed = self._exchange(now, finished=True)
        following = {
            "asked": _shorten_question(now.asked, REPEATED, self.redactor),
            "key": now.key,
            "part": now.part + 1,
            "before": self._before,
            "messages": [owner for owner, _ in now.acts[-1:]],
        }
        self.position = position
        carried = self._state(open=following)
        self._reopen(following, carried)

    def take_closed(self) -> Exchange | None:
        """Return the exchange that was closed since the last call."""
        closed, self.closed = self.closed, None
        return closed

    def rest(self, *, ended: bool) -> Exchange | None:
        """Return the open exchange as far as it was read."""
        return None if self._open is None else self._exchange(self._open, finished=ended)

    def resume_from(self, position: int) -> tuple[int, str]:
        """Return the position to read on from, and the state for it, after reading up to a position."""
        if self._open is not None:
            return self._open.position, self._open.carried
        return position, self._state()

    # Inside

    def _state(self, **more: Mapping[str, Any]) -> str:
        state: dict[str, Any] = {name: getattr(self, name) for name in _STATE_FIELDS if getattr(self, name)}
        state |= {"number": self.number, "before": self._before, "seen": list(self._seen)}
        state |= {"repeating": self._is_repeating, "flags": self.flags, "summaries": self._summaries}
        state |= more
        return orjson.dumps({name: value for name, value in state.items() if value}).decode()

    def _reopen(self, begun: Mapping[str, Any], carried: str = "") -> None:
        self._open = OpenExchange(
            str(begun["asked"]), str(begun["key"]), part=int(begun["part"]), position=self.position
        )
        self._open.messages = set(begun.get("messages", ()))
        self._open.carried = carried or self._state(open=begun)

    def _close(self) -> None:
        if self._open is not None:
            self.closed = self._exchange(self._open, finished=True)
            # "continue" says nothing of what comes after it either.
            if not self._before or not is_order(self._open.asked):
                self._before = _shorten_question(self._open.asked, REMEMBERED, self.redactor)
        self._open = None

    def _add_seen(self, key: str) -> None:
        if key:
            self._seen[key] = None
            while len(self._seen) > MOST_SEEN:
                del self._seen[next(iter(self._seen))]

    def _is_repeated(self, now: OpenExchange, asked: str) -> bool:
        return not now.acts and asked in (now.asked, *now.asked.split("\n\n"))

    def _add_act(self, act: Act, message: str) -> None:
        if self._open is None or self._is_repeating:
            return
        if len(act.text) > MAX_TEXT:
            act = Act(act.deed, _cut(act.text))
        self._open.acts.append((message, act))
        self._open.size += len(act.text) + LEAST

    def _exchange(self, now: OpenExchange, *, finished: bool) -> Exchange:
        return Exchange(
            session=self.session,
            number=self.number,
            assistant=self.assistant,
            question=now.asked,
            acts=tuple(act for _, act in now.acts),
            part=now.part,
            key=now.key,
            agent=self.agent,
            model=self.model,
            cwd=self.cwd,
            branch=self.branch,
            entry=self.entry,
            before=self._before,
            files=now.files(),
            commits=tuple(now.commits),
            pull_requests=tuple(now.pull_requests),
            summaries=tuple(now.summaries),
            began=parse_time(now.began),
            ended=parse_time(now.ended),
            finished=finished,
            interrupted=now.interrupted,
        )


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    # Between words: the rest of a secret could not be recognised any more.
    ends = [found.start() for found in _BLANK.finditer(text, MAX_TEXT - MAX_WORD, MAX_TEXT)]
    return text[: ends[-1] if ends else MAX_TEXT - MAX_WORD] + "…"


def _shorten_question(asked: str, most: int, redactor: Redactor) -> str:
    """Return the beginning of a question, sanitized, because it is stored beside the position."""
    return clip(sanitize_text(asked[: 4 * most + SECRET_REACH], redactor), most, redactor)
