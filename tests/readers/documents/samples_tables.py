"""Three workbooks made with openpyxl and two tables as text; all people, places and figures are invented."""

import csv
import io
from datetime import date, time, timedelta
from pathlib import Path

from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table
from openpyxl.worksheet.worksheet import Worksheet
from sample import Sample


def _fill(sheet: Worksheet, rows: list[list[object]]) -> None:
    for row in rows:
        sheet.append(row)


def make_observatory(path: Path) -> None:
    """Write a budget: numbers as currencies and percentages, a comment, a form, a hidden sheet."""
    book = Workbook()
    budget = book.active
    budget.title = "Budget"
    _fill(
        budget,
        [
            ["Running costs of Kestrel Ridge Observatory, 2031", None, None, None],
            [],
            ["Item", "Planned", "Spent", "Share of the plan"],
            ["Liquid nitrogen for the detectors", 18_400, 17_950, 0.9755],
            ["Mirror recoating", 62_000, 64_310, 1.0373],
            ["Electricity of the dome", 31_500, 29_880, 0.9486],
            ["Snow clearing of the access road", 9_200, 14_760, 1.6043],
            ["Internet over the microwave link", 5_400, 5_400, 1],
            ["Insurance of the building", 12_750, 12_750, 1],
            ["Meals for visiting observers", 7_800, 6_125, 0.7853],
        ],
    )
    budget.merge_cells("A1:D1")
    for row in range(4, 11):
        budget[f"B{row}"].number_format = budget[f"C{row}"].number_format = "[$€-407]#,##0"
        budget[f"D{row}"].number_format = "0.0%"
    budget["C5"].comment = Comment(
        "The second coating had to be repeated because the aluminium peeled near the edge.", "Ines Falk"
    )
    staff = book.create_sheet("Staff")
    _fill(
        staff,
        [
            ["Name", "Role", "Nights a month", "Contract until"],
            ["Ines Falk", "instrument scientist", 8, date(2033, 6, 30)],
            ["Tomas Rehn", "night assistant", 16, date(2031, 12, 31)],
            ["Abena Osei", "night assistant", 15, date(2032, 3, 31)],
            ["Luc Marchetti", "mechanic", 2, date(2034, 9, 30)],
            ["Yuki Hara", "software engineer", 1, date(2032, 11, 30)],
        ],
    )
    instruments = book.create_sheet("Instruments")
    _fill(
        instruments,
        [
            ["Instrument", "Wavelengths", "Detector temperature", "State"],
            ["HALO", "390 to 680 nm", "163 K", "in use every night"],
            ["BRAMBLE", "0.9 to 2.4 µm", "77 K", "away for a new cryocooler until October"],
            ["LYNX", "photometry in five bands", "223 K", "in use at full moon"],
        ],
    )
    keys = book.create_sheet("Access")
    _fill(keys, [["Where:", "Who has it"], ["Spare key of the dome:", "the farm at Hollow Gate"]])
    keys.append(["Alarm company:", "Nordwacht, calls back within ten minutes"])
    keys.sheet_state = "hidden"
    book.properties.title = "Kestrel Ridge Observatory budget"
    book.save(path)


_GENERA = ("Allium", "Campanula", "Dianthus", "Gentiana", "Linum", "Papaver", "Primula", "Salvia", "Viola")
_SPECIES = ("alpina", "montana", "palustris", "arvensis", "rupestris", "maritima", "hirsuta")
_COLLECTORS = ("Petra Novak", "Sunil Rao", "Greta Lind", "Omar Haddad")


