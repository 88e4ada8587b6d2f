"""Web pages become Markdown: what a person came to read, and nothing that is not shown."""

import socket
from base64 import b64encode
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ragmem.readers.documents.formats import html
from ragmem.readers.documents.formats.html.html_charset import decode_page
from ragmem.readers.documents.model import Limits, RefusedError


def text(page: str) -> str:
    return html.convert_page(page, Limits()).parts[0].text


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<h1>Ebb</h1><h3>Deep</h3><p>a<p>b", "# Ebb\n\n### Deep\n\na\n\nb"),
        ("<p>a <b>bold</b> <i>word</i>,\n   broken<br>here", "a bold word, broken\nhere"),
        ("<p>10<sup>6</sup>, 1<sup>st</sup>, H<sub>2</sub>O", "10^6, 1st, H2O"),
        ("<p>was <del>9</del> <ins>8</ins>, <code>x = 1</code>", "was ~~9~~ 8, `x = 1`"),
        ('<p><a href="https://a.example/b">there</a>, <a href="#c">c</a>', "[there](https://a.example/b), c"),
        ('<p><a href="javascript:go()">go</a> <a href="x.html">on</a>', "go on"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n    - b\n- c"),
        ("<ol start=3><li>a<li value=7>b</ol>", "3. a\n7. b"),
        ("<ol><li><p>a</p><pre>x</pre></li><li>b</ol>", "1. a\n\n```\nx\n```\n\n2. b"),
        ("<dl><dt>Ebb<dd>goes<dt>Flood</dt><dt>Tide</dt><dd>comes</dl>", "- Ebb: goes\n- Flood, Tide: comes"),
        (
            "<dl><p><dt><h3>Pier</h3><dl><p><dt><a href=https://a.io>Quay</a><dt>Light</dl><p></dl>",
            "- Pier\n\n[Quay](https://a.io)\n\nLight",
        ),
        ("<blockquote><p>a<p>b</blockquote>", "> a\n>\n> b"),
        ("<p><input type=checkbox checked>done<p><input type=checkbox>open", "[x] done\n\n[ ] open"),
        (
            '<pre><code class="language-python">a = 1\n\nb = 2\n</code></pre>',
            "```python\na = 1\n\nb = 2\n```",
        ),
        ('<div class="highlight highlight-source-rust"><pre>fn</pre></div>', "```rust\nfn\n```"),
        (
            "<pre>a<br>b ```</pre>",
            "```\na\nb ```\n```".replace("```\na", "````\na").replace("```\n```", "```\n````"),
        ),
        ("<h2><a href='#ebb'>§</a>Ebb <a href='#ebb'>¶</a></h2>", "## Ebb"),
        ("<p>a<a href='https://play.example/'></a> b", "a b"),
        ("<p>long<wbr>word and <wbr>more", "longword and more"),
        ("<picture><source srcset=a.webp><img alt='A pier' src=a.png></picture><p>b", "Image: A pier\n\nb"),
        ('<body style="visibility:hidden" class="cookie-banner sr-only"><p>a', "a"),
        ("<p># a<p>```", "\\# a\n\n\\```"),
        ("<span>a<div>b</div>c</span>d", "a\n\nb\n\nc\n\nd"),
        ("<p>a&nbsp;b &amp; &lt;c&gt; &#8364;", "a b & <c> €"),
    ],
)
def test_a_page_becomes_this_markdown(page, expected):
    assert text(page) == expected


def test_a_table_keeps_what_spans_columns_and_rows():
    found = text(
        "<table><caption>Depths</caption><thead><tr><th rowspan=2>Port<th colspan=2>Metres"
        "<tr><th>ebb<th>flood"
        "<tbody><tr><td rowspan=2>Emden<td>8<td>11<tr><td colspan=2>closed"
        "<tfoot><tr><td colspan=3>Source: harbour office</table>"
    )
    assert found.split("\n\n") == [
        "Depths",
        (
            "| Port | Metres ebb | Metres flood |\n| --- | --- | --- |\n| Emden | 8 | 11 |\n"
            "| Emden | closed | closed |\n"
            "| Source: harbour office |  |  |"
        ),
        (
            "Depths. Port: Emden; Metres ebb: 8; Metres flood: 11.\n"
            "Depths. Port: Emden; Metres ebb: closed; Metres flood: closed.\n"
            "Depths. Port: Source: harbour office."
        ),
    ]


