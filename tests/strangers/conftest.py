"""What several tests of strangers' folders need."""

from pathlib import Path

import pytest

from ragmem.services.ingestion import folder_survey

NOTE = "# Harbour {0}\n\nWe decided to bound harbour queue {0} at 700 entries, as it exhausted the memory.\n"


@pytest.fixture
def notes_in():
    """Write some notes into a folder of the home."""

    def write(name, count):
        folder = Path.home() / name
        folder.mkdir()
        for number in range(count):
            (folder / f"{number}.md").write_text(NOTE.format(number))
        return folder

    return write


@pytest.fixture
def large(notes_in):
    """A folder of one note more than is read without a question."""
    return notes_in("archive", folder_survey.MANY_FILES + 1)
