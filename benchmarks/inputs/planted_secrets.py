"""Secrets made at run time, and the texts, notes and transcripts in which they are planted."""

import base64
import json
import random
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ALPHANUMERIC = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
PER_SHAPE = 3


@dataclass(frozen=True)
class Planted:
    """A secret: its shape, the text that holds it, and the parts that nobody may find afterwards."""

    shape: str
    text: str
    parts: tuple[str, ...]


def planted(seed: int = 11) -> list[Planted]:
    """Return three secrets of each of twenty shapes, the same for the same seed."""
    chooser = random.Random(seed)

    def some(length: int, letters: str = ALPHANUMERIC) -> str:
        return "".join(chooser.choice(letters) for _ in range(length))

    def password() -> str:
        return f"{some(4, string.ascii_letters)}{some(3, string.digits)}#{some(5)}{some(2, string.digits)}"

    def whole(lead: str, length: int, letters: str = ALPHANUMERIC) -> tuple[str, str]:
        value = lead + some(length, letters)
        return value, value

    def within(template: str, value: str) -> tuple[str, str]:
        return template.replace("VALUE", value), value

    def key_block() -> tuple[str, str]:
        lines = [some(64, ALPHANUMERIC + "+/") for _ in range(4)]
        name = "RSA PRIVATE" + " KEY"
        return "\n".join((f"-----BEGIN {name}-----", *lines, f"-----END {name}-----")), " ".join(lines)

    def manifest() -> tuple[str, str]:
        value = base64.b64encode(password().encode()).decode()
        return f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: tide\ndata:\n  login: {value}\n", value

    shapes: dict[str, Callable[[], tuple[str, str]]] = {
        "GitHub token": lambda: whole("gh" + "p_", 36),
        "GitLab token": lambda: whole("glp" + "at-", 20),
        "AWS id and key": lambda: within(
            f"AWS_ACCESS_KEY_ID={'AK' + 'IA' + some(16, string.ascii_uppercase + '234567')}\n"
            "AWS_SECRET_ACCESS_KEY=VALUE",
            some(40, ALPHANUMERIC + "/+"),
        ),
        "Google key": lambda: whole("AI" + "za", 35),
        "Azure account key": lambda: within(
            "DefaultEndpointsProtocol=https;AccountName=tide;AccountKey=VALUE==;EndpointSuffix=core", some(86)
        ),
        "Slack token": lambda: whole("xo" + f"xb-{some(12, string.digits)}-", 24),
        "Stripe key": lambda: whole("sk_" + "live_", 24),
        "OpenAI key": lambda: whole("sk-" + "proj-", 80, ALPHANUMERIC + "_"),
        "Anthropic key": lambda: whole("sk-" + "ant-api03-", 93),
        "npm login": lambda: within("//registry.npmjs.org/:_authToken=VALUE", "np" + "m_" + some(36)),
        "SendGrid key": lambda: within("VALUE", f"{'S' + 'G'}.{some(22)}.{some(43)}"),
        "JWT": lambda: within("VALUE", f"{'ey' + 'J'}{some(33)}.{'ey' + 'J'}{some(60)}.{some(43)}"),
        "private key": key_block,
        "connection string": lambda: within("postgres://app:VALUE@db.internal:5432/tide", some(14)),
        "ADO connection": lambda: within("Server=db;Database=tide;User Id=sa;Password=VALUE;", some(12)),
        "environment line": lambda: within("export HARBOUR_API_KEY=VALUE", some(32, HEX)),
        "password in YAML": lambda: within('database:\n  password: "VALUE"', password()),
        "basic login": lambda: within("curl -u deploy:VALUE https://tide.example.org", password()),
        "bearer": lambda: within("Authorization: Bearer VALUE", some(40)),
        "Kubernetes secret": manifest,
    }
    found = []
    for shape, make in shapes.items():
        for _ in range(PER_SHAPE):
            text, value = make()
            found.append(Planted(shape, text, tuple(value.split(" "))))
    return found


