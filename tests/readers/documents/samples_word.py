"""Word files as people write them: an outage review, a manual with formulas, a policy, a specification."""

from io import BytesIO

import docx
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from PIL import Image, ImageDraw
from sample import Question, Sample
from word_pieces import (
    deleted,
    equation,
    field,
    fraction,
    index,
    inserted,
    large,
    notes,
    power,
    refer,
    root,
    rows,
    run,
    text_box,
)


def _paragraphs(document, text):
    for each in text.strip().split("\n\n"):
        document.add_paragraph(" ".join(each.split()))


def _caption(document, label, number, text):
    paragraph = document.add_paragraph(f"{label} ", style="Caption")
    field(paragraph, f"SEQ {label} \\* ARABIC", number)
    paragraph.add_run(f": {text}")
    return paragraph


def _picture(document, words, alt):
    image = Image.new("RGB", (320, 160), "white")
    ImageDraw.Draw(image).text((20, 60), words, fill="black")
    data = BytesIO()
    image.save(data, "PNG")
    data.seek(0)
    document.add_picture(data)
    document.inline_shapes[-1]._inline.docPr.set("descr", alt)


OUTAGES = (
    (
        "Payments",
        "expired certificate of the card gateway",
        "Ilse Brandt",
        "renewal is watched 30 days ahead",
    ),
    ("Search", "index rebuilt on the only replica", "Tomas Reyes", "rebuilds need two healthy replicas"),
    ("Email", "bounce list imported twice", "Ngozi Okafor", "imports carry a key and run once"),
    ("Login", "clock of one host ran eleven minutes ahead", "Priya Raman", "hosts with drift leave the pool"),
    ("Exports", "disk filled by core dumps", "Jonas Lind", "dumps go to a volume of their own"),
    ("Maps", "tile provider changed its rate limit", "Aiko Mori", "tiles are kept for a week"),
)


def outage_review(path):
    """Write a review of a quarter's outages: merged cells, notes, a comment, tracked changes."""
    document = docx.Document()
    document.core_properties.title = "Outage review, third quarter"
    document.core_properties.author = "Reliability group"
    notes(
        document,
        [
            "The vendor's own page gave 07:12, which is the time in its zone; all times here are UTC.",
            "Credits were granted to 214 customers, after the finance team had agreed on 9 September.",
        ],
    )
    document.add_heading("Outage review, third quarter", 0)
    document.add_heading("Summary", 1)
    _paragraphs(
        document,
        """Six services had outages that customers noticed between July and September. None lost data. The
        longest was that of Payments, the most expensive that of Search, and the one that was noticed last was
        that of Exports, because nobody exports at night.

        Each outage has a section of its own with its cause, its owner and what was changed. The
        table of times
        follows after them, since the questions of the last review were mostly about times.""",
    )
    for service, cause, owner, change in OUTAGES:
        document.add_heading(f"{service} outage", 2)
        _paragraphs(
            document,
            f"""The cause was this: {cause}. The alarm went to the person on call, who opened an incident and
            asked the owner of the service, {owner}, to join.

            What was changed afterwards: {change}. The change was tested by provoking the same fault in the
            staging environment, where the alarm now comes before customers would notice.""",
        )
        if service == "Search":
            money = document.add_paragraph("Customers of the yearly plan were credited one day each.")
            refer(money, 2)
        if service == "Login":
            rule = document.add_paragraph("The limit for drift is now ")
            deleted(rule, "ten minutes")
            inserted(rule, "two seconds")
            asked = rule.add_run(", measured each minute.")
            document.add_comment(asked, "Agreed with the database team.", author="Priya Raman")
    document.add_heading("Times", 1)
    _caption(document, "Table", 1, "Times of each outage in UTC")
    table = rows(
        document,
        [
            ["Service", "Noticed", "", "Repaired"],
            ["", "by alarm", "by customer", ""],
            ["Payments", "05:12", "05:31", "11:48"],
            ["Search", "14:03", "14:02", "16:20"],
            ["Email", "08:40", "09:15", "09:55"],
            ["Login", "21:17", "21:20", "22:04"],
            ["Exports", "none", "07:50", "08:35"],
            ["Maps", "12:26", "12:58", "13:44"],
        ],
    )
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 3).merge(table.cell(1, 3))
    refer(document.add_paragraph("The time of the payments alarm is that of our own probe."), 1)
    document.add_heading("What we do next", 1)
    for text in (
        "Alarms for exports, which had none: Jonas Lind, until the end of October.",
        "A drill for the loss of a certificate: Ilse Brandt, in November.",
        "A page for customers that says what is known within fifteen minutes: Ngozi Okafor.",
    ):
        document.add_paragraph(text, style="List Number")
    document.save(path)


