"""Kotlin: companions, extensions, what Java and Kotlin call of each other."""

import pytest
from code_projects import CodeProject

FILES = {
    "src/main/kotlin/com/acme/store/Repo.kt": """
        /* Copyright (c) Acme. */
        package com.acme.store

        import java.util.UUID

        const val MOST = 3

        /** Keeps users. Nothing else. */
        @Stored("users")
        open class Repo protected constructor(val limit: Int) : Base<User>(limit), Finder {
            val size: Int
                get() = count()

            override fun find(id: String): User? {
                check(id)
                super.check(id)
                return UUID.randomUUID() as User?
            }

            private fun count() = limit

            companion object : Factory() {
                const val LIMIT = 3

                @JvmStatic fun open(): Repo = Repo(LIMIT)
            }
        }

        data class User(val id: String) {
            fun name() = id

            fun isReady() = true
        }
        """,
    "src/main/kotlin/com/acme/store/Base.kt": """
        package com.acme.store

        abstract class Base<T>(n: Int) {
            protected fun check(id: String) {}
        }

        fun interface Finder {
            fun find(id: String): User?
        }

        object Registry : Finder by Other {
            fun register(repo: Repo) = repo.find("x")
        }

        enum class Kind(val label: String) : Named {
            FAST("fast"),
            SLOW("slow");

            fun show() = label
        }

        typealias Users = List<User>
        """,
    "src/main/kotlin/com/acme/text/Text.kt": """
        package com.acme.text

        import com.acme.store.*

        @Throws(Exception::class)
        fun String.shorten(): String = take(3)

        fun Repo?.orNew(): Repo = this ?: Repo.open()

        fun Repo.refill(): User? {
            find("refill")
            return this.find("again")
        }

        object Texts {
            fun String.parted(): List<String> = listOf(this)
        }

        internal fun get(id: String) = id

        fun Int.get(): Int = this
        """,
    "src/main/kotlin/com/acme/auth/Login.kt": """
        package com.acme.auth

        import com.acme.store.Kind
        import com.acme.store.Registry
        import com.acme.store.Repo
        import com.acme.store.Repo.Companion.open
        import com.acme.store.User as Person
        import com.acme.text.Texts.parted as split
        import com.acme.text.orNew
        import com.acme.text.refill
        import com.acme.text.shorten

        class Login @Inject constructor(private val repo: Repo, other: Repo) {
            private val lazily by lazy { Repo(3) }
            private val made = Repo(4)
            private lateinit var late: Person

            init {
                setUp()
            }

            suspend fun check(id: String): Boolean {
                val user = repo.find(id.shorten()) ?: return false
                user.name()
                late!!.name()
                id.split()
                lazily.find(id)
                made.refill()?.name()
                repo.orNew().find(id)
                val opened = open()
                opened.find(id)
                Registry.register(repo)
                listOf(id).map(::helper).forEach(this::show)
                val callback = object : Repo(5) {
                    override fun find(id: String) = null
                }
                val run: (String) -> Unit = { helper(it) }
                run(id)
                unknown.get()
                when (val found = repo.find(id)) {
                    is Person if found.isReady() -> found.name()
                    is Any? -> if (id == "x") { found -> found }
                }
                return user `is` made
            }

            private fun setUp() {}

            private fun helper(id: String) = Kind.FAST.show()

            private fun show(id: Any) = id.describe()

            private fun Any.describe() = 3
        }

        fun signIn(login: Login) = login.check("ada")
        """,
    "src/main/java/com/acme/Main.java": """
        package com.acme;

        import com.acme.auth.Login;
        import com.acme.auth.LoginKt;
        import com.acme.store.Registry;
        import com.acme.store.Repo;

        public class Main {
            public static void run(Login login) {
                LoginKt.signIn(new Login(Repo.open(), null));
                Repo.Companion.open().find("ada");
                Registry.INSTANCE.register(null);
                login.check("bob");
            }

            public int count() { return 0; }
        }
        """,
    "src/main/kotlin/com/acme/Start.kt": """
        package com.acme

        fun main() {
            Main.run(null)
            Main().count()
        }
        """,
    "src/test/kotlin/com/acme/auth/LoginTest.kt": """
        package com.acme.auth

        class LoginTest {
            @Test
            fun `lets users in`() {
                signIn(Login(repo, repo))
            }
        }
        """,
}


@pytest.fixture(scope="module")
def project():
    return CodeProject(FILES)


def test_symbols_are_named_by_package_and_class(project):
    assert project.symbols("src/main/kotlin/com/acme/store/Repo.kt") == [
        ("constant", "com.acme.store.MOST"),
        ("class", "com.acme.store.Repo"),
        ("method", "com.acme.store.Repo.size"),
        ("method", "com.acme.store.Repo.find"),
        ("method", "com.acme.store.Repo.count"),
        ("constant", "com.acme.store.Repo.LIMIT"),
        ("method", "com.acme.store.Repo.open"),
        ("class", "com.acme.store.User"),
        ("method", "com.acme.store.User.name"),
        ("method", "com.acme.store.User.isReady"),
    ]
    assert project.symbols("src/main/kotlin/com/acme/store/Base.kt") == [
        ("class", "com.acme.store.Base"),
        ("method", "com.acme.store.Base.check"),
        ("interface", "com.acme.store.Finder"),
        ("method", "com.acme.store.Finder.find"),
        ("class", "com.acme.store.Registry"),
        ("method", "com.acme.store.Registry.register"),
        ("class", "com.acme.store.Kind"),
        ("method", "com.acme.store.Kind.show"),
        ("class", "com.acme.store.Users"),
    ]
    assert ("method", "com.acme.text.shorten") in project.symbols("src/main/kotlin/com/acme/text/Text.kt")
    assert project.symbol("com.acme.store.Repo").doc == "Keeps users."
    assert not any(file.problem for file in project.files.values())


