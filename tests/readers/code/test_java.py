"""Java: packages, classes that name members without `this`, and what they inherit."""

import pytest
from code_projects import CodeProject

FILES = {
    "src/main/java/com/acme/store/Repo.java": """
        /*
         * Licensed under the Apache License, Version 2.0.
         */
        package com.acme.store;

        import java.util.Map;

        /** Keeps users. Nothing else. */
        public class Repo extends Base implements Finder {
            public static final int LIMIT = 3;
            private Map<String, User> users;

            public static Repo open() { return new Repo(); }

            @Override
            public User find(String id) {
                require(id);
                return users.get(id);
            }

            public record User(String id) {}
        }
        """,
    "src/main/java/com/acme/store/Base.java": """
        package com.acme.store;

        abstract class Base {
            protected void require(String id) {}

            void close() {}
        }
        """,
    "src/main/java/com/acme/store/Finder.java": """
        package com.acme.store;

        public interface Finder {
            Repo.User find(String id);
        }
        """,
    "src/main/java/com/acme/auth/Login.java": """
        package com.acme.auth;

        import static com.acme.util.Text.trim;

        import com.acme.store.*;
        import com.acme.store.Repo.User;
        import org.slf4j.Logger;
        import org.slf4j.LoggerFactory;

        @Service
        public class Login {
            private static final Logger LOG = LoggerFactory.getLogger(Login.class);
            private final Repo repo;

            public Login(Repo repo) { this.repo = repo; }

            /**
             * Is it a user?
             *
             * @param id the name
             */
            public boolean check(String id) {
                var user = repo.find(trim(id));
                Finder finder = Repo.open();
                finder.find(id);
                LOG.info(id);
                return helper(user) && new Helper().helps();
            }

            private boolean helper(User user) { return user != null; }

            static class Helper {
                boolean helps() { return true; }
            }
        }
        """,
    "src/main/java/com/acme/util/Text.java": """
        package com.acme.util;

        public final class Text {
            public static String trim(String text) { return text.trim(); }
        }
        """,
    "src/test/java/com/acme/auth/LoginTest.java": """
        package com.acme.auth;

        import org.junit.jupiter.api.Test;

        class LoginTest {
            @Test
            void letsUsersIn() { new Login(null).check("ada"); }
        }
        """,
}


@pytest.fixture(scope="module")
def project():
    return CodeProject(FILES)


def test_symbols_are_named_by_package_and_class(project):
    assert project.symbols("src/main/java/com/acme/store/Repo.java") == [
        ("class", "com.acme.store.Repo"),
        ("constant", "com.acme.store.Repo.LIMIT"),
        ("method", "com.acme.store.Repo.open"),
        ("method", "com.acme.store.Repo.find"),
        ("class", "com.acme.store.Repo.User"),
    ]
    assert project.symbols("src/main/java/com/acme/store/Finder.java") == [
        ("interface", "com.acme.store.Finder"),
        ("method", "com.acme.store.Finder.find"),
    ]
    assert project.files["src/main/java/com/acme/store/Repo.java"].purpose == "Keeps users."
    assert project.symbol("com.acme.auth.Login.check").doc == "Is it a user?"


def test_calls_lead_through_fields_static_imports_bases_and_the_package(project):
    assert project.references("calls") == {
        ("com.acme.store.Repo.open", "com.acme.store.Repo"),
        ("com.acme.store.Repo.find", "com.acme.store.Base.require"),
        ("com.acme.auth.Login.check", "com.acme.store.Repo.find"),
        ("com.acme.auth.Login.check", "com.acme.util.Text.trim"),
        ("com.acme.auth.Login.check", "com.acme.store.Repo.open"),
        ("com.acme.auth.Login.check", "com.acme.store.Finder.find"),
        ("com.acme.auth.Login.check", "com.acme.auth.Login.helper"),
        ("com.acme.auth.Login.check", "com.acme.auth.Login.Helper"),
        ("com.acme.auth.Login.check", "com.acme.auth.Login.Helper.helps"),
        ("com.acme.auth.LoginTest.letsUsersIn", "com.acme.auth.Login"),
        ("com.acme.auth.LoginTest.letsUsersIn", "com.acme.auth.Login.check"),
    }
    assert project.references("calls", internal=False) == {
        ("com.acme.auth.Login", "org.slf4j.LoggerFactory.getLogger")
    }


def test_imports_lead_to_classes_members_and_the_files_of_a_package_that_are_used(project):
    assert project.references("imports") == {
        ("src/main/java/com/acme/auth/Login.java", "com.acme.util.Text.trim"),
        ("src/main/java/com/acme/auth/Login.java", "com.acme.store.Repo.User"),
        ("src/main/java/com/acme/auth/Login.java", "src/main/java/com/acme/store/Repo.java"),
        ("src/main/java/com/acme/auth/Login.java", "src/main/java/com/acme/store/Finder.java"),
    }
    assert ("src/main/java/com/acme/store/Repo.java", "java.util.Map") in project.references(
        "imports", internal=False
    )


def test_classes_inherit_from_classes_and_interfaces(project):
    assert project.references("inherits") == {
        ("com.acme.store.Repo", "com.acme.store.Base"),
        ("com.acme.store.Repo", "com.acme.store.Finder"),
    }


def test_tests_are_told_by_their_folder(project):
    assert "com.acme.auth.LoginTest.letsUsersIn" in project.tests(
        "src/test/java/com/acme/auth/LoginTest.java"
    )
    assert not project.tests("src/main/java/com/acme/auth/Login.java")


def test_a_call_in_a_chain_is_on_the_line_of_its_own_name():
    project = CodeProject(
        {
            "src/Kiln.java": """
                package acme;
                class Kiln {
                  Kiln heat() { return this; }
                  Kiln cool() { return this; }
                  void run() {
                    this.heat()
                        .cool();
                  }
                }
                """
        }
    )
    lines = sorted((edge.line, edge.target) for edge in project.edges if edge.source == "acme.Kiln.run")
    assert lines == [(7, "acme.Kiln.heat"), (8, "acme.Kiln.cool")]


def test_a_call_on_the_result_of_a_call_is_found_by_what_that_returns():
    project = CodeProject(
        {
            "src/Kiln.java": """
                package acme;
                class Kiln {
                  static Builder builder(String name) { return new Builder(); }
                  static class Builder {
                    Builder add(int heat) { return this; }
                    Kiln build() { return new Kiln(); }
                    Stream stream() { return null; }
                  }
                  void add(int heat) {}
                  void fire() {}
                }
                """,
            "src/Potter.java": """
                package acme;
                class Potter {
                  void work() {
                    Kiln.builder("a long name, so long that the text of the chain is not read by far")
                        .add(one("another long argument, so that it does not fit anywhere"))
                        .add(2)
                        .build()
                        .fire();
                    Kiln.builder("").stream().add(3);
                  }
                  int one(String text) { return 1; }
                }
                """,
        }
    )
    calls = [
        (edge.line, edge.target)
        for edge in project.edges
        if edge.kind == "calls" and edge.source == "acme.Potter.work"
    ]
    assert sorted(calls) == [
        (5, "acme.Kiln.builder"),
        (6, "acme.Kiln.Builder.add"),
        (6, "acme.Potter.one"),
        (7, "acme.Kiln.Builder.add"),
        (8, "acme.Kiln.Builder.build"),
        (9, "acme.Kiln.fire"),
        (10, "acme.Kiln.Builder.stream"),
        (10, "acme.Kiln.builder"),
    ]