PUMPS = (
    ("HK-20", "water", 20, 1450, 0.61, "graphite"),
    ("HK-35", "water", 35, 1450, 0.66, "graphite"),
    ("HK-50", "brine", 50, 2900, 0.68, "silicon carbide"),
    ("HK-80", "glycol", 80, 2900, 0.72, "silicon carbide"),
    ("HK-120", "thermal oil", 120, 2900, 0.74, "tungsten carbide"),
)


def pump_manual(path):
    """Write a manual with formulas between its sentences, tables with captions, and a picture."""
    document = docx.Document()
    document.core_properties.title = "Handbook of the HK pumps"
    document.core_properties.author = "Halvorsen Works"
    document.add_heading("Handbook of the HK pumps", 0)
    for name, liquid, flow, speed, _, seal in PUMPS:
        document.add_heading(f"Pump {name}", 1)
        _paragraphs(
            document,
            f"""The {name} moves {flow} cubic metres of {liquid} in an hour at {speed} turns a
            minute. Its shaft
            is sealed with a ring of {seal}, which is to be looked at every two thousand hours of work.

            Before the first start the casing is filled through the upper screw until liquid comes out without
            bubbles. The pump must not run dry, not even to find out which way it turns.""",
        )
        _caption(document, "Table", name, f"Limits of the {name}")
        rows(
            document,
            [
                ["Quantity", "Least", "Most", "Unit"],
                ["Temperature of the liquid", -10 if liquid != "water" else 2, 40 + flow, "degrees Celsius"],
                ["Pressure at the inlet", 0.2, round(flow / 20, 1), "bar"],
                ["Torque of the casing screws", 18 + flow // 10, 22 + flow // 10, "newton metre"],
            ],
        )
    document.add_heading("Calculations", 1)
    document.add_heading("Shaft power", 2)
    text = document.add_paragraph("The power that the shaft needs follows from the flow ")
    equation(text, run("Q"))
    text.add_run(", the head ")
    equation(text, run("H"))
    text.add_run(" and the efficiency ")
    equation(text, run("η"))
    text.add_run(", where the density of the liquid counts as well:")
    power_of_shaft = run("P=") + fraction(run("ρgQH"), run("η"))
    equation(document.add_paragraph(), power_of_shaft, display=True)
    _paragraphs(
        document, "A motor is chosen one size above this power, because liquids become thicker in winter."
    )
    document.add_heading("Suction head", 2)
    _paragraphs(
        document,
        """Cavitation begins where the pressure falls to that of the vapour. The head that is there
        at the inlet
        must be half a metre above the head that the pump asks for.""",
    )
    suction = (
        index(run("H"), run("A")) + run("=") + fraction(run("p−") + index(run("p"), run("v")), run("ρg"))
    )
    equation(document.add_paragraph(), suction + run("−") + index(run("h"), run("f")), display=True)
    document.add_heading("Friction in pipes", 2)
    _paragraphs(document, "The losses of all pieces of a pipe are added, each with its own length and width:")
    piece = index(run("λ"), run("i")) + fraction(index(run("L"), run("i")), index(run("d"), run("i")))
    total = index(run("h"), run("f")) + run("=") + large("∑", run("i=1"), run("n"), piece)
    equation(document.add_paragraph(), total + fraction(power(run("v"), run("2")), run("2g")), display=True)
    document.add_heading("Speed of the impeller", 2)
    _paragraphs(document, "The speed at the rim follows from the head, by Torricelli's law:")
    equation(document.add_paragraph(), run("v=") + root(run("2gH")), display=True)
    document.add_heading("Faults", 1)
    _picture(document, "cross section", "Cross section of the casing with the shaft seal at the drive end")
    _caption(document, "Figure", 1, "The wearing ring sits behind the third screw, seen from the motor")
    _caption(document, "Table", 9, "What noises mean")
    rows(
        document,
        [
            ["Noise", "Cause", "Remedy"],
            ["Crackling as of gravel", "Cavitation", "Open the valve of the suction pipe"],
            ["Even howl", "Bearing without grease", "Grease with two grams of lithium soap"],
            [
                "Knocking at each turn",
                "Impeller loose on the shaft",
                "Tighten the cap nut to 45 newton metre",
            ],
            ["Hiss when stopped", "Foot valve leaks", "Change the flap of the foot valve"],
        ],
    )
    document.save(path)


CHAPTERS = (
    ("Equipment", "laptop, screen and chair", "after four years", "the head of the team"),
    ("Travel", "trains before planes", "within five days", "the travel desk"),
    ("Training", "courses and conferences", "before booking", "the head of the department"),
    ("Sick leave", "a note by phone or mail", "on the first day", "the person's lead"),
    ("Parental leave", "a letter with both dates", "seven weeks ahead", "the people team"),
    ("Sabbatical", "a plan for the handover", "six months ahead", "the people team"),
)


def leave_policy(path):
    """Write a policy with numbered headings and clauses, endnotes, and a header on each page."""
    document = docx.Document()
    document.core_properties.title = "Handbook for staff"
    document.sections[0].header.paragraphs[0].text = "Larkspur Mutual, handbook for staff, edition 11"
    field(document.sections[0].footer.paragraphs[0], "PAGE", "3")
    notes(
        document,
        [
            "Days that were not taken by 31 March lapse, unless the person was ill for more than six weeks.",
            "The rule of 2019 with its fixed rate of 42 euros a day no longer applies.",
        ],
        kind="endnote",
    )
    number = _numbered_headings(document)
    for place, (title, what, when, who) in enumerate(CHAPTERS, 1):
        _numbered(document.add_heading(title, 1), number, 0)
        _paragraphs(
            document,
            f"""This chapter is about {title.lower()}: {what}. It holds for all who work at Larkspur, also for
            those with a contract of less than a year, and it does not hold for contractors.""",
        )
        _numbered(document.add_heading("Who decides", 2), number, 1)
        _paragraphs(document, f"A request is made {when}, and it is decided by {who}. Silence is no consent.")
        _numbered(document.add_heading("Exceptions", 2), number, 1)
        _paragraphs(
            document,
            f"An exception from chapter {place} is written down with its reason, and it ends with the year.",
        )
        if title == "Travel":
            refer(
                document.add_paragraph("Meals are paid by what they cost, with a receipt."), 2, kind="endnote"
            )
        if title == "Parental leave":
            refer(document.add_paragraph("Days of holiday go over into the next year."), 1, kind="endnote")
            _numbered(document.add_heading("Return at reduced hours", 2), number, 1)
            _paragraphs(
                document,
                """Whoever comes back may work between fifteen and thirty-two hours in a week, and
                may change the
                number twice. The desk is kept free.""",
            )
    document.add_heading("Days a year", 1)
    document.add_paragraph("Table 1: Days of leave by years of service", style="Caption")
    rows(
        document,
        [
            ["Years of service", "Holiday", "Training", "Moving house"],
            ["up to 2", 27, 3, 1],
            ["3 to 5", 28, 4, 1],
            ["6 to 10", 30, 5, 2],
            ["more than 10", 31, 6, 2],
        ],
    )
    document.save(path)


def _numbered_headings(document):
    """Give the document a list "1", "1.1" for headings, and return its number."""
    numbering = document.part.numbering_part.element
    kind = OxmlElement("w:abstractNum")
    kind.set(qn("w:abstractNumId"), "77")
    for level, text in enumerate(("%1", "%1.%2")):
        line = OxmlElement("w:lvl")
        line.set(qn("w:ilvl"), str(level))
        for name, value in (("start", "1"), ("numFmt", "decimal"), ("lvlText", text)):
            each = OxmlElement(f"w:{name}")
            each.set(qn("w:val"), value)
            line.append(each)
        kind.append(line)
    numbering.insert(0, kind)
    return numbering.add_num(77).numId


def _numbered(paragraph, number, level):
    properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
    properties.get_or_add_numId().val = number
    properties.get_or_add_ilvl().val = level


def german_specification(path):
    """Write a specification with styles of a German Word, known by their outline levels, and a text box."""
    document = docx.Document()
    document.core_properties.title = "Pflichtenheft Nordlicht"
    document.core_properties.author = "Greta Sommer"
    levels = [_outlined(document, f"Kapitel {level}", level) for level in (1, 2)]
    names = ("Zugang", "Zahlung", "Versand", "Rückgabe", "Lager", "Berichte")
    document.add_paragraph("Pflichtenheft Nordlicht", style="Title")
    for place, name in enumerate(names, 1):
        document.add_paragraph(name, style=levels[0])
        _paragraphs(
            document,
            f"""Dieser Abschnitt beschreibt den Teil {name} des Systems Nordlicht. Er gilt für alle
            drei Ausbaustufen
            und ersetzt die Fassung vom Vorjahr. Die Abnahme erfolgt in der Woche {30 + place}.""",
        )
        document.add_paragraph("Anforderungen", style=levels[1])
        for item in (
            f"{name} antwortet bei neun von zehn Anfragen in {place * 100} Millisekunden.",
            f"{name} schreibt jede Änderung in ein Protokoll, das {place + 4} Jahre aufbewahrt wird.",
            f"Ein Ausfall von {name} wird nach {place * 2} Minuten gemeldet.",
        ):
            document.add_paragraph(item, style="List Bullet")
        if name == "Rückgabe":
            text_box(document.add_paragraph(), "Hinweis: Gutscheine werden nie in bar ausgezahlt.")
    document.add_paragraph("Lieferanten", style=levels[0])
    document.add_paragraph("Tabelle 1: Lieferanten und ihre Ansprechpartner", style="Caption")
    rows(
        document,
        [
            ["Lieferant", "Gewerk", "Ansprechpartner", "Telefon"],
            ["Ostsee Druck", "Etiketten", "Heike Petersen", "0381 55501"],
            ["Kranich Logistik", "Versand", "Malte Jensen", "0431 55502"],
            ["Deichwerk", "Lagertechnik", "Femke Albers", "0491 55503"],
            ["Möwe Pay", "Zahlung", "Ole Brodersen", "0461 55504"],
        ],
    )
    document.save(path)


def _outlined(document, name, level):
    style = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
    outline = OxmlElement("w:outlineLvl")
    outline.set(qn("w:val"), str(level - 1))
    style.element.get_or_add_pPr().append(outline)
    return style


SAMPLES = [
    Sample(
        "outage-review.docx",
        outage_review,
        (
            Question("When was the Email outage noticed by a customer?", "Noticed by customer: 09:15"),
            Question("How many customers were granted credits?", "214 customers"),
            Question("What is the new limit for clock drift after the login outage?", "two seconds"),
        ),
    ),
    Sample(
        "pump-manual.docx",
        pump_manual,
        (
            Question("How is the power that the pump shaft needs calculated?", r"P = \frac{\rho gQH}{\eta}"),
            Question(
                "What does it mean when the pump is knocking at each turn?", "Impeller loose on the shaft"
            ),
            Question("Where does the wearing ring of the pump sit?", "behind the third screw"),
        ),
    ),
    Sample(
        "staff-handbook.docx",
        leave_policy,
        (
            Question(
                "How many hours may I work in a week at reduced hours?",
                "5.3 Return at reduced hours",
            ),
            Question("When do days of holiday that were not taken lapse?", "31 March"),
            Question("How many days of holiday after 6 to 10 years of service?", "Holiday: 30"),
        ),
    ),
    Sample(
        "pflichtenheft.docx",
        german_specification,
        (
            Question("Welche Telefonnummer hat Femke Albers von Deichwerk?", "0491 55503"),
            Question("Werden Gutscheine in bar ausgezahlt?", "nie in bar ausgezahlt"),
            Question("Nach wie vielen Minuten wird ein Ausfall von Versand gemeldet?", "nach 6 Minuten"),
        ),
    ),
]
