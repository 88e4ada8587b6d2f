"""Count what is read of a transcript, for the report of a seed."""

from dataclasses import KW_ONLY, dataclass, field

from ragmem.services.ingestion.classify import ClassifiedMemory
from ragmem.services.ingestion.ingest import Change
from ragmem.services.seeding.report import Problem, SeedReport, StreamReport, Tally
from ragmem.services.transcripts.writer import CaptureObserver, CaptureResult

UNKNOWN_FORMAT = "no transcript"
"""How the result begins for a file of no known assistant."""


@dataclass(slots=True)
class CountObserver(CaptureObserver):
    """Counts the exchanges of one transcript while it is read."""

    tally: Tally
    report: SeedReport
    _: KW_ONLY
    explain: bool
    exchanges: int = field(default=0, init=False)

    def on_exchange(self, item: ClassifiedMemory, change: Change) -> None:
        """Count an exchange, and record the decision for `--explain`."""
        self.report.count(self.tally, item, change)
        if self.explain and self.report.dry_run:
            self.report.decide(item, change)


def add_result(done: CaptureResult, tally: Tally, report: SeedReport, streamed: StreamReport) -> None:
    """Add the result of reading a transcript to the report."""
    streamed.files += not done.current
    streamed.exchanges += done.exchanges
    streamed.bytes += done.bytes
    streamed.doubled += done.doubled
    streamed.buffered += done.buffered
    if done.failed:
        foreign = done.failed.startswith(UNKNOWN_FORMAT)
        tally.failed += not foreign
        report.problems.append(
            Problem(tally.source, done.path, done.failed, "warning" if foreign else "failed")
        )
    for one in done.rejected:
        tally.failed += 1
        report.problems.append(Problem(tally.source, done.path, one.message))
    for reason, times in done.problems.items():
        report.problems.append(Problem(tally.source, done.path, f"{reason}: {times:,}", "warning"))
