"""E-books become a part for each chapter, in the order of reading."""

import zipfile

import pytest
from ebooklib import epub as writing

from ragmem.readers.documents.formats import epub
from ragmem.readers.documents.model import Limits, RefusedError

OPS = 'xmlns:epub="http://www.idpf.org/2007/ops"'


def written(path, chapters, *, contents=None, change=None):
    """Write a book of chapters (name, body), and change members of its archive."""
    book = writing.EpubBook()
    book.set_identifier("urn:made:1")
    book.set_title("Ebb and flood")
    book.set_language("en")
    book.add_author("Ida Mohr")
    book.add_author("Ole Brun")
    book.add_metadata("DC", "date", "1912-04-01")
    pages = []
    for number, (name, body) in enumerate(chapters, 1):
        page = writing.EpubHtml(title=name, file_name=f"text/c{number}.xhtml")
        page.content = f"<html {OPS}><body>{body}</body></html>"
        book.add_item(page)
        pages.append(page)
    book.toc = pages if contents is None else contents(pages)
    book.add_item(writing.EpubNcx())
    book.add_item(writing.EpubNav())
    book.spine = ["nav", *pages]
    writing.write_epub(str(path), book)
    if change:
        rewritten(path, change)
    return path


def rewritten(path, change):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.fixture
def read(tmp_path):
    def converted(*chapters, limits=None, **options):
        return epub.read(str(written(tmp_path / "made.epub", chapters, **options)), limits or Limits())

    return converted


def test_chapters_have_their_number_and_the_name_in_the_contents(read):
    found = read(("First tide", "<h1>I</h1><p>a</p>"), ("Second tide", "<h1>II</h1><p>b</p>"))
    assert [(part.locator, part.label, part.title, part.text) for part in found.parts] == [
        ("chapter=1", "chapter 1", "First tide", "# I\n\na"),
        ("chapter=2", "chapter 2", "Second tide", "# II\n\nb"),
    ]


def test_a_chapter_that_is_not_in_the_contents_is_named_by_its_heading(read):
    found = read(
        ("First", "<h1>I</h1><p>a</p>"), ("Second", "<h2>Two</h2><p>b</p>"), contents=lambda pages: pages[:1]
    )
    assert [part.title for part in found.parts] == ["First", "Two"]


def test_a_book_of_the_second_edition_has_its_contents_in_another_file(read):
    def change(members):
        members["EPUB/content.opf"] = members["EPUB/content.opf"].replace(b'properties="nav"', b"")

    found = read(("First tide", "<p>a</p>"), change=change)
    assert "First tide" in [part.title for part in found.parts]


def test_the_order_is_that_of_reading_not_that_of_the_files(read):
    def change(members):
        package = members["EPUB/content.opf"].decode()
        first, second = '<itemref idref="chapter_0"/>', '<itemref idref="chapter_1"/>'
        assert first in package
        assert second in package
        members["EPUB/content.opf"] = (
            package.replace(first, "<X/>").replace(second, first).replace("<X/>", second).encode()
        )

    found = read(("A", "<p>a</p>"), ("B", "<p>b</p>"), change=change)
    assert [part.text for part in found.parts] == ["b", "a"]


def test_notes_in_a_file_of_their_own_stand_where_they_are_referred_to(read):
    found = read(
        ("Ebb", '<p>It goes<a epub:type="noteref" href="c2.xhtml#n1">1</a>.</p><p>It comes.</p>'),
        ("Notes", '<h1>Notes</h1><aside epub:type="footnote" id="n1"><p>At four.</p></aside>'),
    )
    assert [part.text for part in found.parts] == ["It goes[^1].\n\n[^1]: At four.\n\nIt comes."]


def test_what_is_not_shown_is_left_out(read):
    assert read(("A", '<p>a</p><p hidden="hidden">b</p><script>c()</script>')).parts[0].text == "a"


def test_tables_equations_and_pictures_are_those_of_web_pages(read):
    math = '<math xmlns="http://www.w3.org/1998/Math/MathML"><msqrt><mi>x</mi></msqrt></math>'
    table = "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    text = read(("A", f'<p>{math}</p>{table}<img src="no.png" alt="A pier"/>')).parts[0].text
    assert text.startswith("$\\sqrt{x}$\n\n| A | B |")
    assert "A: 1; B: 2." in text
    assert text.endswith("Image: A pier")


