"""Configuration: precedence, origins, and errors that point at the line."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.config.documents import json_lines, toml_lines
from ragmem.config.loader import load
from ragmem.config.places import find_default, find_places
from ragmem.config.settings import Settings
from ragmem.config.sources import RESERVED
from ragmem.domain.entities import user_statements
from ragmem.domain.model import SHARED, Kind
from ragmem.domain.records.records import RECORDS
from ragmem.errors import EXIT_USAGE, ConfigError
from ragmem.services.ingestion import drafts
from ragmem.services.lifecycle import cards
from ragmem.services.transfer import foreign_importer

ALWAYS = [
    "memory",
    "agentmemory",
    "projectagents",
    "prds",
    "reflections",
    "sessions",
    "paidocs",
    "skills",
    "commands",
    "claudemds",
    "instructions",
    "agents",
    "projectcommands",
    "decisions",
    "specs",
    "handoffs",
    "specstory",
    "aider",
    "entire",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


def configure(home: Path, **files: str) -> Path:
    folder = home / ".config" / "ragmem"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def read(home: Path, *, cwd: Path | None = None, **environ: str) -> Settings:
    return load(environ=environ, home=home, cwd=cwd)


def refusal(home: Path, **environ: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(home, **environ)
    message = str(caught.value)
    assert "\n" not in message
    assert not message.endswith(".")
    assert caught.value.exit_code == EXIT_USAGE
    return caught.value


def attempt(home: Path) -> str:
    """The message of the ConfigError, or nothing; any other exception fails the test."""
    try:
        read(home)
    except ConfigError as error:
        return str(error)
    return ""


def origin_of(found: Settings, key: str) -> str:
    return next(origin for name, _, origin in found.origins() if name == key)


# --- defaults and places


def test_an_empty_home_gives_the_shipped_sources_and_the_published_decay(home: Path) -> None:
    found = read(home)
    assert [source.name for source in found.enabled_sources()] == ALWAYS
    assert [name for name in found.sources if name not in ALWAYS] == ["transcripts", "documents"]
    assert found.decay.half_lives_days == {
        Kind.PREFERENCE: 180,
        Kind.ARCHITECTURE: 90,
        Kind.ERROR: 60,
        Kind.RESEARCH: 30,
        Kind.GENERAL: 60,
    }
    assert (found.decay.semantic_weight, found.decay.recency_weight, found.decay.min_score) == (0.7, 0.3, 0.1)
    assert {origin for _, _, origin in found.origins()} == {"default"}
    assert found.warnings == ()


def test_the_shipped_decay_json_has_the_published_numbers_and_their_bound() -> None:
    assert json.loads(find_default("decay.json").read_text()) == {
        "weights": {"semantic": 0.7, "recency": 0.3},
        "half_lives_days": {
            "preference": 180,
            "architecture": 90,
            "error": 60,
            "research": 30,
            "general": 60,
        },
        "min_score_threshold": 0.1,
        "bound": 0.2,
        "fresh_share": 0.6,
        "fresh_days": 1,
    }


def test_loading_creates_nothing(home: Path) -> None:
    read(home)
    assert list(home.iterdir()) == []


def test_without_variables_the_places_are_the_xdg_folders(home: Path) -> None:
    places = find_places({}, home=home)
    assert places.config == home / ".config/ragmem"
    assert places.data == home / ".local/share/ragmem"
    assert places.state == home / ".local/state/ragmem"
    assert places.cache == home / ".cache/ragmem"


def test_xdg_variables_move_one_place_each_and_relative_ones_are_ignored(home: Path) -> None:
    places = find_places({"XDG_DATA_HOME": "/elsewhere", "XDG_CACHE_HOME": "relative"}, home=home)
    assert places.data == Path("/elsewhere/ragmem")
    assert places.cache == home / ".cache/ragmem"


@pytest.mark.parametrize(("text", "root"), [("/demo", "/demo"), ("~/demo", "/h/demo"), ("demo", "/c/demo")])
def test_ragmem_home_moves_all_four_places(text: str, root: str) -> None:
    places = find_places(
        {"RAGMEM_HOME": text, "XDG_DATA_HOME": "/elsewhere"}, home=Path("/h"), cwd=Path("/c")
    )
    assert [places.config, places.data, places.state, places.cache] == [
        Path(root, name) for name in ("config", "data", "state", "cache")
    ]


def test_a_relative_ragmem_home_without_a_folder_to_start_from_is_refused(home: Path) -> None:
    assert "RAGMEM_HOME" in str(refusal(home, RAGMEM_HOME="demo"))


# --- precedence and origins


def test_a_variable_wins_over_the_file_and_the_file_over_the_default(home: Path) -> None:
    configure(home, config_toml="# mine\n[query]\nlimit = 5\ncandidates = 50\n")
    found = read(home, RAGMEM_QUERY_LIMIT="3")
    assert (found.query.limit, found.query.candidates, found.query.min_similarity) == (3, 50, 0.2)
    assert origin_of(found, "query.limit") == "RAGMEM_QUERY_LIMIT"
    assert origin_of(found, "query.candidates") == "config.toml:4"
    assert origin_of(found, "query.min_similarity") == "default"


def test_an_empty_variable_counts_as_unset(home: Path) -> None:
    assert read(home, RAGMEM_QUERY_LIMIT="").query.limit == 8


def test_variables_reach_decay_and_sources(home: Path) -> None:
    found = read(
        home,
        RAGMEM_DECAY_HALF_LIVES_DAYS_ERROR="7",
        RAGMEM_SOURCES_SKILLS_ENABLED="off",
        RAGMEM_SOURCES_MEMORY_GLOB="notes/*.md",
    )
    assert found.decay.half_lives_days[Kind.ERROR] == 7
    assert not found.sources["skills"].enabled
    assert [source.name for source in found.enabled_sources()] == [n for n in ALWAYS if n != "skills"]
    assert found.sources["memory"].globs == ("notes/*.md",)
    assert found.sources["memory"].base == home
    assert origin_of(found, "decay.half_lives_days.error") == "RAGMEM_DECAY_HALF_LIVES_DAYS_ERROR"


def test_shipped_globs_follow_an_assistant_to_its_folder_and_a_persons_own_stay(home: Path) -> None:
    configure(home, sources_toml='[sources.skills]\nglob = "~/.claude/skills/*.md"\n')
    found = read(home, CLAUDE_CONFIG_DIR="/elsewhere/claude/", CODEX_HOME="relative")
    assert found.sources["memory"].globs == ("/elsewhere/claude/projects/*/memory/**/*.md",)
    assert found.sources["agentmemory"].globs == (
        "/elsewhere/claude/agent-memory/**/*.md",
        "~/.codex/memories/**/*.md",
    )
    assert found.sources["transcripts"].globs[:2] == (
        "/elsewhere/claude/projects/*/*.jsonl",
        "~/.codex/sessions/**/rollout-*.jsonl",
    )
    assert found.sources["skills"].globs == ("~/.claude/skills/*.md",)


def test_a_whole_number_is_good_enough_for_a_fraction_but_not_the_reverse(home: Path) -> None:
    configure(home, config_toml="[seed]\nmax_file_mb = 2\n")
    assert read(home).seed.max_file_bytes == 2 * 1024 * 1024
    configure(home, config_toml="[seed]\nbatch = 2.5\n")
    assert "seed.batch must be a whole number" in str(refusal(home))


def test_options_of_a_backend_pass_through(home: Path) -> None:
    configure(home, config_toml='[models]\nbackend = "openai"\n[models.options]\nmodel = "small"\n')
    assert read(home).models.options == {"model": "small"}


# --- sources


def test_a_users_file_is_laid_over_the_shipped_sources_key_by_key(home: Path) -> None:
    folder = configure(
        home,
        sources_toml="""
