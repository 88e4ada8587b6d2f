"""TLS of `ragmem serve`, and what it refuses to other machines."""

import http.client
import socket
import ssl

import pytest
from certificates import write_cert, write_key

from ragmem.__main__ import run as run_here


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    write_cert(folder / "cert.pem", write_key(folder / "key.pem"))
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture
def here(monkeypatch, tmp_path, capsys):
    """Run `ragmem` in this process, on a home of its own; return the exit code and what was complained of."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path / "ragmem"))

    def run(*arguments):
        code = run_here(list(arguments))
        return code, capsys.readouterr().err

    return run


def test_a_client_that_knows_the_certificate_talks_by_tls_and_no_other_does(tmp_path, start, pair):
    cert, key = pair
    with start(tmp_path, "--host", "localhost", "--cert", str(cert), "--key", str(key)) as server:
        assert server.url == f"https://localhost:{server.port}"
        context = ssl.create_default_context(cafile=str(cert))
        connection = http.client.HTTPSConnection("localhost", server.port, context=context, timeout=60)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        assert connection.sock.version() == "TLSv1.3"
        connection.close()

        old = ssl.create_default_context(cafile=str(cert))
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        for stranger in (old, ssl.create_default_context()):
            with (
                socket.create_connection(("localhost", server.port), 60) as plain,
                pytest.raises(ssl.SSLError),
            ):
                stranger.wrap_socket(plain, server_hostname="localhost")
        unencrypted = http.client.HTTPConnection("localhost", server.port, timeout=60)
        unencrypted.request("GET", "/health")
        with pytest.raises((http.client.BadStatusLine, ConnectionError)):
            unencrypted.getresponse()
        unencrypted.close()
        assert server.end() == 0
    assert "Traceback" not in "".join(server.said)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "box.lan"])
@pytest.mark.parametrize("switch", ["--allow-remote", "--team"])
def test_nothing_goes_unencrypted_to_other_machines(here, monkeypatch, host, switch):
    assert here("serve", "--host", host, "--port", "0")[0] == 2
    code, said = here("serve", "--host", host, "--port", "0", switch)
    assert (code, "allow_remote = true" in said) == (2, True)
    monkeypatch.setenv("RAGMEM_SERVE_ALLOW_REMOTE", "true")
    code, said = here("serve", "--host", host, "--port", "0", switch)
    assert (code, "connections would not be encrypted" in said, "--cert and --key" in said) == (2, True, True)


def test_an_address_of_another_machine_is_a_clear_failure(here, monkeypatch, pair):
    monkeypatch.setenv("RAGMEM_SERVE_ALLOW_REMOTE", "true")
    cert, key = map(str, pair)
    for host, wanted in (("192.0.2.1", "cannot listen on 192.0.2.1"), ("999.1.1.1", "is not an address")):
        files = ("--cert", cert, "--key", key)
        code, said = here("serve", "--host", host, "--allow-remote", "--port", "0", *files)
        assert (code, wanted in said) == (3, True), said


def test_files_that_are_no_pair_are_told_in_a_line(here, tmp_path, pair):
    cert, key = pair
    other, locked, readable, empty = (tmp_path / name for name in ("other", "locked", "readable", "empty"))
    write_key(other)
    write_key(locked, password=b"secret")
    readable.write_bytes(key.read_bytes())
    readable.chmod(0o644)
    empty.touch()
    for arguments, wanted in (
        (("--cert", str(cert)), "--cert needs --key"),
        (("--key", str(key)), "--key needs --cert"),
        (("--cert", str(tmp_path / "none"), "--key", str(key)), "cannot read the certificate"),
        (("--cert", str(cert), "--key", str(tmp_path)), "cannot read the private key"),
        (("--cert", str(cert), "--key", str(other)), "are not a certificate and its private key"),
        (("--cert", str(empty), "--key", str(key)), "are not a certificate and its private key"),
        (("--cert", str(cert), "--key", str(locked)), "is encrypted"),
        (("--cert", str(cert), "--key", str(readable)), "everyone can read the private key"),
    ):
        code, said = here("serve", "--port", "0", *arguments)
        assert (code, wanted in said.splitlines()[0]) == (2, True), said


def test_a_team_needs_postgresql(here):
    code, said = here("serve", "--team", "--port", "0")
    assert (code, "PostgreSQL" in said, "ragmem store migrate" in said) == (2, True, True)
