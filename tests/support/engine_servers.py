"""A server on loopback that reads documents as docling-serve and MinerU's API do, from the server's side.

It answers with what `document` holds: a member of the archive by its name. `wrong` is what goes wrong.
"""

import io
import json
import re
import threading
import zipfile
from contextlib import contextmanager
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

TASK = "task/7"
ENCODED = "task%2F7"


def archive(members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return packed.getvalue()


class EngineServer:
    """One server; `forms` are the fields it was sent, `files` the files, `polls` the questions in between."""

    def __init__(self, protocol, document, *, wrong="", busy=1, as_json=False):
        self.protocol, self.document, self.wrong = protocol, document, wrong
        self.busy, self.as_json = busy, as_json
        self.forms, self.files, self.paths = [], [], []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                owner.handle(self, b"")

            def do_POST(self):
                owner.handle(self, self.rfile.read(int(self.headers["Content-Length"] or 0)))

            def log_message(self, *arguments):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def handle(self, handler, body):
        path = urlsplit(handler.path).path
        self.paths.append(handler.path)
        status, kind, content = 404, "application/json", b'{"detail": "Not Found"}'
        if self.wrong == "error":
            status, content = 500, b'{"detail": "out of memory on the device"}'
        elif self.wrong == "redirect":
            status, content = 307, b""
        elif handler.command == "POST" and path == self._submit:
            self._take(handler, body)
            status, content = 200, json.dumps({"task_id": TASK}).encode()
        elif path == self._poll:
            status, content = 200, json.dumps(self._state()).encode()
        elif path == self._result:
            status, kind, content = 200, *self._answer()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        if status == 307:
            handler.send_header("Location", "http://elsewhere.example/")
        handler.end_headers()
        handler.wfile.write(content)

    @property
    def _submit(self):
        return "/v1/convert/file/async" if self.protocol == "docling" else "/tasks"

    @property
    def _poll(self):
        return f"/v1/status/poll/{ENCODED}" if self.protocol == "docling" else f"/tasks/{ENCODED}"

    @property
    def _result(self):
        return f"/v1/result/{ENCODED}" if self.protocol == "docling" else f"/tasks/{ENCODED}/result"

    def _take(self, handler, body):
        head = f"Content-Type: {handler.headers['Content-Type']}\r\n\r\n".encode()
        form = {}
        for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():
            name = re.search(r'name="([^"]*)"', part["Content-Disposition"]).group(1)
            if part.get_filename():
                self.files.append((name, part.get_filename(), part.get_payload(decode=True)))
            else:
                form.setdefault(name, []).append(part.get_payload(decode=True).decode())
        self.forms.append(form)

    def _state(self):
        key = "task_status" if self.protocol == "docling" else "status"
        if self.wrong == "failed":
            return {key: "failure" if self.protocol == "docling" else "failed", "error": "page 3 is too dark"}
        if self.wrong == "hangs" or self.busy > 0:
            self.busy -= 1
            return {key: "started" if self.protocol == "docling" else "processing"}
        return {key: "success" if self.protocol == "docling" else "completed"}

    def _answer(self):
        if self.wrong == "nonsense":
            return "text/html", b"<html>hello</html>"
        if self.as_json:
            (document,) = (content for name, content in self.document.items() if name.endswith(".json"))
            wrapped = {"status": "success", "document": {"filename": "x", "json_content": document}}
            return "application/json", json.dumps(wrapped).encode()
        return "application/zip", archive(self.document)

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextmanager
def engine_serving(protocol, document, **more):
    server = EngineServer(protocol, document, **more)
    try:
        yield server
    finally:
        server.close()