def make_seed_bank(path: Path) -> None:
    """Write a long sheet of seed lots, and one with two tables side by side."""
    book = Workbook()
    lots = book.active
    lots.title = "Lots"
    lots.append(["Lot", "Species", "Collected", "Collector", "Seeds", "Remark"])
    remarks = {
        37: "taken from the railway embankment at Sorn before it was mown",
        268: "only lot from the Veldra bog, which was drained the year after",
        431: "germinated in the envelope, sent back to the collector",
    }
    for number in range(1, 451):
        species = f"{_GENERA[number % 9]} {_SPECIES[number % 7]}"
        day = date(2027, 5, 1) + timedelta(days=number * 3 % 900)
        seeds = 200 + number * 37 % 5_000
        lots.append([f"L{number:04}", species, day, _COLLECTORS[number % 4], seeds, remarks.get(number)])
    lots.add_table(Table(displayName="SeedLots", ref="A1:F451"))
    trials = book.create_sheet("Germination")
    left = [
        ["Temperature", "Days until half sprouted"],
        ["5 °C", 41],
        ["12 °C", 19],
        ["20 °C", 11],
        ["28 °C", "none sprouted"],
    ]
    right = [
        ["Treatment", "Sprouted"],
        ["none", 0.31],
        ["smoke water", 0.64],
        ["gibberellic acid", 0.72],
        ["scarified with sandpaper", 0.88],
    ]
    for row, (one, other) in enumerate(zip(left, right, strict=True), 1):
        for column, value in enumerate([*one, None, *other], 1):
            trials.cell(row, column, value)
        trials.cell(row, 5).number_format = "0%"
    book.properties.title = "Inventory of the Veldra seed bank"
    book.save(path)


def make_ferry(path: Path) -> None:
    """Write a timetable with headings of two rows, fares, and a chart."""
    book = Workbook()
    table = book.active
    table.title = "Timetable"
    _fill(
        table,
        [
            ["Quay", "Weekdays", None, "Sundays", None],
            [None, "First boat", "Last boat", "First boat", "Last boat"],
            ["Eidvik", time(5, 40), time(22, 10), time(8, 20), time(20, 5)],
            ["Sandholmen", time(5, 55), time(22, 25), time(8, 35), time(20, 20)],
            ["Kråkeskjær", time(6, 20), time(21, 45), time(9, 5), time(18, 50)],
            ["Ytterøya", time(6, 45), time(21, 15), time(9, 30), time(18, 20)],
        ],
    )
    for merged in ("A1:A2", "B1:C1", "D1:E1"):
        table.merge_cells(merged)
    fares = book.create_sheet("Fares")
    _fill(
        fares,
        [
            ["Passenger", "Single", "Ten trips"],
            ["Adult", 68, 540],
            ["Child of 6 to 15", 34, 270],
            ["Bicycle", 25, None],
            ["Car up to 6 m with driver", 214, 1_820],
            ["Trailer or caravan", 187, None],
            ["Dog", 0, None],
        ],
    )
    for row in range(2, 8):
        fares[f"B{row}"].number_format = fares[f"C{row}"].number_format = '#,##0 "NOK"'
    _fill(fares, [[], [], ["Refunds are made at the quay office in Eidvik only, within 14 days."]])
    traffic = book.create_sheet("Passengers")
    _fill(traffic, [["Month", "Passengers", "Cancelled trips"]])
    months = ["January", "February", "March", "April", "May", "June"]
    counts = [(8_120, 31), (7_940, 44), (9_015, 12), (10_230, 5), (13_480, 2), (19_760, 0)]
    _fill(traffic, [[month, people, off] for month, (people, off) in zip(months, counts, strict=True)])
    chart = BarChart()
    chart.title = "Trips cancelled because of wind above 20 m/s"
    chart.add_data(Reference(traffic, min_col=3, min_row=1, max_row=7), titles_from_data=True)
    traffic.add_chart(chart, "E2")
    book.properties.title = "Eidvik ferry"
    book.save(path)


_LIGHTS = """Leuchtturm;Baujahr;Höhe über Wasser;Kennung;Wärter bis;Bemerkung
Grauholm;1861;34 m;zwei weiße Blitze in 10 s;1974;Turm aus Ziegeln, außen mit Schindeln verkleidet
Süderknob;1889;21 m;ein roter Blitz in 5 s;1968;steht seit der Sturmflut von 1906 auf neuen Pfählen
Möwensteert;1903;47 m;drei weiße Blitze in 15 s;1991;die Linse dreht sich auf Quecksilber
Österoog;1855;18 m;festes grünes Licht;1952;der Turm wurde 1952 um vier Meter gekürzt
Krähenort;1912;29 m;weiß und rot wechselnd in 6 s;1983;Nebelhorn mit Druckluft, 2001 abgebaut
Lüttsand;1878;25 m;ein weißer Blitz in 3 s;1979;"Wärterhaus heute Herberge, ""Zum letzten Licht"" genannt"
Hohe Bake;1931;52 m;vier weiße Blitze in 20 s;1999;höchster Turm der Küste
Ankerberg;1866;31 m;zwei rote Blitze in 8 s;1970;Leitfeuer für die Einfahrt nach Wiekhafen
"""


