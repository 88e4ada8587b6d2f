"""`ragmem hook EVENT`: what an assistant's hook calls; it ends in time, with exit code 0, whatever happens.

Only the standard library's quickest parts are imported: an assistant waits for each of these processes.
"""

import os
import time

from ragmem import json_text
from ragmem.assistants import DEFAULT, NAMES, load_assistant
from ragmem.assistants.assistant import AFTER_TOOL, START, STOP, SUBAGENT_STOP
from ragmem.config.folders import folder_of
from ragmem.hooks import capture, limits, spool
from ragmem.hooks.event import HookEvent
from ragmem.hooks.log import Log
from ragmem.hooks.stdin import read_payload
from ragmem.hooks.watchdog import Watchdog

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ragmem.assistants.assistant import Assistant

USAGE = """\
usage: ragmem hook EVENT [--for ASSISTANT]

Called by the hooks of an assistant, with JSON on standard input; see docs/hooks.md.
assistants: {}
"""

READ_SHARE = 0.5
"""Of the deadline of a hook that writes, what it waits for standard input at most."""

ASKED_WITHIN_S = 1.0
"""Seconds that a hook which asks waits for standard input at most."""

MARGIN_S = 0.15
"""Seconds of the deadline that are left for the answer to be written."""

MISSED_SHARE = 0.8
"""Of the deadline, what has passed when nobody's answer counts as a deadline missed."""

LONGEST_REASON = 160


class Run:
    """One call of a hook: whose event it is, where its home is, how long it may take."""

    def __init__(self, assistant: "Assistant", named: str) -> None:
        self.began = time.monotonic()
        self.assistant = assistant
        self.named = named
        self.about = ""
        self.asks = False
        self.log: Log | None = None
        self.data = self.state = ""
        self.limits = limits.said(os.environ)
        self.watch = Watchdog(self.began, self.late)
        self.allow(assistant.find_event(named))

    def settle(self) -> None:
        """Read where the home is and what its settings say; the watch must have begun."""
        home, here = os.path.expanduser("~"), _here()
        config, self.data, self.state = (
            folder_of(name, os.environ, home=home, cwd=here) for name in ("config", "data", "state")
        )
        self.log = Log(self.state)
        self.limits = limits.read_limits(limits.config_file(config), os.environ)

    def allow(self, event: str) -> float:
        """Give this the time that its event has; return the seconds."""
        asks = self.assistant.takes_text(event)
        seconds = self.limits.query_deadline_s if asks else self.limits.write_deadline_s
        self.watch.deadline = self.began + seconds
        return seconds

    def late(self) -> None:
        """Tell that the deadline has come, and count it where somebody was asked."""
        if self.asks:
            from ragmem.hooks.breaker import Breaker

            Breaker(self.state).missed()
        self.tell("the deadline came first")

    def tell(self, *words: str) -> None:
        """Write into the log what became of this."""
        if self.log is not None:
            self.log.write(self.about, *words, f"{(time.monotonic() - self.began) * 1000:.0f} ms")


def hook(arguments: "Sequence[str]") -> int:
    """Do what an event of an assistant asks for and return 0; standard output has its JSON or stays empty."""
    if "--help" in arguments or "-h" in arguments:
        _write_output(1, USAGE.format(", ".join(NAMES)))
        return 0
    if limits.switched_off(os.environ):
        return 0
    named, name = _parse_arguments(arguments)
    run = Run(load_assistant(name if name in NAMES else DEFAULT), named)
    try:
        run.watch.begin()
        run.settle()
        if name not in NAMES:
            _log_once(run, f'there is no assistant "{name[:40]}"')
        elif run.limits.enabled:
            _run(run)
    except BaseException as error:  # noqa: BLE001 - nothing that goes wrong here may reach the assistant
        run.tell("failed:", type(error).__name__, _reason(error))
    run.watch.over()
    return 0


def _run(run: Run) -> None:
    assistant = run.assistant
    expected = assistant.find_event(run.named)
    seconds = run.allow(expected)
    asks = assistant.takes_text(expected)
    if asks:
        run.watch.may_end()
    within = min(seconds, ASKED_WITHIN_S) if asks else READ_SHARE * seconds
    heard = read_payload(0, run.began + within, wanted=assistant.payload_fields())
    # What has happened is what the assistant says has happened, wherever it was wired.
    event = assistant.find_event(json_text.text_of(heard.fields, "hook_event_name"), run.named)
    if not event:
        _log_once(run, f'{assistant.name} has no event "{run.named[:40]}"')
        return
    if event in assistant.other_events:
        return
    happened = HookEvent(assistant, event, heard.fields)
    run.about = f"{assistant.name} {event} {happened.session[:36]}".rstrip()
    run.allow(event)
    if heard.problem:
        run.tell(heard.problem)
    _capture(run, happened)
    run.watch.may_end()
    _answer(run, happened)
    if happened.what == START and not spool.is_empty(run.data):
        # What a process left that was killed, or whose drain was.
        from ragmem.hooks import drain

        drain.tell(run.data, run.state, os.environ)


