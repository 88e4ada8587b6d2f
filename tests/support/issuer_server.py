"""An OpenID Connect issuer on loopback: its metadata, its keys, and the tokens that it signs."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

AUDIENCE = "ragmem-team"


def new_key(algorithm: str, *, bits: int = 2048) -> Any:
    if algorithm.startswith("RS"):
        return rsa.generate_private_key(public_exponent=65537, key_size=bits)
    return (
        ec.generate_private_key(ec.SECP256R1())
        if algorithm == "ES256"
        else ed25519.Ed25519PrivateKey.generate()
    )


def public_jwk(algorithm: str, key: Any, identifier: str) -> dict[str, Any]:
    made = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return {**made, "kid": identifier, "use": "sig", "alg": algorithm}


class Issuer:
    """Serves the public halves of `keys`, and remembers which paths were asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.keys: dict[str, tuple[str, Any]] = {}
        self.asked: list[str] = []
        self.metadata: dict[str, Any] = {}
        self.fails = False

    def add_key(self, identifier: str, algorithm: str, *, bits: int = 2048) -> None:
        self.keys[identifier] = (algorithm, new_key(algorithm, bits=bits))

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(time.time())
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 600}
        wanted = {**usual, "scope": "openid ragmem:writer", **changes}
        return {name: value for name, value in wanted.items() if value is not None}

    def token(self, identifier: str, *, headers: dict[str, Any] | None = None, **changes: Any) -> str:
        algorithm, key = self.keys[identifier]
        named = {"kid": identifier, **(headers or {})}
        return jwt.encode(self.claims(**changes), key, algorithm=algorithm, headers=named)

    def document(self, path: str) -> dict[str, Any] | None:
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.metadata}
        if path == "/keys":
            return {"keys": [public_jwk(how, key, name) for name, (how, key) in self.keys.items()]}
        return None


@contextmanager
def issuing() -> Iterator[Issuer]:
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            document = None if issuer.fails else issuer.document(self.path)
            body = json.dumps(document).encode()
            self.send_response(503 if issuer.fails else 404 if document is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
