"""`ragmem models test --language`: what it says of a scripted language model on our own passages."""

import itertools
import json
import os
import re
from pathlib import Path

import provider_protocols as protocols
import pytest
from provider_servers import serving

from ragmem.__main__ import run
from ragmem.api.memory import Ragmem
from ragmem.domain.model import Entity, Extraction, Relation
from ragmem.services.reporting import language_report
from ragmem.services.reporting.language_report import as_markdown, is_valid_json, passages, score

PASSAGES = passages()


class Perfect(protocols.OpenAI):
    """Knows the annotation."""

    key = ""

    def said(self, prompt, schema):
        if "harbour bridge" in prompt:
            return json.dumps({"thing": "the harbour bridge", "year": 1932})
        passage = next((one for one in PASSAGES if one.text in prompt), None)
        if passage is None:
            return "A database stores data."
        return self.extracts(passage) if schema else self.answers(passage)

    def extracts(self, passage):
        names = dict.fromkeys(passage.entities.values())
        pairs = [sorted(pair) for pair in passage.relations]
        return json.dumps(
            {
                "entities": [{"name": name, "type": "concept", "description": name} for name in names],
                "relationships": [
                    {"source": one, "target": other, "keywords": "k", "description": "d"}
                    for one, other in pairs
                ],
            }
        )

    def answers(self, passage):
        return (
            f"It is {passage.answer.split('|')[0]} [1]." if passage.answer else "The notes do not say that."
        )


class Prose(Perfect):
    """Talks where JSON is wanted, or ends too early, and invents an answer to every question."""

    def extracts(self, passage):
        return super().extracts(passage)[:-1] if passage.language == "en" else "Sure!"

    def answers(self, passage):
        return "That was decided by the team in spring [1]."


@pytest.fixture
def report(capfd):
    """Return a function that runs the command against a protocol."""

    def answer(protocol, *options):
        config = Path(os.environ["RAGMEM_HOME"]) / "config" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        with serving(protocol) as server:
            config.write_text(
                f'[language_model]\nbackend = "compatible"\nmodel = "chatter"\nurl = "{server.root}/v1"\n'
            )
            code = run(["models", "test", "--language", *options])
        out, err = capfd.readouterr()
        return code, out, err

    return answer


def test_a_perfect_model_gets_full_marks(report):
    code, out, err = report(Perfect(), "--whole", "--json")
    assert (code, err) == (0, "")
    [found] = json.loads(out)["reports"]
    assert (found["passages"], found["valid_json"], found["usable"], found["invented"]) == (24, 24, 24, 0)
    assert found["entities"]["model"]["f1"] == found["relations"]["model"]["f1"] == 1
    assert (found["right"], found["answerable"]) == (14, 14)
    assert (found["refused"], found["unanswerable"]) == (10, 10)
    assert found["best"] == "model"
    assert 0.5 < found["entities"]["rules"]["f1"] < 1
    assert {one["model"] for one in found["languages"].values()} == {1}
    assert sum(one["passages"] for one in found["languages"].values()) == 24
    assert found["note"] == ""
    with Ragmem.open() as memory:
        counted = {use.purpose: sums.calls for use, sums in memory.ledger.rows().items()}
    # Some are sent twice: the server does not know every field of the first.
    assert counted.keys() == {"test"}
    assert counted["test"] >= 2 * 24 + 2


def test_a_model_that_talks_and_invents_is_shown_as_such(report):
    code, out, err = report(Prose(), "--json")
    assert (code, err) == (0, "")
    [found] = json.loads(out)["reports"]
    assert found["valid_json"] == 0
    assert found["usable"] == 9, "of the ten in English, one names nothing"
    assert found["right"] == found["refused"] == 0
    assert found["best"] == "both"
    assert found["languages"]["de"]["model"] == 0 < found["languages"]["de"]["rules"]