def _capture(run: Run, happened: HookEvent) -> None:
    """Keep the event, if it is one to be taken up later, and let somebody take it up."""
    left = capture.events(happened)
    for event in left:
        spool.put(run.data, event)
    if not left:
        return
    from ragmem.hooks import drain

    if happened.what in (STOP, SUBAGENT_STOP) and drain.was_recent(run.state, run.limits.drain_every_s):
        run.tell("kept")
    else:
        run.tell("kept, to be taken up by", drain.tell(run.data, run.state, os.environ))
    if run.limits.checks:
        from ragmem.hooks import rules

        if words := rules.last_words(happened):
            rules.check(words, happened, data=run.data, state=run.state, environ=os.environ)


def _answer(run: Run, happened: HookEvent) -> None:
    """Answer the assistant: what the memory tells, or what the event has to be answered in any case."""
    text = ""
    if run.assistant.takes_text(happened.event):
        from ragmem.hooks import query

        asked = query.request(happened, max_chars=run.limits.max_chars, research=run.limits.research)
        if "op" in asked:
            text = _ask_memory(run, asked)
        elif happened.what != AFTER_TOOL:
            run.tell("nothing:", asked["reason"])
    document = run.assistant.answer(happened.event, text)
    if document is not None:
        _write_output(1, json_text.write(document))


def _ask_memory(run: Run, asked: "dict[str, Any]") -> str:
    """Return what the memory tells within the deadline, often nothing."""
    from ragmem import client
    from ragmem.hooks.breaker import REST_S, Breaker

    breaker = Breaker(run.state)
    if breaker.is_open():
        run.tell(f"nothing: too many deadlines were missed, the next is tried after {REST_S:.0f} s")
        return ""
    run.asks = True
    answer = client.ask(run.data, asked, deadline=run.watch.deadline - MARGIN_S)
    run.asks = False
    if answer is None:
        passed = (time.monotonic() - run.began) / run.limits.query_deadline_s
        if passed >= MISSED_SHARE - MARGIN_S / run.limits.query_deadline_s:
            run.tell(f"nothing: nobody answered in time, {breaker.missed()} in a row")
        else:
            run.tell("nothing: there is nobody to ask")
        return ""
    breaker.answered()
    text = _limit_length(str(answer.get("text", "")))
    ids = answer.get("ids")
    count = len(ids) if isinstance(ids, list) else 0
    said = json_text.text_of(answer, "error", "reason")[:LONGEST_REASON]
    run.tell(f"told {count}:" if text else "nothing:", f"{said} [{answer.get('rung', '')}]")
    return text


def _limit_length(text: str) -> str:
    """Return a text that the assistant takes whole, or nothing: one that was cut would lose its frame."""
    from ragmem.config import hooking

    # Assistants count as JavaScript does: what lies beyond 16 bits is two.
    length = len(text.encode("utf-16-le", "replace")) // 2
    return text if length <= hooking.MOST_CHARS else ""


def _parse_arguments(arguments: "Sequence[str]") -> tuple[str, str]:
    """Return the event that was named, perhaps none, and the assistant; what else was said is passed over."""
    event, assistant = "", DEFAULT
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--for":
            assistant = words.pop(0) if words else assistant
        elif word.startswith("--for="):
            assistant = word.removeprefix("--for=")
        elif not word.startswith("-") and not event:
            event = word
    return event, assistant


def _log_once(run: Run, what: str) -> None:
    if run.log is not None and not run.log.has(what):
        run.tell(what)


def _write_output(descriptor: int, text: str) -> None:
    """Write a text past Python's buffer, which would be written once more while Python exits."""
    left = memoryview(text.encode("utf-8", "replace"))
    try:
        while left:
            left = left[os.write(descriptor, left) :]
    except OSError:  # whoever called this has left, or the disk behind it is full
        return


def _reason(error: BaseException) -> str:
    """Return what an error says, where that cannot be a part of what was said to the assistant."""
    if isinstance(error, OSError):
        return f"{error.strerror or ''} {error.filename or ''}".strip()
    return str(error) if isinstance(error, ValueError) and len(str(error)) < 100 else ""


def _here() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None
