"""`ragmem hook EVENT`, called by assistants' hooks: it always ends in time and with exit code 0.

Import only modules that load fast: an assistant waits for each of these processes.
"""

import os
import time

from ragmem import json_text
from ragmem.assistants import DEFAULT, NAMES, load_assistant
from ragmem.assistants.assistant import AFTER_TOOL, BEFORE_TOOL, START, STOP, SUBAGENT_STOP
from ragmem.config.folders import folder_of
from ragmem.hooks import capture, limits, spool
from ragmem.hooks.event import HookEvent
from ragmem.hooks.log import Log
from ragmem.hooks.stdin import read_payload
from ragmem.hooks.watchdog import Watchdog

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ragmem.assistants.assistant import Assistant
    from ragmem.hooks.breaker import Breaker

USAGE = """\
usage: ragmem hook EVENT [--for ASSISTANT] [--via plugin]

Called by the hooks of an assistant, with JSON on standard input; see docs/hooks.md.
assistants: {}
"""

READ_SHARE = 0.5
"""Share of the deadline that a writing hook waits for standard input at most."""

ASKED_WITHIN_S = 1.0
"""Seconds that an asking hook waits for standard input at most."""

MARGIN_S = 0.15
"""Seconds before the deadline that are reserved for writing the answer."""

MISSED_SHARE = 0.8
"""Share of the deadline after which a missing answer counts as a missed deadline."""

LONGEST_REASON = 160


class Run:
    """One call of a hook: its event, its home, its deadline."""

    def __init__(self, assistant: "Assistant", event_name: str) -> None:
        self.began = time.monotonic()
        self.assistant = assistant
        self.event_name = event_name
        self.about = ""
        self.asked: Breaker | None = None
        self.log: Log | None = None
        self.data = self.state = ""
        self.limits = limits.limits_from_environment(os.environ)
        self.watch = Watchdog(self.began, self.on_deadline)
        self.set_deadline(assistant.find_event(event_name))

    def read_settings(self, folders: "tuple[str, str, str] | None" = None) -> None:
        """Find the home, unless its folders are given, and read its settings.

        In a process of its own the watchdog must run already.
        """
        home, here = os.path.expanduser("~"), _working_folder()
        config, self.data, self.state = folders or (
            folder_of(name, os.environ, home=home, cwd=here) for name in ("config", "data", "state")
        )
        self.log = Log(self.state)
        self.limits = limits.read_limits(limits.config_file(config), os.environ)

    def set_deadline(self, event: str) -> float:
        """Set the deadline of an event; return its seconds."""
        asks = self.assistant.takes_text(event)
        seconds = self.limits.query_deadline_s if asks else self.limits.write_deadline_s
        self.watch.deadline = self.began + seconds
        return seconds

    def on_deadline(self) -> None:
        """Log the missed deadline, and count it if the memory was asked."""
        if self.asked is not None:
            self.asked.record_miss()
        self.log_outcome("the deadline passed")

    def log_outcome(self, *words: str) -> None:
        """Write the outcome of this call into the log."""
        if self.log is not None:
            self.log.write(self.about, *words, f"{(time.monotonic() - self.began) * 1000:.0f} ms")


def hook(arguments: "Sequence[str]") -> int:
    """Handle an event of an assistant and return 0; standard output gets the answer as JSON, or nothing."""
    if "--help" in arguments or "-h" in arguments:
        _write_output(1, USAGE.format(", ".join(NAMES)))
        return 0
    if limits.is_disabled(os.environ):
        return 0
    event_name, name, via = _parse_arguments(arguments)
    run = Run(load_assistant(name if name in NAMES else DEFAULT), event_name)
    try:
        run.watch.begin()
        run.read_settings()
        if name not in NAMES:
            _log_once(run, f'there is no assistant "{name[:40]}"')
        elif via and _is_connected(run.assistant, event_name):
            _log_once(run, f"{name}: its plug-in does nothing, because `ragmem connect` has written hooks")
        elif run.limits.enabled:
            _run(run)
    except BaseException as error:  # noqa: BLE001 - no error may reach the assistant
        run.log_outcome("failed:", type(error).__name__, _reason(error))
    run.watch.over()
    return 0


