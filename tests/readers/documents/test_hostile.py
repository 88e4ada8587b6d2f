"""Files that mean harm cost a line and some seconds each; the rest of the run goes on."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import hostile
import pytest

from ragmem.api.memory import Ragmem
from ragmem.readers.documents.converter import Converter
from ragmem.readers.documents.model import Limits, RefusedError
from ragmem.services.seeding.report import SeedReport

SECONDS = 20
MEMORY_MB = 400
PAGES = 300

CUT = "damaged or cut short"
BOMB = "unpacks to more than 300 MB"
ENCRYPTED = "it is encrypted"


def _text_named_docx(path: Path) -> None:
    path.write_text("This is a letter, and no Word document at all.\n" * 5)


def _picture_named_pdf(path: Path) -> None:
    from PIL import Image

    Image.effect_noise((64, 64), 50).save(path, "PNG")


def _cut(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        make(path)
        hostile.cut_in_half(path)

    return write


def _plain_word(path: Path) -> None:
    text = "<w:p><w:r><w:t>A line of the log.</w:t></w:r></w:p>" * 2_000
    hostile.word_file(path, f"<w:document {hostile.W}><w:body>{text}</w:body></w:document>")


def _executable_zip(path: Path) -> None:
    hostile.zip_of(path, {"run.sh": b"echo harm"})


REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "bomb.docx": (lambda path: hostile.bomb(path, "word/document.xml"), BOMB),
    "bomb.xlsx": (lambda path: hostile.bomb(path, "xl/workbook.xml"), BOMB),
    "bomb.odt": (lambda path: hostile.bomb(path, "content.xml"), BOMB),
    "bomb.epub": (lambda path: hostile.bomb(path, "META-INF/container.xml"), BOMB),
    "lying.docx": (hostile.lying_bomb, CUT),
    "nested.docx": (hostile.nested, "a zip archive, not a document"),
    "plain.docx": (_executable_zip, "a zip archive, not a document"),
    "secret.pdf": (lambda path: hostile.encrypted_pdf(path, user="secret"), ENCRYPTED),
    "secret.xlsx": (hostile.old_office, ENCRYPTED),
    "cut.docx": (_cut(_plain_word), CUT),
    "letter.docx": (_text_named_docx, "not that of a .docx file"),
    "outside.epub": (hostile.traversal, "a path in it leads out of the archive"),
    "huge.png": (hostile.huge_picture, "3,600 million pixels"),
    "nothing.pdf": (lambda path: path.write_bytes(b""), "empty"),
    "noise.pdf": (lambda path: path.write_bytes(b"%PDF-1.7\n" + b"\xff\x00" * 5_000), CUT),
}
"""Each is refused with a line that says this."""

BOUNDED: dict[str, Callable[[Path], None]] = {
    "days.pdf": hostile.many_pages,
    "endless.pdf": hostile.endless_pdf,
    "cut.pdf": _cut(hostile.good_pdf),
    "entities.docx": hostile.entity_bomb,
    "deep.docx": hostile.deep,
    "wide.xlsx": hostile.wide_sheet,
    "macros.docm": hostile.macros,
    "picture.pdf": _picture_named_pdf,
}
"""Each is read in part, or refused; either way it ends in time."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hostile")
    for name, (make, _) in REFUSED.items():
        make(made / name)
    for name, make in BOUNDED.items():
        make(made / name)
    hostile.external_entity(made / "passwords.docx", "file:///etc/passwd")
    hostile.encrypted_pdf(made / "open.pdf", user="")
    hostile.pipe(made / "pipe.pdf")
    (made / "gone.pdf").symlink_to(made / "never.pdf")
    (made / "circle.pdf").symlink_to(made / "circle.pdf")
    hostile.good_pdf(made / "aaa.pdf", "The first of them: the lantern was renewed in 2024.")
    hostile.good_pdf(made / "zzz.pdf", "The last of them: the foghorn was taken down in 2025.")
    return made


