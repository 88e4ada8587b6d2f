"""Copy what a catalog knows of assistants' sessions: how far transcripts were read, and what was injected."""

from datetime import datetime, timedelta

from ragmem.storage.activity.injections import Retention
from ragmem.storage.home.catalog import Catalog

_EVER = timedelta(days=36_500)


def copy_sessions(source: Catalog, target: Catalog, *, now: datetime) -> None:
    """Copy the positions of this machine's transcripts, and the log of injections into an empty one.

    What the target knows already is left alone: it may have read on since. Repeating it changes nothing.
    """
    with target.database.write():
        for transcript in source.transcripts.seen():
            if target.transcripts.get(transcript.path) is None:
                target.transcripts.keep(transcript)
        if not target.injections.count():
            injected = source.injections.list()[::-1]
            target.injections.record(injected, now=now, kept=Retention(_EVER, len(injected)))
