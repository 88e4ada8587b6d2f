"""PHP: namespaces, traits, promoted properties, what is loaded."""

import pytest
from code_projects import CodeProject

FILES = {
    "src/Store/Repo.php": r"""
        <?php

        /**
         * This file is part of acme, under the MIT license.
         */

        declare(strict_types=1);

        namespace Acme\Store;

        use JsonException;
        use Vendor\Log\{Logger, Sink as Drain};

        /** Keeps users. Nothing else. */
        #[Stored]
        final class Repo extends Base implements Finder
        {
            use Cached;

            public const LIMIT = 3;

            public static function open(): static
            {
                return new static(\count([]), namespace\limit());
            }

            public function find(string $id): ?User
            {
                $this->check($id);
                parent::check($id);
                self::LIMIT && static::open();
                Logger::debug($id);
                $made = new class extends Base {
                    public function run() { $this->ready(); }
                };
                return $this->cached($id) ?? throw new JsonException();
            }
        }

        class User
        {
            public function name(): string { return helper('x'); }
        }
        """,
    "src/Store/Base.php": r"""
        <?php
        namespace Acme\Store;

        require_once __DIR__ . '/../helpers.php';
        include "lib/legacy.php";
        require $path;

        interface Finder { public function find(string $id): ?User; }

        trait Cached
        {
            use Counted;

            protected function cached(string $id): ?User { $this->counted(); return null; }
        }

        trait Counted { private function counted() {} }

        abstract class Base
        {
            protected function check(string $id) {}
        }
        """,
    "src/helpers.php": "<?php\nfunction helper($x) { return limit(); }\nfunction limit() {}\nconst MOST = 3;",
    "old/lib/legacy.php": "<?php\nnamespace Old { function run() {} }\nnamespace { \\Old\\run(); }\n",
    "src/Auth/Login.php": r"""
        <?php
        // Lets users in, and keeps them there.
        namespace Acme\Auth;

        use Acme\Store;
        use Acme\Store\{Finder, Repo as Users};

        class Login
        {
            private $other;

            public function __construct(private readonly Users $repo, Finder $finder)
            {
                $this->finder = $finder;
                $this->other = new Store\User();
            }

            public function check(string $id, ?Finder $any = null): bool
            {
                $user = $this->repo->find($id);
                $this->finder?->find($id);
                $user->name();
                $this->other->name();
                Users::open()->find($id);
                (new \Acme\Store\Repo())->find($id);
                array_map([$this, 'helper'], [Store\Repo::class, 'open']);
                $run = function ($any) use ($id) { return $any->find($id); };
                return $this->helper($user);
            }

            private function helper($user) { return $user !== null; }
        }
        """,
    "tests/Auth/LoginTest.php": r"""
        <?php
        namespace Acme\Tests;

        use Acme\Auth\Foreign;
        use Acme\Auth\Login;
        use PHPUnit\Framework\TestCase;

        class LoginTest extends TestCase
        {
            public function testLetsUsersIn(): void { (new Login())->check('ada'); }
        }
        """,
    "spec/Login.php": r"""
        <?php
        use Acme\Auth\Login;

        it('lets users in', function () {
            $login = new Login();
            expect($login->check('ada'))->toBeTrue();
        });
        """,
}


@pytest.fixture(scope="module")
def project():
    return CodeProject({path: text.strip() for path, text in FILES.items()})


def test_symbols_are_named_as_php_names_them(project):
    assert project.symbols("src/Store/Repo.php") == [
        ("class", r"Acme\Store\Repo"),
        ("constant", r"Acme\Store\Repo::LIMIT"),
        ("method", r"Acme\Store\Repo::open"),
        ("method", r"Acme\Store\Repo::find"),
        ("method", "src/Store/Repo.php\\run"),
        ("class", r"Acme\Store\User"),
        ("method", r"Acme\Store\User::name"),
    ]
    assert project.symbols("src/helpers.php") == [
        ("function", "helper"),
        ("function", "limit"),
        ("constant", "MOST"),
    ]
    assert project.symbol(r"Acme\Store\Repo").doc == "Keeps users."
    assert project.files["src/Auth/Login.php"].purpose == "Lets users in, and keeps them there."
    assert not any(file.problem for file in project.files.values())


def test_calls_lead_through_properties_aliases_traits_and_bases(project):
    assert project.references("calls") == {
        (r"Acme\Store\Repo::find", r"Acme\Store\Base::check"),
        (r"Acme\Store\Repo::find", r"Acme\Store\Repo::open"),
        (r"Acme\Store\Repo::find", r"Acme\Store\Cached::cached"),
        (r"Acme\Store\Cached::cached", r"Acme\Store\Counted::counted"),
        (r"Acme\Store\User::name", "helper"),
        ("helper", "limit"),
        ("old/lib/legacy.php", r"Old\run"),
        (r"Acme\Auth\Login::__construct", r"Acme\Store\User"),
        (r"Acme\Auth\Login::check", r"Acme\Store\Repo"),
        (r"Acme\Auth\Login::check", r"Acme\Store\Repo::find"),
        (r"Acme\Auth\Login::check", r"Acme\Store\Repo::open"),
        (r"Acme\Auth\Login::check", r"Acme\Store\Finder::find"),
        (r"Acme\Auth\Login::check", r"Acme\Store\User::name"),
        (r"Acme\Auth\Login::check", r"Acme\Auth\Login::helper"),
        (r"Acme\Tests\LoginTest::testLetsUsersIn", r"Acme\Auth\Login"),
        (r"Acme\Tests\LoginTest::testLetsUsersIn", r"Acme\Auth\Login::check"),
        ("spec/Login.php\\lets users in", r"Acme\Auth\Login"),
        ("spec/Login.php\\lets users in", r"Acme\Auth\Login::check"),
    }


def test_uses_lead_to_classes_and_what_is_loaded_to_files(project):
    assert project.references("imports") == {
        ("src/Store/Base.php", "src/helpers.php"),
        ("src/Store/Base.php", "old/lib/legacy.php"),
        ("src/Store/Base.php", r"Acme\Store\User"),
        ("src/Auth/Login.php", r"Acme\Store\Finder"),
        ("src/Auth/Login.php", r"Acme\Store\Repo"),
        ("src/Auth/Login.php", "src/Store/Base.php"),
        ("src/Auth/Login.php", "src/Store/Repo.php"),
        ("tests/Auth/LoginTest.php", r"Acme\Auth\Login"),
        ("spec/Login.php", r"Acme\Auth\Login"),
    }
    assert project.references("imports", internal=False) == {
        ("src/Store/Repo.php", "JsonException"),
        ("src/Store/Repo.php", r"Vendor\Log\Logger"),
        ("src/Store/Repo.php", r"Vendor\Log\Sink"),
        ("tests/Auth/LoginTest.php", r"PHPUnit\Framework\TestCase"),
    }


def test_classes_interfaces_and_traits_are_inherited(project):
    assert project.references("inherits") == {
        (r"Acme\Store\Repo", r"Acme\Store\Base"),
        (r"Acme\Store\Repo", r"Acme\Store\Finder"),
        (r"Acme\Store\Repo", r"Acme\Store\Cached"),
        (r"Acme\Store\Cached", r"Acme\Store\Counted"),
    }


def test_tests_are_told_by_their_files(project):
    assert r"Acme\Tests\LoginTest::testLetsUsersIn" in project.tests("tests/Auth/LoginTest.php")
    assert "spec/Login.php\\lets users in" in project.tests("spec/Login.php")
    assert not project.tests("src/Auth/Login.php")