def test_the_book_tells_title_authors_and_times(read):
    def change(members):
        package = members["EPUB/content.opf"].decode()
        start = package.index('<meta property="dcterms:modified">') + len(
            '<meta property="dcterms:modified">'
        )
        end = package.index("</meta>", start)
        members["EPUB/content.opf"] = f"{package[:start]}2025-03-04T10:00:00Z{package[end:]}".encode()

    found = read(("A", "<p>a</p>"), change=change)
    assert (found.title, found.event_time) == ("Ebb and flood", "2025-03-04T10:00:00Z")
    assert found.metadata["author"] == "Ida Mohr, Ole Brun"
    assert found.metadata["published"] == "1912-04-01"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (b"<html><body><p>a&nbsp;b &eacute;</p></body></html>", "a b é"),
        (b"<html><body><p>not <b>closed<p>again</body></html>", "not closed\n\nagain"),
        ("<html><body><p>T\u00f6nning</p></body></html>".encode("cp1252"), "Tönning"),
        (
            '<?xml version="1.0" encoding="utf-16"?><html><body><p>Tönning</p></body></html>'.encode(
                "utf-16"
            ),
            "Tönning",
        ),
    ],
)
def test_a_chapter_with_mistakes_is_read_as_a_web_page(read, page, expected):
    found = read(("A", "<p>a</p>"), change=lambda members: members.update({"EPUB/text/c1.xhtml": page}))
    assert found.parts[0].text == expected


def test_an_external_entity_is_never_fetched(read, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    page = (
        f'<!DOCTYPE html [<!ENTITY e SYSTEM "{secret.as_uri()}">]><html xmlns="http://www.w3.org/1999/xhtml">'
        "<body><p>Text &e;</p></body></html>"
    ).encode()
    found = read(("A", "<p>a</p>"), change=lambda members: members.update({"EPUB/text/c1.xhtml": page}))
    assert "secret" not in found.parts[0].text
    assert found.parts[0].text.startswith("Text")


def test_chapters_beyond_the_limit_are_left_out_with_a_warning(read):
    found = read(*((f"C{n}", f"<p>{n}</p>") for n in range(4)), limits=Limits(pages=2))
    assert [part.text for part in found.parts] == ["0", "1"]
    assert found.warnings == ("chapters after the first 2 are left out",)
    assert found.unread == ("chapter=3", "chapter=4")


def encrypted(algorithm):
    return (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
        'xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>'
        f'<enc:EncryptionMethod Algorithm="{algorithm}"/></enc:EncryptedData></encryption>'
    ).encode()


def test_a_book_with_copy_protection_is_refused_and_one_with_hidden_fonts_read(read):
    locked = encrypted("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    with pytest.raises(RefusedError, match="it is encrypted"):
        read(("A", "<p>a</p>"), change=lambda members: members.update({"META-INF/encryption.xml": locked}))
    fonts = encrypted("http://www.idpf.org/2008/embedding")
    found = read(("A", "<p>a</p>"), change=lambda members: members.update({"META-INF/encryption.xml": fonts}))
    assert found.parts[0].text == "a"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda members: members.pop("META-INF/container.xml"), "it names no package of an e-book"),
        (lambda members: members.pop("EPUB/content.opf"), "it names no package of an e-book"),
        (lambda members: members.pop("EPUB/text/c1.xhtml"), "it has no text"),
        (lambda members: members.update({"META-INF/container.xml": b""}), "it names no package of an e-book"),
    ],
)
def test_a_book_without_its_parts_is_refused_by_what_is_missing(read, change, problem):
    with pytest.raises(RefusedError) as refused:
        read(("A", "<p>a</p>"), change=change)
    assert refused.value.problem == problem


def test_a_book_that_unpacks_to_too_much_is_refused(read):
    with pytest.raises(RefusedError, match="unpacks to more than"):
        read(
            ("A", "<p>a</p>"),
            change=lambda members: members.update({"zeros.bin": b"\x00" * 3_000_000}),
            limits=Limits(unpacked_bytes=2_000_000),
        )
