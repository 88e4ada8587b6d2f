"""Group the sessions of a project into workstreams: sessions on one branch, or with the same files."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

FADES = 0.95
"""Factor of the weight of a session for each later one."""

CAUTION = 2.0
"""Sessions without a file that are added to the recent ones: few sessions tell little of what goes on."""

SHARED = 0.2
"""Share of the rarer files of the smaller one from which a session belongs to a workstream."""

USUAL, LEAST_USUAL = 0.5, 3
"""Share and number of sessions above which a file is common: sharing it joins nothing."""

TRUNKS = frozenset({"", "HEAD", "main", "master"})
"""Branches on which unrelated work meets, by the usual names; a detached head has none."""


@dataclass(slots=True)
class SessionWork:
    """What a session did: its memories, latest first, how often it changed each file, and its branch."""

    memories: list[str] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    branch: str = ""


@dataclass(slots=True)
class Workstream:
    """Sessions that belong together, latest first, their branch ("" for a trunk), and their rarer files."""

    branch: str
    sessions: list[SessionWork]
    rare: set[str]

    @property
    def files(self) -> set[str]:
        """The files of all its sessions."""
        return {file for session in self.sessions for file in session.files}


def workstreams(
    sessions: Sequence[SessionWork], *, trunks: Collection[str] = TRUNKS, apart: Collection[str] = ()
) -> list[Workstream]:
    """Return the workstreams of sessions, both latest first; each session is in the first that it fits.

    What was done on a branch of `apart` is joined with nothing but its branch.
    """
    seen = Counter(file for session in sessions for file in session.files)
    most = max(LEAST_USUAL, USUAL * len(sessions))
    found: list[Workstream] = []
    for session in sessions:
        branch = "" if session.branch in trunks else session.branch
        rare = {file for file in session.files if seen[file] <= most}
        for stream in found:
            enough = SHARED * min(len(rare), len(stream.rare))
            is_shared = 0 < enough <= len(rare & stream.rare) and not {branch, stream.branch} & {*apart}
            if is_shared or (branch and branch == stream.branch):
                stream.sessions.append(session)
                stream.rare |= rare
                break
        else:
            found.append(Workstream(branch, [session], rare))
    return found


def touch_probabilities(sessions: Sequence[SessionWork]) -> dict[str, float]:
    """Return file -> how probably the next session touches it, by the sessions so far, latest first."""
    weights = [FADES**age for age in range(len(sessions))]
    touched: defaultdict[str, float] = defaultdict(float)
    for weight, session in zip(weights, sessions, strict=True):
        for file in session.files:
            touched[file] += weight
    return {file: weight / (sum(weights) + CAUTION) for file, weight in touched.items()}


def activity(files: Iterable[str], probabilities: Mapping[str, float]) -> float:
    """Return how probably the next session touches one of these files."""
    return 1 - math.prod(1 - probabilities[file] for file in files)
