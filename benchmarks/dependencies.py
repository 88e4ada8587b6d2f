"""Measure the dependencies of ragmem and each extra: installed size, import time, licence.

Sizes are of the files that each has installed by itself, without compiled Python. Imports take turns in fresh
processes, and the minimum of the processor time counts, above that of Python itself.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import Distribution, distribution
from typing import Any

import common

sys.path.insert(0, str(common.REPOSITORY / "scripts"))
from distributions import direct, installed, licence, needed, size

MODULES: Mapping[str, str] = {
    "lightrag-hku": "lightrag.lightrag",
    "lxml": "lxml.etree",
    "mlx": "mlx.core",
    "pillow": "PIL.Image",
    "prometheus-client": "prometheus_client",
    "psycopg": "psycopg",
    "python-frontmatter": "frontmatter",
    "python-multipart": "python_multipart",
    "rich": "rich.progress",
    "pgvector": "pgvector.psycopg",
    "textual": "textual.app",
}
"""Where the module that ragmem imports is not the distribution's name."""

HEAVY = frozenset({"mlx-embeddings"})
"""Imported for seconds; left out of a quick run."""


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each is imported")
    options = parser.parse_args()
    rounds = 2 if options.quick else options.rounds
    own = distribution("ragmem")
    document: dict[str, Any] = {"machine": common.machine(), "rounds": rounds, "packages": [], "extras": {}}
    found: dict[str, tuple[str, Distribution]] = {}
    for extra in ("", *extras_of(own)):
        for requirement in direct(own, extra):
            there = installed(requirement.name)
            if there is not None:
                found.setdefault(requirement.name, (extra, there))
    times = imports([name for name in found if not (options.quick and name in HEAVY)], rounds)
    for name, (extra, there) in found.items():
        document["packages"].append(
            {
                "name": name,
                "extra": extra,
                "version": there.version,
                "licence": licence(there),
                "mb": size(there) / 1e6,
                "import_ms": times.get(name),
            }
        )
    base = needed(["ragmem"])
    document["base"] = {"packages": len(base) - 1, "mb": sum(size(one) for one in base.values()) / 1e6}
    for extra in extras_of(own):
        try:
            more = {name: one for name, one in needed([f"ragmem[{extra}]"]).items() if name not in base}
        except ModuleNotFoundError as error:
            document["extras"][extra] = {"missing": error.name}
            continue
        document["extras"][extra] = {
            "packages": len(more),
            "mb": sum(size(one) for one in more.values()) / 1e6,
            "licences": sorted({licence(one) or "not told" for one in more.values()}),
        }
    report(document, options)


def extras_of(own: Distribution) -> list[str]:
    """Return the extras that bring something for this machine, `all` left out."""
    return [name for name in own.metadata.get_all("Provides-Extra") or () if name != "all"]


def imports(names: list[str], rounds: int) -> dict[str, float]:
    """Return the milliseconds of processor time that importing each takes, above Python's own."""
    modules = {name: MODULES.get(name, name.replace("-", "_")) for name in names}
    best: dict[str, float] = {}
    for number in range(rounds + 1):
        common.tell(f"round {number} of {rounds}")
        for name in ("", *names):
            spent = processor_time(f"import {modules[name]}" if name else "pass")
            if number:  # the first fills the caches
                best[name] = min(spent, best.get(name, spent))
    return {name: (spent - best[""]) * 1000 for name, spent in best.items() if name}


def processor_time(code: str) -> float:
    """Run a line of Python to its end; return the processor seconds of user and system."""
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{code}: {complaint.decode().strip().splitlines()[-1]}")
    return usage.ru_utime + usage.ru_stime


def report(document: dict[str, Any], options: Any) -> None:
    rows = [
        [
            one["name"],
            one["version"],
            f"`{one['extra']}`" if one["extra"] else "",
            one["licence"],
            f"{one['mb']:.1f}",
            "" if one["import_ms"] is None else f"{max(0.0, one['import_ms']):,.0f}",
        ]
        for one in document["packages"]
    ]
    base = document["base"]
    notes = [f"without extras: {base['packages']} packages besides ragmem, {base['mb']:,.0f} MB in all"]
    for extra, told in document["extras"].items():
        if "missing" in told:
            notes.append(f"`{extra}`: {told['missing']} is not installed here")
        else:
            brought = f"{told['packages']} packages, {told['mb']:,.0f} MB"
            notes.append(f"`{extra}` adds {brought}: {', '.join(told['licences'])}")
    headers = ["package", "version", "extra", "licence", "MB", "import ms"]
    common.report("dependencies", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
