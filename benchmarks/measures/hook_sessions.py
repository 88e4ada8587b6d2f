"""Two sessions of the same project, replayed from real transcripts through every hook of Claude Code."""

import fcntl
import json
import os
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import common
import startup

from ragmem import client
from ragmem.hooks import spool

PROMPTS, TOOLS = 12, 20
"""At most, of a session."""

TELLING_WORDS = 8
"""Words from which a prompt says something by itself."""

RESEARCH = {"Task", "Agent", "WebSearch", "WebFetch", "Grep", "Glob"}
WRITING = {"Write", "Edit", "MultiEdit"}

UNRELATED = "Please write a limerick about a walrus who plays the bagpipes on a rainy Sunday."


def replay(transcripts: Path, folder: Path, *, quick: bool) -> dict[str, Any]:
    """Call the hooks of both sessions in their order; return what each was told, and a line about it."""
    pair = _pair(transcripts)
    if pair is None:
        return {"told": f"no two sessions of a project in {transcripts}", "sessions": []}
    environ = startup.environment(folder, folder) | {"RAGMEM_HOME": str(folder / "ragmem")}
    os.environ |= {name: value for name, value in environ.items() if name.startswith("RAGMEM_")}
    os.environ["HOME"] = environ["HOME"]
    data = folder / "ragmem" / "data"
    below = folder / ".claude" / "projects" / "replayed"
    below.mkdir(parents=True)
    project = folder / "work"
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    sessions = []
    try:
        for number, source in enumerate(pair, 1):
            # The hooks ask for the transcript at the end only; it is there from the beginning.
            transcript = below / f"replay-{number}.jsonl"
            # The project's folder is one of this machine, as it would be.
            there = next(_steps(source))["cwd"]
            transcript.write_text(_read(source).replace(there, str(project)), encoding="utf-8")
            calls = _replayed(transcript, _session(source), environ, quick=quick)
            sessions.append({"transcript": source.name, "calls": list(calls)})
            _settle(folder / "ragmem")
    finally:
        client.stop(str(data), deadline=time.monotonic() + 10)
    return {"told": _told(sessions), "sessions": sessions}


def _pair(transcripts: Path) -> list[Path] | None:
    """Return two transcripts of one project: those with the most prompts that say something."""
    found: dict[str, list[tuple[int, Path]]] = defaultdict(list)
    for path in sorted(transcripts.glob("*.jsonl")):
        steps = list(_steps(path))
        if steps:
            telling = sum(len(step.get("prompt", "").split()) >= TELLING_WORDS for step in steps)
            found[steps[0]["cwd"]].append((telling, path))
    pairs = [sorted(one)[-2:] for one in found.values() if len(one) > 1]
    if not pairs:
        return None
    best = max(pairs, key=lambda pair: min(prompts for prompts, _ in pair))
    return [path for _, path in best]


def _steps(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what hooks would have heard of a transcript, in its order."""
    turn = False
    for line in _read(path).splitlines():
        try:
            record = json.loads(line)
        except ValueError:  # torn
            continue
        message = record.get("message") if isinstance(record, dict) else None
        if not isinstance(message, dict) or record.get("isMeta") or record.get("isSidechain"):
            continue
        cwd = str(record.get("cwd") or "/")
        content = message.get("content")
        if record.get("type") == "user" and isinstance(content, str) and not content.startswith("<"):
            if turn:
                yield {"event": "Stop", "cwd": cwd}
            turn = True
            yield {"event": "UserPromptSubmit", "cwd": cwd, "prompt": content}
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                used = {"tool_name": block.get("name"), "tool_input": block.get("input"), "cwd": cwd}
                if block.get("name") in RESEARCH:
                    yield {"event": "PreToolUse", **used}
                elif block.get("name") in WRITING:
                    yield {"event": "PostToolUse", **used}
    if turn:
        yield {"event": "Stop", "cwd": cwd}


def _replayed(
    transcript: Path, session: str, environ: Mapping[str, str], *, quick: bool
) -> Iterator[dict[str, Any]]:
    steps = list(_steps(transcript))
    cwd = steps[0]["cwd"]
    left = {
        "UserPromptSubmit": 4 if quick else PROMPTS,
        "PreToolUse": 5 if quick else TOOLS,
        "PostToolUse": 5,
    }
    chosen = [{"event": "SessionStart", "source": "startup", "cwd": cwd}]
    for step in steps:
        if left.get(step["event"], 1) > 0:
            chosen.append(step)
            left[step["event"]] = left.get(step["event"], 1) - (step["event"] in left)
    chosen += [
        {"event": "UserPromptSubmit", "prompt": UNRELATED, "cwd": cwd},
        {"event": "PreCompact", "trigger": "auto", "cwd": cwd},
        {"event": "SessionEnd", "reason": "other", "cwd": cwd},
    ]
    for step in chosen:
        event = step.pop("event")
        common.tell(f"{session}: {event}")
        fields = {"session_id": session, "transcript_path": str(transcript), "hook_event_name": event, **step}
        begun = time.perf_counter()
        done = subprocess.run(
            startup.line_of("ragmem", ["hook", event]),
            input=json.dumps(fields).encode(),
            env=environ,
            capture_output=True,
            check=True,
        )
        said = json.loads(done.stdout) if done.stdout else {}
        yield {
            "event": event,
            "asked": step.get("prompt") or step.get("tool_input"),
            "seconds": round(time.perf_counter() - begun, 3),
            "told": said.get("hookSpecificOutput", {}).get("additionalContext", ""),
        }


def _session(path: Path) -> str:
    """Return the id that the assistant gave a session: by it a session is known in what is remembered."""
    for line in _read(path).splitlines():
        _, here, rest = line.partition('"sessionId":"')
        if here:
            return rest.partition('"')[0]
    return path.stem


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _settle(home: Path) -> None:
    """Wait until what a session left is taken up, and no drain of it runs any more."""
    until = time.monotonic() + 180
    while not spool.is_empty(home / "data") and time.monotonic() < until:
        time.sleep(0.2)
    with (home / "state" / "hooks.drain").open("a+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def _told(sessions: list[dict[str, Any]]) -> str:
    """Return in one line what the sessions were told, and whether it was told twice."""
    parts = []
    for number, session in enumerate(sessions, 1):
        told = [call for call in session["calls"] if call["told"]]
        blocks = [
            line for call in told for line in call["told"].splitlines() if line.startswith(("- ", "## "))
        ]
        again = len(blocks) - len(set(blocks))
        unrelated = any(call["told"] for call in session["calls"] if call["asked"] == UNRELATED)
        parts.append(
            f"session {number} ({len(session['calls'])} hooks) got something from {len(told)},"
            f" {again} lines twice, {'something' if unrelated else 'nothing'} for an unrelated prompt"
        )
    return "two sessions replayed from real transcripts: " + "; ".join(parts)
