"""What an installed distribution needs, what that weighs and under which licence it is; asks no index."""

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_CLASSIFIERS: Mapping[str, str] = {
    "Apache Software License": "Apache-2.0",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
"""Names of PyPI's classifiers and their SPDX identifiers, as far as one follows from the other."""

_WORDS: Mapping[str, str] = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "gplv3": "GPL-3.0-only",
    "mit": "MIT",
    "mit license": "MIT",
    "3-clause bsd license": "BSD-3-Clause",
    "mit-cmu": "MIT-CMU",
    "mpl-2.0": "MPL-2.0",
    "psf": "PSF-2.0",
}


def needed(requirements: Iterable[str], extras: Sequence[str] = ("",)) -> dict[str, Distribution]:
    """Return the distributions that requirements lead to, by name, those of their extras included.

    Raises PackageNotFoundError for one that is not installed.
    """
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(line), extra) for line in requirements for extra in extras]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        found[name] = distribution(requirement.name)
        for chosen in {"", *requirement.extras} - {one for known, one in seen if known == name}:
            seen.add((name, chosen))
            waiting += [(Requirement(line), chosen) for line in found[name].requires or ()]
    return dict(sorted(found.items()))


def direct(of: Distribution, extra: str = "") -> list[Requirement]:
    """Return what a distribution names itself, for this machine: without extra, or for one alone."""
    lines = [Requirement(line) for line in of.requires or ()]
    always = {str(one) for one in lines if not one.marker or one.marker.evaluate({"extra": ""})}
    wanted = [one for one in lines if not one.marker or one.marker.evaluate({"extra": extra})]
    return [one for one in wanted if not extra or str(one) not in always]


def licence(of: Distribution) -> str:
    """Return the SPDX expression of a licence, or its name where none follows; empty where none is told."""
    facts = of.metadata
    if told := facts.get("License-Expression"):
        return told
    if word := _WORDS.get((facts.get("License") or "").strip().lower()):
        return word
    names = [line.rpartition(" :: ")[2] for line in facts.get_all("Classifier") or () if "License ::" in line]
    known = [_CLASSIFIERS.get(name, name) for name in names if name != "OSI Approved"]
    if known:
        return " OR ".join(sorted(set(known)))
    return next(iter((facts.get("License") or "").strip().splitlines()), "")


def is_expression(text: str) -> bool:
    """Return whether a licence is written in the letters of SPDX."""
    return bool(
        re.fullmatch(r"\(?[A-Za-z0-9][\w.+-]*\)?(?: (?:OR|AND|WITH) \(?[A-Za-z0-9][\w.+-]*\)?)*", text)
    )


def size(of: Distribution) -> int:
    """Return the bytes of the files that a distribution has installed, compiled Python left out."""
    total = 0
    for path in of.files or ():
        if path.suffix != ".pyc":
            try:
                total += path.locate().stat().st_size
            except FileNotFoundError:  # named in RECORD and removed since
                continue
    return total


def installed(name: str) -> Distribution | None:
    """Return a distribution, None where it is not installed."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
