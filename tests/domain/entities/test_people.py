import pytest

from ragmem.domain.entities.extraction import extract
from ragmem.domain.model import Chunk


def types(text):
    return {one.name: one.type for one in extract(Chunk("c1", "m1", 0, text, "", 0, len(text))).entities}


def people(text):
    return {name for name, kind in types(text).items() if kind == "person"}


def related(text):
    chunk = Chunk("c1", "m1", 0, text, "", 0, len(text))
    return {(one.source, one.keywords, one.target) for one in extract(chunk).relations}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ines Aldana owns the harbor exporter.", {"Ines Aldana"}),
        ("Ask Tomás Quiroga or Tom before you ship.", {"Tomás Quiroga", "Tom"}),
        ("It was reviewed by Priya Velankar, Zanele Khumbuza and Tom Odero.", None),
        ("Zanele Khumbuza disagreed at first.", {"Zanele Khumbuza"}),
        ("Decider: Zanele Khumbuza", {"Zanele Khumbuza"}),
        (
            "name: Dan Ellerby\nowner: Ines Aldana\nreviewers: [Tom Odero]",
            {"Dan Ellerby", "Ines Aldana", "Tom Odero"},
        ),
        ("We met Engineer Zanele Khumbuza there.", {"Zanele Khumbuza"}),
        ("See Velankar et al. for the proof.", {"Velankar"}),
        ("Max Oderova joined. Max Tokens is 4096.", {"Max Oderova"}),
        ("It was Robert C. Marlin who said so.", {"Robert C. Marlin"}),
        ("Sinéad O'Dowd and Jean-Luc Marchal approved it.", {"Sinéad O'Dowd", "Jean-Luc Marchal"}),
        ("Laut Jürgen Althaus betreut Miriam den Dienst.", {"Jürgen Althaus", "Miriam"}),
        ("Frau Lindqvist hat das geprüft.", {"Lindqvist"}),
        ("Revu par Élodie Marchal, selon Hugo Berthier.", {"Élodie Marchal", "Hugo Berthier"}),
        ("Según María Quiroga, Itziar decidió usar Kafka.", {"María Quiroga", "Itziar"}),
        ("O protótipo do Davi foi aprovado por João da Silveira.", {"Davi", "João da Silveira"}),
        ("Сервис поддерживает Иван Петренко, проверила Злата.", {"Иван Петренко", "Злата"}),
        ("宮間さんが承認した。お客さんと担当者さんに連絡。", {"宮間"}),
        ("请王经理确认,项目经理不在。", {"王经理"}),
    ],
)
def test_people_are_found_by_given_names_verbs_roles_and_titles(text, names):
    assert people(text) == (names or {"Priya Velankar", "Zanele Khumbuza", "Tom Odero"})


@pytest.mark.parametrize(
    "text",
    [
        "Visual Studio, Pull Request, Next Steps and Code Review were discussed.",
        "Claude Code wrote it, Copilot suggested it and Gemini Pro reviewed it.",
        "The Security Team approved. Product Owner decided. Tech Lead asked. User Story wants more.",
        "# Getting Started\n\n## Quick Start Guide\n\n**Key Features:** Fast Search, Easy Setup.",
        "Grace Period Ended. Mark Done items. Rose Gold theme. Rich Markup works. Grant Access now.",
        "The San Francisco office and North Carolina failed.",
        "Der Server Prometheus hat den Dienst gestartet, und die Kafka Partitionen sind voll.",
        "Use @angular/core and @types/node, see @media, @property and foo@latest.",
        "Jenkins failed. Hugo builds the site. Ada is a language. Julia 1.10 is used.",
        "Co-Authored-By: Claude Opus 4.5 <noreply@anthropic.com>",
        "Co-authored-by: Renovate Bot <renovate-bot@users.example.com>",
        "",
    ],
)
def test_headings_products_roles_and_nouns_are_no_people(text):
    assert people(text) == set()


def test_commits_name_their_authors_also_in_a_fence():
    log = (
        "```\ncommit 1a2b3c4d\nAuthor: Jana Roever <jana@example.org>\n"
        "Signed-off-by: Pull Requester <pr@example.org>\n@dataclass\n```"
    )
    assert people(log) == {"Jana Roever", "Pull Requester"}
    hidden = "Co-authored-by: Alisha Kawamoto <12+alisha@users.noreply.github.com>"
    assert people(hidden) == {"Alisha Kawamoto"}


def test_handles_count_where_somebody_is_addressed():
    assert people("Fixed by @jdoe in #123, cc @maria and @tom-k.") == {"@jdoe", "@maria", "@tom-k"}
    assert people("Tom Odero (@oder0) wrote it.") == {"Tom Odero", "@oder0"}


def test_a_column_of_owners_names_people_and_one_of_hosts_hosts():
    head = "| Area | Owner | Host |\n|---|---|---|\n"
    rows = "| Search | Thandeka Mbekeni | atlas |\n| Billing | @tom | db-01 |"
    assert types(head + rows) == {
        "Thandeka Mbekeni": "person",
        "@tom": "person",
        "atlas": "host",
        "db-01": "host",
    }


def test_a_part_of_a_full_name_is_a_person_too():
    assert people("We asked Dan Ellerby. Then Dan waited, and we told Ellerby so.") == {
        "Dan Ellerby",
        "Dan",
        "Ellerby",
    }


def test_what_people_do_relates_them_to_what_they_answer_for():
    text = "Ines Aldana owns the billing service. Dan Ellerby wrote `export.py` and approved PR #12."
    assert {
        ("Ines Aldana", "owns", "billing service"),
        ("Dan Ellerby", "wrote", "export.py"),
        ("Dan Ellerby", "approves", "PR #12"),
    } <= related(text)
    assert ("Ines Aldana", "owns", "billing service") in related(
        "The billing service is owned by Ines Aldana."
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We signed with Acme Robotics Inc. in May.", "Acme Robotics Inc."),
        ("Die Söhne & Töchter GmbH liefert.", "Söhne & Töchter GmbH"),
        ("She works for Globex now.", "Globex"),
        ("Our customer Initech complained.", "Initech"),
    ],
)
def test_organizations_have_a_legal_form_or_people_who_work_for_them(text, name):
    assert types(text)[name] == "organization"


def test_the_works_of_an_organization_are_none():
    assert types("It reads Apple Books there.")["Apple Books"] == "concept"


def test_german_nouns_are_no_names():
    text = "Der Dienst läuft auf lager-03 und lager-04, und die Reservierung liegt in Redis."
    assert types(text) == {"lager-03": "host", "lager-04": "host", "Redis": "tool"}