def told(secret: Planted, number: int) -> str:
    """Return a note that says something worth keeping, and holds the secret."""
    return (
        f"We decided in step {number} that the harbour service logs in once and keeps the connection open, "
        f"because each login takes two seconds. The error was a timeout in connect(); this fixed it:\n\n"
        f"{secret.text}\n\nSince then the tide table of quay {number} loads in 40 ms."
    )


def notes(secrets: list[Planted], folder: Path) -> list[Path]:
    """Write the secrets into Markdown: as text, in a fence, in a table, in frontmatter, in a heading."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, secret in enumerate(secrets):
        text = told(secret, number)
        one_line = " ".join(secret.text.split("\n")) if "\n" not in secret.text else ""
        match number % 5:
            case 1:
                text = text.replace(secret.text, f"```sh\n{secret.text}\n```")
            case 2 if one_line:
                text = text.replace(secret.text, f"| what | value |\n| --- | --- |\n| login | `{one_line}` |")
            case 3 if one_line:
                text = f"---\ntitle: quay {number}\nlogin: {json.dumps(one_line)}\n---\n{text}"
            case 4 if one_line:
                text = f"# Log in with {one_line}\n\n{text}"
        path = folder / f"quay-{number}.md"
        path.write_text(text)
        paths.append(path)
    return paths


def reflections(secrets: list[Planted], path: Path) -> None:
    """Write the secrets into a file of reflections, a JSON line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(
            {
                "timestamp": f"2026-03-01T{10 + number // 60}:{number % 60:02d}:00Z",
                "task_description": f"connect quay {number}",
                "reflection_q1": told(secret, number),
            }
        )
        for number, secret in enumerate(secrets)
    ]
    path.write_text("\n".join(lines) + "\n")


def transcripts(secrets: list[Planted], home: Path, repository: Path) -> list[Path]:
    """Write a session of each assistant that holds all secrets, in the four places of an exchange in turn."""
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(repository))
    names = [str(uuid.UUID(int=random.Random(seed).getrandbits(128), version=4)) for seed in range(4)]
    files = {
        home / f".claude/projects/{slug}/{names[0]}.jsonl": _claude,
        home / f".codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-{names[1]}.jsonl": _codex,
        home / f".gemini/tmp/tide/chats/session-2026-03-01T10-00-{names[2][:8]}.jsonl": _gemini,
        home / f".cursor/projects/{slug.strip('-')}/agent-transcripts/{names[3]}/{names[3]}.jsonl": _cursor,
    }
    for path, written in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        records = [
            record
            for number, secret in enumerate(secrets)
            for record in written(number, _spread(secret, number), path.stem, str(repository))
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(files)


def _spread(secret: Planted, number: int) -> tuple[str, str, str, str]:
    """Return question, answer, command and its result, one of which holds the secret."""
    texts = [
        f"why does quay {number} take so long to connect?",
        f"The login was made anew for each request in harbour/quay_{number}.py. I keep it open now.",
        f"python harbour/quay_{number}.py --check",
        f"FAILED tests/test_quay_{number}.py - timeout after 2 s\n1 failed",
    ]
    texts[number % 4] += f"\n{secret.text}\n"
    return texts[0], texts[1], texts[2], texts[3]


def _claude(number: int, said: tuple[str, str, str, str], session: str, cwd: str) -> list[dict[str, object]]:
    asked, answered, command, result = said
    base = {
        "sessionId": session,
        "cwd": cwd,
        "version": "2.1.7",
        "timestamp": f"2026-03-01T{10 + number // 60}:{number % 60:02d}:00Z",
    }
    use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
    back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result, "is_error": True}
    answer = {"type": "text", "text": answered}
    return [
        {**base, "type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": asked}},
        {**base, "type": "assistant", "uuid": f"a{number}", "message": _answer(f"m{number}", use)},
        {**base, "type": "user", "uuid": f"r{number}", "message": {"role": "user", "content": [back]}},
        {**base, "type": "assistant", "uuid": f"b{number}", "message": _answer(f"n{number}", answer)},
    ]


