"""E-books: a handbook for gardeners with a file of notes, and fables after Aesop, told anew."""

from ebooklib import epub
from sample import Question, Sample

OPS = 'xmlns:epub="http://www.idpf.org/2007/ops"'


def _book(path, title, author, chapters, *, extra=()):
    book = epub.EpubBook()
    book.set_identifier(f"urn:sample:{title}")
    book.set_title(title)
    book.set_language("en")
    book.add_author(author)
    book.add_metadata("DC", "date", "1912-04-01")
    pages = []
    for number, (name, body) in enumerate([*chapters, *extra], 1):
        page = epub.EpubHtml(title=name, file_name=f"text/part{number:02d}.xhtml", lang="en")
        page.content = f"<html {OPS}><head><title>{name}</title></head><body>{body}</body></html>"
        book.add_item(page)
        pages.append(page)
    book.toc = pages[: len(chapters)]
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    book.spine = ["nav", *pages]
    epub.write_epub(str(path), book)


MONTHS = (
    ("January", "prune apple trees when there is no frost", "nothing", "tools", 2),
    ("February", "sow leeks under glass", "peppers", "pots", 3),
    ("March", "dig the beds and spread compost", "peas", "seeds", 9),
    ("April", "plant potatoes when the birch has leaves", "carrots", "potatoes", 8),
    ("May", "bring out tomatoes after the ice saints", "beans", "stakes", 10),
    ("June", "water in the morning and thin the carrots", "lettuce", "straw", 7),
    ("July", "cut lavender before noon", "endive", "twine", 5),
    ("August", "leave the wasps their plums", "spinach", "baskets", 6),
)


def garden(path):
    """Write a handbook with a chapter a month, tables, and all notes in one file at the end."""
    chapters, notes = [], []
    for number, (month, work, sown, thing, hours) in enumerate(MONTHS, 1):
        note = {
            "April": "Birch leaves come later in the hills, there wait until the lilac has buds.",
            "July": "Dried lavender keeps its scent for two years in a tin, not in glass.",
        }.get(month, f"The almanac of 1911 gives other days for {month}.")
        chapters.append(
            (
                f"{month} in the garden",
                (
                    f"<h1>{month}</h1><p>The work of the month is this: {work}. Whoever has a cold "
                    f"frame may begin a "
                    f'week earlier, whoever lives by the sea a week later.<a epub:type="noteref" '
                    f'href="part09.xhtml#n{number}">{number}</a></p><h2>What to sow in {month}</h2>'
                    f"<p>In the open: {sown}. Seeds that are older than three years are tried on wet "
                    f"paper first.</p>"
                    "<table><caption>Hours and things</caption><tr><th>Bed</th><th>Hours a "
                    "week</th><th>Thing needed</th>"
                    f"</tr><tr><td>Vegetables</td><td>{hours}</td><td>{thing}</td></tr><tr><td>Flowers</td>"
                    f"<td>{hours // 2 + 1}</td><td>gloves for {month}</td></tr></table>"
                ),
            )
        )
        notes.append(f'<aside epub:type="footnote" id="n{number}"><p>{note}</p></aside>')
    _book(
        path,
        "A year in the garden",
        "Tilda Moss",
        chapters,
        extra=[("Notes", "<h1>Notes</h1>" + "".join(notes))],
    )


FABLES = [
    tuple(each.split("\n"))
    for each in """
The fox and the grapes
A fox saw grapes on a high trellis. He leapt for them until he was out of breath.
He went away and said that they were sour.
What we cannot have we call worthless.

The crow and the pitcher
A crow found a pitcher with a little water at its bottom.
She dropped pebble after pebble into it, until the water had risen to her beak.
Thought does what strength cannot.

The ant and the grasshopper
A grasshopper had sung through the summer, and asked the ants for grain in the frost.
They told him to dance through the winter.
There is a time for work and a time for play.

The lion and the mouse
A lion let a mouse go that had run over his nose.
When hunters had bound him, the mouse gnawed through the ropes.
No kindness is too small.

The tortoise and the hare
A hare laughed at a tortoise, who asked him to run a race to the mill.
He slept under a hedge, and woke when she was at the mill.
The steady win.

The wolf in a sheep's skin
A wolf put on the skin of a sheep and was shut in with the flock.
The shepherd wanted mutton that evening, and took the wolf.
Who pretends is taken for what he pretends to be.

The dog and the shadow
A dog crossed a plank with meat in his mouth and saw a dog with meat below.
He snapped at it, and the stream took what he had.
Who wants both loses both.

The miller and his donkey
A miller and his son led a donkey to the fair, and everyone knew better who should ride.
They carried the donkey on a pole, and it fell from the bridge.
Who tries to please all pleases none.
""".strip().split("\n\n")
]

SEASONS = ("spring", "summer", "autumn", "winter")


def fables(path):
    """Write a chapter for each fable, with its moral in a quotation and a table of the animals at the end."""
    chapters = [
        (
            name,
            (
                f"<h1>{name}</h1><p>{begins}</p><p>{ends}</p><h2>Moral</h2><blockquote><p>{moral}</p></blockquote>"
                f'<p>Number {number * 15} in the index of Perry.<sup><a href="#p{number}" '
                f'id="b{number}">*</a></sup></p>'
                f'<div class="footnotes"><p id="p{number}"><a href="#b{number}">*</a> Told by the '
                f"miller's wife of Wick "
                f"in the winter of {1850 + number}.</p></div>"
            ),
        )
        for number, (name, begins, ends, moral) in enumerate(FABLES, 1)
    ]
    rows = "".join(
        f"<tr><td>{name}</td><td>{1 + number % 3}</td><td>{SEASONS[number % 4]}</td></tr>"
        for number, (name, *_) in enumerate(FABLES)
    )
    table = (
        "<h1>For those who read aloud</h1><p>How long each takes and when it is told.</p><table><thead><tr>"
        f"<th>Fable</th><th>Minutes</th><th>Season</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    _book(path, "Fables after Aesop", "Told anew", [*chapters, ("Reading aloud", table)])


SAMPLES = [
    Sample(
        "garden-year.epub",
        garden,
        (
            Question("When to plant potatoes in the hills?", "until the lilac has buds", "chapter=4"),
            Question("How many hours a week do the vegetables need in May?", "Hours a week: 10", "chapter=5"),
            Question("What to sow in February?", "In the open: peppers", "chapter=2"),
        ),
    ),
    Sample(
        "fables.epub",
        fables,
        (
            Question("How did the crow drink from the pitcher?", "dropped pebble after pebble", "chapter=2"),
            Question(
                "In which season is the fable of the miller and his donkey told?",
                "Season: winter",
                "chapter=9",
            ),
            Question("What is the moral of the lion and the mouse?", "No kindness is too small", "chapter=4"),
        ),
    ),
]
