"""Keep the repositories of shared memories small."""

from pathlib import Path

from ragmem.errors import RagmemError
from ragmem.services.sharing.bare_repository import BareRepository
from ragmem.services.sharing.sync import FOLDER


def prune(data: Path) -> list[str]:
    """Drop from the repositories in a home's data what members have rewritten away; return what went wrong.

    Takes at most two minutes for each that has such a history, and no time where none was rewritten.
    """
    problems = []
    for folder in sorted((data / FOLDER).glob("*.git")):
        try:
            BareRepository(folder).prune()
        except RagmemError as error:
            problems.append(error.full_message)
    return problems
