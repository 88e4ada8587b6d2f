"""The spool of the request ledger: one line for each provider request, on its way to the catalog."""

from pathlib import Path
from typing import Any

from ragmem.services.processes import spool
from ragmem.storage.activity.usage import Sums, Use

MOST = 2**53
"""The maximum of any figure in a line; a larger one is not ours."""

Counted = dict[Use, Sums]


def usage_spool(folder: Path) -> spool.Spool[Counted]:
    """Return the spool of requests in a folder; reading it sums up the lines of a file."""
    return spool.Spool(folder, empty=dict, take=_add)


def line_of(use: Use, sums: Sums) -> bytes:
    """Return what is added to a file for a request."""
    return spool.line_of({**use._asdict(), **{name: getattr(sums, name) for name in Sums.__slots__}})


def _add(counted: Counted, value: Any) -> None:
    use, sums = _parse(value)
    counted[use] = counted.get(use, Sums()) + sums


def _parse(value: Any) -> tuple[Use, Sums]:
    use = Use(*(value[name] for name in Use._fields))
    sums = Sums(*(value[name] for name in Sums.__slots__))
    if not all(isinstance(part, str) for part in use):
        raise TypeError("a name that is no text")
    for name in Sums.__slots__:
        figure = getattr(sums, name)
        whole = isinstance(figure, int) and not isinstance(figure, bool)
        if not (whole or (name == "cost" and isinstance(figure, float))) or not 0 <= figure <= MOST:
            raise ValueError(f"{name} is no figure")
    return use, sums
