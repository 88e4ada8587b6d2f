import pytest

from ragmem.domain.entities.extraction import extract
from ragmem.domain.entities.ordinary_words import is_ordinary
from ragmem.domain.model import Chunk


def found(text):
    return extract(Chunk("c1", "m1", 0, text, "", 0, len(text)))


def types(text):
    return {one.name: one.type for one in found(text).entities}


def related(text):
    return {(one.source, one.keywords, one.target) for one in found(text).relations}


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("It runs on the Mac Mini Server there.", "Mac Mini Server", "host"),
        ("Buy a Raspberry Pi 5 for it.", "Raspberry Pi 5", "host"),
        ("It needs a MacBook Pro M3 at least.", "MacBook Pro M3", "host"),
        ("We load Gemma 4 26B for it.", "Gemma 4 26B", "model"),
        ("We load Qwen3 30B-A3B for it.", "Qwen3 30B-A3B", "model"),
        ("We load Llama 3.1 70B Instruct for it.", "Llama 3.1 70B Instruct", "model"),
        ("Backups go to nas.home.lan each night.", "nas.home.lan", "host"),
        ("Grafana is at grafana.example.com now.", "grafana.example.com", "host"),
        ("Ask api.acme.internal:8443 first.", "api.acme.internal:8443", "host"),
        ("The host atlas runs Postgres.", "atlas", "host"),
        ("It answers on vega, port 5432, only.", "vega", "host"),
        ("Then ssh zorbix and look at the log.", "zorbix", "host"),
        ("Producción: ruta-01 y ruta-02, API en el puerto 6120.", "ruta-02", "host"),
        ("Прод: chat-msk-1, chat-msk-2. REST на 8086.", "chat-msk-1", "host"),
        ("LightRAG uses Docker via colima.", "colima", "tool"),
        ("Embeddings are served by omlx now.", "omlx", "tool"),
        ("omlx (port 8000) is an inference server.", "omlx", "tool"),
        ("We restarted zellix yesterday.", "zellix", "tool"),
        ("Start it with `zellix start`. Then zellix needs a second.", "zellix", "tool"),
        ("Zellix starts the workers of the queue.", "Zellix", "tool"),
    ],
)
def test_machines_hosts_models_and_plain_programs_are_found(text, name, kind):
    assert types(text)[name] == kind


@pytest.mark.parametrize(
    "text",
    [
        "It was deployed to production via webhook, and it runs on startup.",
        "The changes are made using heuristics, with caching, through refactoring.",
        "The host process runs, the host machine serves it, and the server is on port 80.",
        "See config.local and threading.local, step-1 and phase-2, of the server.",
        "Kurz via telefoon, snel via mail; passait sur la machine virtuelle.",
        "Series 5B was funded with 26B.",
    ],
)
def test_words_of_a_language_name_no_program_and_no_host(text):
    assert not {
        name for name, kind in types(text).items() if kind in {"tool", "host"} and not name[-1].isdigit()
    }


def test_the_subject_of_a_sentence_serves_one_thing_on_another():
    assert related("omlx serves Gemma 4 26B on the Mac Mini.") == {
        ("omlx", "serves", "Gemma 4 26B"),
        ("omlx", "runs on", "Mac Mini"),
    }


def test_somebody_runs_something_on_a_host_that_is_not_theirs():
    assert related("Ana Quiroga runs Postgres on db-01.") == {
        ("Ana Quiroga", "calls", "Postgres"),
        ("Postgres", "runs on", "db-01"),
    }


def test_two_clauses_are_no_list():
    assert related("Docker runs on colima and Redis runs on the Mac Mini.") >= {
        ("Docker", "runs on", "colima"),
        ("Redis", "runs on", "Mac Mini"),
    }
    assert ("Docker", "runs on", "Redis") not in related("Docker runs on colima and Redis runs on it.")


@pytest.mark.parametrize("word", "webhooks caching rollout markup subprocess parameterized queries".split())
def test_derived_and_composed_words_are_ordinary(word):
    assert is_ordinary(word)


@pytest.mark.parametrize("word", "omlx colima zellij kubectx".split())
def test_names_are_no_ordinary_words(word):
    assert not is_ordinary(word)