def reply(
    arguments: "Sequence[str]",
    fields: "Mapping[str, Any]",
    *,
    began: float,
    folders: "tuple[str, str, str] | None" = None,
) -> "dict[str, Any] | None":
    """Return the reply to an event that reached a process that stays, None for no reply; never raises.

    It is that of `hook` with these arguments, for the events that ask within a session. `began` is the moment
    of `time.monotonic` at which the event arrived, `folders` are those of config, data and state. There is no
    watchdog: the assistant stops waiting by itself.
    """
    if limits.is_disabled(os.environ):
        return None
    event_name, name, _ = _parse_arguments(arguments)
    run = Run(load_assistant(name if name in NAMES else DEFAULT), event_name)
    try:
        from ragmem.client import runtime

        run.began = began
        run.read_settings(folders)
        event = run.assistant.find_event(event_name)
        if runtime.is_outdated():
            # Each question would end the warm process of the new version.
            _log_once(run, "ragmem was updated: context is injected again from the next session on")
        elif name not in NAMES or not run.assistant.asks_within_session(event):
            _log_once(run, f'"{event_name[:40]}" of "{name[:40]}" needs a hook of type command')
        elif run.limits.enabled:
            from ragmem.hooks import spawn

            spawn.reap()
            return _handle(run, HookEvent(run.assistant, event, fields))
    except Exception as error:  # noqa: BLE001 - no error may reach the assistant
        run.log_outcome("failed:", type(error).__name__, _reason(error))
    return None


def _run(run: Run) -> None:
    assistant = run.assistant
    expected = assistant.find_event(run.event_name)
    seconds = run.set_deadline(expected)
    asks = assistant.takes_text(expected)
    if asks and assistant.meaning(expected) != AFTER_TOOL:
        # After a tool something may have to be kept first.
        run.watch.may_end()
    within = min(seconds, ASKED_WITHIN_S) if asks else READ_SHARE * seconds
    heard = read_payload(0, run.began + within, wanted=assistant.payload_fields())
    # The payload names the event; the argument is only a fallback.
    event = assistant.find_event(json_text.text_of(heard.fields, "hook_event_name"), run.event_name)
    if not event:
        _log_once(run, f'{assistant.name} has no event "{run.event_name[:40]}"')
        return
    if event in assistant.other_events:
        return
    happened = HookEvent(assistant, event, heard.fields)
    document = _handle(run, happened, problem=heard.problem)
    if document is not None:
        _write_output(1, json_text.write(document))
    if happened.what == START and not spool.is_empty(run.data):
        # Events that a killed hook or a killed drain left.
        from ragmem.hooks import drain

        drain.tell(run.data, run.state, os.environ)


def _handle(run: Run, happened: HookEvent, *, problem: str = "") -> "dict[str, Any] | None":
    """Keep what an event leaves, and return the reply to it; None for no reply."""
    run.about = f"{run.assistant.name} {happened.event} {happened.session[:36]}".rstrip()
    run.set_deadline(happened.event)
    if problem:
        run.log_outcome(problem)
    _capture(run, happened)
    if run.limits.shares and happened.tool in run.assistant.commands:
        from ragmem.hooks import share

        if actions := share.actions_after(happened):
            told = share.start(actions, happened, data=run.data, state=run.state, environ=os.environ)
            run.log_outcome("after git:", told)
    run.watch.may_end()
    return _answer(run, happened)


def _capture(run: Run, happened: HookEvent) -> None:
    """Put the events that are processed later into the spool, and request a drain."""
    left = capture.events(happened)
    for event in left:
        spool.put(run.data, event)
    if not left:
        return
    from ragmem.hooks import drain

    if happened.what in (STOP, SUBAGENT_STOP) and drain.was_recent(run.state, run.limits.drain_every_s):
        run.log_outcome("stored")
    else:
        run.log_outcome("stored, to be ingested by", drain.tell(run.data, run.state, os.environ))
    if run.limits.checks:
        from ragmem.hooks import rules

        if words := rules.last_words(happened):
            rules.check(words, happened, data=run.data, state=run.state, environ=os.environ)


