"""Rust: modules of a crate, crates of a workspace, traits and what implements them."""

import pytest
from code_projects import CodeProject

FILES = {
    "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
    "crates/user-store/Cargo.toml": '[package]\nname = "user-store"\ndescription = "Keeps users."\n',
    "crates/user-store/src/lib.rs": """
        //! Keeps users in memory.

        mod repo;
        pub mod text;

        pub use repo::{Finder, Repo as UserRepo};
        """,
    "crates/user-store/src/repo.rs": """
        use std::fmt::Display;

        use crate::text::shorten;

        /// Finds users.
        pub trait Finder: Display {
            fn find(&self, id: &str) -> bool;

            fn find_all(&self) { self.find("*"); }
        }

        #[derive(Debug)]
        pub struct Repo { limit: u32 }

        impl Repo {
            pub const LIMIT: u32 = 3;

            pub fn open(limit: u32) -> Self { Self { limit } }
        }

        impl Finder for Repo {
            fn find(&self, id: &str) -> bool { shorten(id).is_empty() }
        }
        """,
    "crates/user-store/src/text.rs": "pub fn shorten(text: &str) -> &str { text }\n",
    "crates/server/Cargo.toml": '[package]\nname = "server"\n',
    "crates/server/src/main.rs": """
        mod login;

        use login::Login;

        fn main() {
            let login = Login::new(3);
            login.check("ada");
        }
        """,
    "crates/server/src/login.rs": """
        // SPDX-License-Identifier: MIT

        use serde::Serialize;
        use user_store::{text::{self, shorten}, Finder, UserRepo};

        pub struct Login { repo: Box<UserRepo> }

        impl Login {
            pub fn new(limit: u32) -> Login { Login { repo: Box::new(UserRepo::open(limit)) } }

            /// Is it a user?
            pub fn check(&self, id: &str) -> bool {
                text::shorten(id);
                user_store::text::shorten(id);
                self.repo.find(id)
            }
        }

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn lets_users_in() {
                assert!(Login::new(1).check("ada"), "{}", shorten("no"));
            }
        }
        """,
}


@pytest.fixture(scope="module")
def project():
    return CodeProject(FILES)


def test_symbols_are_named_by_their_path_within_the_crate(project):
    assert project.symbols("crates/user-store/src/repo.rs") == [
        ("interface", "user_store::repo::Finder"),
        ("method", "user_store::repo::Finder::find"),
        ("method", "user_store::repo::Finder::find_all"),
        ("class", "user_store::repo::Repo"),
        ("constant", "user_store::repo::Repo::LIMIT"),
        ("method", "user_store::repo::Repo::open"),
        ("method", "user_store::repo::Repo::find"),
    ]
    assert project.files["crates/user-store/src/lib.rs"].module == "user_store"
    assert project.files["crates/user-store/src/lib.rs"].purpose == "Keeps users in memory."
    assert project.files["crates/server/src/login.rs"].purpose == "defines Login, tests"
    assert project.symbol("server::login::Login::check").doc == "Is it a user?"


def test_calls_lead_through_uses_exports_fields_and_macros(project):
    assert project.references("calls") == {
        ("user_store::repo::Finder::find_all", "user_store::repo::Finder::find"),
        ("user_store::repo::Repo::find", "user_store::text::shorten"),
        ("server::main::main", "server::login::Login::new"),
        ("server::main::main", "server::login::Login::check"),
        ("server::login::Login::new", "server::login::Login"),
        ("server::login::Login::new", "user_store::repo::Repo::open"),
        ("server::login::Login::check", "user_store::text::shorten"),
        ("server::login::Login::check", "user_store::repo::Repo::find"),
        ("server::login::tests::lets_users_in", "server::login::Login::new"),
        ("server::login::tests::lets_users_in", "server::login::Login::check"),
        ("server::login::tests::lets_users_in", "user_store::text::shorten"),
    }


