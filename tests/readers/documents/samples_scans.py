"""Ten scans: pages without a text layer, as PDF, TIFF, PNG and JPEG, upright, turned, pale, in columns."""

import io
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from sample import Sample

FONTS = Path(mpl.get_data_path()) / "fonts" / "ttf"
PAGE = (1_240, 500)  # pixels: the upper part of A4 at 150 dpi


def font(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONTS / f"{name}.ttf", size)


def sheet(
    lines: Sequence[str], *, size: Sequence[int] = PAGE, face: str = "DejaVuSerif", height: int = 25
) -> Any:
    """Return a white page with lines below each other."""
    page = Image.new("L", tuple(size), 255)
    write(page, lines, left=110, face=face, height=height)
    return page


def write(page: Any, lines: Sequence[str], *, left: int, face: str, height: int, ink: int = 20) -> None:
    for number, line in enumerate(lines):
        ImageDraw.Draw(page).text((left, 90 + number * 1.6 * height), line, ink, font(face, height))


def specks(page: Any, share: float = 0.002) -> Any:
    """Return a page with the dust of a scanner."""
    dice = random.Random(4)
    for _ in range(int(share * page.width * page.height)):
        page.putpixel((dice.randrange(page.width), dice.randrange(page.height)), dice.randrange(90, 200))
    return page.filter(ImageFilter.GaussianBlur(0.6))


def into_pdf(*pages: Any, turned: int = 0) -> Callable[[Path], object]:
    """Return a function that writes pages into a PDF as scanners do: one picture each, without text."""

    def make(path: Path) -> None:
        from reportlab.lib.utils import ImageReader
        from reportlab.pdfgen.canvas import Canvas

        canvas = Canvas(str(path), invariant=1)
        for page in pages:
            packed = io.BytesIO()
            page.rotate(turned, expand=True, fillcolor=255).save(packed, "JPEG", quality=80)
            with Image.open(packed) as picture:
                size = (picture.width * 72 / 150, picture.height * 72 / 150)
                canvas.setPageSize(size)
                canvas.drawImage(ImageReader(picture), 0, 0, *size)
            canvas.showPage()
        canvas.save()

    return make


LEASE = (
    "Lease of the boathouse at Alder Creek",
    "The lessor is Wilma Stroud, the lessee is the rowing club.",
    "The rent is 340 pounds a quarter, due on the first day.",
    "The lessee oils the hinges of the slipway gate each spring.",
    "Notice is to be given six months before the end of a year.",
)
INVOICE = (
    "Invoice 2031-0418 of Pendle Rope Works",
    "Twelve mooring lines of 24 mm polyamide at 61.50 each.",
    "Delivered on 9 May 2031 to the lightship Hesperus.",
    "Payable within thirty days to the account at Leith.",
)
MINUTES = (
    "Minutes of the allotment committee",
    "Present were Oona Farrell, Dev Patel and Greta Lund.",
    "The committee decided to sink a second well by plot 27.",
    "Bonfires are forbidden from April until the end of September.",
)
GERMAN = (
    "Wartungsplan der Zahnradbahn Hölltal",
    "Die Bremsklötze werden alle 4000 Kilometer ausgewechselt.",
    "Für die Prüfung der Weichen ist Jürgen Österle zuständig.",
    "Das Schmieröl lagert im Schuppen hinter der Talstation.",
)
FRENCH = (
    "Règlement de la bibliothèque de Saint-Cère",
    "Le prêt est limité à cinq ouvrages pendant trois semaines.",
    "Les élèves du collège sont dispensés de la cotisation.",
    "La salle des archives ouvre le mercredi après-midi.",
)
LETTER = (
    "Dear Mr Okafor, the clock of the town hall is ten minutes slow.",
    "We replaced the escapement in 1987 and the weights in 2009.",
    "Our estimate for a new pendulum is 2,150 euros.",
    "Yours, Castellan and Daughters, clockmakers",
)
LEFT = (
    "The ferry Margit has",
    "carried cattle across",
    "the strait since 1932.",
    "Her engine is a diesel",
    "of 180 horse power.",
)
RIGHT = (
    "Her sister, the Solveig,",
    "lies as a café in the",
    "harbour of Tvedestrand",
    "and was never fitted",
    "with a new boiler.",
)
RECEIPT = (
    "KIOSK AM WEHR",
    "2 Krapfen            3,80",
    "1 Limonade           2,40",
    "Summe EUR            6,20",
    "Es bediente Sie Mandy",
)
CHAPTERS = (
    ("Logbook of the weather station Fair Isle", "On 3 January the anemometer froze at noon."),
    ("Second page of the logbook", "On 4 January a gust of 47 metres a second was noted."),
    ("Third page of the logbook", "On 5 January the relief keeper Hamish Tulloch arrived."),
)


TITLES = (LEASE[0], CHAPTERS[0][1], MINUTES[0])


