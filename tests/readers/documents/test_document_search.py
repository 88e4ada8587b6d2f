"""What is written in a document is found, with the page, slide, sheet or chapter that it stands on."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from sample import Question, Sample

from ragmem.api.memory import Ragmem

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("samples_*.py"))
SAMPLES: list[Sample] = [sample for name in MODULES for sample in import_module(name).SAMPLES]
"""All of them lie in one memory, so that each answer is found among what the others say."""

RANK = 3
pytestmark = pytest.mark.timeout(900)  # a machine that does other work reads twenty pictures in minutes


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for sample in SAMPLES:
        sample.make(folder / sample.name)
    return folder


@pytest.fixture(scope="module")
def memory(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ragmem]:
    """A memory with the embedder that comes along, of all samples."""
    home = tmp_path_factory.mktemp("home")
    sources = home / "sources.toml"
    sources.write_text(f'[sources.documents]\nglob = "{documents}/*"\nreader = "documents"\nsignal = "off"\n')
    with Ragmem.open(
        environ={"RAGMEM_HOME": str(home / "ragmem")}, home=home, cwd=home, sources_file=sources
    ) as opened:
        report = opened.seed()
        assert [problem for problem in report.problems if problem.level == "failed"] == []
        assert report.tallies[0].files == len(SAMPLES)
        yield opened


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_what_a_document_says_is_among_the_first_three_answers(
    sample: Sample, memory: Ragmem, documents: Path
) -> None:
    path = str(documents / sample.name)
    for question in (Question(*asked) for asked in sample.questions):
        wanted = f"{path}#{question.locator}" if question.locator else path
        found = [
            (match.memory.uri, " ".join(match.memory.text.split()))
            for match in memory.query(question.text).matches[:RANK]
        ]
        uris = [uri for uri, _ in found]
        assert any(uri == wanted and question.answer in text for uri, text in found), (question, uris)


def test_there_are_twenty_five_documents_with_three_questions_each() -> None:
    assert len(SAMPLES) >= 25
    assert {len(sample.questions) for sample in SAMPLES} == {3}
    assert len({sample.name for sample in SAMPLES}) == len(SAMPLES)