def test_a_table_with_headings_at_its_side_is_a_list_of_names_and_values():
    assert text("<table><tr><th>Born<td>1820<tr><th>Died<td>1910</table>") == "- Born: 1820\n- Died: 1910"


def test_a_table_that_only_places_things_gives_its_cells():
    assert (
        text('<table role="presentation"><tr><td>menu<td><h1>Ebb</h1>Text</table>') == "menu\n\n# Ebb\n\nText"
    )
    inner = "<table><tr><td>a<td>b<tr><td>c<td>d</table>"
    assert text(f"<table><tr><td>left<td>{inner}</table>").startswith("left\n\n| a | b |")


def test_lists_and_tables_within_a_cell_are_one_line():
    inner = "<table><tr><th>Role<th>Name<tr><td>Cook<td>Ida</table>"
    found = text(
        f"<table><tr><th>Ship<th>Crew<tr><td>Elbe<td><ul><li>a<li>b</ul><tr><td>Ems<td>{inner}</table>"
    )
    assert "Ship: Elbe; Crew: a; b." in found
    assert "Ship: Ems; Crew: Role: Cook, Name: Ida." in found


def test_a_caption_of_a_figure_is_that_of_its_table():
    found = text(
        "<figure><figcaption>Table 3</figcaption><table><tr><th>a<th>b<tr><td>1<td>2</table></figure>"
    )
    assert found.startswith("Table 3\n\n| a | b |")
    assert found.endswith("Table 3. a: 1; b: 2.")


@pytest.mark.parametrize(
    "notes",
    [
        '<ol class="footnotes"><li id="n1"><p>Only at spring tide. <a href="#r1">↩</a></li></ol>',
        '<section role="doc-endnotes"><p id="n1"><a href="#r1">[1]</a> Only at spring tide.</p></section>',
        '<aside epub:type="footnote" id="n1">Only at spring tide.</aside>',
        '<div class="footnotes"><p><a name="n1" href="#r1">1</a>. Only at spring tide.</p></div>',
        '<footer><ul class="footnotes"><li id="n1">Only at spring tide.</li></ul></footer>',
    ],
)
def test_notes_stand_below_what_refers_to_them(notes):
    page = f'<p>High at four.<sup id="r1"><a href="#n1">1</a></sup><p>Low at ten.{notes}'
    assert text(page).split("\n\n") == ["High at four.[^1]", "[^1]: Only at spring tide.", "Low at ten."]


def test_a_page_of_an_encyclopedia_keeps_its_references_and_what_its_box_says():
    found = text(
        '<table class="infobox"><caption>Woodbridge</caption><tr><td colspan=2>The mill in 2010</td></tr>'
        '<tr><th>Built<td>1793<sup class="reference"><a href="#cite_note-1">[1]</a></sup></table>'
        '<p>A mill.<sup id="cite_ref-1" class="reference"><a href="#cite_note-1">[1]</a></sup></p>'
        '<h2>References<span class="mw-editsection">[edit]</span></h2><ol class="references">'
        '<li id="cite_note-1"><span class="mw-cite-backlink">^ <a href="#cite_ref-1"><i>a</i></a></span>'
        " Smith, 2003.</li></ol>"
    )
    assert found.split("\n\n") == [
        "The mill in 2010",
        "Woodbridge",
        "- Built: 1793[^1]",
        "[^1]: Smith, 2003.",
        "A mill.[^1]",
    ]


def test_notes_that_refer_to_one_another_end():
    listed = "".join(f'<li id="n{n}">Note {n}<a href="#n{n + 1}">{n + 1}</a></li>' for n in range(2_000))
    found = text(
        f'<p>See<a href="#n0">0</a></p><p>And<a href="#n5">5</a></p><ol class="footnotes">{listed}</ol>'
    )
    assert found.startswith("See[^1]\n\n[^1]: Note 0")