exclude = ["private/"]
[sources.skills]
enabled = false
[sources.memory]
kind = "preference"
[sources.notes]
glob = ["notes/**/*.md", "~/journal/*.md"]
scope = "project"
""",
    )
    found = read(home)
    assert list(found.sources) == [*ALWAYS, "transcripts", "documents", "notes"]
    assert not found.sources["skills"].enabled
    assert found.sources["memory"].kind is Kind.PREFERENCE
    assert found.sources["memory"].globs == ("~/.claude/projects/*/memory/**/*.md",)
    assert found.sources["notes"].globs == ("notes/**/*.md", "~/journal/*.md")
    assert found.sources["notes"].base == folder
    assert found.exclude[-1] == "private/"
    assert "node_modules/" in found.exclude
    assert origin_of(found, "sources.skills.enabled") == "sources.toml:4"
    assert origin_of(found, "sources.skills.glob") == "default"


def test_a_sources_file_named_on_the_command_line_is_used_alone(home: Path, tmp_path: Path) -> None:
    configure(home, sources_toml='[sources.mine]\nglob = "x.md"\n')
    (tmp_path / "other.toml").write_text('[sources.docs]\nglob = "docs/*.md"\n')
    for named, cwd in ((tmp_path / "other.toml", None), (Path("other.toml"), tmp_path)):
        found = load(environ={}, home=home, cwd=cwd, sources_file=named)
        assert list(found.sources) == ["docs"]
        assert found.sources["docs"].base == tmp_path
        assert found.exclude == ()


def test_a_sources_file_that_is_not_there_is_an_error_when_it_was_asked_for(home: Path) -> None:
    with pytest.raises(ConfigError, match="there is no file"):
        load(environ={}, home=home, sources_file=Path("/nowhere/sources.toml"))


def test_an_unknown_key_names_file_line_and_the_nearest_key(home: Path) -> None:
    folder = configure(home, sources_toml='[sources.memory]\n# why\nexcude = ["x"]\n')
    error = refusal(home)
    assert str(error) == f'{folder}/sources.toml:3: unknown key "excude" in [sources.memory]'
    assert error.hint == 'did you mean "exclude"?'


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('[sources.a]\nglob = "x"\nreader = "markdwon"', "sources.a.reader must be one of", "markdown"),
        ('[sources.a]\nglob = "x"\nkind = "prefrence"', "sources.a.kind must be one of", "preference"),
        ('[sources.a]\nglob = "x"\nscope = "users"', "sources.a.scope must be one of", "user"),
        ('[sources.a]\nglob = "x"\nsignal = "clasic"', "sources.a.signal must be one of", "classic"),
        ('[sources.a]\nglob = "x"\nenabled = "no"', 'sources.a.enabled must be true or false, not "no"', ""),
        ("[sources.a]\nglob = 3", "sources.a.glob must be a text or a list of texts, not 3", "pattern"),
        ("[sources.a]\nglob = []", "[sources.a] has no glob", "pattern"),
        ('[sources.a]\nreader = "markdown"', "[sources.a] has no glob", "pattern"),
        ('[sources.a]\nglob = "$HOME/x.md"', "variables are not expanded", ""),
        ('[sources.a]\nglob = "~bob/x.md"', "another user's home", ""),
        ('[sources.a]\nglob = "x/**"', "must end in a file name", ""),
        ('[sources.a]\nglob = "x/**.md"', "must be alone", ""),
        ('[sources."a b"]\nglob = "x"', "cannot be a source's name", "a-z"),
        ('[sources.ingest]\nglob = "x"', "ragmem itself stores memories under it", "another name"),
        ("[sources.skils]\nenabled = false", "[sources.skils] has no glob", 'did you mean "skills"?'),
        ("[sorces.a]\nglob = 'x'", 'unknown key "sorces"', "sources"),
        ("sources = 3", '"sources" must be a table', ""),
        ("[sources]\na = 3", '"sources.a" must be a table', ""),
    ],
)
def test_a_wrong_source_is_refused_with_a_hint(home: Path, text: str, message: str, hint: str) -> None:
    configure(home, sources_toml=text + "\n")
    error = refusal(home)
    assert message in str(error)
    assert hint in error.hint


def test_no_source_has_the_name_of_what_ragmem_stores_itself() -> None:
    names = {drafts.SOURCE, cards.SOURCE, foreign_importer.SOURCE, user_statements.SOURCE, RECORDS, SHARED}
    assert names == RESERVED


# --- config.toml


def test_a_mistyped_section_or_key_is_named_with_the_nearest(home: Path) -> None:
    folder = configure(home, config_toml="[qeury]\nlimit = 3\n")
    error = refusal(home)
    assert str(error) == f'{folder}/config.toml:1: unknown table "qeury"'
    assert error.hint == 'did you mean "query"?'
    configure(home, config_toml="\n[query]\nlimmit = 3\n")
    error = refusal(home)
    assert str(error) == f'{folder}/config.toml:3: unknown key "limmit" in [query]'
    assert error.hint == 'did you mean "limit"?'


@pytest.mark.parametrize("key", ["rrf_k", "full_similarity"])
def test_a_key_of_an_older_release_is_told_to_be_removed(home: Path, key: str) -> None:
    folder = configure(home, config_toml=f"[query]\n{key} = 1\n")
    error = refusal(home)
    assert str(error) == f'{folder}/config.toml:2: unknown key "{key}" in [query]'
    assert error.hint.endswith("delete the line")


def test_a_table_of_an_older_release_is_told_by_its_name_of_now(home: Path) -> None:
    folder = configure(home, config_toml="[trash]\nkeep_days = 3\n")
    error = refusal(home)
    assert str(error) == f'{folder}/config.toml:1: unknown table "trash"'
    assert error.hint.startswith("renamed to [archive]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[query]\nlimit = "3"',
            'query.limit must be a whole number of at least 1 and at most 10000, not "3"',
        ),
        ("[query]\nlimit = 0", "query.limit must be a whole number of at least 1"),
        ("[query]\nlimit = true", "not true"),
        ("[query]\nmin_coverage = nan", "query.min_coverage must be a number"),
        ("[write]\nbusy_timeout_s = inf", "write.busy_timeout_s must be a finite number"),
        ("[serve]\nport = 70000", "at most 65535"),
        ("[models]\nbackend = ''", "models.backend must be a text"),
        ("[chunking]\nmax_chars = 200", "chunking.min_chars (300) is above chunking.max_chars (200)"),
        ("query = 3", '"query" must be a table'),
    ],
)
def test_a_value_of_the_wrong_type_or_size_is_refused(home: Path, text: str, message: str) -> None:
    configure(home, config_toml=text + "\n")
    error = refusal(home)
    assert message in str(error)
    assert "config.toml:" in str(error)


def test_a_variable_that_does_not_fit_is_named(home: Path) -> None:
    assert "RAGMEM_QUERY_LIMIT must be a whole number" in str(refusal(home, RAGMEM_QUERY_LIMIT="many"))
    assert "RAGMEM_DECAY_HALF_LIVES_DAYS_ERROR" in str(refusal(home, RAGMEM_DECAY_HALF_LIVES_DAYS_ERROR="0"))


def test_a_variable_that_looks_like_a_setting_and_is_none_gives_a_warning(home: Path) -> None:
    found = read(
        home,
        RAGMEM_QUERY_LIMT="3",
        RAGMEM_QUERY_COLOUR="red",
        RAGMEM_PLUGIN_OFF="1",
        OTHER="x",
        RAGMEM_HOME="",
    )
    assert found.warnings == (
        'the variable "RAGMEM_QUERY_COLOUR" is unknown',
        'the variable "RAGMEM_QUERY_LIMT" is unknown; did you mean "RAGMEM_QUERY_LIMIT"?',
    )


# --- decay.json


def test_a_decay_file_may_set_one_number_only(home: Path) -> None:
    configure(home, decay_json='{\n  "half_lives_days": {\n    "error": 90\n  }\n}\n')
    found = read(home)
    assert found.decay.half_lives_days[Kind.ERROR] == 90
    assert found.decay.half_lives_days[Kind.RESEARCH] == 30
    assert origin_of(found, "decay.half_lives_days.error") == "decay.json:3"


def test_a_decay_file_named_on_the_command_line_replaces_the_users(home: Path, tmp_path: Path) -> None:
    configure(home, decay_json='{"min_score_threshold": 0.5}')
    (tmp_path / "d.json").write_text('{"half_lives_days": {"error": 1}}')
    found = load(environ={}, home=home, decay_file=tmp_path / "d.json")
    assert (found.decay.min_score, found.decay.half_lives_days[Kind.ERROR]) == (0.1, 1)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('{"half_lives_days": {"prefrence": 3}}', 'unknown kind "prefrence"', 'did you mean "preference"?'),
        ('{"half_lives_days":\n {"error": -3}}', "decay.json:2: half_lives_days.error must be", "above 0"),
        ('{"half_lives_days": {"error": 0}}', "half_lives_days.error must be", "above 0"),
        ('{"half_lives_days": {"error": "60"}}', "half_lives_days.error must be a number", ""),
        ('{"half_lives_days": 60}', '"half_lives_days" must be an object', ""),
        ('{"weights": {"semantic": -1}}', "weights.semantic must be", ""),
        ('{"weights": {"semantic": 0, "recency": 0}}', "must not both be 0", ""),
        ('{"weigths": {"semantic": 1}}', 'unknown key "weigths"', 'did you mean "weights"?'),
        (
            '{"min_score_threshold": 2}',
            "min_score_threshold must be a number of at least 0 and at most 1",
            "",
        ),
        ('{"min_score_threshold": NaN}', "NaN is not a valid JSON number", ""),
        ('{\n"min_score_threshold": 0.1,}', "decay.json:2: not valid JSON", "no trailing commas"),
        ('{"min_score_threshold": 0, "min_score_threshold": 1}', "occurs twice", ""),
        ("[]", "must be a JSON object", ""),
        ("", "not valid JSON", ""),
    ],
)
def test_a_wrong_decay_file_is_refused_with_its_line(home: Path, text: str, message: str, hint: str) -> None:
    configure(home, decay_json=text)
    error = refusal(home)
    assert message in str(error)
    assert hint in error.hint


# --- broken files


def test_broken_toml_names_its_line(home: Path) -> None:
    folder = configure(home, sources_toml='[sources.a]\nglob = "x"\nkind = preference\n')
    assert str(refusal(home)).startswith(f"{folder}/sources.toml:3: not valid TOML: ")


def test_a_file_that_is_no_text_or_a_folder_is_refused(home: Path) -> None:
    folder = configure(home)
    (folder / "config.toml").write_bytes(b"[query]\nlimit = \xff\n")
    assert "byte 16 is not UTF-8" in str(refusal(home))
    (folder / "config.toml").unlink()
    (folder / "config.toml").mkdir()
    assert "not a file" in str(refusal(home))


def test_a_byte_order_mark_is_fine(home: Path) -> None:
    (configure(home) / "config.toml").write_bytes(b"\xef\xbb\xbf[query]\nlimit = 4\n")
    assert read(home).query.limit == 4


quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
toml_like = st.text(st.sampled_from("[]{}.=\"'#\n\t ,\\-_0123456789abctruexsources"), max_size=80)


@quick
@given(name=st.sampled_from(["config.toml", "sources.toml", "decay.json"]), raw=st.binary(max_size=200))
def test_no_bytes_in_a_file_raise_anything_but_a_config_error(home: Path, name: str, raw: bytes) -> None:
    folder = configure(home)
    for old in folder.iterdir():
        old.unlink()
    (folder / name).write_bytes(raw)
    assert attempt(home) == "" or name in attempt(home)


@quick
@given(name=st.sampled_from(["config.toml", "sources.toml", "decay.json"]), text=toml_like)
def test_no_text_of_the_right_letters_raises_anything_but_a_config_error(
    home: Path, name: str, text: str
) -> None:
    folder = configure(home)
    for old in folder.iterdir():
        old.unlink()
    (folder / name).write_text(text)
    assert "\n" not in attempt(home)


tables = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["weights", "half_lives_days", "semantic", "error", "min_score_threshold", "x"]),
            inner,
        )
    ),
    max_leaves=8,
)


@quick
@given(value=tables)
def test_no_json_value_raises_anything_but_a_config_error(home: Path, value: object) -> None:
    configure(home, decay_json=json.dumps(value))
    assert attempt(home) == "" or "decay.json:" in attempt(home)


def test_deep_nesting_is_an_error_and_not_a_crash(home: Path) -> None:
    configure(home, decay_json="[" * 100_000)
    refusal(home)
    configure(home, decay_json="{}", config_toml="a = " + "[" * 20_000)
    refusal(home)


def test_toml_lines_are_found_around_strings_and_comments() -> None:
    text = 'a = 1\n# b = 2\n[t]  # x\nc = """\nd = 4\n"""\n"e f".g = 5\n[[u.v]]\nh = ["]", \'=\']\n'
    assert list(toml_lines(text)) == [
        (("a",), 1),
        (("t",), 3),
        (("t", "c"), 4),
        (("t", "e f", "g"), 7),
        (("u", "v"), 8),
        (("u", "v", "h"), 9),
    ]


def test_json_lines_follow_nesting() -> None:
    text = '{"a":\n {"b": "x:{",\n "c": [{"d": 1}]},\n "e": 2}'
    assert list(json_lines(text)) == [
        (("a",), 1),
        (("a", "b"), 2),
        (("a", "c"), 3),
        (("a", "c", "c", "d"), 3),
        (("e",), 4),
    ]


# --- a project's file


def test_a_project_may_set_excludes_tags_and_chunking_only(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    (project / ".ragmem.toml").write_text(
        'exclude = "generated/"\ntags = ["web"]\n[chunking]\nmax_chars = 500\n[store]\nbackend = "evil"\n'
    )
    found = read(home, cwd=project / "src")
    assert found.project is not None
    assert (found.project.root, found.project.exclude, found.project.tags) == (
        project,
        ("generated/",),
        ("web",),
    )
    assert found.chunking.max_chars == 500
    assert origin_of(found, "chunking.max_chars") == ".ragmem.toml:4"
    assert found.store.backend == "lightrag"
    assert len(found.warnings) == 1
    assert '"store" is ignored' in found.warnings[0]
    assert ".ragmem.toml:5" in found.warnings[0]


def test_a_variable_wins_over_the_project(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".ragmem.toml").write_text("[chunking]\nmax_chars = 500\n")
    assert read(home, cwd=tmp_path, RAGMEM_CHUNKING_MAX_CHARS="700").chunking.max_chars == 700


@pytest.mark.parametrize(
    "text",
    [
        "tags = [",
        "\0",
        "a." * 20_000 + "b = 1",
        "tags = 3\n",
        "[chunking]\nmax_chars = 5\n",
        "[chunking]\nmax_chars = 'x'\n",
    ],
)
def test_a_wrong_project_file_is_a_warning_and_never_an_error(home: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / ".ragmem.toml").write_text(text)
    found = read(home, cwd=tmp_path)
    assert len(found.warnings) == 1
    assert found.chunking.max_chars == 900


def test_a_project_file_above_the_repository_is_not_read(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".ragmem.toml").write_text('tags = ["outside"]\n')
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "plain" / "deep").mkdir(parents=True)
    assert read(home, cwd=tmp_path / "repository").project is None
    assert read(home, cwd=tmp_path / "plain" / "deep").project is None
