"""Documents as a source: what a run reads, leaves alone, archives and tells; and what a person hands in."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hostile
import pytest
from PIL import Image

from ragmem.api.memory import Ragmem
from ragmem.errors import SourceError
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.lifecycle.items import Item
from ragmem.services.seeding.report import SeedReport

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
PAGES = [
    "The lantern of the lighthouse was renewed in 2024.",
    "The foghorn was taken down, because nobody had heard it for years.",
    "The keeper's house is let to the sailing club until 2031.",
]


def write_pdf(path: Path, pages: list[str]) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), invariant=1)
    for text in pages:
        canvas.drawString(72, 700, text)
        canvas.showPage()
    canvas.save()


@pytest.fixture
def report(tmp_path: Path) -> Path:
    folder = tmp_path / "Documents"
    folder.mkdir()
    write_pdf(folder / "report.pdf", PAGES)
    return folder / "report.pdf"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Ragmem]:
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE}, home=tmp_path, cwd=tmp_path
    ) as opened:
        yield opened


def uris(memory: Ragmem) -> set[str]:
    return {Path(uri).name for _, _, uri in memory.catalog.overview.places()}


def planned(memory: Ragmem) -> list[Item]:
    return list(memory.gc.plan(missing=True).items)


def seed(memory: Ragmem, *, dry_run: bool = False):
    return memory.seed(sources=["documents"], dry_run=dry_run)


@pytest.mark.parametrize(("signal", "pages"), [("", 3), ('signal = "classic"\n', 0)])
def test_a_source_of_any_name_keeps_all_of_its_documents_unless_it_is_told_otherwise(
    signal: str, pages: int, report: Path, tmp_path: Path
) -> None:
    sources = tmp_path / "sources.toml"
    sources.write_text(f'[sources.papers]\nglob = "{report}"\nreader = "documents"\n{signal}')
    write_pdf(report, ["Pier 1", "Pier 2", "Pier 3"])
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE},
        home=tmp_path,
        cwd=tmp_path,
        sources_file=sources,
    ) as opened:
        opened.seed(sources=["papers"])
        assert len(uris(opened)) == pages


def test_each_page_is_a_memory_and_an_unchanged_document_is_not_opened(
    memory: Ragmem, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert seed(memory).tallies[0].new == 3
    assert uris(memory) == {"report.pdf#page=1", "report.pdf#page=2", "report.pdf#page=3"}
    monkeypatch.setattr(subprocess, "Popen", None)  # no process can start
    again = seed(memory)
    assert (again.tallies[0].unchanged, again.tallies[0].changed, again.problems) == (3, 0, [])


def test_a_changed_page_is_a_changed_memory(memory: Ragmem, report: Path) -> None:
    seed(memory)
    write_pdf(report, [PAGES[0], "The foghorn sounds again since May.", PAGES[2]])
    again = seed(memory).tallies[0]
    assert (again.changed, again.unchanged, again.new) == (1, 2, 0)


def test_pages_that_a_document_lost_are_archived_and_can_be_brought_back(
    memory: Ragmem, report: Path
) -> None:
    seed(memory)
    write_pdf(report, PAGES[:1])
    would = seed(memory, dry_run=True)
    assert [one.reason for one in would.problems] == ["2 parts that it no longer has would be archived"]
    assert would.would_change
    assert len(uris(memory)) == 3
    (told,) = seed(memory).problems
    assert told.level == "warning"
    assert told.reason.startswith("2 parts that it no longer has were archived; to restore: ragmem gc")
    assert uris(memory) == {"report.pdf#page=1"}
    assert seed(memory).problems == []
    assert not seed(memory, dry_run=True).would_change
    assert memory.gc.undo(told.reason.split()[-1]).restored == 2
    assert len(uris(memory)) == 3


def test_a_table_that_grows_keeps_its_places(tmp_path: Path) -> None:
    table = tmp_path / "berths.csv"
    rows = "".join(f"Berth {number},{number * 3} m\n" for number in range(450))
    environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "RAGMEM_SOURCES_DOCUMENTS_GLOB": str(table)}
    with Ragmem.open(environ=environ | FAKE, home=tmp_path, cwd=tmp_path) as memory:
        table.write_text(f"Berth,Length\n{rows}")
        assert seed(memory).tallies[0].new == 3
        table.write_text(f"Berth,Length\n{rows}Berth 450,12 m\n")
        again = seed(memory)
    assert (again.tallies[0].changed, again.tallies[0].unchanged, again.problems) == (1, 2, [])


def test_a_page_that_a_person_pinned_stays(memory: Ragmem, report: Path) -> None:
    seed(memory)
    places = {Path(uri).name: identifier for identifier, _, uri in memory.catalog.overview.places()}
    memory.lifecycle.pin(places["report.pdf#page=3"])
    write_pdf(report, PAGES[:1])
    (told,) = [one.reason for one in seed(memory).problems]
    assert told.startswith("1 part that it no longer has was archived")
    assert uris(memory) == {"report.pdf#page=1", "report.pdf#page=3"}


def test_pages_go_with_the_next_run_where_one_is_killed_before(
    memory: Ragmem, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(memory)
    write_pdf(report, ["The lantern is new.", PAGES[1]])
    with monkeypatch.context() as patched:
        patched.setattr("ragmem.services.seeding.seed.archive_missing_parts", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            seed(memory)
    (told,) = [one.reason for one in seed(memory).problems]
    assert told.startswith("1 part that it no longer has was archived")
    assert uris(memory) == {"report.pdf#page=1", "report.pdf#page=2"}
    assert seed(memory).tallies[0].unchanged == 2


def test_pages_go_where_no_model_can_be_had_as_well(tmp_path: Path, report: Path) -> None:
    down = {
        "RAGMEM_MODELS_BACKEND": "ollama",
        "RAGMEM_MODELS_MODEL": "nomic-embed-text",
        "RAGMEM_MODELS_URL": "http://127.0.0.1:9",
        "RAGMEM_MODELS_RETRIES": "0",
    }
    environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), **down}
    with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path) as memory:
        assert seed(memory).pending == 3
        write_pdf(report, PAGES[:1])
        (told,) = [one.reason for one in seed(memory).problems]
        assert told.startswith("2 parts that it no longer has were archived")
        assert uris(memory) == {"report.pdf#page=1"}


def test_pages_come_back_with_the_document(memory: Ragmem, report: Path) -> None:
    seed(memory)
    write_pdf(report, PAGES[:1])
    seed(memory)
    write_pdf(report, PAGES)
    assert seed(memory).tallies[0].new == 2
    assert len(uris(memory)) == 3


def test_a_document_that_cannot_be_read_any_more_loses_nothing(memory: Ragmem, report: Path) -> None:
    seed(memory)
    hostile.cut_in_half(report)
    told = seed(memory)
    assert told.tallies[0].failed == 1
    assert len(uris(memory)) == 3
    assert {item.action for item in planned(memory) if "report.pdf" in item.uri} == {"keep"}


def test_a_file_whose_name_goes_on_behind_that_of_another_is_no_part_of_it(
    report: Path, tmp_path: Path
) -> None:
    other = report.with_name("report.pdf#annex.csv")
    other.write_text("Pier,Crane\nPier 4,yellow\n")
    sources = tmp_path / "sources.toml"
    sources.write_text(
        f'[sources.documents]\nglob = "{report.parent}/*"\nreader = "documents"\nsignal = "off"\n'
    )
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE},
        home=tmp_path,
        cwd=tmp_path,
        sources_file=sources,
    ) as opened:
        assert seed(opened).problems == []
        write_pdf(report, [PAGES[0], PAGES[1], "The keeper's house is for sale."])
        assert seed(opened).problems == []
        assert other.name in uris(opened)
        handed = opened.ingestion.draft([report, other], DraftOptions())
        opened.ingest(handed.drafts)
        assert opened.ingestion.archive_missing_pages(handed.drafts) == []


@pytest.mark.parametrize("how", ["a scan that is not read", "pages beyond the limit"])
def test_pages_that_could_not_be_read_this_time_are_not_lost(
    how: str, memory: Ragmem, report: Path, tmp_path: Path
) -> None:
    from reportlab.pdfgen.canvas import Canvas

    seed(memory)
    more = {"RAGMEM_DOCUMENTS_OCR": "false"}
    if how == "a scan that is not read":
        canvas = Canvas(str(report), invariant=1)
        canvas.drawString(72, 700, PAGES[0])
        for _ in range(2):
            canvas.showPage()
            canvas.rect(72, 600, 200, 100, fill=1)
        canvas.save()
    else:
        more["RAGMEM_DOCUMENTS_MAX_PAGES"] = "1"
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE, **more}, home=tmp_path, cwd=tmp_path
    ) as opened:
        told = [one.reason for one in seed(opened).problems]
        assert len(told) == 1
        assert "archived" not in told[0]
        assert len(uris(opened)) == 3
        handed = opened.ingestion.draft([report], DraftOptions())
        assert len(handed.unread) == 2


def test_gc_starts_no_process_and_takes_a_deleted_document_out(
    memory: Ragmem, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(memory)
    monkeypatch.setattr(subprocess, "Popen", None)
    assert not [item for item in planned(memory) if item.rule == "missing"]
    report.unlink()
    write_pdf(report.with_name("other.pdf"), PAGES)
    assert len([item for item in planned(memory) if item.rule == "missing"]) == 3


def test_a_document_that_ended_its_process_is_not_tried_by_each_run(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seeded(seconds: int) -> list[str]:
        environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "RAGMEM_DOCUMENTS_SECONDS": str(seconds)}
        with Ragmem.open(environ=environ | FAKE, home=tmp_path, cwd=tmp_path) as opened:
            done = seed(opened)
            assert done.failed == len(done.problems)
            return [one.reason for one in done.problems]

    with monkeypatch.context() as patched:
        patched.setattr(
            "ragmem.readers.documents.converter._START",
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        )
        assert "SIGSEGV" in seeded(60)[0]
        patched.setattr(subprocess, "Popen", None)  # no process can start
        (told,) = seeded(60)
    assert f'cannot read "{report}": it exceeded the limits before; it is read again after it or' in told
    assert seeded(61) == []
    assert seeded(60) == []


def test_a_document_that_is_handed_in_is_kept_whole_with_its_places(memory: Ragmem, report: Path) -> None:
    handed = memory.ingestion.draft([report], DraftOptions(tags=("harbour",)))
    stored = memory.ingest(handed.drafts, projects=handed.projects)
    assert [one.memory.text for one in stored] == PAGES
    assert {one.memory.tier.value for one in stored} == {"ingest"}
    assert stored[1].memory.metadata["document_label"] == "page 2"
    assert stored[1].memory.tags == ("harbour",)
    write_pdf(report, PAGES[:2])
    handed = memory.ingestion.draft([report], DraftOptions())
    memory.ingest(handed.drafts)
    (line,) = memory.ingestion.archive_missing_pages(handed.drafts)
    assert line.startswith(f"{report}: 1 part that it no longer has was archived")
    assert uris(memory) == {"report.pdf#page=1", "report.pdf#page=2"}


def test_a_folder_gives_its_documents_in_any_spelling_and_not_its_pictures(
    memory: Ragmem, report: Path
) -> None:
    report.rename(report.with_name("REPORT.PDF"))
    report.with_name("~$report.docx").write_bytes(b"\x0bInes Duarte")  # as Word has it while it is open
    report.with_name("notes.md").write_text("# Notes\n\nThe lease ends in 2031.\n")
    report.with_name("icon.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    handed = memory.ingestion.draft([report.parent], DraftOptions())
    assert handed.problems == []
    assert {Path(draft.uri).name for draft in handed.drafts} == {
        "notes.md",
        *(f"REPORT.PDF#page={number}" for number in (1, 2, 3)),
    }


@pytest.mark.parametrize(
    ("lines", "day"),
    [
        (["Amendment 2", "Date: 2 February 2026", "Invoices are payable within 30 days."], "2026-02-02"),
        (["Nota de entrega", "Fecha: 9 de marzo de 2026", "Faltan dos cajas."], "2026-03-09"),
        (["Amendment 3", "Invoices are payable within 20 days from 2 February 2026."], None),
    ],
)
def test_a_document_without_properties_has_the_date_of_its_first_lines(
    memory: Ragmem, tmp_path: Path, lines: list[str], day: str | None
) -> None:
    (tmp_path / "paper.rtf").write_text(r"{\rtf1\ansi " + r"\par ".join(lines) + "}")
    (tmp_path / "sheet.csv").write_text("Date,Price\n2020-05-06,3\n2020-05-07,4\n")
    handed = memory.ingestion.draft([tmp_path / "paper.rtf", tmp_path / "sheet.csv"], DraftOptions())
    paper, sheet = (f"{draft.event_time:%Y-%m-%d}" for draft in handed.drafts)
    assert paper == (day or sheet)
    assert sheet > "2026-04"


def test_each_mail_of_a_mailbox_has_its_own_date_and_stays_itself_when_another_goes(
    memory: Ragmem, tmp_path: Path
) -> None:
    def mail(day: int) -> str:
        head = f"Subject: Tide {day}\nMessage-ID: <{day}@t.example>\nDate: {day} Mar 2024 08:00:00 +0000"
        return f"From ann@t.example Tue Mar 12 10:15:00 2024\n{head}\n\nThe lock opens at {day}.\n\n"

    box = tmp_path / "tides.mbox"
    box.write_text(mail(4) + mail(5))
    handed = memory.ingestion.draft([box], DraftOptions())
    assert [draft.event_time.day for draft in handed.drafts] == [4, 5]
    assert [draft.title for draft in handed.drafts] == ["tides, mail 1: Tide 4", "tides, mail 2: Tide 5"]
    memory.ingest(handed.drafts)
    box.write_text(mail(5))
    memory.ingestion.archive_missing_pages(memory.ingestion.draft([box], DraftOptions()).drafts)
    assert uris(memory) == {"tides.mbox#mail=5@t.example"}


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "save a copy as .docx"),
        ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "save a copy as .xlsx"),
        ("mail.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "save a copy as .eml"),
        ("deck.pages", b"PK\x05\x06" + bytes(18), "save a copy as .docx"),
    ],
)
def test_a_format_that_is_not_read_says_what_to_save_it_as(
    memory: Ragmem, tmp_path: Path, name: str, content: bytes, hint: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=f"{Path(name).suffix} files are not read") as refused:
        memory.ingestion.draft([tmp_path / name], DraftOptions())
    assert refused.value.hint == hint


@pytest.mark.parametrize("name", ["notes.md", "todo.txt", "plan.ics", "LICENSE"])
def test_a_source_of_documents_that_finds_text_names_the_reader_for_it(tmp_path: Path, name: str) -> None:
    sources = tmp_path / "sources.toml"
    sources.write_text('[sources.mixed]\nglob = "~/work/*"\nreader = "documents"\n')
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / name).write_text("The lease ends in 2031.\n")
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE},
        home=tmp_path,
        cwd=tmp_path,
        sources_file=sources,
    ) as opened:
        (problem,) = opened.seed().problems
    assert 'the reader "markdown" reads text' in problem.reason


def test_the_line_on_skipped_files_says_what_to_save_them_as(memory: Ragmem, report: Path) -> None:
    report.with_name("old.doc").write_bytes(b"\xd0\xcf\x11\xe0")
    report.with_name("tool.sh").write_text("true")
    (told,) = memory.ingestion.draft([report.parent], DraftOptions()).warnings
    assert told.endswith("; name a file to read it, or save .doc as .docx")


def test_a_refusal_keeps_its_hint(memory: Ragmem, tmp_path: Path) -> None:
    hostile.encrypted_pdf(tmp_path / "secret.pdf", user="secret")
    with pytest.raises(SourceError, match=r'secret\.pdf": it is encrypted') as refused:
        memory.ingestion.draft([tmp_path / "secret.pdf"], DraftOptions())
    assert refused.value.hint == "save a copy without the password"


def test_the_command_line_ingests_documents_and_shows_their_pages(
    ragmem: Callable[..., subprocess.CompletedProcess[str]], report: Path
) -> None:
    told = json.loads(ragmem("ingest", "--json", str(report), **FAKE).stdout)
    assert [(one["place"], one["locator"]) for one in told["memories"]] == [
        (f"report.pdf, page {number}", f"page={number}") for number in (1, 2, 3)
    ]
    assert told["memories"][0]["title"] == "report, page 1"
    shown = ragmem("query", "was the foghorn taken down", **FAKE).stdout
    assert "report.pdf, page 2" in shown
    block = ragmem("context", "was the foghorn taken down", **FAKE).stdout
    assert "report.pdf, page 2" in block
    assert "#page=2" not in block


def test_doctor_tells_of_documents_where_a_source_has_any(
    ragmem: Callable[..., subprocess.CompletedProcess[str]], report: Path
) -> None:
    ragmem("ingest", str(report), **FAKE)

    def checks(**more: str) -> list[tuple[str, str]]:
        told = json.loads(ragmem("doctor", "--json", **FAKE, **more).stdout)
        return [(one["status"], one["detail"]) for one in told["checks"] if one["name"] == "documents"]

    assert checks() == []
    ((status, detail),) = checks(RAGMEM_SOURCES_DOCUMENTS_ENABLED="true")
    assert (status, detail.split(",")[0]) == ("ok", "documents can be read")


def test_the_inbox_takes_no_documents_and_says_how_to_hand_them_in(
    ragmem: Callable[..., subprocess.CompletedProcess[str]], report: Path
) -> None:
    done = ragmem("ingest", "--buffer", str(report), **FAKE)
    assert done.returncode == 2
    assert "is a document, and the inbox takes texts" in done.stderr
    assert "leave out --buffer" in done.stderr


def test_without_the_extra_the_line_says_what_to_install(tmp_path: Path, report: Path) -> None:
    """A Python that has the project and the standard library alone reads no PDF, and says why."""
    import ragmem

    root = Path(ragmem.__file__).parent.parent
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "import pathlib; from ragmem.readers.documents.converter import Converter\n"
        "from ragmem.readers.documents.model import RefusedError\n"
        "try:\n    Converter().convert(pathlib.Path(sys.argv[2]))\n"
        "except RefusedError as error:\n    print(error.problem)\n"
    )
    base = Path(sys.base_prefix) / "bin" / "python3"
    if not base.exists():
        pytest.skip("there is no Python besides that of the tests")
    done = subprocess.run(
        [base, "-I", "-c", code, root, report], capture_output=True, text=True, env={}, check=False
    )
    assert done.stdout == ('it needs pypdfium2, which is not installed: pip install "ragmem[documents]"\n'), (
        done.stderr
    )


def test_the_process_has_nothing_of_the_environment_but_a_few_names(
    tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragmem.readers.documents.converter import Converter

    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with Converter() as converter:
        converter.convert(report)
        process = converter._process
        assert process is not None
        if not Path("/proc").exists():
            pytest.skip("only Linux tells what a process was given")
        given = Path(f"/proc/{process.pid}/environ").read_bytes()
    assert b"OPENAI_API_KEY" not in given
    assert b"PATH=" in given


def _pictures(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        Image.new("RGB", (90, 60), (number, 0, 99)).save(folder / f"{number}.png")


def _seeded_pictures(tmp_path: Path, **environ: str) -> tuple[SeedReport, list[str]]:
    sources = tmp_path / "sources.toml"
    sources.write_text(f'[sources.pictures]\nglob = "{tmp_path}/pictures/*"\nreader = "documents"\n')
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE, **environ},
        home=tmp_path,
        cwd=tmp_path,
        sources_file=sources,
    ) as opened:
        report = opened.seed()
        return report, [match.memory.text for match in opened.query("Quay 4").matches]


def test_pictures_that_nothing_reads_are_one_line_and_no_failure(tmp_path: Path) -> None:
    _pictures(tmp_path / "pictures", 5)

    report, texts = _seeded_pictures(tmp_path, RAGMEM_DOCUMENTS_OCR="false")

    (told,) = report.problems
    assert told.reason.startswith("5 pictures or scanned pages were not read: ocr in [documents] is off (")
    assert told.reason.endswith("2.png and 2 more)")
    assert (told.level, report.failed, texts) == ("warning", 0, [])


def test_a_missing_engine_is_told_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pictures(tmp_path / "pictures", 1)
    monkeypatch.setattr("ragmem.readers.documents.ocr.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "/nowhere")

    (told,) = _seeded_pictures(tmp_path)[0].problems

    assert 'not read: text in pictures needs pip install "ragmem[ocr]" (' in told.reason


def test_pictures_are_read_again_once_an_engine_is_there_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pictures(tmp_path / "pictures", 1)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    languages = {"RAGMEM_DOCUMENTS_OCR_LANGUAGES": "eng"}
    assert len(_seeded_pictures(tmp_path, **languages)[0].problems) == 1
    assert _seeded_pictures(tmp_path, **languages)[0].problems == []

    program = tmp_path / "bin" / "tesseract"
    program.write_text("#!/bin/sh\ncat >/dev/null; echo The crane stands on Quay 4\n")
    program.chmod(0o755)
    report, (text,) = _seeded_pictures(tmp_path, **languages)

    assert report.problems == []
    assert "The crane stands on Quay 4" in text