def _columns() -> Any:
    page = Image.new("L", PAGE, 255)
    write(page, LEFT, left=110, face="DejaVuSerif", height=30)
    write(page, RIGHT, left=680, face="DejaVuSerif", height=30)
    return page


def _pale() -> Any:
    page = Image.new("L", PAGE, 226)
    write(page, INVOICE, left=110, face="DejaVuSans", height=25, ink=176)
    return page


def _tiff(path: Path) -> None:
    first, *rest = [sheet(lines, face="DejaVuSans") for lines in CHAPTERS]
    first.save(path, save_all=True, append_images=rest, compression="tiff_deflate")


SAMPLES = [
    Sample(
        "lease-scan.pdf",
        into_pdf(specks(sheet(LEASE))),
        (
            ("who is the lessor of the boathouse at Alder Creek", "Wilma Stroud", "page=1"),
            ("what is the rent of the boathouse", "340 pounds a quarter", "page=1"),
            ("who oils the hinges of the slipway gate", "lessee oils the hinges", "page=1"),
        ),
        LEASE,
    ),
    Sample(
        "invoice-pale-scan.pdf",
        into_pdf(_pale()),
        (
            ("what did Pendle Rope Works deliver", "Twelve mooring lines", "page=1"),
            ("when was the rope delivered to the lightship Hesperus", "9 May 2031", "page=1"),
            ("price of a mooring line of 24 mm polyamide", "61.50 each", "page=1"),
        ),
        INVOICE,
    ),
    Sample(
        "allotments-sideways-scan.pdf",
        into_pdf(sheet(MINUTES), turned=90),
        (
            ("where does the allotment committee sink a second well", "plot 27", "page=1"),
            ("when are bonfires forbidden", "from April until the end of September", "page=1"),
            ("who was present at the allotment committee", "Oona Farrell", "page=1"),
        ),
        MINUTES,
    ),
    Sample(
        "clock-letter-upside-down.pdf",
        into_pdf(sheet(LETTER), turned=180),
        (
            ("estimate for a new pendulum of the town hall clock", "2,150 euros", "page=1"),
            ("when was the escapement of the clock replaced", "1987", "page=1"),
            ("who are the clockmakers", "Castellan and Daughters", "page=1"),
        ),
        LETTER,
    ),
    Sample(
        "zahnradbahn-scan.png",
        lambda path: sheet(GERMAN).save(path),
        (
            ("Wer ist für die Prüfung der Weichen zuständig", "Jürgen Österle", ""),
            ("wann werden die Bremsklötze der Zahnradbahn ausgewechselt", "4000 Kilometer", ""),
            ("wo lagert das Schmieröl", "hinter der Talstation", ""),
        ),
        GERMAN,
    ),
    Sample(
        "bibliotheque-skewed.jpg",
        lambda path: specks(sheet(FRENCH).rotate(1.6, fillcolor=255)).save(path, quality=75),
        (
            ("combien d'ouvrages peut-on emprunter à la bibliothèque", "cinq ouvrages", ""),
            ("qui est dispensé de la cotisation", "élèves du collège", ""),
            ("quand ouvre la salle des archives", "mercredi après-midi", ""),
        ),
        FRENCH,
    ),
    Sample(
        "ferry-two-columns.pdf",
        into_pdf(_columns()),
        (
            ("since when has the ferry Margit carried cattle", "the strait since 1932", "page=1"),
            ("what engine has the ferry Margit", "diesel of 180 horse power", "page=1"),
            ("where does the Solveig lie as a café", "harbour of Tvedestrand", "page=1"),
        ),
        LEFT + RIGHT,
    ),
    Sample(
        "kiosk-receipt.png",
        lambda path: sheet(RECEIPT, size=(560, 420), face="DejaVuSansMono").save(path),
        (
            ("was kostet eine Limonade am Kiosk am Wehr", "Limonade", ""),
            ("wer bediente am Kiosk", "Mandy", ""),
            ("Summe des Kassenzettels vom Kiosk", "6,20", ""),
        ),
        RECEIPT,
    ),
    Sample(
        "fair-isle-logbook.tif",
        _tiff,
        (
            ("when did the anemometer of Fair Isle freeze", "3 January", "page=1"),
            ("which gust was noted in the logbook", "47 metres a second", "page=2"),
            ("who arrived as relief keeper", "Hamish Tulloch", "page=3"),
        ),
        tuple(line for page in CHAPTERS for line in page),
    ),
    Sample(
        "lease-large-scan.png",
        lambda path: sheet(TITLES, size=(1_240, 500)).resize((4_960, 2_000)).save(path),
        (
            ("lease of the boathouse", "Alder Creek", ""),
            ("what froze on 3 January", "anemometer froze", ""),
            ("minutes of which committee", "allotment committee", ""),
        ),
        TITLES,
    ),
]
