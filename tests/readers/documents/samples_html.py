"""Web pages as browsers save them: an article between menus and a banner, a manual page in Latin-1."""

from sample import Question, Sample

LIGHTS = (
    ("Roter Sand", 1885, 52, "white, red and green", "Weser"),
    ("Hohe Weg", 1856, 36, "white", "Weser"),
    ("Alte Weser", 1964, 38, "white, red and green", "Weser"),
    ("Dornbusch", 1888, 28, "white", "Hiddensee"),
    ("Westerheversand", 1908, 41, "white, red and green", "Eiderstedt"),
    ("Pilsum", 1891, 11, "red and yellow stripes", "Ems"),
    ("Campen", 1891, 65, "white", "Ems"),
)

ARTICLE_HEAD = """<!DOCTYPE html>
<!-- saved from url=(0048)https://lights.example/articles/keepers-of-lights -->
<html lang="en"><head><meta charset="utf-8"><title>Keepers of the northern lights - Coast
Journal</title>
<meta name="author" content="Wiebke Harms"><meta property="article:published_time"
content="2021-10-05T08:00:00Z">
<link rel="stylesheet" href="./files/site.css"><script>window.dataLayer = ["tower", "lamp",
"visitors 12,400"];</script>
<style>.teaser-hidden { display: none } @media print { .article { color: black } }</style></head>
<body class="has-banner"><div id="cookie-banner"><p>We and 713 partners store cookies to measure
towers.</p>
<button>Accept</button></div><header class="site"><nav><ul><li><a href="/">Home</a><li><a
href="/lights">Lights</a>
<li><a href="/tours">Tours to Campen from 19 euros</a></ul></nav></header><main><article>
<h1>Keepers of the northern lights</h1>
<p class="teaser-hidden">Subscribe now for 3 euros: the lamp of Campen burned 900 hours.</p>
<p>For a hundred years people lived in the towers of the North Sea coast, with oil, with clocks to
wind, and with
little company. This article tells of seven towers and of those who kept them.</p>"""

ARTICLE_FOOT = """</article></main><aside class="related-posts"><h2>More</h2><p>Calm beaches</p></aside>
<footer><p>Coast Journal, all rights reserved. Visitors today: 12,400</p></footer></body></html>"""


def article(path):
    """Write an article with notes, a table of spanning cells and captions, among what a page has "
    "around it."""
    sections = []
    for name, year, height, colours, place in LIGHTS:
        sections.append(
            f"<h2>{name}</h2><p>The tower of {name} was lit in {year} and stands {height} metres "
            f"high. It marks the way "
            f"into the {place}. Its light shows {colours}. Two keepers shared the watch, six "
            f"hours each, and a third "
            "came with the boat every second week.</p><p>What they wrote into the book of the "
            "tower was mostly "
            f"weather; the book of {name} has {year % 100 * 7} pages.</p>"
        )
    rows = "".join(
        f"<tr><td>{name}</td><td>{height * 40}</td><td>{height * 3 + 7}</td><td>{1900 + number * 9}</td></tr>"
        for number, (name, _, height, _, _) in enumerate(LIGHTS)
    )
    table = (
        '<table><caption>Table 1: What the lamps needed</caption><thead><tr><th rowspan="2">Tower</th>'
        '<th colspan="2">In a winter</th><th rowspan="2">Electric since</th></tr><tr><th>Oil in litres</th>'
        f"<th>Wicks</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    figure = (
        '<figure><img src="./files/lens.jpg" alt="A lens of the first order, taller than the '
        'keeper beside it">'
        "<figcaption>Figure 2: The lens of Dornbusch came from Paris in forty-one "
        "crates</figcaption></figure>"
    )
    notes = (
        '<p>Only one keeper was ever dismissed.<sup id="back1"><a href="#fn1">1</a></sup> The '
        "wage was that of a "
        'schoolteacher.<sup id="back2"><a href="#fn2">2</a></sup></p>'
    )
    listed = (
        '<section class="footnotes"><ol><li id="fn1">He had let goats live in the lamp room of '
        "Pilsum, in 1911. "
        '<a href="#back1">&#8617;</a></li><li id="fn2">In 1903 that was 1,350 marks a year, with '
        "coal and a garden. "
        '<a href="#back2">&#8617;</a></li></ol></section>'
    )
    text = ARTICLE_HEAD + "".join(sections) + table + figure + notes + listed + ARTICLE_FOOT
    path.write_text(text, encoding="utf-8")


