"""The ledger of provider requests: counts them, and stops background work at daily caps."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from ragmem.config.settings import Settings
from ragmem.errors import BackendError, RagmemError
from ragmem.ports import INVALID, Call, Purpose
from ragmem.services.processes.spool import CLOSED, Spool, line_of
from ragmem.storage.activity.usage import Sums, Use, merge_sums
from ragmem.storage.home.catalog import Catalog

FOLDER = "usage"
"""Below the state folder of the home."""

BACKGROUND: frozenset[Purpose] = frozenset({"document", "extraction"})

KNOWN_FOR = 5.0
"""Seconds until the sums are read again, for requests of other machines on a shared catalog."""

MILLION = 1_000_000
MAX_FIGURE = 2**53
"""The maximum of any figure in a line; a larger one is invalid."""

Cap = Literal["daily_calls", "daily_tokens", "daily_cost"]
UsageSums = dict[Use, Sums]


@dataclass(frozen=True, slots=True)
class Limit:
    """A cap of [spend] and what of it is used up today."""

    key: Cap
    cap: float
    used: float

    @property
    def left(self) -> float:
        """The rest of the cap; 0 if it is reached."""
        return max(0, self.cap - self.used)

    @property
    def is_reached(self) -> bool:
        """Return whether background work must wait until tomorrow."""
        return self.used >= self.cap


@dataclass(frozen=True, slots=True)
class SpoolReport:
    """The lines that were moved to the catalog."""

    files: int = 0
    lines: int = 0
    unreadable: int = 0


class Ledger:
    """Counts requests for one home; implements ports.Meter. Creates nothing before the first request."""

    def __init__(self, catalog: Catalog, settings: Settings, *, now: Callable[[], datetime]) -> None:
        self._catalog = catalog
        self._settings = settings
        self._now = now
        self._spool: Spool[UsageSums] = Spool(settings.places.state / FOLDER, empty=dict, take=_add_line)
        self._guard = threading.RLock()
        self._unsaved: UsageSums = {}
        self._known: tuple[str, Mapping[str, str], float] | None = None
        self._in_catalog: tuple[Mapping[Use, Sums], set[str]] = ({}, set())
        self._worked = False

    def admit(self, purpose: Purpose) -> None:
        """Raise BackendError if a daily cap is reached and the purpose is background work."""
        if purpose not in BACKGROUND:
            return
        for limit in self.limits():
            if limit.is_reached:
                raise BackendError(limit_message(limit, now=self._now()), hint=limit_hint(limit))

    def record(self, call: Call) -> None:
        """Count a request at today's prices; never fails, and never waits for another process.

        If its line cannot be written (a read-only home, a full disk), only this process counts it.
        """
        use = Use(day_of(self._now()), call.backend, call.model, call.purpose)
        sums = self._sums_of(call)
        with self._guard:
            self._worked = self._worked or call.purpose in BACKGROUND
            try:
                fields = {name: getattr(sums, name) for name in Sums.__slots__}
                self._spool.add(line_of(use._asdict() | fields))
            except OSError:
                self._unsaved[use] = self._unsaved.get(use, Sums()) + sums

    def _sums_of(self, call: Call) -> Sums:
        if call.error == INVALID:
            return Sums(invalid=1)
        models, language = self._settings.models, self._settings.language_model
        # A trial may be of either type; an embedder writes no tokens.
        embeds = call.purpose in {"query", "document"} or (call.purpose == "test" and not call.tokens_out)
        price_in, price_out = (models.price, 0.0) if embeds else (language.price_in, language.price_out)
        if call.purpose == "rerank":
            price_in, price_out = self._settings.reranker.price, 0.0
        return Sums(
            calls=1,
            failures=int(bool(call.error)),
            tokens_in=max(0, call.tokens_in),
            tokens_out=max(0, call.tokens_out),
            milliseconds=max(0, round(call.seconds * 1000)),
            cost=(max(0, call.tokens_in) * price_in + max(0, call.tokens_out) * price_out) / MILLION,
        )

    def limits(self) -> tuple[Limit, ...]:
        """Return the configured caps with today's usage; reads nothing if there are none."""
        spend = self._settings.spend
        if not (spend.daily_calls or spend.daily_tokens or spend.daily_cost):
            return ()
        today = self.today()
        limits = (
            Limit("daily_calls", spend.daily_calls, today.calls),
            Limit("daily_tokens", spend.daily_tokens, today.tokens),
            Limit("daily_cost", spend.daily_cost, today.cost),
        )
        return tuple(limit for limit in limits if limit.cap)

    def today(self) -> Sums:
        """Return the sums of this day (UTC): those in the catalog, and those in the spool."""
        day = day_of(self._now())
        sums = self._sums_since(day).items()
        return sum((one for use, one in sums if use.day == day), Sums())

    def rows(self, *, since: str = "") -> dict[Use, Sums]:
        """Return the sums from a day on, by purpose."""
        with self._guard:
            self._known = None
            return {use: sums for use, sums in self._sums_since(since).items() if use.day >= since}

    def _sums_since(self, since: str) -> dict[Use, Sums]:
        with self._guard:
            names = self._spool.names()
            files = self._spool.read()
            moment = time.monotonic()
            known = self._known
            if known is None or known[:2] != (since, names) or moment - known[2] > KNOWN_FOR:
                self._in_catalog = self._catalog.usage.beside(files, since=since)
                self._known = (since, names, moment)
            counted, added = self._in_catalog
            waiting = [file.held for name, file in files.items() if name not in added]
            return merge_sums([counted, *waiting, self._unsaved])

    def absorb(self, *, patience: float | None = None) -> SpoolReport:
        """Move the counts from the spool to the catalog, unless there is none or it cannot be written.

        A process that is killed anywhere counts nothing twice and loses nothing. Raises StoreBusyError after
        `patience` seconds (None: the configured ones).
        """
        if not self._spool.names() or not self._catalog.exists():
            return SpoolReport()
        self._catalog.prepare()
        if self._catalog.database.read_only:
            return SpoolReport()
        self._spool.close_files()
        files = self._spool.read(CLOSED)
        now = self._now()
        added = self._catalog.usage.add(
            {name: file.held for name, file in files.items()},
            left=self._spool.names,
            now=now,
            patience=patience,
        )
        self._spool.remove(files)
        done = [files[name] for name in added]
        result = SpoolReport(len(done), sum(f.lines for f in done), sum(f.unreadable for f in done))
        if result.unreadable:
            self._catalog.log.write("usage", {"unreadable lines": result.unreadable}, now=now)
        return result

    def count_interrupted(self) -> int:
        """Return the number of files left by a process that ended during the transfer."""
        return len(self._spool.names(CLOSED))

    def close(self) -> None:
        """Move the counts to the catalog if this process did background work; never fails or waits.

        The lines of questions are moved by the next writer. Closing twice is fine.
        """
        if self._worked:
            self._worked = False
            # If the catalog is busy or read-only, the lines stay in the spool and count from there.
            with suppress(RagmemError, OSError):
                self.absorb(patience=0)
        self._spool.close()


