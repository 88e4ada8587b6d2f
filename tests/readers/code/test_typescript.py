"""JavaScript and TypeScript: what is defined, and what it means elsewhere."""

import pytest
from code_projects import CodeProject

FILES = {
    "tsconfig.json": """
        {
          // Where our own modules lie.
          "compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]},},
        }
        """,
    "packages/text/package.json": '{"name": "@acme/text", "main": "dist/index.js", "description": "Words."}',
    "packages/text/src/index.js": """
        export { shorten } from './shorten.js'
        export * from './pad.js'
        """,
    "packages/text/src/shorten.js": "export function shorten(text) { return text.slice(0, 80) }\n",
    "packages/text/src/pad.js": "export const pad = (text) => text.padEnd(80)\n",
    "src/store/repo.ts": """
        // Copyright 2024 Acme. All rights reserved.

        /**
         * Keeps users in the database. Nothing else does.
         */

        import { Pool } from 'pg';

        /** A row of the table of users. */
        export interface User { id: string; }

        export abstract class Store<T> {
          protected pool = new Pool();
          abstract find(id: string): Promise<T>;
          close(): void { this.pool.end(); }
        }

        /** Finds users, e.g. by name. Is slow. */
        export default class Repo extends Store<User> {
          async find(id: string): Promise<User> { return this.pool.query(id); }
          static open(): Repo { return new Repo(); }
        }
        """,
    "src/auth/login.ts": """
        import Repo, { type User } from '@/store/repo';
        import * as text from '@acme/text';
        import { log } from './log';

        export const LIMIT = 3;

        export class Login {
          constructor(private readonly repo: Repo, readonly onFail?: (user: User) => void) {}

          /** Is the password right? */
          async check(id: string): Promise<boolean> {
            const user = await this.repo.find(id);
            log(text.shorten(id));
            text.pad(id);
            this.fail();
            this.onFail?.(user);
            return true;
          }

          private fail = () => { log('failed'); };
        }

        export function login(id: string, log: (text: string) => void): Promise<boolean> {
          log(id);
          const made = create();
          return made.check(id);
        }

        function create(): Login {
          const repo = Repo.open();
          repo.close();
          return new Login(repo);
        }
        """,
    "src/auth/log.js": """
        const fs = require('fs');
        exports.log = function (text) { fs.writeSync(1, text); };
        """,
    "src/auth/login.test.ts": """
        import { describe, it, expect } from 'vitest';
        import { login } from './login';

        describe('login', () => {
          it('lets users in', async () => { expect(await login('ada', console.log)).toBe(true); });
        });
        """,
    "src/view/Panel.tsx": """
        import React from 'react';
        import { Login } from '../auth/login';

        export class Panel extends React.Component {
          login: Login;
          render() { return <button onClick={() => this.login.check('ada')}>in</button>; }
        }
        """,
}


@pytest.fixture(scope="module")
def project():
    return CodeProject(FILES)


def test_a_module_is_named_by_its_path_and_holds_classes_functions_and_constants(project):
    assert project.symbols("src/auth/login.ts") == [
        ("constant", "src/auth/login.LIMIT"),
        ("class", "src/auth/login.Login"),
        ("method", "src/auth/login.Login.constructor"),
        ("method", "src/auth/login.Login.check"),
        ("method", "src/auth/login.Login.fail"),
        ("function", "src/auth/login.login"),
        ("function", "src/auth/login.create"),
    ]
    assert project.symbols("src/store/repo.ts") == [
        ("interface", "src/store/repo.User"),
        ("class", "src/store/repo.Store"),
        ("method", "src/store/repo.Store.find"),
        ("method", "src/store/repo.Store.close"),
        ("class", "src/store/repo.Repo"),
        ("method", "src/store/repo.Repo.find"),
        ("method", "src/store/repo.Repo.open"),
    ]
    assert project.symbols("src/auth/log.js") == [("function", "src/auth/log.log")]


def test_what_a_file_is_for_is_its_leading_comment_and_no_licence(project):
    assert project.files["src/store/repo.ts"].purpose == "Keeps users in the database."
    assert project.files["packages/text/package.json"].purpose == "Words."
    assert project.files["src/auth/login.ts"].purpose == "defines Login, login, create"


def test_a_definition_is_described_by_the_first_sentence_above_it(project):
    assert project.symbol("src/store/repo.Repo").doc == "Finds users, e.g. by name."
    assert project.symbol("src/auth/login.Login.check").doc == "Is the password right?"
    assert not project.symbol("src/auth/login.login").doc


def test_lines_are_those_of_the_file(project):
    login = project.symbol("src/auth/login.login")
    assert (login.line, login.end_line) == (24, 28)


def test_tests_are_told_by_their_files_and_named_by_what_they_say(project):
    assert project.tests("src/auth/login.test.ts") == [
        "src/auth/login.test",
        "src/auth/login.test.login",
        "src/auth/login.test.login.lets users in",
    ]
    assert not project.tests("src/auth/login.ts")


