"""Go: packages of several files, receivers, embedded structs, modules of go.mod."""

import pytest
from code_projects import CodeProject

FILES = {
    "go.mod": "module example.com/acme/app\n\ngo 1.22\n",
    "internal/store/repo.go": """
        // Package store keeps users.
        package store

        import "database/sql"

        // User is a row of the table.
        type User struct{ ID string }

        // Finder finds users.
        type Finder interface {
            Find(id string) (*User, error)
        }

        type Base struct{ db *sql.DB }

        // Close gives the connection back.
        func (b *Base) Close() error { return b.db.Close() }

        type Repo struct {
            Base
            cache map[string]*User
        }

        func (r *Repo) Find(id string) (*User, error) {
            r.check(id)
            return &User{ID: id}, nil
        }

        func (r Repo) check(id string) {}
        """,
    "internal/store/open.go": """
        package store

        const Limit = 3

        func Open() *Repo { return &Repo{} }
        """,
    "cmd/server/main.go": """
        // Command server serves users.
        package main

        import (
            "fmt"

            st "example.com/acme/app/internal/store"
        )

        type server struct{ repo *st.Repo }

        func (s *server) serve(id string, done func()) {
            user, err := s.repo.Find(id)
            fmt.Println(user, err)
            s.repo.Close()
            done()
            show(id)
        }

        func show(text string) {}

        func main() {
            repo := st.Open()
            defer repo.Close()
            s := &server{repo: repo}
            s.serve("ada", nil)
            var finder st.Finder = repo
            finder.Find("bob")
        }
        """,
    "internal/store/repo_test.go": """
        package store

        import "testing"

        func TestFind(t *testing.T) {
            repo := Open()
            repo.Find("ada")
        }
        """,
}


@pytest.fixture(scope="module")
def project():
    return CodeProject(FILES)


def test_symbols_are_named_by_the_folder_of_their_package(project):
    assert project.symbols("internal/store/repo.go") == [
        ("class", "internal/store.User"),
        ("interface", "internal/store.Finder"),
        ("method", "internal/store.Finder.Find"),
        ("class", "internal/store.Base"),
        ("method", "internal/store.Base.Close"),
        ("class", "internal/store.Repo"),
        ("method", "internal/store.Repo.Find"),
        ("method", "internal/store.Repo.check"),
    ]
    assert project.files["internal/store/repo.go"].module == "internal/store/repo.go"
    assert project.files["internal/store/repo.go"].purpose == "Package store keeps users."
    assert project.symbol("internal/store.Base.Close").doc == "Close gives the connection back."


def test_calls_lead_through_receivers_fields_embedded_structs_and_what_functions_return(project):
    assert project.references("calls") == {
        ("internal/store.Repo.Find", "internal/store.Repo.check"),
        ("internal/store.Repo.Find", "internal/store.User"),
        ("internal/store.Open", "internal/store.Repo"),
        ("cmd/server.server.serve", "internal/store.Repo.Find"),
        ("cmd/server.server.serve", "internal/store.Base.Close"),
        ("cmd/server.server.serve", "cmd/server.show"),
        ("cmd/server.main", "internal/store.Open"),
        ("cmd/server.main", "internal/store.Base.Close"),
        ("cmd/server.main", "cmd/server.server"),
        ("cmd/server.main", "cmd/server.server.serve"),
        ("cmd/server.main", "internal/store.Finder.Find"),
        ("internal/store.TestFind", "internal/store.Open"),
        ("internal/store.TestFind", "internal/store.Repo.Find"),
    }
    assert ("cmd/server.server.serve", "fmt.Println") in project.references("calls", internal=False)


def test_an_import_leads_to_the_files_of_the_package_that_are_used(project):
    assert project.references("imports") == {
        ("cmd/server/main.go", "internal/store/repo.go"),
        ("cmd/server/main.go", "internal/store/open.go"),
    }
    assert project.references("imports", internal=False) == {
        ("cmd/server/main.go", "fmt"),
        ("internal/store/repo.go", "database/sql"),
        ("internal/store/repo_test.go", "testing"),
    }


def test_embedding_is_inheriting(project):
    assert project.references("inherits") == {("internal/store.Repo", "internal/store.Base")}


def test_tests_are_those_of_files_for_tests(project):
    assert project.tests("internal/store/repo_test.go") == [
        "internal/store/repo_test.go",
        "internal/store.TestFind",
    ]


def test_a_function_that_is_given_away_is_used():
    project = CodeProject(
        {
            "go.mod": "module acme\n",
            "kiln/kiln.go": """
                package kiln

                type Oven struct{ fire func() }

                func (o *Oven) Heat() {}

                func light(name string) {}

                func name() {}

                func Build(name string) *Oven {
                    use(light, name)
                    return &Oven{fire: cool}
                }

                func cool() {}

                func use(what any, name string) {}
                """,
            "main.go": """
                package main

                import "acme/kiln"

                func main() {
                    oven := kiln.Build("x")
                    run(oven.Heat, kiln.Build)
                }

                func run(what ...any) {}
                """,
        }
    )
    assert project.references("calls", path="kiln/kiln.go") == {
        ("kiln.Build", "kiln.use"),
        ("kiln.Build", "kiln.light"),
        ("kiln.Build", "kiln.Oven"),
        ("kiln.Build", "kiln.cool"),
    }
    taken = {target for _, target in project.references("calls", path="main.go")}
    assert {"kiln.Oven.Heat", "kiln.Build"} <= taken


def test_the_methods_of_a_generic_type_belong_to_it():
    project = CodeProject(
        {
            "go.mod": "module acme\n",
            "lru/lru.go": """
                package lru

                type Cache[K comparable, V any] struct {
                    inner *List[K, V]
                }

                type List[K comparable, V any] struct{}

                func New[K comparable, V any](size int) (*Cache[K, V], error) { return nil, nil }

                func (c *Cache[K, V]) Remove(key K) bool { return c.inner.Remove(key) }

                func (l *List[K, V]) Remove(key K) bool { return false }
                """,
            "main.go": """
                package main

                import "acme/lru"

                func main() {
                    cache, err := lru.New[string, int](8)
                    cache.Remove("x")
                }
                """,
        }
    )
    assert ("method", "lru.Cache.Remove") in project.symbols("lru/lru.go")
    calls = project.references("calls")
    assert ("lru.Cache.Remove", "lru.List.Remove") in calls
    assert {target for source, target in calls if source != "lru.Cache.Remove"} == {
        "lru.New",
        "lru.Cache.Remove",
    }
