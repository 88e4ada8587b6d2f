"""Hooks go into any JSON text and out again, and every other character stays."""

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from settings_files import SETTINGS

from ragmem.assistants import load_assistant, load_assistants
from ragmem.services.wiring.command import Program, read_call
from ragmem.services.wiring.hook_insertion import InsertionRecord, ShapeError, insert_hooks, remove_hooks
from ragmem.services.wiring.json_hooks import handwritten_hooks, own_hooks, read_hooks
from ragmem.services.wiring.json_text import JsonTextError, read_json

HERE = Program(("/opt/my tools/bin/ragmem",))
NEWER = Program(("/opt/newer/bin/ragmem",))
ELSEWHERE = Program(("/opt/my tools/bin/ragmem",), (("RAGMEM_HOME", "/data/it's mine"),))
CLAUDE = load_assistant("claude-code")
JSON_ASSISTANTS = [one for one in load_assistants() if one.shape != "plugin"]


def value_of(text):
    return read_json(text).value


@pytest.mark.parametrize(("name", "content"), SETTINGS.values(), ids=SETTINGS)
def test_what_was_connected_is_as_before_when_it_is_disconnected(name, content):
    assistant, text = load_assistant(name), content.decode()

    after, wiring = insert_hooks(text, assistant, HERE, InsertionRecord())

    assert {hook.event for hook in own_hooks(read_hooks(after), assistant, HERE)} == set(
        assistant.hook_events()
    )
    assert remove_hooks(after, assistant, HERE, wiring) == text


@pytest.mark.parametrize(("name", "content"), SETTINGS.values(), ids=SETTINGS)
def test_connecting_twice_is_connecting_once(name, content):
    assistant = load_assistant(name)

    once, wiring = insert_hooks(content.decode(), assistant, HERE, InsertionRecord())

    assert insert_hooks(once, assistant, HERE, wiring) == (once, wiring)


@pytest.mark.parametrize(("name", "content"), SETTINGS.values(), ids=SETTINGS)
def test_hooks_of_others_stay_in_their_order_and_the_lines_of_the_file_stay_lines(name, content):
    assistant, text = load_assistant(name), content.decode()
    after, _ = insert_hooks(text, assistant, HERE, InsertionRecord())

    others = [hook.command for hook in read_hooks(after) if hook.call is None]
    assert others == [hook.command for hook in read_hooks(text)]
    assert ("\r\n" in after) == ("\r\n" in text)
    assert after.count("\n") == after.count("\r\n") or "\r\n" not in after
    if "\n" not in text and '":' in text:
        assert "\n" not in after


@pytest.mark.parametrize(("name", "content"), SETTINGS.values(), ids=SETTINGS)
def test_another_version_takes_the_place_of_the_former_one_and_leaves_nothing(name, content):
    assistant, text = load_assistant(name), content.decode()
    first, wiring = insert_hooks(text, assistant, HERE, InsertionRecord())

    second, wiring = insert_hooks(first, assistant, NEWER, wiring)

    assert first.replace("'/opt/my tools/bin/ragmem'", "/opt/newer/bin/ragmem") == second
    assert remove_hooks(second, assistant, NEWER, wiring) == text


