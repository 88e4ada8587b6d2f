"""Facts that differ in one name or one number outlive gc, and each is found by its own words."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

SERVICES = {
    name: f"The {name} service connects to its database at host postgres-{name} on port {port} with TLS."
    for name, port in (("billing", 5432), ("search", 5433), ("mail", 5434), ("auth", 5435))
}
LIMITS = {
    "api": "The nginx proxy timeout is 30s for api requests, and the client body limit is 8 MB there.",
    "upload": "The nginx proxy timeout is 60s for upload requests, and the client body limit is 8 MB there.",
    "report": "The nginx proxy timeout is 90s for report requests, and the client body limit is 8 MB there.",
}
THINGS = """
amber basalt cedar dune ember fjord grove heath islet jetty knoll lagoon marsh notch oasis pier quarry reef
shoal tarn upland vale weir yard
""".split()
REAL = {"RAGMEM_MODELS_BACKEND": "minilm", "RAGMEM_STORE_BACKEND": "lightrag"}


@pytest.fixture
def project(tmp_path, ragmem):
    """Run `ragmem` with the bundled model and the real store; `.keep` hands texts in, one a minute."""

    class Project:
        folder = tmp_path / "notes"
        minute = 0

        def run(self, *arguments, stdin=""):
            done = ragmem(*arguments, stdin=stdin, **REAL)
            assert done.returncode == 0, done.stderr
            return done

        def keep(self, texts):
            self.folder.mkdir(exist_ok=True)
            for name, text in texts.items():
                self.minute += 1
                path = self.folder / f"{name}.md"
                path.write_text(f"{text}\n")
                at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=self.minute)
                os.utime(path, (at.timestamp(), at.timestamp()))
            self.run("ingest", *(str(self.folder / f"{name}.md") for name in texts), "--quiet")

        def found(self, question):
            answer = json.loads(self.run("query", question, "--json", "--limit", "5").stdout)
            return [match["text"] for match in answer["matches"]]

    return Project()


def later(round_of):
    return {
        f"{thing}-{round_of}": f"The {thing} gate {round_of} needs a new key, because its lock rusts."
        for thing in THINGS
    }


def test_four_services_that_differ_in_name_host_and_port_stay_and_are_found(project):
    project.keep(SERVICES)
    for round_of in ("north", "south"):
        project.keep(later(round_of))
        for _ in range(2):
            project.run("gc", "--yes", "--quiet")
    for name, text in SERVICES.items():
        best, *_ = project.found(f"which host and port does the {name} service connect to")
        assert text in best


def test_limits_that_differ_in_one_amount_stay_and_are_found(project):
    project.keep(LIMITS)
    project.keep(later("north"))
    for _ in range(3):
        project.run("gc", "--yes", "--quiet")
    for name, text in LIMITS.items():
        best, *_ = project.found(f"what is the nginx proxy timeout for {name} requests")
        assert text in best
