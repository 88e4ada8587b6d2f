"""Drafts of files, folders and texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.domain.model import Draft
from ragmem.services.ingestion.documents import archive_missing_parts, parts_by_document

if TYPE_CHECKING:
    from ragmem.readers.documents.document_reader import DocumentReader
    from ragmem.services.ingestion.drafts import DraftResult
    from ragmem.services.ingestion.folder_survey import FolderSurvey
    from ragmem.services.ingestion.options import DraftOptions
    from ragmem.services.processes.progress import Progress

# Services are imported inside functions: a seed must not pay for the imports of drafts.


class Ingestion:
    """Makes drafts for `Ragmem.ingest`."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def survey(self, paths: Sequence[Path]) -> "list[FolderSurvey]":
        """Return how many files the folders among these paths have, without reading the files."""
        from ragmem.services.ingestion.folder_survey import survey_folders

        return survey_folders(paths, settings=self._home.settings, home=self._home.home, cwd=self._home.cwd)

    def draft(
        self,
        paths: Sequence[Path],
        wish: "DraftOptions",
        *,
        text: bytes | None = None,
        title: str = "",
        dry_run: bool = False,
        progress: "Progress | None" = None,
    ) -> "DraftResult":
        """Return the drafts of files, folders and a text, without storing them; see `Ragmem.ingest`.

        With `dry_run`, pictures without a known description are not sent to a model.
        """
        from ragmem.services.ingestion.drafts import drafts_of_paths, text_draft

        home = self._home
        handed = drafts_of_paths(
            paths,
            wish,
            catalog=home.catalog,
            settings=home.settings,
            home=home.home,
            cwd=home.cwd,
            # A text alone must not fail because the settings of [documents] are wrong.
            documents=self.documents(dry_run=dry_run) if paths else None,
            progress=progress,
        )
        if text is not None:
            handed.drafts.append(
                text_draft(
                    text,
                    title,
                    wish,
                    catalog=home.catalog,
                    settings=home.settings,
                    projects=handed.projects,
                    cwd=home.cwd,
                )
            )
        return handed

    def documents(self, *, dry_run: bool = False) -> "DocumentReader":
        """Return the reader of the documents of one run, for a `with`; it starts with the first document.

        It uses the vision model and the server of [documents], if they are configured. A dry run sends no
        picture to a model. Raises ConfigError if their names are wrong.
        """
        from ragmem.readers.documents.document_reader import DocumentReader

        home, chosen = self._home, self._home.settings.documents
        describe, engine = None, None
        if chosen.engine != "builtin":
            from ragmem.backends.converters import open_engine

            engine = open_engine(chosen)
        if chosen.vision:
            from ragmem.backends.vision import open_vision_model
            from ragmem.services.ingestion.pictures import PictureDescriber

            describe = PictureDescriber(
                open_vision_model(home.settings, meter=home.meter),
                home.redactor,
                chosen.vision,
                home.settings.places.cache,
                most=0 if dry_run else chosen.max_pictures,
                dry_run=dry_run,
            )
        return DocumentReader(home.settings, describe=describe, elsewhere=engine)

    def archive_missing_pages(self, drafts: Sequence[Draft], unread: Sequence[str] = ()) -> list[str]:
        """Archive the pages that documents no longer have; return a line for each such document.

        `drafts` are all parts of the documents that were just stored, `unread` the uris of their parts that
        could not be read, as returned by `draft`. `gc.undo` restores the pages.
        """
        held = parts_by_document(drafts, unread)
        gone = archive_missing_parts(self._home.catalog, lambda: self._home.store, held, now=now())
        return [f"{path}: {told}" for (_, path), told in gone.items()]