@pytest.mark.parametrize(
    "around",
    [
        "<script>SECRET</script>",
        "<style>SECRET</style>",
        "<noscript>SECRET</noscript>",
        "<template>SECRET</template>",
        "<!-- SECRET -->",
        "<nav>SECRET</nav>",
        '<div role="navigation">SECRET</div>',
        "<footer>SECRET</footer>",
        "<header>SECRET</header>",
        "<dialog open>SECRET</dialog>",
        '<div id="cookie-banner">SECRET</div>',
        '<div class="fancy cookie_consent">SECRET</div>',
        '<section id="onetrust-consent-sdk">SECRET</section>',
        "<p hidden>SECRET</p>",
        '<p style="color:red; DISPLAY : none">SECRET</p>',
        '<p style="visibility:hidden">SECRET</p>',
        '<p style="font-size:0">SECRET</p>',
        '<p aria-hidden="true">SECRET</p>',
        '<p class="sr-only">SECRET</p>',
        '<style>p, .ghost { display:none }</style><p class="a ghost">SECRET</p>',
        '<style>@media print { x { y: z } } #ghost{visibility:hidden}</style><p id="ghost">SECRET</p>',
        "<select><option>SECRET</select><button>SECRET</button><textarea>SECRET</textarea>",
        "<svg><text>SECRET</text></svg>",
        '<object data="x">SECRET</object>',
        '<div style="display:none">SECRET <math><mi>x</mi></math></div>',
    ],
)
def test_what_is_not_shown_or_stands_around_is_left_out(around):
    assert text(f"<body><p>before</p>{around}<p>after</p></body>") == "before\n\nafter"


def test_what_a_click_shows_belongs_to_the_page():
    page = "<style>.tab{display:none} .tab.open{display:block} @media print{.p{display:none}}</style>"
    assert (
        text(f'{page}<div class="tab">one</div><div class="tab open">two</div><p class=p>three')
        == "one\n\ntwo\n\nthree"
    )


@pytest.mark.parametrize(
    "wrapped",
    [
        "<style>.a { font-size: 0 }</style><div class=a><p style='font-size:14px'>The lock opens.</p></div>",
        "<div style='font-size:0px'><p style='font-size:14px'>The lock opens.</p></div>",
        "<table><tr><td>The lock</td></tr><tr><td>opens.</td></tr></table>",
        "<table><table><tr><td>The lock opens.</td></tr></table></table>",
        "<html><body> </body></html>\n<!DOCTYPE html><html><body>The lock opens.</body></html>",
    ],
    ids=["size of a class", "size", "one column", "table in a table", "page before the page"],
)
def test_the_wrappers_of_mails_hide_nothing(wrapped):
    assert text(wrapped).replace("\n\n", " ") == "The lock opens."


def test_an_article_about_cookies_is_read():
    page = (
        '<div class="cookie-notice"><h1>Cookie notices</h1>' + "<p>They are everywhere.</p>" * 40 + "</div>"
    )
    assert text(f"<p>Menu</p>{page}").count("everywhere") == 40


