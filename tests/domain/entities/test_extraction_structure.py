import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.entities.extraction import ENTITY_TYPES, extract
from ragmem.domain.model import Chunk

PIECES = st.sampled_from(
    [
        *(
            "`load_rows`",
            "`Store.open(a, b)`",
            "src/app/main.py",
            "DATABASE_URL=1",
            "`--dry-run`",
            "`git push -f`",
        ),
        *("Redis", "redis", "Go client", "Ada Lovelace", "Python 3.12", "PR #12", "RFC 7231", "port 8080"),
        *("uses", "is used by", "not", "in", ":", ".", ",", ";", "and", "|", "(", ")", "/", "->", "\u2192"),
        *(
            "- ",
            "  - ",
            "1. ",
            "# ",
            "> ",
            "**",
            "\n",
            "\n\n",
            "```bash\n",
            "```\n",
            "|---|---|\n",
            "$ ",
            "\\\n",
        ),
        *(
            "**Label:**",
            "Claude",
            "Sonnet",
            "3.7",
            "**Redis**.",
            "commit a3a4feb",
            '"end_line": 3,',
            '["`a", "b`",',
            '{"a": "Store.open",',
            "name: x\n",
            "[g](../a/b.md)",
            "`",
            "\x00",
            "\u6f22\u5b57",
            "\U0001f600",
            "\u0130",
            "''",
        ),
    ]
)
TEXTS = st.text(max_size=200) | st.lists(PIECES, max_size=40).map(" ".join)

TYPED = [
    ("It was written by Ada Lovelace in spring.", "Ada Lovelace", "person"),
    ("It is sold by Anthropic only.", "Anthropic", "organization"),
    ("They moved to Umbrella last year.", "Umbrella", "tool"),
    ("We use React there.", "React", "library"),
    ("It is written in Rust by hand.", "Rust", "language"),
    ("It asks `mistral-small-24b-instruct` first.", "mistral-small-24b-instruct", "model"),
    ("The Billing Service failed again.", "Billing Service", "service"),
    ("It listens on port 8123 here.", "port 8123", "host"),
    ("Look at `src/rows/` first.", "src/rows/", "file"),
    ("Then call `load_rows()` again.", "load_rows", "symbol"),
    ("Then run `npm run build` again.", "npm run build", "command"),
    ("Set `CACHE_SIZE=3` first.", "CACHE_SIZE", "config"),
    ("It raised a KeyError again.", "KeyError", "error"),
    ("It says `connection refused by peer` then.", "connection refused by peer", "error"),
    ("See RFC 7231 for it.", "RFC 7231", "protocol"),
    ("This follows ADR 12 as agreed.", "ADR 12", "concept"),
    ("It needs Python 3.12 at least.", "Python 3.12", "version"),
    ("We score MMLU as well.", "MMLU", "dataset"),
    ("It was merged as PR #12 today.", "PR #12", "event"),
    ("It runs on SessionStart in each.", "SessionStart", "event"),
    ("The `parser_core` library is old.", "parser_core", "library"),
    ("- `tools/rower/` - a daemon for rows", "tools/rower/", "service"),
    ("Keep VALID_KINDS in step.", "VALID_KINDS", "symbol"),
    ("Ask `POST /api/rows?x=1` for it.", "POST /api/rows", "symbol"),
    ("We moved the Umbrella project there.", "Umbrella", "project"),
]


def of(text, heading="", **limits):
    return extract(Chunk("c1", "m1", 0, text, heading, 0, len(text)), **limits)


def pairs(text, heading=""):
    return {(one.source, one.target) for one in of(text, heading).relations}


def labelled(text, heading=""):
    return {(one.source, one.keywords, one.target) for one in of(text, heading).relations}


def types(text):
    return {entity.name: entity.type for entity in of(text).entities}


