"""An agent as a process of its own: `agent_client.py URL TOKEN ID FOLDER [ASK WHOM]`; standard library only.

It follows its messages, writes each down, acknowledges it, and keeps the last id, so that a process under the
same id goes on where one that was killed was. To "ask N" it answers the sender; a stop ends it. With ASK it
first sends so many questions to WHOM, one after another.
"""

import json
import os
import sys
import threading
import time
import urllib.request
from pathlib import Path

URL, TOKEN, ME = sys.argv[1:4]
FOLDER = Path(sys.argv[4])


def request(path, document=None, **headers):
    body = None if document is None else json.dumps(document).encode()
    headers |= {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    return urllib.request.Request(URL + path, data=body, headers=headers)


def post(path, **document):
    with urllib.request.urlopen(request(path, document), timeout=60) as answer:
        return json.load(answer)


def write(name, line):
    descriptor = os.open(FOLDER / f"{ME}.{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


def follow():
    """Yield messages for ever, over a new connection where one ends."""
    kept = FOLDER / f"{ME}.last"
    while True:
        last = kept.read_text() if kept.exists() else ""
        stream = request(f"/messages?agent_id={ME}", **({"Last-Event-ID": last} if last else {}))
        try:
            with urllib.request.urlopen(stream, timeout=60) as lines:
                for line in lines:
                    if line.startswith(b"data: "):
                        message = json.loads(line[6:])
                        yield message
                        draft = kept.with_suffix(".draft")
                        draft.write_text(str(message["id"]))
                        draft.replace(kept)
        except OSError:
            time.sleep(0.05)


def ask(count, whom):
    for number in range(count):
        post("/signal", **{"to": whom, "from": ME, "type": "message", "text": f"ask {number}"})


post("/heartbeat", agent_id=ME, status="starting", pid=os.getpid())
if len(sys.argv) > 5:
    threading.Thread(target=ask, args=(int(sys.argv[5]), sys.argv[6]), daemon=True).start()
for one in follow():
    write("got", one["text"] or one["type"])
    if one["text"].startswith("ask "):
        answer = one["text"].replace("ask", "answer")
        post("/signal", **{"to": one["from"], "from": ME, "type": "message", "text": answer})
    done = post("/messages/ack", agent_id=ME, ids=[one["id"]])
    for acknowledged in done["acknowledged"]:
        write("acknowledged", acknowledged)
    if one["type"] == "stop":
        post("/status", agent_id=ME, status="stopped")
        break
