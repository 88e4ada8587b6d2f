"""`ragmem doctor --updates` asks the configured index, and only when it is asked to."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ragmem import __version__
from ragmem.services.doctor.updates import changes_between

JSON = "application/vnd.pypi.simple.v1+json"


class Index(ThreadingHTTPServer):
    """An index on loopback; what it was asked is kept."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.files, self.form, self.status, self.asked = [], JSON, 200, []
        self.address = f"http://127.0.0.1:{self.server_port}/simple"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization"), self.headers.get("Accept")))
        if self.server.form == JSON:
            body = json.dumps({"files": [{"filename": n, "yanked": y} for n, y in self.server.files]})
        else:
            lines = [
                f'<a href="x/{n}"{" data-yanked" if y else ""}>{n}</a><br>' for n, y in self.server.files
            ]
            body = "\n".join(["<html>", *lines])
        self.send_response(self.server.status)
        self.send_header("Content-Type", self.server.form)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def index():
    server = Index()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def updates(ragmem):
    """Return a function that runs the check, and returns its row and what JSON says beside it."""

    def updates(**environ):
        done = ragmem("doctor", "--updates", "--read-only", "--json", **environ)
        document = json.loads(done.stdout)
        return next(one for one in document["checks"] if one["name"] == "updates"), document["updates"]

    return updates


@pytest.mark.parametrize("form", [JSON, "text/html"])
def test_a_newer_release_is_named_with_the_command_for_it(index, updates, form):
    index.form = form
    index.files = [
        ("ragmem-0.1.0.tar.gz", False),
        ("ragmem-9.0.0-py3-none-any.whl", False),
        ("ragmem-10.2.0-py3-none-any.whl", False),
        ("ragmem-11.0.0rc1-py3-none-any.whl", False),
        ("ragmem-12.0.0.tar.gz", True),
        ("ragmem_other-13.0.0.tar.gz", False),
    ]

    check, told = updates(PIP_INDEX_URL=index.address)

    assert (check["status"], check["detail"]) == (
        "warning",
        f"10.2.0 is available, {__version__} is installed",
    )
    assert "pip install --upgrade ragmem" in check["fix"]
    assert told == {"installed": __version__, "index": index.address, "newest": "10.2.0", "changes": ""}
    assert [path for path, _, _ in index.asked] == ["/simple/ragmem/"]
    assert JSON in index.asked[0][2]


def test_the_newest_release_is_well(index, updates):
    index.files = [(f"ragmem-{__version__}.tar.gz", False), ("ragmem-0.0.9.tar.gz", False)]

    check, told = updates(UV_DEFAULT_INDEX=index.address)

    assert check["status"] == "ok"
    assert told["newest"] == __version__


def test_nothing_is_asked_unless_a_person_asks(index, ragmem):
    for command in (("doctor", "--read-only"), ("doctor",), ("query", "x"), ("--help",)):
        ragmem(*command, PIP_INDEX_URL=index.address)

    assert index.asked == []


def test_a_password_of_the_index_is_sent_and_never_shown(index, ragmem):
    index.files = [("ragmem-9.0.0.tar.gz", False)]
    with_password = index.address.replace("//", "//sam:pa%40ss@")

    for arguments in (["--json"], []):
        done = ragmem("doctor", "--updates", "--read-only", *arguments, PIP_INDEX_URL=with_password)
        assert "pa" + "%40ss" not in done.stdout + done.stderr
    assert {header for _, header, _ in index.asked} == {"Basic c2FtOnBhQHNz"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".config/pip/pip.conf", "[global]\nindex-url = {}\n"),
        (".pip/pip.conf", "[global]\nindex-url={}\n"),
        (".config/uv/uv.toml", 'index-url = "{}"\n'),
        (".config/uv/uv.toml", '[[index]]\nurl = "{}"\ndefault = true\n'),
    ],
)
def test_the_index_of_pip_and_uv_is_asked(index, updates, path, text, tmp_path):
    index.files = [("ragmem-9.0.0.tar.gz", False)]
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text.format(index.address))

    _, told = updates(HOME=str(tmp_path))

    assert told["index"] == index.address
    assert told["newest"] == "9.0.0"


def test_a_proxy_is_used(index, updates):
    index.files = [("ragmem-9.0.0.tar.gz", False)]
    proxy = index.address.removesuffix("/simple")

    _, told = updates(PIP_INDEX_URL="http://index.example/simple", http_proxy=proxy, no_proxy="")

    assert told["newest"] == "9.0.0"
    assert index.asked[0][0] == "http://index.example/simple/ragmem/"


@pytest.mark.parametrize(
    ("status", "form", "problem"),
    [
        (404, JSON, "it has no ragmem"),
        (503, JSON, "it returned status 503"),
        (200, JSON, "it has no release of ragmem"),
    ],
)
def test_an_index_without_an_answer_is_a_warning_and_no_fault(index, ragmem, status, form, problem):
    index.status, index.form = status, form

    done = ragmem("doctor", "--updates", "--read-only", PIP_INDEX_URL=index.address)

    row = next(line for line in done.stdout.splitlines() if line.startswith("updates"))
    assert done.returncode == 0
    assert f"warning  {index.address}: {problem}" in row


def test_without_a_network_it_says_so(index, ragmem):
    index.server_close()
    done = ragmem("doctor", "--updates", "--read-only", PIP_INDEX_URL=index.address)
    assert done.returncode == 0
    assert "no answer: [Errno 111] Connection refused" in done.stdout
    assert "try again with a network" in done.stdout

    done = ragmem(
        "--offline", "doctor", "--updates", "--read-only", PIP_INDEX_URL="http://index.example/simple"
    )
    assert done.returncode == 0
    assert "offline mode allows no connection" in done.stdout
    assert "no network socket was opened" in done.stderr


def test_an_address_that_is_none_is_refused_in_words(ragmem):
    for address in ("file:///etc", "nonsense", "http://[::1"):
        done = ragmem("doctor", "--updates", "--read-only", PIP_INDEX_URL=address)
        assert done.returncode == 0, done.stderr
        assert "warning" in next(line for line in done.stdout.splitlines() if line.startswith("updates"))


def test_the_changelog_between_two_versions_is_shown():
    text = (
        "# Changelog\n\n## [Unreleased]\n\n- later\n\n## [0.3.0] - 2026-05-01\n\n- three\n\n"
        "## 0.2.0\n\n- two\n\n## [0.1.0]\n\n- one\n"
    )

    assert (
        changes_between(text, "0.1.0", "0.3.0") == "## [0.3.0] - 2026-05-01\n\n- three\n\n## 0.2.0\n\n- two"
    )
    assert changes_between(text, "0.2.0", "0.2") == ""
    assert changes_between(text, "0.2.0rc1", "0.2.0") == "## 0.2.0\n\n- two"


def test_the_changelog_of_the_installed_version_is_a_topic_of_help(ragmem):
    assert ragmem("help", "changelog").stdout.startswith("# Changelog\n")
    assert ragmem("help", "changelog", "Unreleased").stdout.startswith("## [Unreleased]")


def test_an_update_check_and_a_repair_exclude_each_other(ragmem):
    done = ragmem("doctor", "--updates", "--repair")

    assert (done.returncode, done.stdout) == (2, "")
