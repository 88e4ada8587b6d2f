"""`ragmem record`: store what a session learnt as a typed record."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragmem.cli.common import open_memory, say, say_json, standard_input, tell
from ragmem.cli.options import DryRunOption, EventTimeOption, JsonOption, OwnSpecOption, QuietOption
from ragmem.domain.records.record_types import RECORD_SCHEMAS, FieldType, RecordType
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.domain.records.records import TypedRecord

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

Type = Literal[
    "session_insight",
    "codebase_discovery",
    "pattern",
    "gotcha",
    "task_outcome",
    "root_cause",
    "user_correction",
    "knowledge",
    "episode",
    "decision",
]
"""A record's type, or what most people type for an episode whose event is a decision."""

EPILOG = """\b
Examples:
  ragmem record decision "Tides are stored in UTC, because the feed is in UTC"
  ragmem record gotcha "Tide tables ignore summer time" --field solution="convert to UTC at once"
  ragmem record task_outcome "Cache the tides" --field success=yes --field metadata.hours=3
  echo '{"summary": "Cached the tides", "what_failed": ["lru_cache"]}' | ragmem record session_insight -

\b
Exit codes:
  0  stored
  2  usage or configuration
"""


@app.command(epilog=EPILOG)
def record(
    type_: Annotated[
        Type,
        typer.Argument(
            metavar="TYPE",
            help=f"The type of the record: {', '.join(RecordType)}, or decision for an episode that is one.",
        ),
    ],
    text: Annotated[
        str,
        typer.Argument(
            metavar="[TEXT]", help="The main field; - reads all fields as JSON from standard input."
        ),
    ] = "",
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field", "-f", metavar="NAME=VALUE", help="A field; repeatable, also for a list of texts."
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag; repeatable.")] = None,
    project: Annotated[
        str,
        typer.Option(
            "--project", "-p", help="The project that it belongs to, or user; by default the folder's."
        ),
    ] = "",
    spec: OwnSpecOption = "",
    at: EventTimeOption = "",
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Store what a session learnt as a typed record.

    docs/records.md lists the fields of each type; so does the error for an unknown field.
    """
    from ragmem.api.memory import now
    from ragmem.services.ingestion.options import DraftOptions
    from ragmem.services.processes.dates import parse_moment
    from ragmem.services.records.records import record_shape

    if text == "-" and field:
        raise UsageError("- and --field are mutually exclusive", hint="put the field in the JSON document")
    kind, known = RecordType("episode" if type_ == "decision" else type_), dict[str, str]()
    if type_ == "decision":
        known["event_type"] = type_
    moment = now()
    wish = DraftOptions(
        tags=tuple(tag or ()), project=project, spec=spec, at=parse_moment(at, now=moment) if at else None
    )
    with open_memory(quiet=quiet) as memory:
        records = (
            _read(kind, known, memory.settings.seed.max_file_bytes)
            if text == "-"
            else [_parse_record(kind, known, text, field or ())]
        )
        store = memory.records.store
        stored = (store.preview if dry_run else store.add)(records, wish, now=moment)
    if as_json:
        shapes = [
            {
                **record_shape(item, redactor=memory.redactor),
                "change": "dry run" if dry_run else item.change,
                "note": item.note,
            }
            for item in stored
        ]
        say_json({"schema": 1, "dry_run": dry_run, "records": shapes})
        return EXIT_OK
    for item in stored:
        say(item.memory.text if dry_run else item.memory.short_id)
    for note in () if quiet else dict.fromkeys(item.note for item in stored if item.note):
        tell(f"note: stored, only in full text until a later seed indexes it: {note}")
    return EXIT_OK


def _parse_record(
    kind: RecordType, known: Mapping[str, str], text: str, options: Sequence[str]
) -> "TypedRecord":
    """Return the record of known fields, a text and NAME=VALUE options; raises UsageError."""
    from ragmem.domain.records.records import record as checked

    shape = RECORD_SCHEMAS[kind]
    given = [*known.items(), *([(shape.main, text)] if text else [])]
    for option in options:
        name, divided, value = option.partition("=")
        if not divided:
            raise UsageError(f'--field "{option}" has no =', hint="write --field NAME=VALUE")
        given.append((name.strip(), value))
    fields: dict[str, Any] = {}
    for name, value in given:
        whole, dot, key = name.partition(".")
        form = shape.by_name[whole].form if whole in shape.by_name else FieldType.TEXT
        paired = form in (FieldType.PAIRS, FieldType.PATH_PAIRS)
        if dot and paired:
            if key in fields.setdefault(whole, {}):
                raise UsageError(f'the field "{name}" is given twice', hint="it has a single value")
            fields[whole][key] = value
        elif form in (FieldType.TEXTS, FieldType.PATHS):
            fields.setdefault(name, []).append(value)
        elif paired:
            raise UsageError(
                f'the field "{name}" of the {kind} needs a name for "{value}"',
                hint=f"write --field {name}.NAME=VALUE",
            )
        elif name in fields:
            raise UsageError(f'the field "{name}" is given twice', hint="it has a single value")
        else:
            fields[name] = value
    return checked(kind, fields)


def _read(kind: RecordType, known: Mapping[str, str], limit: int) -> "list[TypedRecord]":
    """Return the records of standard input: a JSON object of further fields, or a list of them."""
    from ragmem.domain.records.records import record as checked

    raw = standard_input(limit)
    if len(raw) > limit:
        raise UsageError(
            f"standard input is longer than {limit:,} bytes",
            hint="raise max_file_mb in [seed] of config.toml",
        )
    try:
        document = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8: byte {error.start} is invalid", hint="convert it: iconv -t utf-8"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"standard input is not JSON: {_uncapitalize(str(error))}", hint='write {"FIELD": "VALUE", ...}'
        ) from error
    items = document if isinstance(document, list) else [document]
    if not items or not all(isinstance(item, dict) for item in items):
        raise UsageError(
            "standard input is not a JSON object of fields",
            hint='write {"FIELD": "VALUE", ...}, or a list of such',
        )
    return [checked(kind, {**item, **known}) for item in items]


def _uncapitalize(text: str) -> str:
    return text[:1].lower() + text[1:]
