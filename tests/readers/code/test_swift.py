"""Swift: extensions, protocols, what the files of a module see of each other."""

import pytest
from code_projects import CodeProject

FILES = {
    "Sources/Store/Repo.swift": """
        // Keeps what others ask for.
        import Foundation

        /// Keeps users. Nothing else.
        @available(iOS 13, *)
        public final class Repo: Base<User>, Finder, @unchecked Sendable {
            static let shared = Repo(limit: 3)
            private var cache = Cache()
            var size: Int { count() }

            init(limit: Int) {
                self.limit = limit
                super.init()
                prepare()
            }

            func find(_ id: String) async throws -> User? {
                super.check(id)
                self.check(id)
                return cache.load(id)
            }

            private func count() -> Int { 3 }

            struct Cache: Codable {
                func load(_ id: String) -> User? { nil }
            }

            class func open() -> Repo { Self.make() }
        }

        let most = 3
        """,
    "Sources/Store/Base.swift": """
        class Base<T> {
            func check(_ id: String) {}
        }

        protocol Finder: AnyObject {
            var name: String { get }
            func find(_ id: String) async throws -> User?
        }

        extension Finder {
            func findTwice() async throws -> User? { try await find("x") }
        }

        extension Repo {
            func prepare() { count() }

            static func make() -> Repo { Repo(limit: 4) }
        }

        extension Repo.Cache: Closing {
            func close() { load("x")?.greet() }
        }

        protocol Closing {}

        enum Kind: String { case fast }

        typealias Users = [User]
        """,
    "Sources/Store/User.swift": """
        struct User {
            let id: String
            func greet() {}
        }

        extension String {
            func shortened() -> String { self }
        }
        """,
    "Sources/Auth/Login.swift": """
        import Store

        actor Login {
            weak var finder: Finder?
            private let repo: Repo

            init(repo: Repo) { self.repo = repo }

            func check(_ id: String, with other: any Finder) async throws -> Bool {
                guard let user = try await repo.find(id.shortened()) else { return false }
                user.greet()
                if let finder = finder { _ = try? await finder.find(id)?.greet() }
                try await other.findTwice()!.greet()
                Repo.shared.prepare()
                items.map { item in item.greet() }
                queue.run { [weak self] in self?.helper(id) }
                ids.forEach(helper)
                let cache: Store.Repo.Cache? = nil
                cache!.close()
                return user is Kind
            }

            private func helper(_ id: String) {}
        }

        extension Repo {
            func signIn() { Login(repo: self) }
        }
        """,
    "Tests/AuthTests/LoginTests.swift": """
        @testable import Auth
        import XCTest

        final class LoginTests: XCTestCase {
            func testLetsUsersIn() async throws {
                let login = Login(repo: Repo.open())
                login.check("ada")
            }
        }
        """,
    "App/Checks.swift": """
        func start() { Screen().show() }

        @Test("it shows") func works() { start() }
        """,
    "App/Views/Screen.swift": """
        class Screen {
            func show() { start() }
        }
        """,
}


@pytest.fixture(scope="module")
def project():
    return CodeProject(FILES)


def test_symbols_are_named_by_target_and_type(project):
    assert project.symbols("Sources/Store/Repo.swift") == [
        ("class", "Store.Repo"),
        ("method", "Store.Repo.size"),
        ("method", "Store.Repo.find"),
        ("method", "Store.Repo.count"),
        ("class", "Store.Repo.Cache"),
        ("method", "Store.Repo.Cache.load"),
        ("method", "Store.Repo.open"),
        ("constant", "Store.most"),
    ]
    assert project.symbols("Sources/Store/Base.swift") == [
        ("class", "Store.Base"),
        ("method", "Store.Base.check"),
        ("interface", "Store.Finder"),
        ("method", "Store.Finder.find"),
        ("method", "Store.Finder.findTwice"),
        ("method", "Store.Repo.prepare"),
        ("method", "Store.Repo.make"),
        ("method", "Store.Repo.Cache.close"),
        ("interface", "Store.Closing"),
        ("class", "Store.Kind"),
        ("class", "Store.Users"),
    ]
    assert project.symbols("App/Views/Screen.swift") == [("class", "Screen"), ("method", "Screen.show")]
    assert project.symbol("Store.Repo").doc == "Keeps users."
    assert project.files["Sources/Store/Repo.swift"].purpose == "Keeps what others ask for."
    assert not any(file.problem for file in project.files.values())


def test_calls_lead_to_members_extensions_and_what_other_files_define(project):
    calls = project.references("calls")
    assert {pair for pair in calls if pair[0].startswith("Store.")} == {
        ("Store.Repo", "Store.Repo"),
        ("Store.Repo", "Store.Repo.Cache"),
        ("Store.Repo", "Store.Repo.prepare"),
        ("Store.Repo.size", "Store.Repo.count"),
        ("Store.Repo.find", "Store.Base.check"),
        ("Store.Repo.find", "Store.Repo.Cache.load"),
        ("Store.Repo.open", "Store.Repo.make"),
        ("Store.Finder.findTwice", "Store.Finder.find"),
        ("Store.Repo.prepare", "Store.Repo.count"),
        ("Store.Repo.make", "Store.Repo"),
        ("Store.Repo.Cache.close", "Store.Repo.Cache.load"),
        ("Store.Repo.Cache.close", "Store.User.greet"),
    }
    assert {pair for pair in calls if pair[0].startswith("Auth.")} == {
        ("Auth.Login.check", "Store.Repo.find"),
        ("Auth.Login.check", "Store.String.shortened"),
        ("Auth.Login.check", "Store.User.greet"),
        ("Auth.Login.check", "Store.Finder.find"),
        ("Auth.Login.check", "Store.Finder.findTwice"),
        ("Auth.Login.check", "Store.Repo.prepare"),
        ("Auth.Login.check", "Auth.Login.helper"),
        ("Auth.Login.check", "Store.Repo.Cache.close"),
        ("Auth.Repo.signIn", "Auth.Login"),
    }
    assert {pair for pair in calls if pair[0].startswith(("AuthTests.", "start", "works", "Screen"))} == {
        ("AuthTests.LoginTests.testLetsUsersIn", "Auth.Login"),
        ("AuthTests.LoginTests.testLetsUsersIn", "Auth.Login.check"),
        ("start", "Screen"),
        ("start", "Screen.show"),
        ("works", "start"),
        ("Screen.show", "start"),
    }


def test_a_named_type_counts_as_imported(project):
    login = "Sources/Auth/Login.swift"
    assert project.references("imports", path=login) == {
        (login, "Store.Finder"),
        (login, "Store.Repo"),
        (login, "Store.Repo.Cache"),
        (login, "Store.Kind"),
        (login, "Sources/Store/Base.swift"),
        (login, "Sources/Store/Repo.swift"),
        (login, "Sources/Store/User.swift"),
    }
    store = "Sources/Store/Repo.swift"
    assert project.references("imports", path=store, internal=False) == {(store, "Foundation")}


def test_types_inherit_where_they_are_defined_or_extended(project):
    assert project.references("inherits") == {
        ("Store.Repo", "Store.Base"),
        ("Store.Repo", "Store.Finder"),
        ("Store.Repo.Cache", "Store.Closing"),
    }


def test_tests_are_told_by_their_folders_and_attributes(project):
    assert "AuthTests.LoginTests.testLetsUsersIn" in project.tests("Tests/AuthTests/LoginTests.swift")
    assert project.tests("App/Checks.swift") == ["works"]
    assert not project.tests("Sources/Auth/Login.swift")
