"""Slides as people make them: a quarter's figures, a training with speaker notes, a plan in columns."""

from io import BytesIO

from PIL import Image, ImageDraw
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from sample import Question, Sample

TITLE, LIST, TWO_LISTS, ONLY_TITLE = 0, 1, 3, 5


def _slide(deck, layout, title):
    slide = deck.slides.add_slide(deck.slide_layouts[layout])
    slide.shapes.title.text = title
    return slide


def _listed(deck, title, *lines, notes=""):
    slide = _slide(deck, LIST, title)
    frame = slide.placeholders[1].text_frame
    for number, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.text = line.strip()
        paragraph.level = (len(line) - len(line.lstrip())) // 2
    if notes:
        slide.notes_slide.notes_text_frame.text = notes
    return slide


def _table(slide, rows, top=2.0):
    place = (Inches(0.5), Inches(top), Inches(9), Inches(0.4 * len(rows)))
    table = slide.shapes.add_table(len(rows), len(rows[0]), *place).table
    for number, row in enumerate(rows):
        for column, text in enumerate(row):
            table.cell(number, column).text = str(text)
    return table


def _box(slide, text, left, top):
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(4), Inches(0.6))
    shape.text_frame.text = text
    return shape


def _picture(slide, words, alt):
    image = Image.new("RGB", (400, 200), "white")
    ImageDraw.Draw(image).text((30, 90), words, fill="black")
    data = BytesIO()
    image.save(data, "PNG")
    data.seek(0)
    picture = slide.shapes.add_picture(data, Inches(5), Inches(4.5), Inches(4), Inches(2))
    picture._element.nvPicPr.cNvPr.set("descr", alt)


REGIONS = ("North", "South", "East", "West", "Islands")
PRODUCTS = ("Lanterns", "Ropes", "Anchors", "Sails")


def quarter(path):
    """Write the figures of a shipyard supplier: a table for each region, a chart, a remark."""
    deck = Presentation()
    deck.core_properties.title = "Harbour Supply, second quarter"
    deck.core_properties.author = "Board office"
    title = _slide(deck, TITLE, "Harbour Supply, second quarter")
    title.placeholders[1].text = "For the supervisory board, 14 July"
    _listed(
        deck,
        "What this is about",
        "Revenue by region and by product",
        "The three largest changes against last year",
        "  only those of more than five per cent",
        "An outlook that the board has not yet agreed to",
    )
    for place, region in enumerate(REGIONS):
        slide = _slide(deck, ONLY_TITLE, f"Revenue of region {region}")
        rows = [["Product", "April", "May", "June"]]
        for order, product in enumerate(PRODUCTS):
            first = 210 + 37 * place + 91 * order
            rows.append([product, first, first + 13 + 5 * order, first + 30 - 7 * place])
        table = _table(slide, rows)
        table.cell(0, 0).text = "Product, thousand euros"
    slide = _slide(deck, ONLY_TITLE, "Orders on hand")
    data = CategoryChartData()
    data.categories = ["January", "February", "March", "April", "May", "June"]
    data.add_series("Yachts", (14, 15, 11, 18, 22, 27))
    data.add_series("Ferries", (3, 3, 4, 4, 6, 5))
    place = (Inches(1), Inches(2), Inches(8), Inches(4.5))
    frame = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data)
    frame.chart.has_title = True
    frame.chart.chart_title.text_frame.text = "Orders on hand at the end of each month"
    _listed(
        deck,
        "Outlook",
        "Revenue grows by four per cent if steel stays at its price",
        "The yard in Brake is closed for eleven days in August",
        notes="If the board asks: the closure in Brake costs 180 thousand euros, half of it insured.",
    )
    deck.save(path)


DRILLS = (
    ("Fire in the galley", "close the hatch, then cut the gas", "the galley chief", "red", "night"),
    ("Man overboard", "throw the ring and point with one arm", "the lookout", "orange", "day"),
    ("Water in the bilge", "start both pumps and look for the leak", "the engineer", "blue", "dog"),
    ("Loss of steering", "drop two black balls and call the coast", "the mate", "black", "morning"),
    ("Collision", "close all doors and count the crew", "the master", "white", "evening"),
)


