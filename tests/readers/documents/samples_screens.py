"""Ten screenshots: code, a terminal, dialogs, charts, dark themes and small letters, without any metadata."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from sample import Sample
from samples_scans import font

CODE = (
    "def settle(ledger, closing_date):",
    "    # Entries after the closing date wait for the next month.",
    "    due = [e for e in ledger if e.day <= closing_date]",
    "    if not due:",
    '        raise LedgerEmptyError("nothing to settle")',
    "    return sum(e.amount for e in due) * VAT_FACTOR",
)
TERMINAL = (
    "$ kubectl rollout status deploy/pigeon-router",
    "Waiting for deployment: 2 of 5 updated replicas are available",
    "error: deployment exceeded its progress deadline",
    "$ kubectl logs pigeon-router-7f9c --tail 1",
    "panic: cannot bind port 8471: address already in use",
)
TRACE = (
    "Traceback (most recent call last):",
    '  File "harvest.py", line 88, in fetch_orchards',
    "    row = cursor.fetchone()",
    "psycopg.errors.DeadlockDetected: deadlock detected",
    "DETAIL: Process 4127 waits for ShareLock on transaction 990",
)
COMPILER = (
    "error[E0382]: borrow of moved value: `manifest`",
    "  --> src/barge/loader.rs:214:19",
    "    |",
    "214 |     audit(&manifest);",
    "    |           ^^^^^^^^^ value borrowed here after move",
)

DIALOG = ("The snapshot could not be written.", "Error 0x80070070: the disk Vault-3 is full.")
EELS = (("March", 112), ("April", 287), ("May", 431), ("June", 198))
SETTINGS = (
    "Einstellungen > Datenträger",
    "Die Prüfsumme der Partition stimmt nicht überein.",
    "Möchten Sie das Gerät »Fähre-2« trotzdem einhängen?",
    "Abbrechen   Einhängen",
)
BOARD = (
    ("Waiting", ("Renew the certificate", "of the tide gauge")),
    ("In progress", ("Move the invoices", "to Postgres 18")),
    ("Done", ("Retire the host", "copper-lantern")),
)
QUOTA = (
    "Quota of the bucket heron-archive: 4.7 of 5.0 TB used (94 %)",
    "Objects older than 400 days move to the glacier tier on Sundays.",
    "Owner of this bucket is the team Kingfisher, pager 5512.",
)
CHAT = (
    "Ines  10:42   The staging database was restored from the Tuesday dump.",
    "Tariq 10:44   Then the seeds of the loyalty points are missing again.",
    "Ines  10:47   Yes, run make reseed-loyalty before the demo.",
)


def _screen(
    lines: Sequence[str],
    *,
    size: tuple[int, int] = (900, 300),
    face: str = "DejaVuSansMono",
    height: int = 17,
    ink: str = "black",
    ground: str = "white",
) -> Any:
    picture = Image.new("RGB", size, ground)
    drawing = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        drawing.text((24, 24 + number * 1.5 * height), line, ink, font(face, height))
    return picture


def _save(picture: Any) -> Callable[[Path], object]:
    return picture.save


def _dialog() -> Any:
    picture = Image.new("RGB", (640, 300), "#8899aa")
    drawing = ImageDraw.Draw(picture)
    drawing.rectangle((60, 40, 580, 260), "#f0f0f0", "#444444")
    drawing.rectangle((60, 40, 580, 76), "#2050a0")
    drawing.text((76, 48), "Orchid Backup", "white", font("DejaVuSans-Bold", 16))
    for number, line in enumerate(DIALOG):
        drawing.text((90, 100 + 32 * number), line, "black", font("DejaVuSans", 17))
    for left, word in ((330, "Retry"), (450, "Ignore")):
        drawing.rectangle((left, 205, left + 100, 240), "#dddddd", "#777777")
        drawing.text((left + 22, 213), word, "black", font("DejaVuSans", 16))
    return picture


def _bars() -> Any:
    picture = Image.new("RGB", (800, 460), "white")
    drawing = ImageDraw.Draw(picture)
    drawing.text((190, 16), "Eels caught in the weir, by month", "black", font("DejaVuSans", 20))
    for number, (month, count) in enumerate(EELS):
        left = 110 + number * 160
        drawing.rectangle((left, 400 - count * 0.7, left + 90, 400), "#3377bb")
        drawing.text((left + 22, 374 - count * 0.7), str(count), "black", font("DejaVuSans", 17))
        drawing.text((left + 18, 410), month, "black", font("DejaVuSans", 17))
    return picture


def _german() -> Any:
    return _screen(SETTINGS, face="DejaVuSans", height=18, size=(640, 200))


def _board() -> Any:
    picture = Image.new("RGB", (980, 320), "#fafafa")
    drawing = ImageDraw.Draw(picture)
    for number, (head, card) in enumerate(BOARD):
        left = 30 + number * 315
        drawing.text((left, 20), head, "#333333", font("DejaVuSans-Bold", 20))
        drawing.rectangle((left, 60, left + 285, 150), "white", "#bbbbbb")
        for line, text in enumerate(card):
            drawing.text((left + 14, 74 + line * 30), text, "black", font("DejaVuSans", 17))
    return picture


SAMPLES = [
    Sample(
        "screen-settle.png",
        _save(_screen(CODE)),
        (
            ("which error does settle raise", "LedgerEmptyError", ""),
            ("which function takes a ledger and a closing date", "def settle", ""),
            ("entries after the closing date", "wait for the next month", ""),
        ),
        CODE,
    ),
    Sample(
        "screen-rollout.png",
        _save(_screen(TERMINAL, ink="#d0f0d0", ground="#101418")),
        (
            ("which port could pigeon-router not bind", "8471", ""),
            ("status of the rollout of pigeon-router", "2 of 5 updated replicas", ""),
            ("why did the deployment of pigeon-router fail", "progress deadline", ""),
        ),
        TERMINAL,
    ),
    Sample(
        "screen-deadlock.png",
        _save(_screen(TRACE, height=14, size=(760, 220))),
        (
            ("deadlock in fetch_orchards", "DeadlockDetected", ""),
            ("which process waits for ShareLock", "4127", ""),
            ("harvest.py line 88", "fetchone", ""),
        ),
        TRACE,
    ),
    Sample(
        "screen-moved-value.png",
        _save(_screen(COMPILER, ink="#eeeeee", ground="#282c34")),
        (
            ("borrow of moved value manifest", "E0382", ""),
            ("where in loader.rs is the value borrowed after move", "214", ""),
            ("audit of the manifest in the barge loader", "audit(&manifest)", ""),
        ),
        COMPILER,
    ),
    Sample(
        "screen-backup-dialog.png",
        _save(_dialog()),
        (
            ("which disk is full", "Vault-3", ""),
            ("error of Orchid Backup", "0x80070070", ""),
            ("the snapshot of Orchid Backup", "could not be written", ""),
        ),
        ("Orchid Backup", *DIALOG, "Retry", "Ignore"),
    ),
    Sample(
        "screen-eels.png",
        _save(_bars()),
        (
            ("eels caught in May", "431", ""),
            ("chart of the weir by month", "Eels caught in the weir", ""),
            ("how many eels in June", "198", ""),
        ),
        ("Eels caught in the weir, by month", *(f"{month} {count}" for month, count in EELS)),
    ),
    Sample(
        "screen-pruefsumme.png",
        _save(_german()),
        (
            ("Prüfsumme der Partition", "stimmt nicht überein", ""),
            ("welches Gerät soll trotzdem eingehängt werden", "Fähre-2", ""),
            ("Einstellungen der Datenträger", "Datenträger", ""),
        ),
        SETTINGS,
    ),
    Sample(
        "screen-small-print.png",
        _save(
            _screen(
                QUOTA,
                face="DejaVuSans",
                height=11,
                size=(480, 110),
            )
        ),
        (
            ("how full is the bucket heron-archive", "94", ""),
            ("who owns the bucket heron-archive", "Kingfisher", ""),
            ("which objects move to the glacier tier", "older than 400 days", ""),
        ),
        QUOTA,
    ),
    Sample(
        "screen-board.png",
        _save(_board()),
        (
            ("renew the certificate", "of the tide gauge", ""),
            ("move the invoices", "to Postgres 18", ""),
            ("which host is retired", "copper-lantern", ""),
        ),
        tuple(f"{head} {' '.join(card)}" for head, card in BOARD),
    ),
    Sample(
        "screen-chat-dark.png",
        _save(
            _screen(
                CHAT,
                face="DejaVuSans",
                height=16,
                size=(760, 150),
                ink="#c8c8c8",
                ground="#1e1e1e",
            )
        ),
        (
            ("from which dump was the staging database restored", "Tuesday dump", ""),
            ("what to run before the demo", "reseed-loyalty", ""),
            ("which seeds are missing again", "loyalty points", ""),
        ),
        CHAT,
    ),
]