def test_the_main_part_is_taken_where_the_page_names_it():
    assert (
        text("<div>Site</div><main><header><h1>Ebb</h1></header><p>Text</main><div>More</div>")
        == "# Ebb\n\nText"
    )
    assert text("<div>Site</div><article><h1>Ebb</h1><p>Much text</article>") == "# Ebb\n\nMuch text"
    assert text("<article><p>one</article><article><p>two</article>") == "one\n\ntwo"
    assert text("<main></main><p>All of the text") == "All of the text"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("<math><mfrac><mi>a</mi><mn>2</mn></mfrac></math>", r"$\frac{a}{2}$"),
        ("<math display=block><msup><mi>x</mi><mn>2</mn></msup></math>", "a\n\n$$\nx^{2}\n$$"),
        ("<math><msubsup><mo>∫</mo><mn>0</mn><mi>∞</mi></msubsup><mi>f</mi></math>", r"$\int_{0}^{\infty}f$"),
        (
            "<math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo></mrow><mi>n</mi></munderover></math>",
            r"$\sum_{i =}^{n}$",
        ),
        ("<math><mover><mi>v</mi><mo>→</mo></mover></math>", r"$\vec{v}$"),
        ("<math><mroot><mi>x</mi><mn>3</mn></mroot></math>", r"$\sqrt[3]{x}$"),
        (
            "<math><mo>(</mo><mtable><mtr><mtd>1</mtd><mtd><mn>2</mn></mtd></mtr></mtable><mo>)</mo></math>",
            r"$\begin{pmatrix} & 2 \end{pmatrix}$",
        ),
        ("<math><mi>sin</mi><mo>&#x2061;</mo><mi>θ</mi></math>", r"$\sin\theta$"),
        ("<math><mtext>if </mtext><mi>x</mi></math>", r"$\text{if }x$"),
        (
            "<math><mi>x</mi><annotation encoding='application/x-tex'>x^{2}</annotation></math>",
            "$x^{2}$",
        ),
        ("<script type='math/tex'>e^{x}</script>", "$e^{x}$"),
        ("<script type='math/tex; mode=display'>e^{x}</script>", "a\n\n$$\ne^{x}\n$$"),
        (
            "<img class='mwe-math-fallback-image-inline' alt='{\\displaystyle E=mc^{2}}' src='x'>",
            "$E=mc^{2}$",
        ),
        (
            (
                "<span class=katex><span class=katex-mathml><math><semantics><mi>x</mi><annotation "
                "encoding='application/x-tex'>x</annotation></semantics></math></span>"
                "<span class=katex-html aria-hidden=true>x</span></span>"
            ),
            "$x$",
        ),
    ],
)
def test_formulas_are_latex(formula, expected):
    found = text(f"<p>a {formula}</p>")
    assert found == (expected if expected.startswith("a") else f"a {expected}")


def test_pictures_of_the_page_itself_are_handed_on_and_no_others(monkeypatch):
    data = BytesIO()
    Image.new("RGB", (90, 90), "red").save(data, "GIF")
    inside = b64encode(data.getvalue()).decode()
    monkeypatch.setattr(socket, "socket", None)
    found = html.convert_page(
        f'<p>See <img alt="A flag" src="data:image/gif;base64,{inside}"> here</p>'
        '<img src="/etc/hostname" alt="Other">'
        '<img src="https://a.example/b.png"><img alt="🌊" src="wave.png">',
        Limits(),
    ).parts[0]
    assert found.text.split("\n\n") == ["See here", "Image: A flag", "[[picture 1]]", "🌊", "Image: Other"]
    assert [(picture.media_type, picture.data[:4]) for picture in found.pictures] == [
        ("image/png", b"\x89PNG")
    ]