@pytest.fixture(scope="module")
def memory(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ragmem]:
    home = tmp_path_factory.mktemp("home")
    sources = home / "sources.toml"
    sources.write_text(f'[sources.bad]\nglob = "{folder}/*"\nreader = "documents"\nsignal = "off"\n')
    environ = {
        "RAGMEM_HOME": str(home / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
        "RAGMEM_DOCUMENTS_SECONDS": str(SECONDS),
        "RAGMEM_DOCUMENTS_MAX_MEMORY_MB": str(MEMORY_MB),
        "RAGMEM_DOCUMENTS_MAX_PAGES": str(PAGES),
        "RAGMEM_DOCUMENTS_OCR": "false",
    }
    with Ragmem.open(environ=environ, home=home, cwd=home, sources_file=sources) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(memory: Ragmem) -> SeedReport:
    begun = time.monotonic()
    report = memory.seed()
    assert time.monotonic() - begun < 4 * SECONDS
    return report


def problems(report: SeedReport, name: str) -> list[str]:
    return [one.reason for one in report.problems if Path(one.place).name == name]


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_in_one_line(name: str, report: SeedReport) -> None:
    (told,) = problems(report, name)
    assert REFUSED[name][1] in told
    assert "\n" not in told
    assert len(told) < 300


def test_the_files_before_and_behind_them_are_read(report: SeedReport, memory: Ragmem) -> None:
    assert problems(report, "aaa.pdf") == problems(report, "zzz.pdf") == []
    found = {Path(match.memory.uri).name for match in memory.query("the lantern was renewed").matches}
    assert "aaa.pdf#page=1" in found
    found = {Path(match.memory.uri).name for match in memory.query("the foghorn was taken down").matches}
    assert "zzz.pdf#page=1" in found


def test_ten_thousand_pages_are_read_up_to_the_limit(report: SeedReport, memory: Ragmem) -> None:
    assert problems(report, "days.pdf") == [f"9,700 pages beyond {PAGES} are left out"]
    places = [uri for _, _, uri in memory.catalog.overview.places() if "/days.pdf#" in uri]
    assert len(places) == PAGES


def test_pipes_and_links_to_nothing_are_told_and_not_opened(report: SeedReport) -> None:
    assert problems(report, "pipe.pdf") == ["a pipe"]
    assert problems(report, "gone.pdf") == ["a broken link"]
    assert problems(report, "circle.pdf") == ["a link that leads in a circle"]


@pytest.mark.parametrize("name", BOUNDED)
def test_what_is_read_in_part_has_at_most_a_few_lines_to_tell(name: str, report: SeedReport) -> None:
    told = problems(report, name)
    assert len(told) <= 3
    assert all("\n" not in line and len(line) < 300 for line in told)


def test_an_encrypted_pdf_without_a_password_is_read(report: SeedReport, memory: Ragmem) -> None:
    assert problems(report, "open.pdf") == []
    assert "open.pdf#page=1" in {
        Path(match.memory.uri).name for match in memory.query("rent of the quay").matches
    }


def test_macros_are_left_out_and_told(report: SeedReport, memory: Ragmem) -> None:
    assert any("macros" in told for told in problems(report, "macros.docm"))
    (match, *_) = memory.query("was the lease of the quay signed").matches
    assert "AutoOpen" not in match.memory.text


@pytest.mark.parametrize("name", ["passwords.docx", "entities.docx"])
def test_entities_are_not_replaced(name: str, report: SeedReport, memory: Ragmem, folder: Path) -> None:
    texts = [
        one.text
        for one in memory.catalog.memories.get(
            [key for key, _, uri in memory.catalog.overview.places() if uri.startswith(str(folder / name))]
        ).values()
    ]
    assert problems(report, name) or texts
    assert not any("root:" in text or "haha" in text for text in texts)


def test_nothing_is_asked_of_an_address_that_a_document_names(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, Converter(seconds=SECONDS) as converter:
        server.settimeout(0.2)
        host, port = server.getsockname()
        hostile.external_entity(tmp_path / "calls.docx", f"http://{host}:{port}/harm.dtd")
        page = f'<html><body><p>Read this.</p><img src="http://{host}:{port}/a.png"></body></html>'
        (tmp_path / "calls.html").write_text(page)
        for name in ("calls.docx", "calls.html"):
            try:
                converter.convert(tmp_path / name)
            except RefusedError as error:
                assert "\n" not in error.problem  # noqa: PT017 - either way nothing may be asked
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    "deed",
    [
        "open('harm.txt', 'w')",
        "__import__('os').remove('kept.txt')",
        "__import__('subprocess').run(['true'])",
        "__import__('os').system('true')",
        "__import__('os').posix_spawn('/bin/true', ['true'], {})",
        "__import__('socket').create_connection(('127.0.0.1', 9))",
    ],
)
def test_the_process_that_reads_can_do_nothing_else(deed: str, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    code = f"from ragmem.readers.documents.confinement import confine\nconfine(500)\n{deed}\n"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "PermissionError: a document cannot make its reader do this" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_a_document_that_takes_too_long_is_given_up_and_the_next_is_read(tmp_path: Path) -> None:
    # A PDF ends by itself before its time is up; a table is read to its end.
    rows = (f"bolt {number},{number % 97},Oslo\n" for number in range(150_000))
    (tmp_path / "long.csv").write_text("Item,Price,City\n" + "".join(rows))
    hostile.good_pdf(tmp_path / "short.pdf")
    with Converter(Limits(pages=10_000), seconds=0.4) as converter:
        begun = time.monotonic()
        with pytest.raises(RefusedError, match=r"takes longer than 0\.4 seconds"):
            converter.convert(tmp_path / "long.csv")
        assert time.monotonic() - begun < 3
        converter.seconds = SECONDS
        assert "lantern" in converter.convert(tmp_path / "short.pdf").parts[0].text


def test_a_long_document_may_take_longer_than_a_single_page(tmp_path: Path) -> None:
    hostile.many_pages(tmp_path / "long.pdf", 3_000)
    with Converter(Limits(pages=10_000, ocr=False), seconds=0.5) as converter:
        begun = time.monotonic()
        assert len(converter.convert(tmp_path / "long.pdf").parts) > 20
        assert 0.5 < time.monotonic() - begun < 8


def test_a_document_that_takes_too_much_memory_is_given_up_and_the_next_is_read(tmp_path: Path) -> None:
    hostile.many_pages(tmp_path / "long.pdf", 3_000)
    hostile.good_pdf(tmp_path / "short.pdf")
    with Converter(Limits(pages=10_000), seconds=SECONDS, memory_mb=25) as converter:
        with pytest.raises(RefusedError, match="takes more than 25 MB of memory"):
            converter.convert(tmp_path / "long.pdf")
        converter.memory_mb = MEMORY_MB
        assert converter.convert(tmp_path / "short.pdf").parts
        assert converter.peak_mb < MEMORY_MB


def test_memory_that_libraries_map_and_never_touch_does_not_count() -> None:
    code = (
        "from ragmem.readers.documents.confinement import confine\n"
        "import mmap\n"
        "confine(200)\n"
        "print(len(mmap.mmap(-1, 1_100_000_000)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "1100000000", done.stderr


def test_the_memory_of_whoever_asks_does_not_count(tmp_path: Path) -> None:
    """On Linux a process inherits the largest size of the one that started it, as one figure tells it."""
    hostile.good_pdf(tmp_path / "short.pdf")
    held = bytearray(os.urandom(1 << 20)) * 250
    with Converter(seconds=SECONDS, memory_mb=200) as converter:
        assert converter.convert(tmp_path / "short.pdf").parts
        assert 5 < converter.peak_mb < 200
    assert len(held) > 200_000_000


def test_a_crash_of_the_process_is_told_and_the_next_is_read(tmp_path: Path) -> None:
    hostile.many_pages(tmp_path / "long.pdf", 3_000)
    hostile.good_pdf(tmp_path / "short.pdf")
    with Converter(Limits(pages=10_000), seconds=SECONDS) as converter:
        assert converter.convert(tmp_path / "short.pdf").parts
        process = converter._process
        assert process is not None
        threading.Timer(0.2, os.kill, (process.pid, signal.SIGSEGV)).start()
        with pytest.raises(RefusedError, match="SIGSEGV"):
            converter.convert(tmp_path / "long.pdf")
        assert converter.convert(tmp_path / "short.pdf").parts


def test_one_process_reads_many_documents_and_ends_with_the_run(tmp_path: Path) -> None:
    hostile.good_pdf(tmp_path / "short.pdf")
    with Converter(seconds=SECONDS) as converter:
        converter.convert(tmp_path / "short.pdf")
        first = converter._process
        converter.convert(tmp_path / "short.pdf")
        assert converter._process is first
        assert first is not None
    with pytest.raises(ProcessLookupError):
        os.kill(first.pid, 0)


NONSENSE = [
    b"[]",
    b'{"peak_kb": 1}',
    b'{"peak_kb": 1, "parts": 3}',
    b'{"peak_kb": 1' + b"0" * 400 + b"}",
    b'{"peak_kb": 1, "parts": [], "title": "", "event_time": "", "metadata": [], "warnings": []}',
    b'{"peak_kb": 1, "refused": "\\ud800", "hint": ""}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", NONSENSE, ids=range(len(NONSENSE)))
def test_an_answer_that_is_nonsense_is_a_refusal(
    body: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document may have taken the process over: what it says then harms nobody."""
    frame = tmp_path / "frame"
    frame.write_bytes(len(body).to_bytes(8, "big") + body)
    monkeypatch.setattr(
        "ragmem.readers.documents.converter._START",
        f"import sys; sys.stdout.buffer.write(open({str(frame)!r}, 'rb').read())",
    )
    with (
        Converter(seconds=SECONDS) as converter,
        pytest.raises(RefusedError, match=r"no valid answer|the process that reads it ended"),
    ):
        # It may have ended before it was asked.
        converter.convert(tmp_path / "any.pdf")


def test_names_and_facts_of_a_document_are_short_lines_and_each_part_has_its_place(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["Pier", "Crane"])
    book.create_sheet("Sheet2").append(["Pier", "Depth"])
    book.properties.subject = "harbour " * 10_000
    book.save(tmp_path / "costs.xlsx")
    with zipfile.ZipFile(tmp_path / "costs.xlsx") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = members["xl/workbook.xml"].replace(b'name="Sheet"', b'name="Sheet2"')
    members["xl/workbook.xml"] = names.replace(b'name="Sheet2"', b'name="A&#10;secret.pdf, page 1"')
    hostile.zip_of(tmp_path / "costs.xlsx", members)
    with Converter(seconds=SECONDS) as converter:
        converted = converter.convert(tmp_path / "costs.xlsx")
    assert len({part.locator for part in converted.parts}) == 2
    assert not any("\n" in part.label + part.locator for part in converted.parts)
    assert len(converted.metadata["subject"]) <= 1_000


def test_many_damaged_pages_are_told_in_a_few_lines(tmp_path: Path) -> None:
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 "
    page += b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
    text = b"BT /F1 12 Tf 72 700 Td (The log of the day tells of calm water.) Tj ET"
    kids = b"3 0 R " + b"99 0 R " * 300
    pages = b"<< /Type /Pages /Count 301 /Kids [" + kids + b"] >>"
    content = f"<< /Length {len(text)} >>\nstream\n".encode() + text + b"\nendstream"
    catalog = b"<< /Type /Catalog /Pages 2 0 R >>"
    (tmp_path / "holes.pdf").write_bytes(hostile.pdf_of([catalog, pages, page, content]))
    with Converter(seconds=SECONDS) as converter:
        converted = converter.convert(tmp_path / "holes.pdf")
    assert [part.locator for part in converted.parts] == ["page=1"]
    assert len(converted.unread) == 300
    assert len(converted.warnings) <= 21
    assert converted.warnings[-1] == "280 more warnings are left out"


def test_no_process_is_left_of_a_run_that_is_killed(tmp_path: Path) -> None:
    """The document is a pipe that gives nothing, so that the process would wait for ever."""
    os.mkfifo(tmp_path / "endless.pdf")
    code = (
        "import pathlib, sys; from ragmem.readers.documents.converter import Converter\n"
        "Converter(seconds=600).convert(pathlib.Path(sys.argv[1]))\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", code, tmp_path / "endless.pdf"])
    gone = select.poll()
    try:
        fed = _opened_by_its_reader(tmp_path / "endless.pdf")
    finally:
        asking.kill()
        asking.wait()
    with os.fdopen(fed, "wb"):
        gone.register(fed, select.POLLERR)
        assert gone.poll(1_000 * SECONDS), "the process still reads"


def _opened_by_its_reader(pipe: Path) -> int:
    """Return the writing end of a pipe once another process has the reading one."""
    for _ in range(20 * SECONDS):
        with suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.05)
    raise AssertionError("nobody reads it")
