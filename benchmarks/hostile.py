"""Attack a `ragmem serve` process; report its responses, its memory, and the waits of an honest client.

The attacks are those of tests/server/test_hostile.py, with more idle connections (10,000 where the system
lets one process open so many), and each for as long as it takes with the limits that a server has by itself.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import common

from ragmem.config.settings import ServeSettings

sys.path.append(str(common.REPOSITORY / "tests" / "support"))

import attacks

NOTE = "# Deploy\n\nWe decided to deploy PostgreSQL 16 with Kubernetes because the old host ran full.\n"
SETTLE_S = 1.0
LIMIT = ServeSettings().max_connections


def main() -> None:
    """Run every attack on one server, and report."""
    options = common.arguments(__doc__ or "").parse_args()
    document: dict[str, Any] = {"machine": common.machine(), "attacks": []}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (process, target):
        target.idle = 500 if options.quick else connections(10_000)
        with attacks.Honest(target).asking() as calm:
            time.sleep(2 if options.quick else 5)
        document["calm"] = figures(calm, process.pid)
        for attack in attacks.ATTACKS:
            common.tell(attack.name)
            begun = time.perf_counter()
            with attacks.Honest(target).asking() as honest:
                outcomes = attack.run(target)
            time.sleep(SETTLE_S)
            document["attacks"].append(
                {
                    "name": attack.name,
                    "outcomes": dict(outcomes.most_common()),
                    "refused_or_inert": set(outcomes) <= attack.allowed,
                    "seconds": time.perf_counter() - begun - SETTLE_S,
                    "alive": process.poll() is None,
                    **figures(honest, process.pid),
                }
            )
        document["idle"] = target.idle
    report(document, options)


def figures(honest: attacks.Honest, pid: int) -> dict[str, Any]:
    """Return how an honest client fared, and the memory of the server."""
    return {
        "asked": len(honest.took),
        "failed": len(honest.failed),
        "p50_ms": honest.percentile(0.5) * 1_000,
        "p95_ms": honest.percentile(0.95) * 1_000,
        "most_ms": max(honest.took) * 1_000,
        "memory_mb": attacks.memory_mb(pid),
    }


def connections(wanted: int) -> int:
    """Return how many connections this process may open, having raised its limit as far as it goes."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard - 500)


@contextmanager
def serving(home: Path) -> Iterator[tuple[subprocess.Popen[str], attacks.Target]]:
    """Start a server over a note, and log a browser in."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "RAGMEM_HOME": str(home / "ragmem")}
    (home / "deploy.md").write_text(NOTE)
    command = [sys.executable, "-m", "ragmem"]
    subprocess.run(
        [*command, "ingest", "deploy.md"], env=environment, cwd=home, check=True, capture_output=True
    )
    said = home / "said"
    with said.open("w") as stderr:
        process = subprocess.Popen(
            [*command, "serve", "--port", "0"], env=environment, cwd=home, stderr=stderr, text=True
        )
    with common.ended(process):
        while not (found := re.search(r"listening on http://\S+:(\d+), token in (.+)\n", said.read_text())):
            if process.poll() is not None:
                sys.exit(said.read_text())
            time.sleep(0.1)
        target = attacks.Target(int(found[1]), Path(found[2]).read_text().strip(), patience_s=90)
        described = asked(target, "/openapi.json")
        target.paths = {path: [method.upper() for method in item] for path, item in described.items()}
        target.cookie = cookie(target)
        yield process, target


def asked(target: attacks.Target, path: str) -> dict[str, Any]:
    """Return the paths that the server describes."""
    request = urllib.request.Request(f"http://{target.host}{path}", headers={"X-API-Key": target.token})
    with urllib.request.urlopen(request) as answer:
        paths: dict[str, Any] = json.load(answer)["paths"]
        return paths


def cookie(target: attacks.Target) -> str:
    """Log in, and return the cookie as a browser sends it."""
    said = target.say(target.post("/session", json.dumps({"token": target.token}).encode(), token=False))
    found = re.search(rb"(?i)set-cookie: ([^;]+)", said)
    assert found is not None, said
    return found[1].decode()


def report(document: dict[str, Any], options: Any) -> None:
    """Print the table and write what was asked for; exit with 1 where an attack had an effect."""
    rows = [row_of("(none)", document["calm"], "")]
    for one in document["attacks"]:
        became = ", ".join(f"{count:,} x {outcome}" for outcome, count in one["outcomes"].items())
        rows.append(row_of(one["name"], one, became))
    common.report(
        "hostile",
        document,
        ["attack", "responses", "failed / asked", "p50 ms", "p95 ms", "max ms", "memory MB"],
        rows,
        options=options,
        notes=[
            "failed, asked, times: of an honest client that calls POST /query throughout, on new connections",
            "memory: resident, a second after the attack",
            f"idle connections: {document['idle']:,} at once; the server keeps at most {LIMIT:,}",
        ],
    )
    if not all(one["refused_or_inert"] and one["alive"] for one in document["attacks"]):
        sys.exit(1)


def row_of(name: str, one: dict[str, Any], became: str) -> list[str]:
    """Return a line of the table."""
    times = [f"{one[key]:,.0f}" for key in ("p50_ms", "p95_ms", "most_ms", "memory_mb")]
    return [name, became, f"{one['failed']} / {one['asked']}", *times]


if __name__ == "__main__":
    main()