def test_a_row_relates_its_first_cell_to_the_others_by_the_header_of_their_column():
    text = "| Table | Lives in |\n|---|---|\n| `rows` / `keys` | `store.db` |\n| `logs` | `log.db` |"
    assert labelled(text) == {
        ("rows", "lives in", "store.db"),
        ("keys", "lives in", "store.db"),
        ("logs", "lives in", "log.db"),
    }


def test_the_header_of_a_table_names_nothing():
    assert set(types("| Redis | `code_name` |\n|---|---|\n| a | `row_one` |")) == {"row_one"}


def test_nested_items_belong_to_their_parents_at_any_depth():
    text = "- `outer_one`\n  - `middle_two`\n    - `inner_three`\n  - `middle_four`\n- `outer_five`"
    assert pairs(text) == {
        ("outer_one", "middle_two"),
        ("middle_two", "inner_three"),
        ("outer_one", "middle_four"),
    }


def test_a_line_that_ends_in_a_colon_leads_the_list_below_it():
    found = pairs("`loader_one` reads:\n\n- `first_table`\n- the rows of `second_table`")
    assert {("loader_one", "first_table"), ("loader_one", "second_table")} <= found


def test_what_an_item_names_first_is_what_its_other_names_hang_on():
    found = pairs("# `row_store`\n\n- `writer_one` uses `queue_two`")
    assert found == {("row_store", "writer_one"), ("writer_one", "queue_two")}


def test_a_heading_that_names_a_language_is_not_what_its_section_is_about():
    assert pairs("## Python setup\n\n- keep `row_table` small") == set()


def test_brackets_belong_to_what_stands_before_them():
    found = pairs("Its state is `src/store/` (`rows.db`, `keys.db`) and it calls `flush_all`.")
    assert {("src/store/", "rows.db"), ("src/store/", "keys.db")} <= found
    assert ("rows.db", "flush_all") not in found


def test_a_verb_holds_for_the_lists_on_both_sides_of_it():
    found = labelled(
        "`one_a` and `two_b` are documented in `guide.md`, and `three_c` uses `four_d`, `five_e`."
    )
    assert {("three_c", "uses", "four_d"), ("three_c", "uses", "five_e")} <= found
    assert pairs("`one_a`, `two_b` and `three_c` exist.") == set()


def test_a_second_verb_keeps_the_subject_of_the_first():
    assert ("worker_a", "calls", "flush_all") in labelled(
        "`worker_a` reads `row_table`, and calls `flush_all`."
    )


def test_a_definition_holds_for_what_it_names():
    found = labelled("**`row_store`** \u2014 keeps rows for `worker_a`; see `guide.md`")
    assert ("row_store", "defined as", "worker_a") in found


def test_an_arrow_chain_names_its_steps_where_most_are_names():
    text = "Data goes: Redis \u2192 Row Loader \u2192 DuckDB \u2192 Dashboard"
    assert {"Redis", "Row Loader", "DuckDB", "Dashboard"} <= set(types(text))
    assert {("Redis", "Row Loader"), ("Row Loader", "DuckDB"), ("DuckDB", "Dashboard")} <= pairs(text)
    assert types("Write tests \u2192 Make it pass \u2192 Clean up") == {}


def test_a_variable_is_set_to_its_value():
    text = "```bash\nexport CACHE_URL=http://cache.local:6379\nBIG_MODEL='llama3.2:3b'\n```"
    assert labelled(text) == {
        ("CACHE_URL", "set to", "http://cache.local:6379"),
        ("BIG_MODEL", "set to", "llama3.2:3b"),
    }


def test_a_line_of_a_shell_is_its_command_with_what_it_is_given():
    first = "$ docker compose up --build -d  # start"
    found = of(f"```bash\n{first}\n./run.sh --out data/rows.db \\\n  --quick\ncd /tmp\n```")
    assert {"docker compose up", "./run.sh", "--out", "data/rows.db", "--quick"} <= {
        one.name for one in found.entities
    }
    assert not {"cd", "cd /tmp"} & {one.name for one in found.entities}
    assert ("./run.sh", "takes", "--quick") in {
        (one.source, one.keywords, one.target) for one in found.relations
    }