def test_calls_lead_through_properties_companions_extensions_and_bases(project):
    calls = project.references("calls")
    assert {pair for pair in calls if pair[0].startswith("com.acme.store")} == {
        ("com.acme.store.Repo.size", "com.acme.store.Repo.count"),
        ("com.acme.store.Repo.find", "com.acme.store.Base.check"),
        ("com.acme.store.Repo.open", "com.acme.store.Repo"),
        ("com.acme.store.Registry.register", "com.acme.store.Repo.find"),
    }
    assert {pair for pair in calls if pair[0].startswith("com.acme.text")} == {
        ("com.acme.text.orNew", "com.acme.store.Repo.open"),
        ("com.acme.text.refill", "com.acme.store.Repo.find"),
    }
    assert {pair for pair in calls if pair[0].startswith("com.acme.auth.Login")} == {
        ("com.acme.auth.Login", "com.acme.store.Repo"),
        ("com.acme.auth.Login", "com.acme.auth.Login.setUp"),
        ("com.acme.auth.Login.check", "com.acme.text.shorten"),
        ("com.acme.auth.Login.check", "com.acme.store.Repo.find"),
        ("com.acme.auth.Login.check", "com.acme.store.User.name"),
        ("com.acme.auth.Login.check", "com.acme.store.User.isReady"),
        ("com.acme.auth.Login.check", "com.acme.text.refill"),
        ("com.acme.auth.Login.check", "com.acme.text.Texts.parted"),
        ("com.acme.auth.Login.check", "com.acme.text.orNew"),
        ("com.acme.auth.Login.check", "com.acme.store.Repo.open"),
        ("com.acme.auth.Login.check", "com.acme.store.Registry.register"),
        ("com.acme.auth.Login.check", "com.acme.auth.Login.helper"),
        ("com.acme.auth.Login.check", "com.acme.auth.Login.show"),
        ("com.acme.auth.Login.check", "com.acme.store.Repo"),
        ("com.acme.auth.Login.show", "com.acme.auth.Login.describe"),
        ("com.acme.auth.LoginTest.lets users in", "com.acme.auth.Login"),
        ("com.acme.auth.LoginTest.lets users in", "com.acme.auth.signIn"),
    }


def test_java_and_kotlin_call_each_other(project):
    assert project.references("calls", path="src/main/java/com/acme/Main.java") == {
        ("com.acme.Main.run", "com.acme.auth.signIn"),
        ("com.acme.Main.run", "com.acme.auth.Login"),
        ("com.acme.Main.run", "com.acme.auth.Login.check"),
        ("com.acme.Main.run", "com.acme.store.Repo.open"),
        ("com.acme.Main.run", "com.acme.store.Repo.find"),
        ("com.acme.Main.run", "com.acme.store.Registry.register"),
    }
    assert project.references("calls", path="src/main/kotlin/com/acme/Start.kt") == {
        ("com.acme.main", "com.acme.Main.run"),
        ("com.acme.main", "com.acme.Main"),
        ("com.acme.main", "com.acme.Main.count"),
    }


def test_imports_lead_to_what_they_name_or_to_the_files_that_are_used(project):
    login = "src/main/kotlin/com/acme/auth/Login.kt"
    assert project.references("imports", path=login) == {
        (login, "com.acme.store.Kind"),
        (login, "com.acme.store.Registry"),
        (login, "com.acme.store.Repo"),
        (login, "com.acme.store.Repo.open"),
        (login, "com.acme.store.User"),
        (login, "com.acme.text.orNew"),
        (login, "com.acme.text.refill"),
        (login, "com.acme.text.Texts.parted"),
        (login, "com.acme.text.shorten"),
    }
    text = "src/main/kotlin/com/acme/text/Text.kt"
    assert project.references("imports", path=text) == {
        (text, "src/main/kotlin/com/acme/store/Repo.kt"),
        (text, "com.acme.store.Repo"),
        (text, "com.acme.store.User"),
    }


def test_classes_and_objects_inherit(project):
    assert project.references("inherits") == {
        ("com.acme.store.Repo", "com.acme.store.Base"),
        ("com.acme.store.Repo", "com.acme.store.Finder"),
        ("com.acme.store.Registry", "com.acme.store.Finder"),
    }


def test_tests_are_told_by_their_folders(project):
    assert "com.acme.auth.LoginTest.lets users in" in project.tests(
        "src/test/kotlin/com/acme/auth/LoginTest.kt"
    )
    assert not project.tests("src/main/kotlin/com/acme/auth/Login.kt")
