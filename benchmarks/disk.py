"""Measure the disk use of a home: the pages of each table with its indexes, and the files."""

import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import Any

import common
from measures.command_runs import ragmem, write_source
from peer_tools.corpus import read_notes

QUICK_NOTES = 20

SMALL = 0.01
"""Share of the whole below which a part stands in the last line with others."""

OWNERS = "SELECT name, tbl_name FROM sqlite_schema WHERE type IN ('table', 'index')"
PAGES = "SELECT name, sum(pgsize), sum(unused) FROM dbstat GROUP BY name"
FREE = "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size"

Part = dict[str, int]


def parts(home: Path) -> tuple[dict[str, Part], int]:
    """Return each part of a home with its bytes of rows, indexes, and unused; and the bytes of its sources.

    A part is a table with its indexes, or what lies beside the database. Raises SystemExit where this
    Python's SQLite has no dbstat.
    """
    database = home / "data" / "memory.db"
    found: defaultdict[str, Part] = defaultdict(lambda: {"rows": 0, "indexes": 0, "unused": 0})
    # Before the database is opened, which makes files of its own.
    for path in home.rglob("*"):
        if path.is_file() and path != database:
            place = path.relative_to(home).parts
            found[f"files: {'/'.join(place[:2])}"]["rows"] += path.stat().st_size
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        owners = dict(connection.execute(OWNERS).fetchall())
        for name, size, unused in connection.execute(PAGES):
            owner = owners.get(name, name)
            found[owner]["rows" if name == owner else "indexes"] += size
            found[owner]["unused"] += unused
        (free,) = connection.execute(FREE).fetchone()
        (text,) = connection.execute("SELECT sum(size) FROM files").fetchone()
    except sqlite3.OperationalError as error:
        raise SystemExit(f'cannot read the pages of "{database}": {error}') from None
    finally:
        connection.close()
    found["free pages"]["unused"] = found["free pages"]["rows"] = free
    return dict(found), text


def rows_of(found: dict[str, Part], text: int) -> list[list[str]]:
    """Return the lines of the table, the largest part first; small ones are added up."""
    whole = sum(part["rows"] + part["indexes"] for part in found.values())
    shown: dict[str, Part] = {}
    rest: Part = {"rows": 0, "indexes": 0, "unused": 0}
    for name, part in sorted(found.items(), key=lambda item: -item[1]["rows"] - item[1]["indexes"]):
        if part["rows"] + part["indexes"] >= SMALL * whole:
            shown[name] = part
        else:
            rest = {key: rest[key] + part[key] for key in rest}
    shown["all others"] = rest
    shown["sum"] = {key: sum(part[key] for part in found.values()) for key in rest}
    return [
        [
            name,
            *(f"{part[key] / 1e6:,.2f}" for key in ("rows", "indexes", "unused")),
            f"{(part['rows'] + part['indexes']) / text:.2f}",
            f"{(part['rows'] + part['indexes']) / whole:.1%}",
        ]
        for name, part in shown.items()
    ]


def main() -> None:
    """Run the benchmark."""
    parser = common.arguments(__doc__, data="../shared/corpus")
    parser.add_argument("--sets", type=Path, default=common.REPOSITORY / "../shared/eval", metavar="DIR")
    parser.add_argument("--notes", type=int, metavar="N", help="so many of the notes; else all")
    parser.add_argument("--home", type=Path, metavar="DIR", help="a home that was seeded before, instead")
    options = parser.parse_args()
    document: dict[str, Any] = {"benchmark": "disk", "machine": common.machine()}
    with common.temporary_folder("disk") as place:
        home = options.home.resolve() if options.home else place / "home"
        if not options.home:
            count = options.notes or (QUICK_NOTES if options.quick else None)
            read_notes(options.data, options.sets / "questions", place / "notes", count=count)
            home.mkdir()
            sources = write_source(place / "sources.toml", place / "notes")
            ragmem(home, "seed", "--sources", str(sources), person=place)
        size = common.folder_bytes(home)
        found, text = parts(home)
    document |= {"parts": found, "text_bytes": text, "home_bytes": size}
    headers = ["part", "rows MB", "indexes MB", "unused MB", "per byte of text", "share"]
    notes = [
        f"{text / 1e6:.2f} MB of text; unused: free space in the pages of rows and indexes",
        f"part: a table with its indexes, or a folder of files; all others: parts below {SMALL:.1%}",
    ]
    common.report("disk", document, headers, rows_of(found, text), options=options, notes=notes)


if __name__ == "__main__":
    main()
