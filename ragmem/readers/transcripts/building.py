"""The exchange that is being read: records of any assistant go in, exchanges come out."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson

from ragmem.domain.injection.purity import sanitize_text
from ragmem.domain.model import digest
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import Act, ActType, Exchange
from ragmem.domain.text.exchanges import BEYOND, clip
from ragmem.readers.dates import parse_time
from ragmem.readers.transcripts.begun import OpenExchange
from ragmem.readers.transcripts.cleaning import is_command
from ragmem.readers.transcripts.outcomes import outcome_of
from ragmem.readers.transcripts.tools import Call

MAX_PART = 24_000
"""Characters of an exchange from which on it goes on in a further part."""

MAX_TEXT = 20_000
MAX_ASKED = 12_000
"""Characters of one text and of a question that are kept: whoever pastes more pastes a log."""

REPEATED = 400
"""Characters of the question with which each further part begins."""

REMEMBERED = 160
"""Characters of the question before."""

MOST_SEEN = 500
"""Questions of a session by which a copy of it within the same file is known."""

MOST_EDITS = 1000
"""Edits of one part that are counted."""

LEAST = 8
"""Characters that the shortest of acts counts."""

MAX_NAME = 60
"""Characters of the name of an unknown type."""

MAX_WORD = 2_048
_BLANK = re.compile(r"\s")

_KEPT = ("session", "agent", "cwd", "branch", "model", "entry")
_KEY_LENGTH = 12


class ExchangeBuilder:
    """What is known of a session while it is read, and the exchange that is open.

    Where an exchange begins, and where a part of it does, nothing but `carried` matters for what follows:
    read from there, a transcript gives the same exchanges.
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
        self._repeating = bool(state.get("repeating"))
        self._open: OpenExchange | None = None
        if begun := state.get("open"):
            self._reopen(begun)

    # Questions

    def ask(self, asked: str, *, key: str = "", at: object = None) -> None:
        """Begin the exchange of a question; the one before is closed. A question seen before begins none."""
        if not asked:
            return
        asked = asked if len(asked) <= MAX_ASKED else asked[:MAX_ASKED] + "…"
        key = digest(key, length=_KEY_LENGTH) if key else ""
        now = self._open
        if now is not None and (
            (key and (key == now.key or key in now.others)) or self._said_before(now, asked)
        ):
            return
        if key and key in self._seen:
            self._close()
            self._repeating = True
            return
        self._repeating = False
        if now is not None and not now.acts and now.part == 1:
            if not is_command(now.asked) and len(now.asked) + len(asked) <= MAX_ASKED:
                now.asked = f"{now.asked}\n\n{asked}"
                now.others.add(key)
                self._know(key)
                return
            # A command that nothing came of gives its number to the question behind it.
            self.number -= 1
            self._open = None
        else:
            self._close()
        carried = self._state()
        self.number += 1
        self._know(key)
        self._open = OpenExchange(asked, key, began=at, ended=at, position=self.position)
        self._open.carried = carried

    def add(self, text: str, *, message: str = "") -> None:
        """Keep what the person said while the assistant was at work."""
        self._act(Act(ActType.ADDED, text), message)

    def has_closed(self, key: str) -> bool:
        """Tell whether the question of this name belongs to an exchange that is closed."""
        name = digest(key, length=_KEY_LENGTH)
        now = self._open
        return name in self._seen and not (now and (name == now.key or name in now.others))

    def interrupt(self) -> None:
        """Keep that the person stopped the assistant."""
        if self._open is not None:
            self._open.interrupted = True

    # Answers

    def touch(self, at: object) -> None:
        """Keep when the open exchange was last at work."""
        if self._open is not None and at is not None:
            self._open.began = self._open.began or at
            self._open.ended = at

    def again(self, message: str) -> bool:
        """Tell whether a message of the open exchange comes a second time; it is known from now on."""
        if self._open is None or self._repeating:
            return True
        if message in self._open.messages:
            return True
        self._open.messages.add(message)
        self._open.size += LEAST
        return False

    def renew(self, message: str) -> bool:
        """Forget what a message said, because it comes anew; False where it lies in an earlier part."""
        now = self._open
        if now is None or self._repeating or message in now.messages:
            return False
        if any(owner == message for owner, _ in now.acts):
            now.size -= sum(len(act.text) for owner, act in now.acts if owner == message)
            now.acts = [pair for pair in now.acts if pair[0] != message]
            now.edits = Counter({edit: times for edit, times in now.edits.items() if edit[0] != message})
        return True

    def say(self, text: str, *, message: str = "") -> None:
        """Keep what the assistant said; what it has just said once is not said twice."""
        text = text.strip()
        if not text or self._open is None:
            return
        last = [act.text for _, act in self._open.acts[-4:] if act.deed is ActType.SAID]
        if _cut(text) not in last:
            self._act(Act(ActType.SAID, text), message)

    def call(self, call: Call, name: str = "", *, message: str = "") -> None:
        """Keep the call of a tool, whose result may follow under this name."""
        now = self._open
        if now is None or self._repeating:
            return
        for act in call.acts:
            # A list of things to do is written anew each time that one of them is done.
            if act.deed is not ActType.PLANNED or all(act != known for _, known in now.acts):
                self._act(act, message)
        for path in call.files:
            if (message, path) in now.edits or len(now.edits) < MOST_EDITS:
                now.edits[message, path] += 1
        if name:
            now.calls[name] = (call, message)

    def result(self, name: str, text: str, *, failed: bool = False, message: str = "") -> None:
        """Keep what is worth it of a tool's result; one of an unknown call is left out."""
        now = self._open
        if now is None or self._repeating or name not in now.calls:
            return
        call, owner = now.calls.pop(name)
        outcome = outcome_of(call, text, failed=failed, redactor=self.redactor)
        if outcome.undone:
            undone = set(map(id, call.acts))
            now.acts = [pair for pair in now.acts if id(pair[1]) not in undone]
            now.edits -= Counter((owner, path) for path in call.files)
        for act in outcome.acts:
            self._act(act, message or owner)
        now.commits |= dict.fromkeys(outcome.commits)
        now.pull_requests |= dict.fromkeys(outcome.pull_requests)

    def link(self, address: str) -> None:
        """Keep the address of a pull request that belongs to what is done."""
        if self._open is not None and address and not self._repeating:
            self._open.pull_requests[address] = None

    def unknown(self, sort: str) -> None:
        """Count a record of a type that nobody knows."""
        self.problems[f'unknown record "{sort[:MAX_NAME]}"' if sort else "record without a type"] += 1

    # The flow

    def begin_record(self, position: int) -> None:
        """Say where the next record begins."""
        self.position = position

    def close_part(self, position: int) -> None:
        """Close the open part behind a record where it has grown too long, and begin the next one."""
        now = self._open
        if now is None or now.size < MAX_PART or (now.calls and now.size < 2 * MAX_PART):
            return
        self.closed = self._exchange(now, finished=True)
        following = {
            "asked": _beginning(now.asked, REPEATED, self.redactor),
            "key": now.key,
            "part": now.part + 1,
            "before": self._before,
            "messages": [owner for owner, _ in now.acts[-1:]],
        }
        self.position = position
        carried = self._state(open=following)
        self._reopen(following, carried)

    def take_closed(self) -> Exchange | None:
        """Return the exchange that was closed since the last time."""
        closed, self.closed = self.closed, None
        return closed

    def left(self, *, ended: bool) -> Exchange | None:
        """Return the open exchange as far as it is known."""
        return None if self._open is None else self._exchange(self._open, finished=ended)

    def resume_from(self, position: int) -> tuple[int, str]:
        """Return from where to read on when all up to a position was read, and with what."""
        if self._open is not None:
            return self._open.position, self._open.carried
        return position, self._state()

    # Inside

    def _state(self, **more: Mapping[str, Any]) -> str:
        state: dict[str, Any] = {name: getattr(self, name) for name in _KEPT if getattr(self, name)}
        state |= {"number": self.number, "before": self._before, "seen": list(self._seen)}
        state |= {"repeating": self._repeating, "flags": self.flags}
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
        self._forget()

    def _forget(self) -> None:
        if self._open is not None:
            self._before = _beginning(self._open.asked, REMEMBERED, self.redactor)
        self._open = None

    def _know(self, key: str) -> None:
        if key:
            self._seen[key] = None
            while len(self._seen) > MOST_SEEN:
                del self._seen[next(iter(self._seen))]

    def _said_before(self, now: OpenExchange, asked: str) -> bool:
        return not now.acts and asked in (now.asked, *now.asked.split("\n\n"))

    def _act(self, act: Act, message: str) -> None:
        if self._open is None or self._repeating:
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
            asked=now.asked,
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
            began=parse_time(now.began),
            ended=parse_time(now.ended),
            finished=finished,
            interrupted=now.interrupted,
        )


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    # Between words: a secret of which a part is left could not be told as one any more.
    ends = [found.start() for found in _BLANK.finditer(text, MAX_TEXT - MAX_WORD, MAX_TEXT)]
    return text[: ends[-1] if ends else MAX_TEXT - MAX_WORD] + "…"


def _beginning(asked: str, most: int, redactor: Redactor) -> str:
    """Return how a question begins, purified, for it is written down beside the position."""
    return clip(sanitize_text(asked[: 4 * most + BEYOND], redactor), most, redactor)