def limit_message(limit: Limit, *, now: datetime) -> str:
    """Return a line about a reached cap: how much is used, and when it resets."""
    midnight = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), datetime.min.time(), UTC)
    hours = (midnight - now).total_seconds() / 3600
    wait = f"{hours:.0f} h" if hours >= 1 else f"{hours * 60:.0f} min"
    cap, used = format_amount(limit, limit.cap), format_amount(limit, limit.used)
    return f"today's cap of {cap} is reached: {used} so far; it resets at 00:00 UTC, in {wait}"


def limit_hint(limit: Limit) -> str:
    """Return the hint for continuing before a cap resets."""
    return f"to continue now, raise {limit.key} below [spend] in config.toml"


def format_amount(limit: Limit, value: float) -> str:
    """Return a value with the unit of a cap, for people."""
    if limit.key == "daily_cost":
        return f"{value:,.4f}".rstrip("0").rstrip(".") + " of cost"
    noun = {"daily_calls": "request", "daily_tokens": "token"}[limit.key]
    return f"{value:,.0f} {noun}{'' if value == 1 else 's'}"


def format_sums(sums: Sums) -> str:
    """Return sums in a line."""
    cost = f", {sums.cost:,.4f} of cost" if sums.cost else ""
    return f"{sums.calls:,} request{'' if sums.calls == 1 else 's'}, {sums.tokens:,} tokens{cost}"


def day_of(moment: datetime) -> str:
    """Return the day (UTC) of a request."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d")


def _add_line(counted: UsageSums, value: Any) -> None:
    use, sums = _parse(value)
    counted[use] = counted.get(use, Sums()) + sums


def _parse(value: Any) -> tuple[Use, Sums]:
    use = Use(*(value[name] for name in Use._fields))
    sums = Sums(*(value[name] for name in Sums.__slots__))
    if not all(isinstance(part, str) for part in use):
        raise TypeError("a name that is no text")
    for name in Sums.__slots__:
        figure = getattr(sums, name)
        whole = isinstance(figure, int) and not isinstance(figure, bool)
        if not (whole or (name == "cost" and isinstance(figure, float))) or not 0 <= figure <= MAX_FIGURE:
            raise ValueError(f"{name} is no figure")
    return use, sums
