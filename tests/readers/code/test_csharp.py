"""C#: namespaces, partial names, properties, what is inherited."""

import pytest
from code_projects import CodeProject

FILES = {
    "src/Store/Repo.cs": """
        // Copyright (c) Acme.
        using System.Collections.Generic;

        namespace Acme.Store
        {
            /// <summary>Keeps users. Nothing else.</summary>
            public class Repo : Base, IFinder
            {
                public const int Limit = 3;
                private readonly Dictionary<string, User> _users = new();

                public static Repo Open() => new Repo();

                public User Find(string id)
                {
                    Require(id);
                    base.Require(id);
                    return _users[id];
                }
            }

            public record User(string Id);
        }
        """,
    "src/Store/Base.cs": """
        namespace Acme.Store;

        public abstract class Base
        {
            protected void Require(string id) { }
        }

        public interface IFinder { User Find(string id); }
        """,
    "src/Auth/Login.cs": """
        using System;
        using Acme.Store;
        using Users = Acme.Store.Repo;

        namespace Acme.Auth;

        public class Login
        {
            private readonly Repo _repo;
            public IFinder Finder { get; set; }

            public Login(Repo repo) { _repo = repo; }

            public bool Check(string id)
            {
                var user = _repo.Find(id);
                Finder?.Find(id);
                var users = Users.Open();
                users.Find(id);
                Console.WriteLine(id);
                return Helper(user);
            }

            private bool Helper(User user) => user != null;
        }
        """,
    "tests/Acme.Tests/LoginTests.cs": """
        using Acme.Auth;
        using Xunit;

        namespace Acme.Tests;

        public class LoginTests
        {
            [Fact]
            public void LetsUsersIn() { new Login(null).Check("ada"); }
        }
        """,
}


@pytest.fixture(scope="module")
def project():
    return CodeProject(FILES)


def test_symbols_are_named_by_namespace_and_class(project):
    assert project.symbols("src/Store/Repo.cs") == [
        ("class", "Acme.Store.Repo"),
        ("constant", "Acme.Store.Repo.Limit"),
        ("method", "Acme.Store.Repo.Open"),
        ("method", "Acme.Store.Repo.Find"),
        ("class", "Acme.Store.User"),
    ]
    assert project.symbols("src/Store/Base.cs") == [
        ("class", "Acme.Store.Base"),
        ("method", "Acme.Store.Base.Require"),
        ("interface", "Acme.Store.IFinder"),
        ("method", "Acme.Store.IFinder.Find"),
    ]
    assert project.symbol("Acme.Store.Repo").doc == "Keeps users."
    assert project.files["src/Auth/Login.cs"].purpose == "defines Login"


def test_calls_lead_through_fields_properties_aliases_and_bases(project):
    assert project.references("calls") == {
        ("Acme.Store.Repo.Open", "Acme.Store.Repo"),
        ("Acme.Store.Repo.Find", "Acme.Store.Base.Require"),
        ("Acme.Auth.Login.Check", "Acme.Store.Repo.Find"),
        ("Acme.Auth.Login.Check", "Acme.Store.IFinder.Find"),
        ("Acme.Auth.Login.Check", "Acme.Store.Repo.Open"),
        ("Acme.Auth.Login.Check", "Acme.Auth.Login.Helper"),
        ("Acme.Tests.LoginTests.LetsUsersIn", "Acme.Auth.Login"),
        ("Acme.Tests.LoginTests.LetsUsersIn", "Acme.Auth.Login.Check"),
    }


def test_a_using_leads_to_the_files_of_the_namespace_that_are_used(project):
    assert project.references("imports") == {
        ("src/Auth/Login.cs", "Acme.Store.Repo"),
        ("src/Auth/Login.cs", "src/Store/Repo.cs"),
        ("src/Auth/Login.cs", "src/Store/Base.cs"),
        ("tests/Acme.Tests/LoginTests.cs", "src/Auth/Login.cs"),
    }
    assert project.references("imports", internal=False) == {
        ("src/Store/Repo.cs", "System.Collections.Generic"),
        ("src/Auth/Login.cs", "System"),
        ("tests/Acme.Tests/LoginTests.cs", "Xunit"),
    }


def test_classes_inherit_from_classes_and_interfaces(project):
    assert project.references("inherits") == {
        ("Acme.Store.Repo", "Acme.Store.Base"),
        ("Acme.Store.Repo", "Acme.Store.IFinder"),
    }


def test_tests_are_told_by_their_attribute(project):
    assert "Acme.Tests.LoginTests.LetsUsersIn" in project.tests("tests/Acme.Tests/LoginTests.cs")
    assert not project.tests("src/Auth/Login.cs")