def test_the_report_for_people_can_be_pasted(report):
    code, out, err = report(Perfect(), "--whole")
    assert code == 0
    assert "**compatible/chatter**, ragmem " in out
    assert "- valid JSON 100%, usable after repair 100%; 0 invented entities" in out
    assert "questions answered correctly: 14 of 14; questions without an answer refused: 10 of 10" in out
    assert re.search(r"^\| model \| 1\.00 \| 1\.00 \| 1\.00 \| 1\.00 \|$", out, re.MULTILINE)
    assert re.search(r"^\| rules \| 0\.\d\d \|", out, re.MULTILINE)
    assert not any(private in out for private in ("127.0.0.1", os.environ["HOME"], os.environ["RAGMEM_HOME"]))
    assert 'by = "llm"' in err


def test_two_minutes_are_not_exceeded_and_whole_goes_on(report, monkeypatch):
    monkeypatch.setattr(language_report, "REPORT_S", 0.0)
    [found] = json.loads(report(Perfect(), "--json")[1])["reports"]
    assert found["passages"] < 24
    assert "--whole runs all" in found["note"]
    [found] = json.loads(report(Perfect(), "--whole", "--json")[1])["reports"]
    assert found["passages"] == 24


def test_a_server_that_goes_away_ends_the_report_with_what_there_is(report, monkeypatch):
    class Fading(Perfect):
        asked = 0

        def answer(self, seen):
            self.asked += seen.method == "POST"
            if self.asked > 7:
                raise protocols.RefusedError(400, b"no more")
            return super().answer(seen)

    code, out, _ = report(Fading(), "--json")
    [found] = json.loads(out)["reports"]
    assert code == 0
    assert 0 < found["passages"] < 24
    assert found["note"].startswith("no answer: ")
    assert found["valid_json"] <= found["passages"]


def test_a_model_that_does_not_answer_gets_no_report(capfd):
    assert run(["models", "test", "--language", "fake:down", "--json"]) == 4
    assert json.loads(capfd.readouterr().out)["reports"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--language"], "there is no language model"), (["--whole"], "--whole works only for language models")],
)
def test_what_makes_no_report_says_why(capfd, arguments, said):
    assert run(["models", "test", *arguments]) == 2
    assert said in capfd.readouterr().err


def test_the_annotation_names_only_what_its_passage_says():
    assert len({one.id for one in PASSAGES}) == 24
    assert len({one.language for one in PASSAGES}) == 9
    for one in PASSAGES:
        names = set(one.entities.values())
        assert all(name in one.text for name in names)
        assert all(pair <= names for pair in one.relations)
        assert not one.relations & one.optional_relations
        assert not one.entities.keys() & one.optional
    assert all(one.language != other.language for one, other in itertools.pairwise(PASSAGES))


def test_a_name_counts_in_any_form_once_and_what_is_optional_not_at_all():
    passage = next(one for one in PASSAGES if one.id == "en1")
    names = ("`billing`", "Billing Service", "maria okafor", "port 8443", "the moon")
    relations = (("Maria Okafor", "billing"), ("billing service", "atlas-03"), ("billing", "the moon"))
    found = Extraction(
        "c",
        tuple(Entity(name, "concept", "") for name in names),
        tuple(Relation(one, other, "k", "d") for one, other in relations),
    )
    entities, pairs = score(passage, [found])
    assert (entities.right, entities.wrong, entities.missing) == (2, 1, 4)
    assert (pairs.right, pairs.wrong, pairs.missing) == (1, 1, 3)


@pytest.mark.parametrize(
    ("answer", "valid"),
    [
        ('{"entities": [], "relationships": []}', True),
        ('{"entities": [{"name": "a", "type": "b", "description": "c"}], "relationships": []}', True),
        ('```json\n{"entities": [], "relationships": []}\n```', False),
        ('{"entities": [{"name": "a"}], "relationships": []}', False),
        ('{"entities": []}', False),
        ("[]", False),
        ("[" * 100_000, False),
        ("", False),
    ],
)
def test_json_counts_only_as_it_was_asked_for(answer, valid):
    assert is_valid_json(answer) is valid


def test_the_folder_of_a_model_is_not_told():
    report = language_report.LanguageReport("/home/me/secret/tiny-chat", 24)
    nothing = language_report.Counts().scores
    report.entities = report.relations = dict.fromkeys(language_report.EXTRACTORS, nothing)
    told = as_markdown(report, version="1", machine="m")
    assert "**tiny-chat**" in told
    assert "secret" not in told