def test_imports_lead_to_what_is_used_and_what_is_outside(project):
    assert project.references("imports") == {
        ("user_store", "user_store::repo"),
        ("user_store", "user_store::text"),
        ("user_store", "user_store::repo::Finder"),
        ("user_store", "user_store::repo::Repo"),
        ("user_store::repo", "user_store::text::shorten"),
        ("server::main", "server::login"),
        ("server::main", "server::login::Login"),
        ("server::login", "user_store::text"),
        ("server::login", "user_store::text::shorten"),
        ("server::login", "user_store::repo::Finder"),
        ("server::login", "user_store::repo::Repo"),
    }
    assert project.references("imports", internal=False) == {
        ("user_store::repo", "std::fmt::Display"),
        ("server::login", "serde::Serialize"),
    }


def test_a_type_inherits_from_the_traits_that_it_implements(project):
    assert project.references("inherits") == {("user_store::repo::Repo", "user_store::repo::Finder")}
    assert project.references("inherits", internal=False) == {
        ("user_store::repo::Finder", "std::fmt::Display")
    }


def test_tests_are_told_by_their_attribute(project):
    assert project.tests("crates/server/src/login.rs") == [
        "server::login::tests",
        "server::login::tests::lets_users_in",
    ]


def test_a_crate_is_known_by_its_name_without_a_use_and_through_the_crate_that_exports_it():
    project = CodeProject(
        {
            "crates/store/Cargo.toml": '[package]\nname = "kit-store"\n',
            "crates/store/src/lib.rs": """
                pub struct Store;

                impl Store {
                    pub fn open(&self) {}
                }
                """,
            "crates/kit/Cargo.toml": '[package]\nname = "kit"\n',
            "crates/kit/src/lib.rs": "pub extern crate kit_store as store;\n",
            "crates/app/Cargo.toml": '[package]\nname = "app"\n',
            "crates/app/src/main.rs": """
                fn main() { run(&kit::store::Store {}); }

                fn run(store: &kit_store::Store) { store.open(); }
                """,
        }
    )
    assert project.references("calls") == {
        ("app::main::main", "app::main::run"),
        ("app::main::main", "store::Store"),
        ("app::main::run", "store::Store::open"),
    }


def test_a_function_that_is_given_away_is_used():
    project = CodeProject(
        {
            "src/lib.rs": """
                pub struct Code(u8);

                impl Code {
                    pub fn is_error(&self) -> bool { true }
                }

                fn path() {}

                pub fn fails(codes: Vec<Code>, found: Option<String>) -> bool {
                    if let Some(path) = found {
                        drop(path);
                    }
                    codes.iter().any(Code::is_error)
                }
                """
        }
    )
    assert project.references("calls") == {("crate::fails", "crate::Code::is_error")}


def test_a_variant_of_an_enumeration_is_made_by_its_name():
    project = CodeProject(
        {
            "src/lib.rs": """
                pub enum Template { Text(String), Empty }

                impl Template {
                    pub fn parse() -> Template { Template::Text("x".into()) }
                }

                pub fn wrap(name: String) -> Template { Template::Text(name) }

                pub fn show() { print(Template::Empty) }
                """
        }
    )
    assert project.references("calls") == {
        ("crate::show", "crate::Template"),
        ("crate::Template::parse", "crate::Template"),
        ("crate::wrap", "crate::Template"),
    }


def test_a_call_in_a_macro_is_on_its_own_line():
    text = "fn heat() -> u8 { 1 }\nfn check() {\n    assert_eq!(\n        heat(),\n        1\n    );\n}\n"
    project = CodeProject({"src/lib.rs": text})
    assert [(edge.line, edge.target) for edge in project.edges if edge.internal] == [(4, "crate::heat")]


def test_a_variable_has_the_type_of_the_last_call_of_a_chain():
    project = CodeProject(
        {
            "src/lib.rs": """
                struct Builder;
                struct Kiln;

                impl Builder {
                    fn new() -> Builder { Builder }
                    fn heat(self, to: u8) -> Self { self }
                    fn build(self) -> Kiln { Kiln }
                    fn fire(&self) {}
                }

                impl Kiln {
                    fn fire(&self) {}
                }

                fn work() {
                    let kiln = Builder::new().heat(3).build();
                    kiln.fire();
                    let builder = Builder::new()
                        .heat(4);
                    builder.fire();
                }
                """
        }
    )
    calls = sorted((edge.line, edge.target) for edge in project.edges if edge.source == "crate::work")
    fires = [(line, target) for line, target in calls if target.endswith("fire")]
    assert fires == [(18, "crate::Kiln::fire"), (21, "crate::Builder::fire")]
