"""C and C++: headers, what only its file sees, namespaces, methods outside of their class."""

import pytest
from code_projects import CodeProject

C_FILES = {
    "include/store/repo.h": """
        /* Keeps users. */
        #ifndef STORE_REPO_H
        #define STORE_REPO_H
        #include <stddef.h>

        #ifdef __cplusplus
        extern "C" {
        #endif

        #define REPO_LIMIT 3

        /* A user. */
        typedef struct { int id; } user_t;

        struct repo {
            user_t *users;
            int (*find)(int id);
        };

        user_t *repo_find(struct repo *repo, int id);

        #ifdef __cplusplus
        }
        #endif
        #endif
        """,
    "src/repo.c": """
        #include "store/repo.h"

        static int check(int id) { return id < REPO_LIMIT; }

        // Returns NULL for nobody.
        user_t *repo_find(struct repo *repo, int id)
        {
            return check(id) ? &repo->users[id] : NULL;
        }
        """,
    "src/main.c": """
        #include <stdio.h>
        #include <store/repo.h>

        static int check(void (*report)(int)) { report(1); return 1; }

        int main(void)
        {
            struct repo repo;
            check(0);
            printf("%p", repo_find(&repo, 1));
            return 0;
        }
        """,
    "tests/test_repo.c": """
        #include "../include/store/repo.h"

        void test_find(void) { repo_find(0, 1); }

        int main(void) { test_find(); return 0; }
        """,
}

CPP_FILES = {
    "src/store/repo.hpp": """
        #pragma once
        #include <memory>
        #include <string>

        namespace acme::store {

        class Base {
         public:
          virtual ~Base() {}
          virtual bool find(const std::string& id) = 0;
          void close() {}
        };

        /// Finds users.
        template <typename Key>
        class Repo : public Base {
         public:
          bool find(const std::string& id) override;
          static std::unique_ptr<Repo> open();
        };

        }  // namespace acme::store
        """,
    "src/store/repo.cpp": """
        #include "repo.hpp"

        namespace acme::store {

        namespace {
        void check(const std::string& id) {}
        }

        bool Repo::find(const std::string& id) {
          check(id);
          close();
          return true;
        }

        std::unique_ptr<Repo> Repo::open() { return std::make_unique<Repo>(); }

        }
        """,
    "src/auth/login.h": """
        #include "store/repo.hpp"

        namespace acme::auth {
        class Login {
         public:
          explicit Login(store::Repo* repo) : repo_(repo) {}
          bool check(const std::string& id);
         private:
          store::Repo* repo_;
        };
        }
        """,
    "src/auth/login.cc": """
        #include "auth/login.h"

        using namespace acme;
        using acme::auth::Login;

        bool Login::check(const std::string& id) {
          auto other = store::Repo::open();
          other->find(id);
          return repo_->find(id);
        }

        static void run() {
          store::Repo repo;
          auth::Login login(&repo);
          login.check("ada");
        }
        """,
    "test/login_test.cc": """
        #include "auth/login.h"

        TEST(LoginTest, LetsUsersIn) {
          acme::auth::Login login(nullptr);
          EXPECT_TRUE(login.check("ada"));
        }
        """,
}


@pytest.fixture(scope="module")
def c_project():
    return CodeProject(C_FILES)


@pytest.fixture(scope="module")
def cpp_project():
    return CodeProject(CPP_FILES)


def test_functions_of_c_have_their_own_name_and_static_ones_that_of_their_file(c_project):
    assert c_project.symbols("src/repo.c") == [
        ("function", "src/repo.c::check"),
        ("function", "repo_find"),
    ]
    assert c_project.symbols("include/store/repo.h") == [
        ("constant", "REPO_LIMIT"),
        ("class", "user_t"),
        ("class", "repo"),
    ]
    assert c_project.symbol("repo_find").doc == "Returns NULL for nobody."
    assert c_project.files["include/store/repo.h"].purpose == "Keeps users."
    assert c_project.files["include/store/repo.h"].language == "c"


def test_a_call_in_c_leads_to_the_static_function_of_its_own_file(c_project):
    assert c_project.references("calls") == {
        ("repo_find", "src/repo.c::check"),
        ("src/main.c::main", "src/main.c::check"),
        ("src/main.c::main", "repo_find"),
        ("test_find", "repo_find"),
        ("tests/test_repo.c::main", "test_find"),
    }
    assert c_project.tests("tests/test_repo.c") == [
        "tests/test_repo.c",
        "test_find",
        "tests/test_repo.c::main",
    ]


def test_an_include_leads_to_the_header_by_its_path(c_project):
    assert c_project.references("imports") == {
        ("src/repo.c", "include/store/repo.h"),
        ("src/main.c", "include/store/repo.h"),
        ("tests/test_repo.c", "include/store/repo.h"),
    }
    assert c_project.references("imports", internal=False) == {
        ("include/store/repo.h", "stddef.h"),
        ("src/main.c", "stdio.h"),
    }


def test_symbols_of_cpp_are_named_by_namespace_and_class_wherever_they_stand(cpp_project):
    assert cpp_project.symbols("src/store/repo.hpp") == [
        ("class", "acme::store::Base"),
        ("method", "acme::store::Base::~Base"),
        ("method", "acme::store::Base::find"),
        ("method", "acme::store::Base::close"),
        ("class", "acme::store::Repo"),
    ]
    assert cpp_project.symbols("src/store/repo.cpp") == [
        ("function", "src/store/repo.cpp::check"),
        ("method", "acme::store::Repo::find"),
        ("method", "acme::store::Repo::open"),
    ]
    assert cpp_project.files["src/auth/login.h"].language == "cpp"
    assert cpp_project.symbol("acme::store::Repo").doc == "Finds users."


def test_calls_in_cpp_lead_through_members_bases_variables_and_namespaces(cpp_project):
    assert cpp_project.references("calls") == {
        ("acme::store::Repo::find", "src/store/repo.cpp::check"),
        ("acme::store::Repo::find", "acme::store::Base::close"),
        ("Login::check", "acme::store::Repo::open"),
        ("Login::check", "acme::store::Repo::find"),
        ("src/auth/login.cc::run", "Login::check"),
        ("test/login_test.cc::LetsUsersIn", "Login::check"),
    }


def test_includes_of_cpp_and_bases_lead_to_what_they_mean(cpp_project):
    assert cpp_project.references("imports", path="src/auth/login.cc") == {
        ("src/auth/login.cc", "src/auth/login.h"),
        ("src/auth/login.cc", "acme::auth::Login"),
    }
    assert cpp_project.references("inherits") == {("acme::store::Repo", "acme::store::Base")}
    assert cpp_project.tests("test/login_test.cc") == [
        "test/login_test.cc",
        "test/login_test.cc::LetsUsersIn",
    ]


def test_a_function_that_is_given_away_is_used():
    project = CodeProject(
        {
            "src/list.c": """
                static int by_name(const void *a, const void *b) { return 0; }
                static void open_list(void) {}
                static void close_list(void) {}
                static int size(void) { return 0; }

                struct hooks { void (*open)(void); void (*close)(void); };

                void sort(void *list, int size) {
                  struct hooks all = { .open = open_list };
                  qsort(list, size, 8, by_name);
                  at_exit(&close_list);
                }
                """
        }
    )
    used = {target.rpartition("::")[2] for source, target in project.references("calls") if source == "sort"}
    assert used == {"by_name", "open_list", "close_list"}