@pytest.mark.parametrize(("text", "name", "kind"), TYPED)
def test_the_type_is_what_form_or_neighbours_tell(text, name, kind):
    assert types(text).get(name) == kind


@pytest.mark.parametrize(
    ("code", "name", "kind"),
    [
        ("strings.Join(parts, sep)", "strings.Join", "symbol"),
        ("@app.command()", "app.command", "symbol"),
        ("class RowStore(Base)", "RowStore", "symbol"),
        ("VALID_KINDS['x'].y", "VALID_KINDS", "symbol"),
        ("<RowTable rows={x} />", "RowTable", "symbol"),
        ("rowCount > 0", "rowCount", "symbol"),
        ("maxRows?: number", "maxRows", "config"),
        ("rowCase = 'upper'", "rowCase", "config"),
        ("--sigma 2", "--sigma", "config"),
        ("rower.py --target <id>", "rower.py", "file"),
        ("rower list rows", "rower list rows", "command"),
        ("rower serve --port 80", "rower serve --port 80", "command"),
        ('rower add "a b"', "rower add", "command"),
        ("await import('./ai/rows.ts')", "./ai/rows.ts", "file"),
        ("rows.store.*", "rows.store.*", "symbol"),
        ("row-thread-*", "row-thread-*", "file"),
        ("rows://open/<id>", "rows://open/<id>", "symbol"),
        ("67a5755", "67a5755", "event"),
        ("TASK017", "TASK017", "event"),
    ],
)
def test_code_names_what_it_begins_with(code, name, kind):
    assert types(f"Look at `{code}` first.") == {name: kind}


@pytest.mark.parametrize(
    "code", ["return None", "List[str]", "true", "- [ ]", "( -- Int )", "name: x", "delete", "0 == 1"]
)
def test_code_without_a_name_names_nothing(code):
    assert types(f"Look at `{code}` first.") == {}


def test_every_type_can_be_told():
    assert {kind for _, _, kind in TYPED} == set(ENTITY_TYPES)


def test_a_word_that_the_text_writes_small_as_well_is_no_name():
    assert set(types("They call it Umbrella now.")) == {"Umbrella"}
    assert types("They call it Umbrella now. Take an umbrella.") == {}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The LangGraph-based loader is new.", "LangGraph"),
        ("# Docker Setup Guide", "Docker"),
        ("- Sample Python code", "Python"),
        ("We use the MCP (Model Context Protocol) here.", "MCP"),
        ("Supported: react/vue/plainlib today.", "plainlib"),
        ("It runs the `git` CLI instead.", "Git"),
        ("See [the guide](../docs/guide.md#part) first.", "docs/guide.md"),
    ],
)
def test_a_name_is_freed_of_what_only_describes_it(text, name):
    assert name in types(text)


def test_an_acronym_that_goes_on_in_small_letters_is_a_name_at_the_beginning_too():
    assert types("XRQ leverages the storage.") == {"XRQ": "concept"}
    assert types("XRQ IS HERE") == {}
    assert types("SHALL present it. NEVER ask.") == {}


@pytest.mark.parametrize(
    "text",
    [
        "**Fixed Step Loop:** it goes on",
        "\U0001f534 Release blocker",
        "- User Interaction was fine",
        "Call `assert` or `true`, then console them.",
        "Deleting X hours is wasteful",
        "Run `cd` and `ls` there",
    ],
)
def test_labels_verbs_and_everyday_programs_name_nothing(text):
    assert types(text) == {}


def test_as_many_entities_are_kept_as_a_text_of_this_length_may_name():
    crowd = " ".join(f"`thing_{at}`" for at in range(100))
    assert len(of(crowd[:90]).entities) <= 8
    assert len(of(crowd).entities) == 40


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_every_name_stands_in_the_text_or_its_heading(text, heading):
    heading = " ".join(heading.split())
    said = " ".join(f"{heading} {text}".split()).casefold()
    for entity in of(text, heading).entities:
        assert entity.name.casefold() in said
        assert entity.type in ENTITY_TYPES