def test_imports_lead_to_what_is_taken_through_aliases_packages_and_other_modules(project):
    assert project.references("imports") == {
        ("packages/text/src/index", "packages/text/src/shorten.shorten"),
        ("packages/text/src/index", "packages/text/src/pad"),
        ("src/auth/login", "src/store/repo.Repo"),
        ("src/auth/login", "src/store/repo.User"),
        ("src/auth/login", "packages/text/src/index"),
        ("src/auth/login", "src/auth/log.log"),
        ("src/auth/login.test", "src/auth/login.login"),
        ("src/view/Panel", "src/auth/login.Login"),
    }
    assert project.references("imports", internal=False) == {
        ("src/store/repo", "pg"),
        ("src/auth/log", "fs"),
        ("src/auth/login.test", "vitest"),
        ("src/view/Panel", "react"),
    }


def test_calls_lead_through_imports_fields_and_what_functions_return(project):
    assert project.references("calls") == {
        ("src/store/repo.Repo.open", "src/store/repo.Repo"),
        ("src/auth/login.Login.check", "src/store/repo.Repo.find"),
        ("src/auth/login.Login.check", "src/auth/log.log"),
        ("src/auth/login.Login.check", "packages/text/src/shorten.shorten"),
        ("src/auth/login.Login.check", "packages/text/src/pad.pad"),
        ("src/auth/login.Login.check", "src/auth/login.Login.fail"),
        ("src/auth/login.Login.fail", "src/auth/log.log"),
        ("src/auth/login.login", "src/auth/login.create"),
        ("src/auth/login.login", "src/auth/login.Login.check"),
        ("src/auth/login.create", "src/store/repo.Repo.open"),
        ("src/auth/login.create", "src/store/repo.Store.close"),
        ("src/auth/login.create", "src/auth/login.Login"),
        ("src/auth/login.test.login.lets users in", "src/auth/login.login"),
        ("src/view/Panel.Panel.render", "src/auth/login.Login.check"),
    }


def test_a_parameter_hides_the_import_of_its_name(project):
    assert ("src/auth/login.login", "src/auth/log.log") not in project.references("calls")


def test_calls_of_other_packages_are_named_as_the_world_knows_them(project):
    assert ("src/auth/log.log", "fs.writeSync") in project.references("calls", internal=False)


@pytest.mark.parametrize("ending", ["js", "ts", "tsx"])
def test_a_module_that_a_promise_gives_is_that_of_its_callback_alone(ending):
    project = CodeProject(
        {
            f"sea.{ending}": "export const wave = (x) => x\nexport default function tide() {}\n",
            f"use.{ending}": """
                function a() { return import('./sea').then(m => m.wave(1)) }
                function b() { import('./sea').then((m) => { m.wave(1) }).catch((m) => m.wave(2)) }
                function c() { import("./sea").then(async function (m) { await m.wave(1) }) }
                function d() { import('./sea').then(m => m.default()) }
                function e() { import('./sea').then(({ wave }) => wave(1)) }
                function f() { import('./sea').then(({ a, wave: b, default: c }) => { b(1); a.b(); c() }) }
                function g() { import('./sea').then(m => m(1)) }
                function other(list, wave, c) { wave(1); c() }
                function others(list) { return list.map(m => m.wave(1)).then(m => m.wave(1)) }
                """,
        }
    )
    assert project.references("calls") == {
        *((f"use.{name}", "sea.wave") for name in "abcef"),
        *((f"use.{name}", "sea.tide") for name in "df"),
    }


def test_classes_inherit_from_those_of_the_file_and_of_elsewhere(project):
    assert project.references("inherits") == {("src/store/repo.Repo", "src/store/repo.Store")}
    assert project.references("inherits", internal=False) == {("src/view/Panel.Panel", "react.Component")}


REQUIRING = {
    "src/tools.js": "exports.pack = function () {};\nexports.send = function () {};\n",
    "src/whole.js": "const pack = require('./tools').pack;\nfunction go() { pack(); }\n",
    "src/called.js": "require('./tools')('now');\n",
    "src/within.js": "const { deep } = require('./tools').pack;\n",
    "src/used.js": "run(require('./tools').send());\n",
    "src/late.js": "async function go() { const tools = await import('./tools'); }\n",
    "src/plain.js": "const main = require('./tools').default;\n",
    "src/optional.ts": "const send = require('./tools')?.send;\n",
}


@pytest.mark.parametrize("name", [name for name in REQUIRING if name != "src/tools.js"])
def test_what_is_required_in_whatever_place_is_an_import(name):
    targets = {
        target
        for source, target in CodeProject(REQUIRING).references("imports")
        if source.startswith(name.rpartition(".")[0])
    }
    assert any(target.startswith("src/tools") for target in targets)


