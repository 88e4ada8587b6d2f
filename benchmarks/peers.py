"""Compare ragmem with other tools on the same notes, questions and vectors.

Each tool is installed from the package index, in a pinned version, into an environment of its own below
--peers; after that nothing of it may reach the network. Its vectors come from the bundled model in its own
process. One that cannot be run keeps its row, and a note says why.
"""

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
from peer_tools.corpus import Corpus, read_notes, read_set
from peer_tools.environments import prepare
from peer_tools.measure import Extent, Standing, measure
from peer_tools.process import Failed
from peer_tools.report import notes, table
from peer_tools.tools import OURS, PEERS, Peer, Place, interpreter_of_this_run, ours_with

SMALL = Extent(rounds=1, cold=3, more=3, ingest_timeout=600, timeout=120)
FULL = Extent(rounds=3, cold=5, more=8, ingest_timeout=3600, timeout=120)

SMALL_NOTES = 20

MODEL = ("numpy", "onnxruntime", "PyStemmer")
"""What the bundled model needs in the environment of each tool."""


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/corpus")
    parser.add_argument(
        "--sets",
        type=Path,
        default=common.REPOSITORY / "../shared/eval",
        metavar="DIR",
        help="the questions about the notes, and the sets of --also",
    )
    parser.add_argument(
        "--also", default="", metavar="NAMES", help="retrieval sets, each a corpus of its own"
    )
    parser.add_argument("--only", default="", metavar="NAMES", help="these tools beside ragmem; else all")
    parser.add_argument(
        "--peers",
        type=Path,
        default=Path(tempfile.gettempdir(), "ragmem-peers-memory"),
        metavar="DIR",
        help="the tools' environments, 3 GB; made where they are missing, kept for the next run",
    )
    parser.add_argument(
        "--notes", type=int, metavar="N", help=f"so many of the notes ({SMALL_NOTES} with --quick); else all"
    )
    parser.add_argument("--rounds", type=int, help=f"of ingestion, each into an empty home ({FULL.rounds})")
    parser.add_argument(
        "--ingest-limit",
        type=float,
        metavar="SECONDS",
        help=f"that a tool may take to store all files, else it failed ({FULL.ingest_timeout:.0f})",
    )
    options = parser.parse_args()
    # So that an ended run ends its tools and removes their folders.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for folder in (options.data, options.sets):
        if not folder.is_dir():
            raise SystemExit(f"there is no folder {folder}")
    about = common.machine()
    ours = ours_with(about["versions"])
    wanted = options.only.split(",") if options.only else [peer.name for peer in PEERS]
    peers = [ours, *(peer for peer in PEERS if peer.name in wanted)]
    extent = SMALL if options.quick else FULL
    if options.ingest_limit:
        extent = replace(extent, ingest_timeout=options.ingest_limit)
    if options.rounds:
        extent = replace(extent, rounds=options.rounds)
    document: dict[str, Any] = {"benchmark": "peers", "machine": about, "corpora": []}
    with common.temporary_folder("peers") as place:
        pythons = interpreters(peers, options.peers.resolve())
        for corpus in corpora(options, place):
            common.tell(f"{corpus.name}: {corpus.files:,} files, {len(corpus.questions)} questions")
            standings = [
                Standing(
                    peer,
                    pythons[peer.name][0],
                    Place(place / "work" / corpus.name / peer.name),
                    failed=pythons[peer.name][1],
                )
                for peer in peers
            ]
            measure(standings, corpus, extent)
            document["corpora"].append(described(corpus, standings))
    headers, rows = table(document["corpora"])
    common.report("peers", document, headers, rows, options=options, notes=notes(document["corpora"], extent))


def interpreters(peers: Sequence[Peer], folder: Path) -> dict[str, tuple[Path, str]]:
    """Return each tool's interpreter, or why it has none."""
    found = {OURS.name: (interpreter_of_this_run(), "")}
    for peer in peers:
        if peer.name == OURS.name:
            continue
        try:
            python = prepare(
                folder / f"{peer.name}-{peer.version}",
                (*peer.requirements, *MODEL),
                minimum=peer.minimum,
                loads_extension=peer.loads_extension,
            )
            found[peer.name] = (python, "")
        except Failed as error:
            common.tell(f"{peer.name}: {error}")
            found[peer.name] = (Path(), str(error))
    return found


def corpora(options: argparse.Namespace, place: Path) -> list[Corpus]:
    """Write the notes and the sets that were asked for to folders of `place`."""
    given = place / "given"
    wanted = options.notes or (SMALL_NOTES if options.quick else None)
    notes_of = read_notes(options.data, options.sets / "questions", given / "notes", count=wanted)
    names = [name for name in options.also.split(",") if name]
    return [notes_of, *(read_set(options.sets / name, given / name) for name in names)]


def described(corpus: Corpus, standings: Sequence[Standing]) -> dict[str, Any]:
    return {
        "corpus": corpus.name,
        "files": corpus.files,
        "bytes": corpus.size,
        "tools": [
            {"name": one.peer.name, "version": one.peer.version, "failed": one.failed, **one.figures}
            for one in standings
        ],
    }


if __name__ == "__main__":
    main()