@pytest.mark.parametrize("kind", ["GIF", "TIFF", "WEBP", "BMP", "PNG"])
def test_damaged_pictures_take_nothing_from_the_text(kind):
    data = BytesIO()
    Image.effect_noise((90, 90), 80).convert("RGB").save(data, kind)
    whole = data.getvalue()
    for end in (0, 3, 9, 30, len(whole) // 2, len(whole) - 2):
        inside = b64encode(whole[:end]).decode()
        assert text(f'<p>a</p><img alt="A flag" src="data:image/x;base64,{inside}">').startswith(
            "a\n\nImage: A flag"
        )


def test_a_page_tells_title_author_time_and_address():
    found = html.convert_page(
        "<!-- saved from url=(0042)https://tides.example/ebb --><html lang=de>"
        "<title>Ebb - Tides</title>"
        '<meta name=author content="Ida Mohr"><meta property="article:published_time" content="2024-01-02">'
        '<meta property="article:modified_time" content="2025-03-04T10:00:00+02:00"></head><h1>Ebb</h1>',
        Limits(),
    )
    assert (found.title, found.event_time) == ("Ebb", "2025-03-04T08:00:00Z")
    assert found.metadata["author"] == "Ida Mohr"
    assert found.metadata["url"] == "https://tides.example/ebb"
    assert found.metadata["language"] == "de"


def test_the_name_of_the_site_is_not_the_title_of_the_page():
    page = "<title>Ebb - Tides</title><header><h1>Tides</h1></header><main><h2>Ebb</h2><p>Text</main>"
    assert html.convert_page(page, Limits()).title == "Ebb"


def test_a_page_may_tell_it_to_search_engines():
    linked = '{"@graph": [{"author": [{"name": "Ida Mohr"}], "datePublished": "2024-01-02"}]}'
    found = html.convert_page(
        f'<title>Ebb</title><script type="application/ld+json">{linked}</script><p>a', Limits()
    )
    assert (found.title, found.event_time) == ("Ebb", "2024-01-02T00:00:00Z")
    assert found.metadata["author"] == "Ida Mohr"


PAGE = '<meta charset="{}"><p>Tönning, 5 €, Москва'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("Tönning €".encode(), "Tönning €"),
        ("Tönning €".encode("utf-8-sig"), "Tönning €"),
        (b"\xff\xfe" + "Tönning".encode("utf-16-le"), "Tönning"),
        (b"\xfe\xff" + "Tönning".encode("utf-16-be"), "Tönning"),
        ("Tönning €".encode("cp1252"), "Tönning €"),
        ('<meta charset="iso-8859-1">“€”'.encode("cp1252"), '<meta charset="iso-8859-1">“€”'),
        ("<meta http-equiv=a content='text/html; charset=koi8-r'>Москва".encode("koi8-r"), None),
        ('<?xml version="1.0" encoding="shift_jis"?>東京'.encode("shift_jis"), None),
        (b'<meta charset="hex">\xfc', '<meta charset="hex">ü'),
        (b'<meta charset="utf-16">\xfc', '<meta charset="utf-16">ü'),
        (b'<meta charset="no-such">\xfc', '<meta charset="no-such">ü'),
        ('<meta charset="iso-8859-1">ö'.encode(), '<meta charset="iso-8859-1">ö'),
    ],
)
def test_the_encoding_is_that_of_the_bytes(data, expected):
    found = decode_page(data)
    assert found == expected if expected else found.endswith(("Москва", "東京"))


def test_a_page_larger_than_the_limit_is_refused(tmp_path):
    path = tmp_path / "large.html"
    path.write_bytes(b"<p>" + b"a" * 2_000_001)
    with pytest.raises(RefusedError, match="it is larger than 2 MB"):
        html.read(str(path), Limits(unpacked_bytes=2_000_000))


@pytest.mark.parametrize(
    "piece", ["<div>", "<ul><li>", "<table><tr><td>", "<b>", "<blockquote>", "<dl><dd>", "<math><mrow>"]
)
def test_a_page_nested_without_end_is_read(piece):
    assert "deep" in text(piece * 120 + "deep")
    text(piece * 5_000 + "deep")


@pytest.mark.parametrize("sign", ["&#1;", "&#8;", "&#xfffe;", "\x08", "\ufffe"])
def test_a_sign_that_no_tree_takes_is_left_out_behind_what_is_not_shown(sign):
    assert text(f"<p>The pump<script>x</script>{sign} leaked.</p>") == "The pump leaked."
    assert "leaked" in text(f"<div>{sign}<style>x</style>{sign}<nav>y</nav>leaked</div>")


PIECES = st.sampled_from(
    "<p> </p> <div> </div> <table> <tr> <td colspan=9> <th rowspan=0> <ul> <ol start=x> <li> <dl> "
    "<dt> <dd>  <pre> <code> <a href=#n> <sup> <li id=n> <section class=footnotes> <math> <mfrac> "
    "<mi> <msup> <mtable> <munder>  <img> <figure> <figcaption> <!-- --> <script> </script> <style> "
    ".a{display:none} </style> <main> <h1> <br> & &#  ; ]]> <svg> <input> <blockquote> <h9> < > \x00 "
    "\ufffe \ud800 [^1]: # ``` | {".split(" ")
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
def test_any_text_is_read(page):
    found = html.convert_page(page, Limits())
    assert len(found.parts) == 1


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded(data):
    assert isinstance(decode_page(data), str)
    assert isinstance(decode_page(b'<meta charset="utf-8">' + data), str)