def test_a_part_of_what_is_required_is_what_is_called():
    calls = CodeProject(REQUIRING).references("calls")
    assert ("src/whole.go", "src/tools.pack") in calls


def test_a_function_that_is_given_away_is_used_as_is_a_component():
    project = CodeProject(
        {
            "src/app.tsx": """
                import { Button, close } from "./parts"

                function save() {}
                class Form {
                  send() { on("done", this.retry) }
                  retry() {}
                }
                export function App(width: number) {
                  const handlers = { click: save }
                  on("load", close, width)
                  return <Button onClick={save}><p>{width}</p></Button>
                }
                """,
            "src/parts.jsx": """
                export function Button(props) { return <Ui.Frame /> }
                export function close(width) {}
                export function width() {}
                const Ui = { Frame: Button }
                """,
        }
    )
    assert project.references("calls") == {
        ("src/app.App", "src/app.save"),
        ("src/app.App", "src/parts.Button"),
        ("src/app.App", "src/parts.close"),
        ("src/app.Form.send", "src/app.Form.retry"),
        ("src/parts", "src/parts.Button"),
    }


def test_functions_that_are_assigned_to_an_object_are_its_methods():
    project = CodeProject(
        {
            "src/boat.js": """
                var send = require('send');
                var boat = module.exports = {};

                boat.moor = function moor(berth) { this.signal(); return pack(berth); };
                boat.signal = boat.flag = function () { send('moored'); };
                boat.send = () => { send('away'); };
                function pack(berth) { return function () { return berth; }; }
                function Crew() {}
                Crew.prototype.work = function () { this.rest(); rest(); };
                Crew.prototype.rest = function () {};
                """,
            "src/harbour.js": """
                var boat = require('./boat');
                function open() { boat.moor(4); }
                """,
        }
    )
    assert project.symbols("src/boat.js") == [
        ("method", "src/boat.boat.moor"),
        ("method", "src/boat.boat.signal"),
        ("method", "src/boat.boat.send"),
        ("function", "src/boat.pack"),
        ("function", "src/boat.Crew"),
        ("method", "src/boat.Crew.work"),
        ("method", "src/boat.Crew.rest"),
    ]
    assert project.references("calls") == {
        ("src/boat.boat.moor", "src/boat.boat.signal"),
        ("src/boat.boat.moor", "src/boat.pack"),
        ("src/boat.Crew.work", "src/boat.Crew.rest"),
    }


COMMONJS = {
    "index.js": "module.exports = require('./lib/tide')\n",
    "lib/tide.js": """
        function rise(x) { return x }
        module.exports = {
          rise, up: rise, fall() { return 2 }, ebb: (x) => x, moon: require('./moon'), ...require('./wind')
        }
        """,
    "lib/moon.js": """
        module.exports = function (x) { return x }
        module.exports.phase = require('./wind').blow
        """,
    "lib/wind.js": "exports.blow = (x) => x\n",
    "bin/main.js": """
        const tide = require('../')
        function a() { tide.rise(1) }
        function b() { tide.up(1) }
        function c() { tide.fall() }
        function d() { tide.ebb(1) }
        function e() { tide.moon(1) }
        function f() { tide.moon.phase(1) }
        function g() { tide.blow(1) }
        function h() { require('../lib/wind').blow(1) }
        function i() { require('../lib/moon')(1) }
        function j() { require('../lib/tide').moon.phase(1) }
        function k() { require('../lib/wind').other(1) }
        """,
}


def test_what_commonjs_exports_and_exports_again_is_called_in_whatever_way():
    calls = CodeProject(COMMONJS).references("calls", path="bin/main.js")
    assert calls == {
        ("bin/main.a", "lib/tide.rise"),
        ("bin/main.b", "lib/tide.rise"),
        ("bin/main.c", "lib/tide.fall"),
        ("bin/main.d", "lib/tide.ebb"),
        ("bin/main.e", "lib/moon"),
        ("bin/main.f", "lib/wind.blow"),
        ("bin/main.g", "lib/wind.blow"),
        ("bin/main.h", "lib/wind.blow"),
        ("bin/main.i", "lib/moon"),
        ("bin/main.j", "lib/wind.blow"),
    }


def test_a_module_with_a_default_export_keeps_its_other_ones():
    project = CodeProject(
        {
            "sea.mjs": "export default function sea() {}\nexport const wave = (x) => x\n",
            "star.mjs": "export * from './sea.mjs'\nexport * as sea from './sea.mjs'\n",
            "use.mjs": """
                import * as sea from './sea.mjs'
                import * as star from './star.mjs'
                function a() { sea.wave(1) }
                function b() { star.wave(1) }
                function c() { star.sea.wave(1) }
                async function d() { const loaded = await import('./sea.mjs'); loaded.wave(1) }
                async function e() { (await import('./sea.mjs')).wave(1) }
                """,
        }
    )
    assert project.references("calls") == {(f"use.{name}", "sea.wave") for name in "abcde"}
