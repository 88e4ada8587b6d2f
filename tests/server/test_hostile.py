"""A `ragmem serve` process under attack: each is refused or inert, and an honest client is answered."""

import contextlib
import re
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from attacks import ATTACKS, LEAKED, OPEN, Attack, Honest, Target, memory_mb

MOST_CONNECTIONS = 400
WITHIN_S = 1.0
"""Seconds that the server may work, for whomever, before it answers an honest client."""

GROWN_MB = 150
"""What attacks may leave behind: several bodies of 16 MB at once, and what the allocator keeps of them."""


@dataclass
class Attacked:
    """A server that is attacked, and what it was before."""

    server: Any
    target: Target
    memory_before: float


@pytest.fixture(scope="module")
def attacked(tight_server):
    server = tight_server
    login = httpx.post(f"{server.url}/session", json={"token": server.token}, timeout=60)
    described = httpx.get(f"{server.url}/openapi.json", headers=server.headers, timeout=60).json()["paths"]
    target = Target(
        server.port,
        server.token,
        paths={path: [method.upper() for method in methods] for path, methods in described.items()},
        cookie=login.headers["Set-Cookie"].partition(";")[0],
        idle=idle_connections(),
        most=MOST_CONNECTIONS,
    )
    Honest(target).ask()
    return Attacked(server, target, memory_mb(server.process.pid))


def processor_clock(process: int) -> Callable[[], float]:
    """Return a clock of the processor time of a process, which does not depend on what else runs here."""
    if sys.platform != "linux":
        return time.perf_counter
    # As `clock_getcpuclockid` of C.
    return lambda: time.clock_gettime(~process << 3 | 2)


def idle_connections() -> int:
    """Return how many connections this process may open: 2,000 where it can."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = 4_096 if hard == resource.RLIM_INFINITY else min(hard, 4_096)
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(2_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 500)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: re.sub(r"\W+", "-", attack.name))
def test_an_attack_is_refused_or_inert_and_an_honest_client_is_answered(attacked, attack: Attack):
    clock = processor_clock(attacked.server.process.pid)
    with Honest(attacked.target, clock).asking() as during:
        outcomes = attack.run(attacked.target)
    assert set(outcomes) <= attack.allowed, outcomes
    assert outcomes.total()
    assert LEAKED not in outcomes
    after = Honest(attacked.target, clock)
    after.ask()
    assert during.failed == after.failed == []
    assert during.percentile(0.75) < WITHIN_S
    assert after.took[0] < WITHIN_S
    assert attacked.server.process.poll() is None
    assert memory_mb(attacked.server.process.pid) < attacked.memory_before + GROWN_MB
    if attack.name == "idle connections":
        assert outcomes[OPEN] <= MOST_CONNECTIONS