def _answer(identifier: str, block: dict[str, object]) -> dict[str, object]:
    return {"id": identifier, "role": "assistant", "model": "claude", "content": [block]}


def _codex(number: int, said: tuple[str, str, str, str], session: str, cwd: str) -> list[dict[str, object]]:
    asked, answered, command, result = said
    at = f"2026-03-01T{10 + number // 60}:{number % 60:02d}:00Z"
    call = {
        "type": "function_call",
        "name": "shell",
        "call_id": f"c{number}",
        "arguments": json.dumps({"command": ["bash", "-lc", command], "workdir": cwd}),
    }
    output = {
        "type": "function_call_output",
        "call_id": f"c{number}",
        "output": json.dumps({"output": result}),
    }
    meta = [{"timestamp": at, "type": "session_meta", "payload": {"id": session[-36:], "cwd": cwd}}]
    return [
        *([] if number else meta),
        {"timestamp": at, "type": "event_msg", "payload": {"type": "user_message", "message": asked}},
        {"timestamp": at, "type": "response_item", "payload": call},
        {"timestamp": at, "type": "response_item", "payload": output},
        {"timestamp": at, "type": "event_msg", "payload": {"type": "agent_message", "message": answered}},
    ]


def _gemini(number: int, said: tuple[str, str, str, str], session: str, cwd: str) -> list[dict[str, object]]:
    asked, answered, command, result = said
    at = f"2026-03-01T{10 + number // 60}:{number % 60:02d}:00Z"
    meta = [
        {"type": "session_metadata", "sessionId": session, "projectHash": "tide", "startTime": at, "cwd": cwd}
    ]
    call = {
        "id": f"c{number}",
        "name": "run_shell_command",
        "args": {"command": command},
        "result": [{"functionResponse": {"response": {"output": result}}}],
        "status": "success",
    }
    return [
        *([] if number else meta),
        {"id": f"u{number}", "timestamp": at, "type": "user", "content": [{"text": asked}]},
        {
            "id": f"g{number}",
            "timestamp": at,
            "type": "gemini",
            "content": [{"text": answered}],
            "toolCalls": [call],
        },
    ]