def training(path):
    """Write a training whose answers are in what the speaker says, not on the slides."""
    deck = Presentation()
    deck.core_properties.title = "Safety training on board"
    title = _slide(deck, TITLE, "Safety training on board")
    title.placeholders[1].text = "Every member of the crew, once a year"
    for place, (what, how, who, colour, watch) in enumerate(DRILLS, 1):
        _listed(
            deck,
            what,
            f"First: {how}",
            f"Who leads: {who}",
            f"The card with the steps is {colour}",
            notes=f"Let two people show this drill. A good crew needs {place * 2 + 3} minutes for it. "
            f"Last year the slowest group was that of the {watch} watch.",
        )
    slide = _slide(deck, ONLY_TITLE, "Where things are")
    _table(
        slide,
        [
            ["Thing", "Deck", "Place"],
            ["Fire blanket", "Main", "left of the stove"],
            ["Life rings", "Upper", "both sides of the bridge"],
            ["Signal rockets", "Bridge", "locker under the chart table"],
            ["Axe", "Lower", "behind the door of the engine room"],
        ],
    )
    _picture(slide, "deck plan", "Plan of the main deck with the muster station at the stern")
    deck.save(path)


def plan(path):
    """Write a plan with two columns, grouped shapes, and boxes that were not placed in the order "
    "of reading."""
    deck = Presentation()
    deck.core_properties.title = "Move of the archive"
    _slide(deck, TITLE, "Move of the archive")
    compare = _slide(deck, TWO_LISTS, "Two buildings")
    for number, text in (
        (1, "Old customs house\nDry cellar\nRent of 2,100 euros a month"),
        (2, "Tram depot"),
    ):
        compare.placeholders[number].text = text
    compare.placeholders[2].text = "Tram depot\nLift for heavy boxes\nRent of 2,950 euros a month"
    slide = _slide(deck, ONLY_TITLE, "Phases")
    _box(slide, "Phase 3: shelves are filled again, from the cellar upwards", 0.5, 5)
    _box(slide, "Phase 1: boxes are counted and get a number", 0.5, 2)
    _box(slide, "Phase 2: lorries drive for nine nights", 0.5, 3.5)
    grouped = _slide(deck, ONLY_TITLE, "Who is asked")
    for place, (office, person) in enumerate(
        (("Fire brigade", "Anna Pohl"), ("Monument office", "Rui Lopes"), ("Works council", "Hanne Ott"))
    ):
        group = grouped.shapes.add_group_shape()
        for line, text in enumerate((office, f"Contact: {person}", f"Answer within {place + 2} weeks")):
            box = group.shapes.add_textbox(
                Inches(0.5 + 3 * place), Inches(2 + 0.7 * line), Inches(2.8), Inches(0.6)
            )
            box.text_frame.text = text
    for floor in ("cellar", "ground floor", "first floor", "attic"):
        _listed(
            deck,
            f"Shelves in the {floor}",
            f"The {floor} takes {len(floor) * 140} metres of files",
            f"Its floor bears {len(floor) * 90} kilograms on a square metre",
            "No paper from before 1800 stands near a window",
        )
    costs = _slide(deck, ONLY_TITLE, "Costs")
    table = _table(
        costs,
        [
            ["Item", "Offer", "", "Chosen"],
            ["", "lowest", "highest", ""],
            ["Lorries", "14,200", "19,900", "Reimers"],
            ["Boxes", "3,150", "4,480", "Kartonwerk"],
            ["Shelves", "27,000", "31,600", "Stahl Lohse"],
        ],
    )
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 3).merge(table.cell(1, 3))
    deck.save(path)


SAMPLES = [
    Sample(
        "board-quarter.pptx",
        quarter,
        (
            Question("What did region East sell of Anchors in May?", "May: 489", "slide=5"),
            Question(
                "How many yachts were on order at the end of June?", "Category: June; Yachts: 27", "slide=8"
            ),
            Question("What does the closure of the yard in Brake cost?", "180 thousand euros", "slide=9"),
        ),
    ),
    Sample(
        "safety-training.pptx",
        training,
        (
            Question(
                "How many minutes does a good crew need for the man overboard drill?", "7 minutes", "slide=3"
            ),
            Question("Where are the signal rockets?", "locker under the chart table", "slide=7"),
            Question(
                "Where on the main deck is the muster station?", "muster station at the stern", "slide=7"
            ),
        ),
    ),
    Sample(
        "archive-move.pptx",
        plan,
        (
            Question("What is the rent of the tram depot?", "Rent of 2,950 euros a month", "slide=2"),
            Question("Who is the contact at the monument office?", "Contact: Rui Lopes", "slide=4"),
            Question("What was the highest offer for shelves?", "Offer highest: 31,600", "slide=9"),
        ),
    ),
]