@pytest.mark.parametrize(("name", "content"), SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("first_out", [HERE, ELSEWHERE], ids=["first", "second"])
def test_two_homes_come_and_go_by_themselves(name, content, first_out):
    assistant, text = load_assistant(name), content.decode()
    one, here = insert_hooks(text, assistant, HERE, InsertionRecord())
    both, elsewhere = insert_hooks(one, assistant, ELSEWHERE, InsertionRecord())
    assert len(own_hooks(read_hooks(both), assistant, HERE)) == len(
        own_hooks(read_hooks(both), assistant, ELSEWHERE)
    )

    wirings = {HERE: here, ELSEWHERE: elsewhere}
    second_out = ELSEWHERE if first_out is HERE else HERE
    left = remove_hooks(both, assistant, first_out, wirings[first_out])
    assert len(own_hooks(read_hooks(left), assistant, second_out)) == len(assistant.hook_events())
    end = remove_hooks(left, assistant, second_out, wirings[second_out])

    if first_out is ELSEWHERE:
        assert end == text
    else:
        assert not own_hooks(read_hooks(end), assistant, ELSEWHERE)
        assert [hook.command for hook in read_hooks(end)] == [hook.command for hook in read_hooks(text)]


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
@pytest.mark.parametrize(("name", "content"), SETTINGS.values(), ids=SETTINGS)
def test_a_file_that_its_assistant_wrote_anew_loses_only_what_is_ours(name, content, indent):
    assistant, text = load_assistant(name), content.decode()
    before = value_of(text) if text.strip() else {}
    after, wiring = insert_hooks(text, assistant, HERE, InsertionRecord())
    changed = {**value_of(after), "theme": "light"}
    written = json.dumps(changed, indent=indent, ensure_ascii=False)

    left = remove_hooks(written, assistant, HERE, wiring)

    assert left == json.dumps({**before, "theme": "light"}, indent=indent, ensure_ascii=False)


@pytest.mark.parametrize("text", ['{"hooks":{}}', '{"model":"opus", "hooks": { "Stop": [] } }'])
def test_settings_that_hold_nothing_of_ours_keep_their_empty_hooks(text):
    assert remove_hooks(text, CLAUDE, HERE, None) == text


def test_what_was_added_among_ours_stays_and_so_does_what_holds_it():
    after, wiring = insert_hooks('{\n  "model": "opus"\n}\n', CLAUDE, HERE, InsertionRecord())
    theirs = '"Stop": [\n      {"hooks": [{"type": "command", "command": "bell"}]},'
    changed = after.replace('"Stop": [', theirs)

    left = value_of(remove_hooks(changed, CLAUDE, HERE, wiring))

    assert left == {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]}}


def test_a_hook_put_into_our_group_stays_there():
    after, wiring = insert_hooks("{}", CLAUDE, HERE, InsertionRecord())
    document = json.loads(after)
    document["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "bell"})
    document["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "siren"})

    left = value_of(remove_hooks(json.dumps(document), CLAUDE, HERE, wiring))

    commands = [hook["command"] for hook in left["hooks"]["Stop"][0]["hooks"]]
    assert (list(left["hooks"]), commands) == (["Stop"], ["bell", "siren"])


def test_a_hook_that_shares_its_group_is_renewed_without_its_neighbours():
    after, wiring = insert_hooks("{}", CLAUDE, HERE, InsertionRecord())
    document = json.loads(after)
    document["hooks"]["PreToolUse"][0]["matcher"] = "Task"
    document["hooks"]["PreToolUse"][0]["hooks"].append({"type": "command", "command": "bell"})

    renewed = value_of(insert_hooks(json.dumps(document), CLAUDE, NEWER, wiring)[0])["hooks"]["PreToolUse"]

    assert [group["matcher"] for group in renewed] == ["Task"]
    assert renewed[0]["hooks"][0]["command"].startswith("/opt/newer/bin/ragmem hook PreToolUse")
    assert renewed[0]["hooks"][1]["command"] == "bell"


def test_ours_twice_becomes_ours_once():
    after, wiring = insert_hooks("{}", CLAUDE, HERE, InsertionRecord())
    document = json.loads(after)
    document["hooks"]["Stop"] *= 3

    mended = value_of(insert_hooks(json.dumps(document), CLAUDE, HERE, wiring)[0])

    assert len(mended["hooks"]["Stop"]) == 1


def test_a_time_out_that_somebody_has_changed_is_put_right():
    after, wiring = insert_hooks("{}", CLAUDE, HERE, InsertionRecord())

    mended, _ = insert_hooks(after.replace('"timeout": 5', '"timeout": 5000'), CLAUDE, HERE, wiring)

    assert mended == after


def test_a_hook_in_somebody_elses_words_is_not_ours():
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "ragmem hook Stop"}]}]}})

    after, wiring = insert_hooks(text, CLAUDE, HERE, InsertionRecord())

    assert [hook.command for hook in handwritten_hooks(read_hooks(after))] == ["ragmem hook Stop"]
    assert remove_hooks(after, CLAUDE, HERE, wiring) == text


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"a": 1\n "b": 2}', 2, 2),
        ("{", 1, 2),
        ('{\n  "a": [1, 2\n}', 3, 1),
        ('{"a": tru}', 1, 7),
        ('{"a": "x}', 1, 7),
        ('{"a": "x\ty"}', 1, 9),
        ("{} {}", 1, 4),
        ('{"a": 01}', 1, 7),
        ("{'a': 1}", 1, 2),
        ('{"a" 1}', 1, 6),
        ("{,}", 1, 2),
        ("[" * 300, 1, 202),
        ("/* no end", 1, 1),
    ],
)
def test_what_is_no_json_is_told_with_its_place(text, line, column):
    with pytest.raises(JsonTextError) as told:
        read_json(text)

    assert (told.value.line, told.value.column) == (line, column)