def _answer(run: Run, happened: HookEvent) -> "dict[str, Any] | None":
    """Return the reply with memories, or the one that the event requires in any case."""
    text = ""
    if run.assistant.takes_text(happened.event):
        from ragmem.hooks import query

        limits = run.limits
        most = min(limits.max_chars, limits.start_chars) if happened.what == START else limits.max_chars
        asked = query.request(happened, max_chars=most, research=limits.research, moments=limits.moments)
        if "op" in asked:
            text = _ask_memory(run, asked)
        elif happened.what not in (BEFORE_TOOL, AFTER_TOOL):
            run.log_outcome("nothing:", asked["reason"])
    return run.assistant.answer(happened.event, text)


def _ask_memory(run: Run, asked: "dict[str, Any]") -> str:
    """Return the memory's answer within the deadline, often ""."""
    from ragmem import client
    from ragmem.hooks.breaker import REST_S, Breaker

    breaker = Breaker(run.state, run.data)
    if breaker.is_open():
        run.log_outcome(f"nothing: too many deadlines were missed, the next attempt is in {REST_S:.0f} s")
        return ""
    run.asked = breaker
    answer = client.ask(run.data, asked, deadline=run.watch.deadline - MARGIN_S)
    run.asked = None
    if answer is None:
        passed = (time.monotonic() - run.began) / run.limits.query_deadline_s
        if passed >= MISSED_SHARE - MARGIN_S / run.limits.query_deadline_s:
            run.log_outcome(f"nothing: no answer in time, {breaker.record_miss()} in a row")
        else:
            run.log_outcome("nothing: no process to query")
        return ""
    breaker.reset()
    text = _limit_length(str(answer.get("text", "")))
    ids = answer.get("ids")
    count = len(ids) if isinstance(ids, list) else 0
    said = json_text.text_of(answer, "error", "reason")[:LONGEST_REASON]
    run.log_outcome(f"injected {count}:" if text else "nothing:", f"{said} [{answer.get('rung', '')}]")
    return text


def _limit_length(text: str) -> str:
    """Return a text unless it is too long for the assistant, which would cut off its closing frame."""
    from ragmem.config import hook_defaults

    # Assistants count UTF-16 code units, as JavaScript does.
    length = len(text.encode("utf-16-le", "replace")) // 2
    return text if length <= hook_defaults.MOST_CHARS else ""


def _is_connected(assistant: "Assistant", event: str) -> bool:
    """Return whether the settings call the hook of this event themselves, which a plug-in calls as well.

    A hook that `connect` wrote for another home counts too: the person chose it.
    """
    from ragmem.hooks import settings

    return settings.call_hook(assistant, event, os.environ, os.path.expanduser("~"), _working_folder())


def _parse_arguments(arguments: "Sequence[str]") -> tuple[str, str, str]:
    """Return the event ("" without one), the assistant, and what calls ("" for its settings).

    Unknown arguments are ignored.
    """
    event, assistant, via = "", DEFAULT, ""
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--for":
            assistant = words.pop(0) if words else assistant
        elif word.startswith("--for="):
            assistant = word.removeprefix("--for=")
        elif word == "--via":
            via = words.pop(0) if words else via
        elif not word.startswith("-") and not event:
            event = word
    return event, assistant, via


def _log_once(run: Run, what: str) -> None:
    if run.log is not None and not run.log.has(what):
        run.log_outcome(what)


def _write_output(descriptor: int, text: str) -> None:
    """Write a text without Python's buffer, which Python would flush again at exit."""
    left = memoryview(text.encode("utf-8", "replace"))
    try:
        while left:
            left = left[os.write(descriptor, left) :]
    except OSError:  # the caller has left, or the disk is full
        return


def _reason(error: BaseException) -> str:
    """Return the message of an error if it cannot contain text of the session."""
    if isinstance(error, OSError):
        return f"{error.strerror or ''} {error.filename or ''}".strip()
    return str(error) if isinstance(error, ValueError) and len(str(error)) < 100 else ""


def _working_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None
