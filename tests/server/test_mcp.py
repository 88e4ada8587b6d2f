"""MCP at /mcp of a real server, asked by the official SDK's client."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest
from mcp_talk import ACCEPT, BEGIN

from ragmem.mcp.definitions import TOOLS, tools_of

CALL = {"query": "why do we deploy PostgreSQL with Kubernetes", "project": "*"}


async def _everything(server, mode, path):
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.exceptions import MCPError

    said = {}
    async with (
        httpx.AsyncClient(headers=server.headers, timeout=60) as http,
        Client(streamable_http_client(server.url + path, http_client=http), mode=mode) as one,
    ):
        said["version"] = one.protocol_version
        said["tools"] = [tool.name for tool in (await one.list_tools()).tools]
        said["search"] = (await one.call_tool("search", CALL)).content[0].text
        said["wrong"] = await one.call_tool("get", {"ids": 5})
        said["status"] = (await one.read_resource("ragmem://status")).contents[0].text
        said["prompt"] = (await one.get_prompt("session_briefing", {})).messages[0].content.text
        said["together"] = await asyncio.gather(*(one.call_tool("search", CALL) for _ in range(6)))
        for refused in (one.call_tool("no_such_tool", {}), one.read_resource("ragmem://nowhere/x")):
            try:
                await refused
            except MCPError as error:
                said.setdefault("codes", []).append(error.error.code)
    return said


@pytest.mark.parametrize(
    ("mode", "version", "path", "profile"),
    [
        ("legacy", "2025-11-25", "/mcp", "default"),
        ("auto", "2026-07-28", "/mcp?profile=full", "full"),
    ],
)
def test_the_sdks_client_reaches_everything(server, mode, version, path, profile):
    said = asyncio.run(_everything(server, mode, path))

    assert said["version"] == version
    assert said["tools"] == [tool.name for tool in tools_of(profile)]
    assert "Kubernetes" in said["search"]
    assert [each.content[0].text for each in said["together"]] == [said["search"]] * 6
    assert said["wrong"].is_error
    assert said["status"]
    assert said["prompt"]
    assert said["codes"] == [-32602, -32602 if mode == "auto" else -32002]


def test_the_guard_stands_before_it(server):
    with httpx.Client(base_url=server.url, headers=ACCEPT, timeout=60) as http:
        assert http.post("/mcp", json=BEGIN).status_code == 401
        foreign = http.post("/mcp", json=BEGIN, headers={**server.headers, "Host": "evil.example"})
        other_page = http.post(
            "/mcp", json=BEGIN, headers={**server.headers, "Origin": "http://evil.example"}
        )

    assert (foreign.status_code, other_page.status_code) == (403, 403)


def test_a_session_lives_until_it_is_deleted(server):
    with httpx.Client(base_url=server.url, headers={**ACCEPT, **server.headers}, timeout=60) as http:
        begun = http.post("/mcp", json=BEGIN)
        session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
        listed = http.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=session)
        with http.stream("GET", "/mcp", headers=session) as stream:
            listening = (stream.status_code, stream.headers["content-type"])
        gone = http.delete("/mcp", headers=session)
        after = http.post("/mcp", json={"jsonrpc": "2.0", "id": 3, "method": "tools/list"}, headers=session)
        measured = http.get("/metrics").text

    data = next(line for line in listed.text.splitlines() if line.startswith("data: {"))
    assert len(json.loads(data[6:])["result"]["tools"]) == len(tools_of("default")) < len(TOOLS)
    assert listening == (200, "text/event-stream")
    assert gone.status_code == 200
    assert after.status_code == 404
    assert 'route="/mcp"' in measured


@pytest.mark.parametrize(
    ("method", "options", "status"),
    [
        ("POST", {"content": b"{", "headers": {"Content-Type": "application/json"}}, 400),
        ("POST", {"content": b"{}", "headers": {"Content-Type": "text/plain"}}, 400),
        ("POST", {"json": BEGIN, "params": {"profile": "none"}}, 422),
        ("POST", {"content": b" " * 3_000_000, "headers": {"Content-Type": "application/json"}}, 413),
        ("PUT", {"json": BEGIN}, 405),
    ],
)
def test_what_is_wrong_is_refused(server, method, options, status):
    headers = {**ACCEPT, **server.headers, **options.pop("headers", {})}

    answer = httpx.request(method, f"{server.url}/mcp", headers=headers, timeout=60, **options)
    assert answer.status_code == status


def test_an_open_stream_does_not_hold_up_the_end(start, tmp_path):
    with start(tmp_path) as one, httpx.Client(base_url=one.url, headers={**ACCEPT, **one.headers}) as http:
        session = {"Mcp-Session-Id": http.post("/mcp", json=BEGIN, timeout=60).headers["mcp-session-id"]}
        with http.stream("GET", "/mcp", headers=session, timeout=60) as stream:
            assert stream.status_code == 200
            assert one.end() == 0


def test_a_tool_that_stores_leaves_a_line_in_the_audit_log_and_one_that_reads_none(server):
    log = Path(server.said[0].partition("token in ")[2].strip()).with_name("audit.jsonl")
    text = "We decided to name the audit bird Quetzal, because Kestrel was taken."

    async def call():
        from mcp.client.client import Client
        from mcp.client.streamable_http import streamable_http_client

        async with (
            httpx.AsyncClient(headers=server.headers, timeout=60) as http,
            Client(streamable_http_client(server.url + "/mcp", http_client=http)) as one,
        ):
            await one.call_tool("search", CALL)
            return await one.call_tool("remember", {"text": text})

    told = asyncio.run(call())

    lines = [json.loads(one) for one in log.read_text().splitlines()]
    (line,) = (one for one in lines if one["method"] == "MCP")
    assert (line["who"], line["method"], line["route"], line["status"]) == (
        "token",
        "MCP",
        "remember",
        "done",
    )
    assert line["memories"][0] in str(told)
    assert "Quetzal" not in log.read_text()