@pytest.mark.parametrize("text", ["[]", '"x"', '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": null}'])
def test_settings_of_another_shape_are_left_alone(text):
    with pytest.raises(ShapeError):
        insert_hooks(text, CLAUDE, HERE, InsertionRecord())


@settings(max_examples=40)
@given(st.text(), st.text(), st.sampled_from(["Stop", "session.idle"]))
def test_a_command_says_again_what_it_was_made_of(folder, value, event):
    assume("\0" not in folder + value)
    program = Program((f"/{folder}/ragmem",), (("RAGMEM_HOME", value),))

    call = read_call(program.line(event, "codex"))

    assert call is not None
    assert (call.program, call.event, call.assistant) == (program, event, "codex")


NAMES = st.sampled_from(["hooks", "Stop", "SessionStart", "model", "a\\b", "é\n", '"', ""]) | st.text(
    max_size=5
)
PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    PLAIN, lambda some: st.lists(some, max_size=3) | st.dictionaries(NAMES, some, max_size=3), max_leaves=12
)
HOOK = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=9)})
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(HOOK, max_size=2)}), max_size=2)
EVENTS = st.dictionaries(
    st.sampled_from(["Stop", "SessionStart", "stop", "AfterTool", "mine"]), GROUPS, max_size=4
)
DOCUMENTS = st.builds(
    lambda head, hooks, tail: {**head, **({} if hooks is None else {"hooks": hooks}), **tail},
    st.dictionaries(NAMES.filter(lambda name: name not in ("hooks", "version")), VALUES, max_size=3),
    st.none() | EVENTS,
    st.dictionaries(st.sampled_from(["z", "zz"]), VALUES, max_size=2),
)
COMMENT = st.sampled_from(["", "", " ", "\t", "/* c */", "/* \n */ ", " // c\n", "\n", "\r\n", "\n\n  "])


@st.composite
def scribbled(draw, value):
    """Return a document as text with gaps and comments wherever there may be some."""

    def gap():
        return draw(COMMENT)

    def write(part):
        if isinstance(part, dict):
            inner = [f"{gap()}{json.dumps(name)}{gap()}:{gap()}{write(one)}" for name, one in part.items()]
        elif isinstance(part, list):
            inner = [f"{gap()}{write(one)}" for one in part]
        else:
            return json.dumps(part, ensure_ascii=draw(st.booleans()))
        joined = f"{gap()},".join(inner) + gap()
        if inner and draw(st.booleans()):
            joined += "," + gap()
        return f"{{{joined}}}" if isinstance(part, dict) else f"[{joined}]"

    return gap() + write(value) + gap()


@settings(max_examples=20)
@given(DOCUMENTS, st.data(), st.sampled_from(JSON_ASSISTANTS))
def test_any_document_in_any_style_survives(document, data, assistant):
    style = data.draw(st.sampled_from([None, 1, 2, "\t", "scribbled"]))
    text = data.draw(scribbled(document)) if style == "scribbled" else json.dumps(document, indent=style)
    assert value_of(text) == document

    after, wiring = insert_hooks(text, assistant, HERE, InsertionRecord())

    assert insert_hooks(after, assistant, HERE, wiring) == (after, wiring)
    assert remove_hooks(after, assistant, HERE, wiring) == text
    # What cannot be found by letter any more is found by what it says.
    lost = replace(wiring, insertions=tuple(replace(one, text="?" * 40) for one in wiring.insertions))
    assert value_of(remove_hooks(after, assistant, HERE, lost)) == document