def make_lighthouses(path: Path) -> None:
    """Write a table as spreadsheets in German do: semicolons, Windows-1252, quotation marks in cells."""
    path.write_bytes(_LIGHTS.encode("cp1252"))


def make_gauge(path: Path) -> None:
    """Write a long table between tabs in UTF-16, with a few days of note."""
    notes = {
        61: "ice on the float, value estimated",
        214: "highest level since the gauge was built, after the dam at Orrel was opened",
        389: "sensor replaced by Birgit Aas, new zero 4 cm lower",
    }
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(["Date", "Level (cm)", "Discharge (m3/s)", "Water (C)", "Note"])
    for number in range(420):
        day = date(2030, 1, 1) + timedelta(days=number)
        level = 180 + (number * 53 % 97) + (240 if number == 214 else 0)
        row = [day.isoformat(), level, round(level * 0.42, 1), round(4 + (number % 180) / 12, 1)]
        writer.writerow([*row, notes.get(number, "")])
    path.write_bytes(text.getvalue().encode("utf-16"))


SAMPLES = [
    Sample(
        "observatory-budget.xlsx",
        make_observatory,
        (
            (
                "What did the observatory spend on clearing snow from the access road?",
                "€14,760",
                "sheet=Budget",
            ),
            ("Why was the mirror coating repeated?", "the aluminium peeled near the edge", "sheet=Budget"),
            ("Who keeps the spare key of the observatory dome?", "the farm at Hollow Gate", "sheet=Access"),
        ),
    ),
    Sample(
        "seed-bank-inventory.xlsx",
        make_seed_bank,
        (
            (
                "Which seed lot came from the Veldra bog that was drained?",
                "L0268",
                "sheet=Lots&row=202",
            ),
            (
                "What share of seeds sprouted after being scarified with sandpaper?",
                "Treatment: scarified with sandpaper; Sprouted: 88%.",
                "sheet=Germination",
            ),
            (
                "Which seed lot germinated in the envelope and was sent back to the collector?",
                "L0431",
                "sheet=Lots&row=402",
            ),
        ),
    ),
    Sample(
        "ferry-timetable.xlsx",
        make_ferry,
        (
            (
                "When does the last boat leave Kråkeskjær on Sundays?",
                "Sundays Last boat: 18:50",
                "sheet=Timetable",
            ),
            ("What does the ferry cost for a car with driver?", "214 NOK", "sheet=Fares"),
            (
                "How many ferry trips were cancelled because of wind in February?",
                "Month: February; Passengers: 7940; Cancelled trips: 44.",
                "sheet=Passengers",
            ),
        ),
    ),
    Sample(
        "leuchttuerme.csv",
        make_lighthouses,
        (
            (
                "Welcher Leuchtturm wurde um vier Meter gekürzt?",
                "Leuchtturm: Österoog",
                "",
            ),
            ("Welche Kennung hat der Leuchtturm Möwensteert?", "drei weiße Blitze in 15 s", ""),
            ("Wie heißt die Herberge im Wärterhaus von Lüttsand?", "Zum letzten Licht", ""),
        ),
    ),
    Sample(
        "river-gauge.tsv",
        make_gauge,
        (
            (
                "What was the highest river level since the gauge was built?",
                "Date: 2030-08-03; Level (cm): 510",
                "row=202",
            ),
            ("Who replaced the sensor of the river gauge?", "Birgit Aas", "row=202"),
            (
                "On which day was the river level estimated because of ice on the float?",
                "Date: 2030-03-03",
                "row=1",
            ),
        ),
    ),
]