@settings(deadline=None)
@given(TEXTS)
def test_reading_twice_is_reading_once(text):
    assert of(text) == of(text)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "`a_b` (",
            "`a_b`, ",
            "a \u2192 ",
            "  - `a_b`\n",
            "| `a` | `b` |\n",
            "**A**: ",
            "A: b\n",
            "- Aa Bb, ",
        ),
        *(
            "(",
            "Python 3.1 PR ",
            "```bash\nX=1 ",
            "```bash\n--a ",
            '```bash\n"a b ',
            "```\n\\\n",
            " " * 64 + "x",
        ),
    ],
    ids=repr,
)
def test_one_pattern_without_end_is_read_in_linear_time(unit):
    def seconds(size):
        text = unit * (size // len(unit))
        began = time.thread_time()
        of(text)
        return time.thread_time() - began

    seconds(1_000)
    most = 40 * max(seconds(5_000), 0.02)
    # What another process does to the caches of a core is not the pattern's.
    assert any(seconds(50_000) < most for _ in range(3))


DATA = """## open_items
[
 "Running the linter helps `parse_rows`",
 "Call stop_worker() in gopls_adapter first"
]

## code
{
 "end_line": 40,
 "path": "src/app/strategy.go",
 "finding": "Needs the resolveAgentType function"
}
"""


def names_in(text, heading=""):
    return {one.name for one in extract(Chunk("c", "m", 0, text, heading)).entities}


def test_the_keys_of_data_name_nothing_and_its_values_do():
    assert names_in(DATA) == {
        *("parse_rows", "stop_worker", "gopls_adapter", "src/app/strategy.go", "resolveAgentType"),
    }
    line = '{"end_line": 40, "tool_name": "Claude Code", "args": ["src/app/main.py"]}'
    assert names_in(line) == names_in(f"```\n{line}\n```") == {"Claude Code", "src/app/main.py"}
    rest = ' "open_items": [],\n "path": "src/app/main.py"\n}\n'
    assert names_in(rest, heading="Session > end_line") == {"src/app/main.py"}


def test_only_what_stands_in_one_record_of_data_is_related():
    chunk = Chunk("c", "m", 0, DATA)
    pairs = {frozenset((one.source, one.target)) for one in extract(chunk).relations}
    assert pairs == {
        frozenset(("stop_worker", "gopls_adapter")),
        frozenset(("src/app/strategy.go", "resolveAgentType")),
    }


def test_the_keys_of_an_example_of_settings_are_names():
    text = 'Set it so:\n\n```json\n{\n  "maxRetryCount": 4\n}\n```\n'
    assert "maxRetryCount" in names_in(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("It was built with Sonnet 3.7 at first.", {"Sonnet 3.7"}),
        ("We moved from Claude Opus 4.1 to Llama 3.3 then.", {"Claude Opus 4.1", "Llama 3.3"}),
        ("The Gemini CLI asks Gemini for it.", {"Gemini CLI", "Gemini"}),
        ("They were *built with Claude Code*. It keeps all in **Redis**.", {"Claude Code", "Redis"}),
        ("It was **Claude** Sonnet 3.7 then.", {"Sonnet 3.7"}),
        ("Broken by commit a3a4feb and others.", {"a3a4feb"}),
        ("**Related commits:** 67a5755, fb5048f", {"67a5755", "fb5048f"}),
        ("Harbor Pilots keeps all berths in one list.", {"Harbor Pilots"}),
        ("Follow Conventional Berthing and nothing else.", {"Conventional Berthing"}),
        ("It was a facade of 1234567 bricks.", set()),
    ],
)
def test_models_commits_and_subjects_of_sentences_are_named(text, names):
    assert names_in(text) == names
