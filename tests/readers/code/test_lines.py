"""Definitions of languages without a grammar, read line by line."""

import pytest

from ragmem.readers.code import language_of, read_code

SOURCES = {
    "a.scala": (
        "sealed trait Shape\ncase class Box(a: Int)\nobject Box {\n  def make = 1\n}\n",
        ["Shape", "Box", "Box", "make"],
    ),
    "a.ex": (
        "defmodule Acme.Login do\n  def check?(a), do: a\n  defp inner(a), do: a\nend\n",
        ["Login", "check?", "inner"],
    ),
    "a.lua": (
        "local function check(a)\nend\nfunction M.login(a)\nend\nM.out = function(a)\nend\n",
        ["check", "login", "out"],
    ),
    "a.sh": ("#!/bin/bash\ncheck() {\n  true\n}\nfunction login {\n  true\n}\n", ["check", "login"]),
    "a.zig": (
        "pub const Login = struct {\n    pub fn check(self: Login) bool {\n    }\n};\n",
        ["Login", "check"],
    ),
    "a.hs": ("module Acme where\n\ncheck :: Int -> Bool\ncheck a = True\n", ["Acme", "check"]),
    "a.sql": (
        "CREATE TABLE IF NOT EXISTS logins (id INT);\ncreate view active as select 1;\n",
        ["logins", "active"],
    ),
}


@pytest.mark.parametrize("path", SOURCES)
def test_definitions_are_found(path):
    text, names = SOURCES[path]
    assert [symbol.name for symbol in read_code(path, text).symbols[1:]] == names


def test_a_definition_has_its_lines_and_its_comment():
    file = read_code(
        "web/login.dart", "import a;\n// Checks a login.\nclass Login\n{\n    // x\n}\nvar a = 1;\n"
    )
    [login] = file.symbols[1:]

    assert (login.qualified, login.line, login.end_line, login.doc) == (
        "web/login.dart::Login",
        3,
        6,
        "Checks a login.",
    )
    assert (file.module, file.language, file.facts) == ("web/login.dart", "dart", {})


@pytest.mark.parametrize(
    "text", ["", "\n" * 9, "}" * 99, "class" * 9_999, "fun " * 50_000, "/*" * 5_000, "\x00\xff"]
)
def test_any_text_is_read(text):
    assert read_code("a.scala", text).symbols[0].name == "a.scala"


def test_comments_and_sentences_define_nothing():
    text = '// class of errors\n/*\n class Old\n*/\nval x = "class Fake"\n'
    assert [symbol.name for symbol in read_code("a.scala", text).symbols[1:]] == ["x"]


def test_tests_are_told_by_their_paths():
    assert read_code("src/test/LoginTest.scala", "class LoginTest\n").symbols[1].is_test
    assert language_of("src/test/LoginTest.scala") == "scala"
