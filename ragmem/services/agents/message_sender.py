"""Validate and send messages and signals; accepted ones are stored until they are acknowledged."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from ragmem.config.settings import AgentsSettings
from ragmem.domain.model import digest
from ragmem.domain.secrets.redaction import DEFAULT, Redactor, refuse_secret
from ragmem.domain.sessions.agents import (
    EVERYONE,
    SIGNALS,
    STOPPED,
    SUPERSEDES,
    Agent,
    AgentEventType,
    AgentMessage,
    MessageType,
    apply_signal,
    head_of,
    parse_agent_id,
)
from ragmem.errors import ConflictError, LimitReachedError, NotFoundError, RagmemError, UsageError
from ragmem.services.agents.changes import Changes
from ragmem.storage.operational import agents as rows
from ragmem.storage.operational import events, messages
from ragmem.storage.operational.file import OperationalFile
from ragmem.storage.sql.database import Connection

PRUNED_EVERY = 64
"""Number of events between two deletions of old events."""

MOST_SHORT = 4_096
"""Maximum characters of a task, a path or a reason."""

MOST_KEY = 128
"""Maximum characters of the key that identifies a repeated message."""

MOST_STATUS = 64
"""Maximum characters of a status."""

MOST_TEXT = 64 * 1024
"""Maximum characters of a message, and maximum bytes of its data as JSON."""


def clean_text(text: str, name: str, most: int, redactor: Redactor) -> str:
    """Return a text for storage; raises UsageError if it is too long or not valid text."""
    if len(text) > most:
        raise UsageError(
            f"the {name} has {len(text):,} characters", hint=f"up to {most:,}; pass a file by its path"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the {name} is not text: {error.reason}", hint="send it as UTF-8") from error
    return text if redactor.stored else redactor.redact(text)[0]


def clean_data(data: Mapping[str, Any] | None, redactor: Redactor) -> Mapping[str, Any]:
    """Return data as JSON for storage; raises UsageError if it is too large or not JSON."""
    if not data:
        return {}
    try:
        size = len(orjson.dumps(data))
    except orjson.JSONEncodeError as error:
        raise UsageError(
            f"the data is not a JSON object: {str(error).lower()}", hint="texts, numbers, lists and objects"
        ) from error
    if size > MOST_TEXT:
        raise UsageError(f"the data has {size:,} bytes as JSON", hint=f"up to {MOST_TEXT:,}")
    document: Mapping[str, Any] = data if redactor.stored else redactor.redact_document(data)
    return document


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """The result of a delivery: the message number of each recipient, and the reason of each refusal."""

    accepted: Mapping[str, int]
    refused: Mapping[str, str]


class MessageSender:
    """The sending half of `services.agents.agents.Agents`."""

    def __init__(
        self,
        file: OperationalFile,
        settings: AgentsSettings,
        *,
        now: Callable[[], datetime],
        redactor: Redactor = DEFAULT,
    ) -> None:
        self.file = file
        self.settings = settings
        self.changes = Changes(file)
        self._now = now
        self._redactor = redactor

    def signal(
        self,
        sort: str,
        *,
        to: str = "",
        sender: str = "",
        reason: str = "",
        data: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> DeliveryReport:
        """Send a signal (stop, pause, resume) to one agent, or to all active agents but the sender.

        Each check of the agent returns it, until `resume` or until its life begins or ends; the signal itself
        waits like a message, and replaces the signals that it makes void. A repeated call of the same sender
        with the same `key` sends nothing, and returns the first number. Raises NotFoundError for an agent
        that never checked in, UsageError for one that has ended, ConflictError for another signal with the
        key.
        """
        try:
            signal = MessageType(sort)
        except ValueError as error:
            raise UsageError(
                f'"{head_of(sort)}" is not a signal', hint=f"one of {', '.join(SIGNALS)}, or a message"
            ) from error
        return self._deliver(signal, to, sender, reason, data, key=key)

    def send(
        self,
        to: str,
        text: str,
        *,
        sender: str = "",
        data: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> DeliveryReport:
        """Send a message to one agent, or to all, once for each `key` (see `signal`); secrets are redacted.

        Raises NotFoundError for an agent that never checked in, LimitReachedError if its inbox is full; for a
        message to all, such agents are in `refused`.
        """
        return self._deliver(MessageType.MESSAGE, to, sender, text, data, key=key)

    def require(self, agent: str) -> Agent:
        """Return the state of an agent, such as whether it should stop; raises NotFoundError."""
        parse_agent_id(agent)
        found = None
        if self.file.exists():
            with self.file.read() as connection:
                found = rows.agent_of(connection, agent)
        if found is None:
            raise NotFoundError(
                f'no agent "{agent}" has checked in',
                hint="it does so by a heartbeat; `ragmem agents` lists all",
            )
        return found

    def _check_id(self, agent: str) -> None:
        """Raise UsageError for an invalid id of an agent."""
        refuse_secret(parse_agent_id(agent), "id of the agent", redactor=self._redactor)

    def _deliver(
        self,
        sort: MessageType,
        to: str,
        sender: str,
        text: str,
        data: Mapping[str, Any] | None,
        *,
        key: str,
    ) -> DeliveryReport:
        if len(key) > MOST_KEY:
            raise UsageError(f"the key has {len(key):,} characters", hint=f"up to {MOST_KEY}, such as a UUID")
        mark = digest("key", key) if key else ""
        if sender:
            self._check_id(sender)
        most = MOST_TEXT if sort is MessageType.MESSAGE else MOST_SHORT
        text, told = clean_text(text, "text", most, self._redactor), clean_data(data, self._redactor)
        if sort is MessageType.MESSAGE and not (text or told):
            raise UsageError("the message is empty", hint="give it a text, or data")
        letter = AgentMessage(0, "", sender, sort, text, told, self._now())
        if to not in EVERYONE:
            self.require(to)
        elif not self.file.exists():
            return DeliveryReport({}, {})
        accepted: dict[str, int] = {}
        refused: dict[str, RagmemError] = {}
        with self._write() as connection:
            everyone = [name for name in rows.names(connection) if name != sender]
            for name in everyone if to in EVERYONE else [to]:
                try:
                    accepted[name] = self._store(
                        connection, replace(letter, to=name), mark, broadcast=to in EVERYONE
                    )
                except (LimitReachedError, UsageError) as error:
                    refused[name] = error
            if to not in EVERYONE and refused:
                raise refused[to]
        return DeliveryReport(accepted, {name: str(error) for name, error in refused.items()})

    def _store(self, connection: Connection, letter: AgentMessage, mark: str, *, broadcast: bool) -> int:
        # This check comes first: an accepted message stays accepted.
        if (before := messages.find_sent_message(connection, letter.to, letter.sender, mark)) is not None:
            if (before.sort, before.text, before.data) != (letter.sort, letter.text, letter.data):
                # A silent success would lose this message.
                raise ConflictError(
                    f'something else was sent to "{letter.to}" with this key', hint="give each its own key"
                )
            return before.id
        agent = rows.agent_of(connection, letter.to)
        if agent is None:
            raise NotFoundError(f'no agent "{letter.to}" has checked in', hint="`ragmem agents` lists all")
        if agent.status == STOPPED and (broadcast or letter.sort is not MessageType.MESSAGE):
            raise UsageError(f'the agent "{agent.id}" has ended', hint="send it a message for its next start")
        if letter.sort is MessageType.MESSAGE:
            self._refuse_beyond_inbox(connection, agent)
        else:
            messages.supersede(connection, agent.id, SUPERSEDES[letter.sort], letter.created)
            rows.put(connection, apply_signal(agent, letter), told_event=0)
        number = messages.add(connection, letter, mark)
        happening = AgentEventType.MESSAGE if letter.sort is MessageType.MESSAGE else AgentEventType.SIGNAL
        self._write_event(
            connection,
            happening,
            agent.id,
            {"id": number, "from": letter.sender, "signal": letter.sort.value, "head": head_of(letter.text)},
        )
        return number

    def _refuse_beyond_inbox(self, connection: Connection, agent: Agent) -> None:
        if messages.count_messages(connection, agent.id) >= self.settings.inbox:
            raise LimitReachedError(
                f'the inbox of "{agent.id}" is full: {self.settings.inbox:,} messages wait',
                hint="try again once it has acknowledged some; `ragmem agents` shows whether it lives",
            )

    def _write_event(self, connection: Connection, type_: str, agent: str, data: Mapping[str, Any]) -> int:
        moment = self._now()
        number = events.add(connection, str(type_), agent, data, moment)
        if number % PRUNED_EVERY == 0:
            before = moment - timedelta(days=self.settings.keep_days)
            events.prune(connection, before=before, most=self.settings.keep)
            messages.prune(connection, before=before, most=self.settings.keep)
        return number

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self.file.write() as connection:
            yield connection
        self.changes.tell()