def _cursor(number: int, said: tuple[str, str, str, str], session: str, cwd: str) -> list[dict[str, object]]:
    del session, cwd
    asked, answered, command, result = said
    use = {"type": "tool_use", "id": f"t{number}", "name": "Shell", "input": {"command": command}}
    back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
    query = f"<user_query>\n{asked}\n</user_query>"
    return [
        {"role": "user", "message": {"content": [{"type": "text", "text": query}]}},
        {"role": "assistant", "message": {"content": [use]}},
        {"role": "user", "message": {"content": [back]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": answered}]}},
    ]


FORM = "multipart/form-data; boundary=quay"


def requests(text: str, note: str, number: int) -> list[tuple[str, dict[str, object] | bytes]]:
    """Return what is sent to the server of one secret: stored in one of five ways, and asked, and told."""
    name = f"quay-{number}.md"
    upload = (
        f'--quay\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: text/markdown\r\n\r\n{note}\r\n--quay--\r\n"
    )
    line = " ".join(text.split())[:200]
    memory = {"text": note, "title": line, "tags": [line]}
    about = {"entity_type": "service", "description": text[:1_000]}
    stored: list[tuple[str, dict[str, object] | bytes]] = [
        ("/documents/text", {"text": note, "file_source": name}),
        ("/documents/upload", upload.encode()),
        ("/v1/memory/memories", dict(memory)),
        ("/graph/entity/create", {"entity_name": f"Quay{number}", "entity_data": about}),
        ("/v1/memory/query", {"query": text[:1_000], "session": "s1"}),
    ]
    told: list[tuple[str, dict[str, object] | bytes]] = [
        ("/signal", {"to": "quay", "from": "tide", "type": "message", "text": text, "data": {"login": text}}),
        ("/query", {"query": text[:1_000], "mode": "mix"}),
        ("/events", {"type": "login", "agent_id": "quay", "data": {"said": [text]}}),
        ("/v1/memory/context", {"session": "s1", "prompt": text[:1_000]}),
    ]
    return [stored[number % len(stored)], told[number % len(told)]]


def settings_files(secrets: list[Planted], folder: Path) -> list[Path]:
    """Write the secrets into files as services are configured by, beside a note."""
    folder.mkdir(parents=True)
    (folder / "readme.md").write_text(
        "The harbour service logs in once, because each login takes a second.\n"
    )
    lines = "\n".join(one.text for one in secrets) + "\n"
    paths = [folder / name for name in (".env", ".env.local", "prod.env", "settings.ini", "config.yaml")]
    for path in paths:
        path.write_text(lines)
    return paths


def source_files(secrets: list[Planted], folder: Path) -> None:
    """Write the secrets into source files of several languages, each of them into two."""
    folder.mkdir(parents=True)

    def lines(lead: str, text: str) -> str:
        return "\n".join(f"{lead}{line}" for line in text.split("\n"))

    for number, secret in enumerate(secrets):
        said, quoted, name = secret.text, json.dumps(secret.text), f"quay_{number}"
        doc = f'r"""Log in.\n\n{said}\n"""'
        texts = {
            "py": f"{doc}\n\nLOGIN = {said!r}\n\n\ndef {name}(login={said!r}):\n    {doc}\n"
            f"{lines('    # ', said)}\n    return open(login)\n",
            "js": f"{lines('// ', said)}\nconst login = {quoted};\n/**\n{said}\n*/\n"
            f"function {name}(a = {quoted}) {{ return open(a); }}\n",
            "ts": f"/**\n{said}\n*/\nexport class Quay{number} {{ login: string = {quoted}; }}\n",
            "go": f"package quay\n\nconst Login = {quoted}\n\n{lines('// ', said)}\nfunc Open() string "
            f"{{ return {quoted} }}\n",
            "java": f"/**\n{said}\n*/\nclass Quay{number} {{ static final String LOGIN = {quoted}; }}\n",
            "rs": f"{lines('/// ', said)}\nconst LOGIN: &str = {quoted};\n",
            "tf": f'variable "{name}" {{\n  description = {quoted}\n  default = {quoted}\n}}\n',
            "sh": f"{lines('# ', said)}\n{name}() {{ echo {quoted}; }}\n",
        }
        for suffix in ("py", list(texts)[1 + number % (len(texts) - 1)]):
            (folder / f"{name}.{suffix}").write_text(texts[suffix])


def tool_calls(secrets: list[Planted]) -> list[tuple[str, dict[str, object]]]:
    """Return calls of tools with one secret each: of the four that store, and of those that ask and tell."""
    calls: list[tuple[str, dict[str, object]]] = [
        ("report_status", {"agent_id": "quay", "status": "working"})
    ]
    for number, secret in enumerate(secrets):
        note, text = told(secret, number), secret.text
        stored: list[tuple[str, dict[str, object]]] = [
            ("remember", {"text": note, "title": text[:200], "tags": [text[:100]]}),
            ("store_knowledge", {"category": "gotcha", "title": text[:200], "content": note, "tags": [text]}),
            ("record_episode", {"event_type": "decision", "title": text[:200], "content": note}),
            (
                "add_session_insight",
                {"summary": note, "discoveries": [text], "files_understood": {"a": text}},
            ),
        ]
        other: list[tuple[str, dict[str, object]]] = [
            ("search", {"query": text}),
            ("report_status", {"agent_id": "quay", "current_task": text[:1_000]}),
            ("send_to_agent", {"to": "quay", "from": "tide", "message": text}),
        ]
        calls += [stored[number % len(stored)], other[number % len(other)]]
    return calls