SETTINGS = (
    ("gauge.interval", "how often the level is read, in seconds", "60"),
    ("gauge.smoothing", "the share of the last value that is kept", "0.85"),
    ("alarm.level", "metres above datum at which people are called", "2.40"),
    ("alarm.repeat", "minutes until the call is made again", "15"),
    ("store.days", "how long readings are kept", "400"),
    ("store.path", "the folder of the readings", "/var/lib/pegel"),
    ("radio.channel", "the channel of the transmitter", "11"),
)


def manual(path):
    """Write a manual page in Latin-1: settings as definitions, code, a formula, a table of error numbers."""
    sections = "".join(
        f"<h3><code>{name}</code></h3><p>This setting says {what}. It is read when the service "
        f"starts, and again "
        f"after a signal.</p><dl><dt>Default</dt><dd>{default}</dd><dt>Unit test</dt><dd>covered</dd></dl>"
        for name, what, default in SETTINGS
    )
    formula = (
        "<p>A reading is smoothed with the value before it, where the weight is "
        "<code>gauge.smoothing</code>:</p>"
        "<math "
        'display="block"><msub><mi>s</mi><mi>t</mi></msub><mo>=</mo><mi>&alpha;</mi><msub><mi>s</mi><mrow><mi>t</mi>'
        "<mo>-</mo><mn>1</mn></mrow></msub><mo>+</mo><mrow><mo>(</mo><mn>1</mn><mo>-</mo><mi>&alpha;</mi><mo>)</mo></mrow>"
        "<msub><mi>x</mi><mi>t</mi></msub></math>"
    )
    code = (
        '<div class="highlight highlight-source-shell"><pre># read the gauge once and show what it said\n'
        "pegel read --gauge hafen --raw\npegel calibrate --datum 4.115 --by Jürgen</pre></div>"
    )
    errors = "".join(
        f"<tr><td>{number}</td><td>{what}</td><td>{do}</td></tr>"
        for number, what, do in (
            ("E11", "no answer from the transmitter", "check the antenna plug"),
            ("E12", "level outside of the scale", "clean the float of mussels"),
            ("E21", "clock and gauge differ", "set the clock with <code>pegel clock</code>"),
            ("E30", "disk full", "lower <code>store.days</code>"),
        )
    )
    text = (
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">'
        "<title>Pegel: settings and errors</title><script>alert('x')</script></head><body>"
        '<div role="navigation"><a href="a.html">Previous: Installation</a></div><h1>Settings and errors</h1>'
        "<p>Pegel reads water levels for the harbours of Büsum and Tönning. The service is set up "
        "with a file of "
        f"names and values.</p><h2>Settings</h2>{sections}<h2>Smoothing</h2>{formula}<h2>By hand</h2>{code}"
        "<h2>Errors</h2><table><tr><th>Number</th><th>Meaning</th><th>Remedy</th></tr>"
        f'{errors}</table><div style="display:none">E99: call the factory</div></body></html>'
    )
    path.write_bytes(text.encode("iso-8859-1"))


SAMPLES = [
    Sample(
        "keepers-of-lights.html",
        article,
        (
            Question(
                "How many wicks did the lamp of Westerheversand need in a winter?", "In a winter Wicks: 130"
            ),
            Question("Why was a lighthouse keeper dismissed?", "goats live in the lamp room"),
            Question("Where did the lens of Dornbusch come from?", "Paris in forty-one crates"),
        ),
    ),
    Sample(
        "pegel-settings.htm",
        manual,
        (
            Question("What is the default of alarm.repeat?", "Default: 15"),
            Question("What is the remedy for error E12 of the gauge?", "clean the float of mussels"),
            Question("How is a reading smoothed with the value before it?", r"\alpha s_{t-1}"),
        ),
    ),
]
