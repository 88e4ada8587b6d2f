"""The output of `ragmem inspect usage`: requests to providers, their costs, and today's caps."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal

from ragmem.api.memory import now
from ragmem.cli.common import bold, open_memory, say, say_json, table, tell
from ragmem.errors import EXIT_OK, StorageError, StoreBusyError
from ragmem.services.models.usage import Limit, day_of, format_amount, format_sums
from ragmem.services.processes.dates import parse_moment
from ragmem.storage.activity.usage import Sums, Use

By = Literal["day", "model", "purpose"]

DEFAULT_LIMIT = 20

PARTS: dict[By, Callable[[Use], tuple[str, ...]]] = {
    "day": lambda use: (use.day,),
    "model": lambda use: (use.backend, use.model),
    "purpose": lambda use: (use.purpose,),
}
"""The key of a row."""

HEADERS: dict[By, tuple[str, ...]] = {"day": ("day",), "model": ("backend", "model"), "purpose": ("purpose",)}

FIGURES = ("requests", "failed", "invalid", "tokens in", "tokens out", "seconds", "cost")


def show_usage(*, by: By, since: str, limit: int | None, as_json: bool) -> int:
    """Print the table, its sums, and the caps of today."""
    first = day_of(parse_moment(since, now=now())) if since else ""
    with open_memory() as memory:
        ledger = memory.ledger
        unreadable = 0
        try:
            unreadable = ledger.absorb().unreadable
        except (StoreBusyError, StorageError) as error:
            # The figures are right nevertheless: `rows` also counts the lines that could not be stored.
            tell(f"note: {error}; the counts are stored later")
        counted = ledger.rows(since=first)
        today, limits = ledger.today(), ledger.limits()
    rows = _rows(counted, by)
    shown = rows[: limit or DEFAULT_LIMIT]
    total = sum(counted.values(), Sums())
    if as_json:
        say_json(
            {
                "schema": 1,
                "by": by,
                "since": first or None,
                "rows": [dict(zip(HEADERS[by], key, strict=True)) | _figures(sums) for key, sums in shown],
                "left_out": len(rows) - len(shown),
                "total": _figures(total),
                "today": {"day": day_of(now()), **_figures(today), "caps": [_cap(one) for one in limits]},
                "unreadable": unreadable,
            }
        )
        return EXIT_OK
    if not counted:
        say("no requests to providers so far" + (f" since {first}" if first else ""))
    else:
        cells = [(*key, *_cells(sums)) for key, sums in shown]
        if len(rows) > 1:
            cells.append(("total", *[""] * (len(HEADERS[by]) - 1), *_cells(total)))
        table((*HEADERS[by], *FIGURES), cells)
    if len(rows) > len(shown):
        tell(f"{len(rows) - len(shown):,} more; -n shows them")
    _say_today(today, limits, blank=bool(counted))
    if unreadable:
        tell(f"warning: unreadable lines of counted requests, missing in the sums: {unreadable:,}")
    return EXIT_OK


def _rows(counted: dict[Use, Sums], by: By) -> list[tuple[tuple[str, ...], Sums]]:
    """Return (key, sums): days latest first, everything else most expensive first."""
    part = PARTS[by]
    merged: dict[tuple[str, ...], Sums] = {}
    for use, sums in counted.items():
        merged[part(use)] = merged.get(part(use), Sums()) + sums
    if by == "day":
        return sorted(merged.items(), key=lambda row: row[0], reverse=True)
    return sorted(merged.items(), key=lambda row: (-row[1].cost, -row[1].tokens, -row[1].calls, row[0]))


def _figures(sums: Sums) -> dict[str, Any]:
    figures = asdict(sums)
    seconds = figures.pop("milliseconds") / 1000
    return {**figures, "seconds": seconds, "cost": round(sums.cost, 6)}


def _cells(sums: Sums) -> tuple[Any, ...]:
    seconds = f"{sums.milliseconds / 1000:,.1f}"
    return (sums.calls, sums.failures, sums.invalid, sums.tokens_in, sums.tokens_out, seconds, sums.cost)


def _cap(limit: Limit) -> dict[str, Any]:
    return {"key": limit.key, "cap": limit.cap, "used": limit.used, "left": limit.left}


def _say_today(today: Sums, limits: tuple[Limit, ...], *, blank: bool) -> None:
    if blank:
        say()
    if not limits:
        say(f"{bold('today')}  {format_sums(today)}; no cap is set, see [spend] in config.toml")
    for limit in limits:
        used, left = format_amount(limit, limit.used), format_amount(limit, limit.left)
        rest = "reached: background work continues tomorrow" if limit.is_reached else f"{left} left"
        say(f"{bold('today')}  {used} of {limit.cap:,g} ({limit.key}), {rest}")
