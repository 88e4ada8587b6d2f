"""Over HTTP too no name is a way in for a secret."""

import random
import string

import pytest

CHOOSER = random.Random(32)
TOKEN = "gh" + "p_" + "".join(CHOOSER.choice(string.ascii_letters + string.digits) for _ in range(36))
NOTE = "We decided to log in once because the error of the old login was a timeout of two seconds."


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/documents/text", {"text": NOTE, "project": TOKEN}),
        ("/v1/memory/memories", {"text": NOTE, "project": TOKEN}),
        ("/graph/entity/create", {"entity_name": f"Mailer {TOKEN}", "entity_data": {}}),
        ("/graph/entities/merge", {"entities_to_change": ["Redis"], "entity_to_change_into": TOKEN}),
        ("/heartbeat", {"agent_id": TOKEN}),
    ],
)
def test_a_name_that_holds_a_secret_is_refused_over_http(client, path, body):
    if "merge" in path:
        client.post("/graph/entity/create", entity_name="Redis", entity_data={"description": "A cache."})
    answer = client.post(path, **body)
    assert answer.status_code == 400, answer.text
    assert "holds a secret" in answer.text
    assert TOKEN not in answer.text


def test_the_id_of_a_request_that_holds_a_secret_is_not_taken_over(client):
    answer = client.send("GET", "/health", headers={"X-Request-ID": TOKEN})
    assert answer.status_code == 200
    assert answer.headers["X-Request-ID"] != TOKEN
    assert (
        client.send("GET", "/health", headers={"X-Request-ID": "step-7"}).headers["X-Request-ID"] == "step-7"
    )
