"""The page in a headless browser against a running server: what a person does with it."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from shared_home import ADA, BOB, fetch, make_shared, share, statement
from shared_home import HOSTILE as SHARED_HOSTILE

from ragmem.cli.common import size
from ragmem.services.processes.operation import SharedProgress
from ragmem.services.processes.progress import Silent

HOSTILE = (
    'Zebrafish <img src=x onerror="window.ran=1"> gateway <script>window.ran=2</script>'
    ' was decided because "><svg onload=window.ran=3> of the `Zebrafish` tank.'
)


@dataclass
class Visit:
    """A browser on the page, and what went wrong in it."""

    page: Any
    server: Any
    told: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def go(self, place: str) -> None:
        # Another place in the same page: its script runs on.
        self.page.evaluate("place => { location.hash = place }", place)

    def post(self, path: str, **body: Any) -> Any:
        answer = httpx.post(self.server.url + path, headers=self.server.headers, json=body, timeout=30)
        answer.raise_for_status()
        return answer.json()


@pytest.fixture
def visit(browser, own_server):
    with visiting(browser, own_server) as made:
        yield made


@contextmanager
def visiting(browser, server, **options):
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, color_scheme="light", reduced_motion="reduce", **options
    )
    made = Visit(context.new_page(), server)
    made.page.set_default_timeout(15_000)
    made.page.on("console", lambda said: said.type == "error" and made.told.append(said.text))
    made.page.on("pageerror", lambda error: made.told.append(str(error)))
    made.page.on(
        "request",
        lambda asked: None if asked.url.startswith((server.url, "data:")) else made.foreign.append(asked.url),
    )
    yield made
    context.close()
    assert not made.foreign


@pytest.fixture
def inside(visit):
    visit.page.goto(f"{visit.server.url}/#token={visit.server.token}")
    visit.page.get_by_role("heading", name="Search").wait_for()
    yield visit
    assert not visit.told


def test_a_wrong_token_stays_out_and_the_right_one_lets_in_until_one_signs_out(visit):
    page = visit.page
    page.goto(visit.server.url)
    page.get_by_label("Token").fill("x" * 43)
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("the token is wrong").wait_for()
    assert page.get_by_text("ragmem serve --print-token").is_visible()
    page.get_by_label("Token").fill(visit.server.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Search").wait_for()
    page.reload()
    page.get_by_role("heading", name="Search").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()
    assert page.evaluate("document.cookie") == ""
    assert len(visit.told) == 1  # the browser tells of the answer 401 to the wrong token
    assert "401" in visit.told[0]


def test_the_token_leaves_the_address_at_once(inside):
    assert inside.server.token not in inside.page.url
    inside.go("#/health")
    inside.page.go_back()
    assert inside.server.token not in inside.page.url
    assert not inside.page.evaluate("Object.values({...localStorage, ...sessionStorage}).join()")


def test_a_search_explains_its_scores_and_the_address_keeps_it(inside):
    page = inside.page
    # On a slow machine the first words are asked for while the last ones are typed.
    with page.expect_response(lambda answer: "on Kubernetes" in (answer.request.post_data or "")):
        page.keyboard.press("/")
        page.keyboard.type("why did we move to PostgreSQL on Kubernetes")
    page.locator(".answers:not(.waiting)").wait_for()
    result = page.locator(".result", has_text="Deploy").first
    result.locator("mark", has_text="PostgreSQL").first.wait_for()
    assert {"words", "recency"} <= set(result.locator(".terms dt").all_inner_texts())
    score = result.locator(".score-total strong").inner_text()
    assert 0 < float(score) <= 1

    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Memory")
    panel.get_by_text("the volume was never resized").wait_for()
    panel.get_by_text("Position").wait_for()
    page.reload()
    panel.get_by_text("the volume was never resized").wait_for()
    assert page.get_by_label("Search memories").input_value().startswith("why did we move")
    page.keyboard.press("Escape")
    panel.wait_for(state="detached")
    page.go_back()
    panel.get_by_text("the volume was never resized").wait_for()

    panel.get_by_role("button", name="Useful", exact=True).click()
    page.get_by_text("Rated: useful").wait_for()
    panel.get_by_role("button", name="Pin").click()
    panel.get_by_role("button", name="Pinned").wait_for()


def test_a_node_of_the_graph_opens_with_its_neighbours_and_memories(inside):
    page = inside.page
    inside.go("#/graph")
    page.locator(".graph-top[data-settled]").wait_for()
    place = page.evaluate("""() => {
        const { nodes } = window.ragmemGraph;
        const node = nodes.find(one => one.label === 'PostgreSQL') ?? nodes[0];
        return { ...window.ragmemGraph.placeOf(node.id), label: node.label };
    }""")
    box = page.locator(".graph-top").bounding_box()
    page.mouse.move(box["x"] + place["x"], box["y"] + place["y"])
    page.locator(".graph-told strong", has_text=place["label"]).wait_for()
    page.mouse.down()
    page.mouse.up()
    panel = page.get_by_role("complementary", name="Name")
    panel.get_by_role("heading", name=place["label"]).wait_for()
    assert panel.locator(".link-list li").count() > 0
    panel.locator(".told-list a").first.click()
    page.get_by_role("complementary", name="Memory").get_by_text("Position").wait_for()

    shown = page.locator(".legend button").first
    before = page.locator(".graph-told").inner_text()
    shown.click()
    assert shown.get_attribute("aria-pressed") == "false"
    assert page.locator(".graph-told").inner_text() != before


def test_what_is_forgotten_lies_in_the_archive_and_can_be_restored(inside):
    page = inside.page
    stored = inside.post("/v1/memory/memories", text="A passing line on lamps and wicks.", title="Lamps")
    inside.go(f"#/search?q=&open={stored['id']}")
    page.get_by_role("button", name="Forget").click()
    asked = page.get_by_role("dialog", name="Forget this memory?")
    asked.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Forget").click()
    asked.get_by_role("button", name="Forget").click()
    page.get_by_text("Forgotten: it is archived").wait_for()
    page.keyboard.press("4")
    page.get_by_role("button", name="Restore Lamps").click()
    page.get_by_text("Restored: Lamps").wait_for()
    page.get_by_role("button", name="Restore Lamps").wait_for(state="detached")
    again = httpx.get(
        f"{inside.server.url}/v1/memory/memories/{stored['id']}", headers=inside.server.headers, timeout=30
    )
    assert again.json()["title"] == "Lamps"


def test_a_message_between_agents_appears_by_itself_and_one_can_be_sent(inside):
    page = inside.page
    page.keyboard.press("5")
    page.get_by_text("No agents yet").wait_for()
    page.locator(".wire.live").wait_for()
    inside.post("/heartbeat", agent_id="builder", status="working", current_task="build <b>main</b>")
    page.locator(".agent", has_text="build <b>main</b>").wait_for()
    inside.post("/signal", to="builder", type="message", **{"from": "page-test"}, text="the tide turns")
    page.locator(".feed").get_by_text("the tide turns").wait_for()

    page.get_by_label("Message", exact=True).fill("come about")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("Sent to all").wait_for()
    waiting = httpx.get(
        f"{inside.server.url}/messages/pending?agent_id=builder", headers=inside.server.headers, timeout=30
    ).json()["messages"]
    assert [one["text"] for one in waiting] == ["the tide turns", "come about"]


def test_a_search_is_limited_to_a_span_of_time(inside):
    page = inside.page
    for year in ("2003", "2013"):
        inside.post(
            "/v1/memory/memories",
            text=f"The lighthouse lamp of {year} was chosen because it turns on mercury.",
            title=f"Lamp of {year}",
            event_time=f"{year}-03-03T00:00:00Z",
        )
    inside.go("#/search?q=lighthouse+lamp+mercury&nearest=1")
    titles = page.locator(".result-title", has_text="Lamp of")
    titles.nth(1).wait_for()
    page.get_by_role("combobox", name="Time").select_option("between two days")
    page.get_by_label("Before this day").fill("2010-01-01")
    titles.nth(1).wait_for(state="detached")
    assert titles.all_inner_texts() == ["Lamp of 2003"]
    page.get_by_label("Since this day").fill("2004-01-01")
    page.get_by_text("No results").wait_for()
    page.get_by_role("button", name="Search without filters").click()
    titles.nth(1).wait_for()


def test_an_excerpt_has_no_blanks_where_the_signs_of_markdown_were(inside):
    inside.post("/v1/memory/memories", text="The gannets need `make gannets`, **always**.", title="Diving")
    inside.go("#/search?q=gannets")
    text = inside.page.locator(".result", has_text="Diving").inner_text()
    assert "The gannets need make gannets, always." in text


def test_a_plan_of_gc_waits_for_its_turn(inside):
    page = inside.page
    inside.post("/v1/memory/memories", text="The plan waits for its turn because one runs.", title="Turn")
    asked = []

    def answer(route):
        asked.append(route.request.post_data_json)
        if len(asked) > 1:
            route.continue_()
        else:
            route.fulfill(status=409, json={"detail": "plan still runs", "hint": ""})

    page.route("**/v1/memory/gc/plan", answer)
    page.keyboard.press("4")
    page.get_by_role("heading", name="Plan of the next gc").wait_for()
    page.locator(".card", has_text="Plan of the next gc").locator(".skeleton").wait_for(state="detached")
    assert page.get_by_text("plan still runs").count() == 0
    assert len(asked) == 2
    (told,) = inside.told
    assert "409" in told
    inside.told.clear()


def test_an_undo_waits_for_its_turn(inside):
    page = inside.page
    stored = inside.post("/v1/memory/memories", text="The dinghy drifts because of ebb.", title="Dinghy")
    asked = []

    def answer(route):
        asked.append(route.request.post_data_json)
        if len(asked) > 1:
            route.continue_()
        else:
            route.fulfill(status=409, json={"detail": "plan still runs", "hint": ""})

    page.route("**/v1/memory/gc/undo", answer)
    inside.go(f"#/search?open={stored['id']}")
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    page.get_by_text("It is back").wait_for()
    assert len(asked) == 2
    assert "409" in inside.told.pop()


def test_html_in_a_memory_is_text_wherever_it_is_shown(inside):
    page = inside.page
    stored = inside.post(
        "/v1/memory/memories", text=HOSTILE, title="<img src=x onerror=window.ran=4>", tags=["<b>tag</b>"]
    )
    inside.go("#/search?q=zebrafish+gateway&nearest=1")
    page.locator(".result-title", has_text="<img src=x").first.click()
    panel = page.get_by_role("complementary", name="Memory")
    panel.get_by_text("window.ran=2").first.wait_for()
    panel.get_by_text("<b>tag</b>").wait_for()
    for place in ("#/timeline", "#/graph?entity=Zebrafish", f"#/lifecycle?open={stored['id']}"):
        inside.go(place)
        page.get_by_role("complementary").or_(page.locator(".result-title", has_text="<img")).first.wait_for()
    assert page.evaluate("window.ran") is None
    assert page.locator("main img, main script, main b").count() == 0


def test_the_page_is_dark_where_the_system_is_and_as_one_chooses(inside):
    page = inside.page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    # Colours change a moment after what decides them; waiting for ever fails.
    page.wait_for_function(f"light => {ground} !== light", arg=light)
    page.get_by_role("button", name="Colours: as the system").click()
    page.wait_for_function(f"light => {ground} === light", arg=light)
    page.reload()
    page.get_by_role("heading", name="Search").wait_for()
    page.wait_for_function(f"light => {ground} === light", arg=light)


def test_every_view_is_reached_and_left_by_keys_alone(inside):
    page = inside.page
    for key, name in enumerate(("Search", "Graph", "Timeline", "Lifecycle", "Agents", "Health"), start=1):
        page.keyboard.press(str(key))
        page.get_by_role("heading", name=name, level=1).wait_for()
    page.locator(".finding, .verdict").first.wait_for()
    page.keyboard.press("3")
    days = page.locator(".days")
    days.focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Show all").wait_for()
    assert "from=" in page.url
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Keys").wait_for(state="detached")
    page.keyboard.press("2")
    page.get_by_label("Find an entity in the graph").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("postgres")
    page.locator("#found-names").get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("complementary", name="Name").get_by_role("heading", level=2).wait_for()


def test_what_is_typed_right_after_the_slash_goes_into_the_box(inside):
    page = inside.page
    slash = """async () => {
        document.activeElement.blur();
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }));
        await null;  // No key comes in between: it would be a task of its own.
        return document.activeElement.id;
    }"""
    assert page.evaluate(slash) == "search"
    page.keyboard.press("Escape")
    page.keyboard.press("6")
    page.get_by_role("heading", name="Health", level=1).wait_for()
    assert page.evaluate(slash) == "search"
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.get_by_label("Find an entity in the graph").wait_for()
    assert page.evaluate(slash) == "find"


def test_nothing_is_cut_off_where_the_window_is_narrow(inside):
    page = inside.page
    page.set_viewport_size({"width": 400, "height": 800})
    for view in ("search", "timeline", "lifecycle", "agents", "health", "graph"):
        inside.go(f"#/{view}")
        page.get_by_role("heading", name=view.title(), level=1).wait_for()
        wide = page.evaluate("document.querySelector('main').scrollWidth - innerWidth")
        assert wide <= 0, view


@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_no_violation_in_any_view(inside, width):
    from axe_playwright_python.sync_playwright import Axe

    page = inside.page
    page.set_viewport_size({"width": width, "height": 900})
    places = ("search", "search?q=PostgreSQL", "graph", "timeline", "lifecycle", "agents", "health")
    # What is dark differs in its colours alone.
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast", "link-in-text-block"]})):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.reload()
        page.evaluate(Axe().axe_script)
        for place in places:
            inside.go(f"#/{place}")
            page.get_by_role("heading", name=place.partition("?")[0].title(), level=1).wait_for()
            page.wait_for_load_state("networkidle")
            found = page.evaluate("rules => axe.run({resultTypes: ['violations'], ...rules})", rules)
            nodes = [(place, one["id"], one["nodes"][0]["html"]) for one in found["violations"]]
            assert (scheme, nodes) == (scheme, [])


@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_no_violation_in_a_panel_or_a_dialog(inside, width):
    from axe_playwright_python.sync_playwright import Axe

    page = inside.page
    page.set_viewport_size({"width": width, "height": 900})
    stored = inside.post(
        "/v1/memory/memories", text="A buoy marks the shoal because of wrecks.", title="Buoy"
    )
    for place in (f"search?open={stored['id']}", "graph?entity=PostgreSQL"):
        inside.go(f"#/{place}")
        page.locator(".panel .panel-title").wait_for()
        page.wait_for_load_state("networkidle")
        assert [one["id"] for one in Axe().run(page).response["violations"]] == []
    inside.go(f"#/search?open={stored['id']}")
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog", name="Forget this memory?").wait_for()
    assert [one["id"] for one in Axe().run(page).response["violations"]] == []


def test_an_empty_home_says_in_each_view_what_comes_next_and_fails_nowhere(browser, tmp_path, start):
    with start(tmp_path) as server, visiting(browser, server) as visit:
        page = visit.page
        page.goto(f"{server.url}/#token={server.token}")
        page.get_by_label("Search memories").wait_for()
        for view in ("search", "search?q=tide", "graph", "timeline", "lifecycle"):
            visit.go(f"#/{view}")
            page.get_by_role("heading", name=view.partition("?")[0].title(), level=1).wait_for()
            page.get_by_text("Nothing is stored yet").wait_for()
            assert page.locator(".empty code").inner_text() == "ragmem setup"
            page.wait_for_load_state("networkidle")
        assert not visit.told


def test_a_source_or_a_kind_without_a_question_lists_its_memories(inside):
    page = inside.page
    inside.go("#/health")
    link = page.locator(".table").get_by_role("link").first
    source = link.inner_text()
    link.click()
    page.get_by_role("heading", name="Search").wait_for()
    sources = page.locator(".result .meta > span:nth-child(3)")
    sources.first.wait_for()
    assert set(sources.all_inner_texts()) == {source}
    page.get_by_role("combobox", name="Time").select_option("older than 12 months")
    page.get_by_role("button", name="Remove the filters").or_(page.locator(".result-title")).first.wait_for()
    inside.go("#/search?source=nowhere")
    page.get_by_text("No memory passes the filters").wait_for()
    page.get_by_role("button", name="Remove the filters").click()
    sources.first.wait_for()


def test_the_box_says_what_the_answers_are_about_after_going_back(inside):
    page = inside.page
    box = page.get_by_label("Search memories")
    box.fill("PostgreSQL")
    page.locator(".answers:not(.waiting) .result-title").first.click()
    page.get_by_role("complementary", name="Memory").wait_for()
    box.fill("gateway")
    page.wait_for_url("**gateway**")
    page.keyboard.press("Control+a")
    page.go_back()
    page.wait_for_url("**q=PostgreSQL**")
    page.wait_for_function("() => document.getElementById('search').value === 'PostgreSQL'")
    assert page.title() == "PostgreSQL – ragmem"


def test_the_focus_returns_to_what_opened_a_panel_or_a_dialog(inside):
    page = inside.page
    focused = "document.activeElement.textContent"
    title = page.locator(".result-title").first
    title.focus()
    name = page.evaluate(focused)
    page.keyboard.press("Enter")
    page.locator(".panel .panel-title").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function(f"name => {focused} === name", arg=name)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Forget").focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Forget this memory?").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function(f"() => {focused}.trim() === 'Forget'")


def test_a_day_is_the_same_day_in_each_time_zone(browser, own_server):
    with visiting(browser, own_server, timezone_id="America/Los_Angeles") as visit:
        page = visit.page
        at = {"2103": "2103-03-03T00:00:00Z", "2013": "2013-03-03T00:00:00Z", "hour": "2013-03-03T05:00:00Z"}
        stored = {
            name: visit.post(
                "/v1/memory/memories",
                text=f"The {name} almanac is kept because of the tides.",
                event_time=moment,
            )["id"]
            for name, moment in at.items()
        }
        page.goto(f"{visit.server.url}/#token={visit.server.token}")
        page.get_by_role("heading", name="Search").wait_for()
        told = {"2103": "3 Mar 2103", "2013": "3 Mar 2013", "hour": "2 Mar 2013, 21:00"}
        for name, expected in told.items():
            visit.go(f"#/search?open={stored[name]}")
            page.locator(".details", has_text=stored[name]).locator("div", has_text="happened").wait_for()
            assert page.locator(".details div", has_text="happened").locator("dd").inner_text() == expected
        visit.go(f"#/search?open={stored['2103']}")
        page.locator(".panel .meta time", has_text="in ").wait_for()


def test_the_numbers_of_a_name_agree(inside):
    for project in ("lugger", "ketch"):
        text = f"The {project} runs RabbitMQ on Nomad because Celery loses tasks."
        inside.post("/v1/memory/memories", text=text, title=project, project=project)
    whole = httpx.get(
        f"{inside.server.url}/v1/memory/entity?name=RabbitMQ&limit=60",
        headers=inside.server.headers,
        timeout=30,
    ).json()
    assert len(whole["entity"]["projects"]) > 1
    relations = sum(one["degree"] for one in whole["entity"]["projects"])
    inside.go("#/graph?entity=RabbitMQ")
    panel = inside.page.get_by_role("complementary", name="Name")
    panel.get_by_text(f"{relations} relation").first.wait_for()
    assert panel.get_by_role("heading", name="Related to").inner_text() == f"Related to {relations}"
    weights = [float(one) for one in panel.locator(".link-list .number").all_inner_texts()]
    assert weights == sorted(weights, reverse=True)


def test_a_name_that_is_not_drawn_is_looked_for_in_all_names(inside):
    page = inside.page
    inside.go("#/graph?size=500")
    page.get_by_label("Find an entity in the graph").fill("no such name")
    page.get_by_text("Enter looks in all names").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("complementary", name="Name").get_by_text("there is no entity").wait_for()
    (told,) = inside.told
    assert "404" in told
    inside.told.clear()


def test_a_link_to_what_is_not_there_is_answered_and_left(inside):
    page = inside.page
    for place in ("timeline?from=garbage&until=x", "timeline?from=2030-01-01&until=2029-01-01"):
        inside.go(f"#/{place}")
        page.get_by_text("Latest first").wait_for()
    assert not inside.told
    inside.go("#/timeline?project=nowhere")
    page.get_by_text('no project "nowhere"').wait_for()
    page.get_by_label("Project").select_option("all projects")
    page.locator(".days").wait_for()
    assert "404" in inside.told.pop()


def test_nothing_is_said_to_be_found_only_of_the_present_question(inside):
    page = inside.page
    inside.go("#/search?q=xyzzyplugh")
    page.get_by_text("No results").wait_for()
    held = []

    def hold(route):
        held.append(route)

    page.route("**/v1/memory/query", hold)
    page.get_by_label("Search memories").fill("PostgreSQL")
    page.wait_for_url("**PostgreSQL")
    page.locator(".view .skeleton").wait_for()
    assert page.get_by_text("No results").count() == 0
    held[0].continue_()
    page.locator(".result").first.wait_for()


def test_a_word_of_a_script_without_spaces_is_marked(inside):
    inside.post("/v1/memory/memories", text="我们决定把数据库迁移到 PostgreSQL。", title="迁移")
    inside.go("#/search?q=数据库&nearest=1")
    inside.page.locator(".result", has_text="迁移").locator("mark", has_text="数据库").first.wait_for()


def test_sizes_are_those_of_the_command_line(inside):
    inside.go("#/health")
    stats = httpx.get(
        f"{inside.server.url}/v1/memory/stats", headers=inside.server.headers, timeout=30
    ).json()
    tile = inside.page.locator(".tiles li", has_text="on disk").locator("strong")
    tile.wait_for()
    assert tile.inner_text().split() == size(stats["bytes"]).split()


def test_filters_fold_on_a_phone_and_say_how_many_are_chosen(inside):
    page = inside.page
    filters = page.get_by_role("group", name="Filters")
    fold = page.get_by_role("button", name="Filters")
    assert filters.is_visible()
    assert not fold.is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert not filters.is_visible()
    fold.click()
    page.get_by_role("button", name="error", exact=True).click()
    fold.click()
    filters.wait_for(state="hidden")
    assert fold.inner_text() == "Filters (1 chosen)"


def test_a_first_visit_has_a_tour_that_is_closed_for_good(inside):
    page = inside.page
    tour = page.get_by_role("complementary", name="First visit")
    assert tour.get_by_role("listitem").count() == 3
    tour.get_by_role("button", name="Close").click()
    tour.wait_for(state="detached")
    page.reload()
    page.get_by_text("Latest memories").wait_for()
    assert tour.count() == 0


def test_an_open_result_stays_open_while_the_last_words_are_asked(inside):
    page = inside.page
    page.get_by_label("Search memories").fill("PostgreSQL")
    page.locator(".answers:not(.waiting) .result-title").first.click()
    panel = page.get_by_role("complementary", name="Memory")
    panel.wait_for()
    page.get_by_label("Search memories").fill("PostgreSQL on Kubernetes")
    page.wait_for_url("**Kubernetes**")
    page.locator(".answers:not(.waiting)").wait_for()
    assert panel.is_visible()


def test_a_project_gets_another_name_and_becomes_a_part_of_another(inside):
    page = inside.page
    for number, name in enumerate(("lanternfish", "anglerfish")):
        text = f"The {name} tank is {number} metres deep because the pump is weak."
        inside.post("/v1/memory/memories", text=text, title=name, project=name)
    inside.go("#/health")
    page.get_by_role("button", name="Change lanternfish").click()
    dialog = page.get_by_role("dialog", name="Change lanternfish")
    dialog.get_by_label("Name").fill("Lantern")
    dialog.get_by_role("button", name="Rename").click()
    page.get_by_role("button", name="Change Lantern", exact=True).click()
    dialog = page.get_by_role("dialog", name="Change Lantern")
    dialog.get_by_role("combobox").select_option("anglerfish")
    dialog.get_by_role("button", name="Join").click()
    page.get_by_role("button", name="Change Lantern", exact=True).wait_for(state="detached")
    row = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="Change anglerfish"))
    assert row.locator(".number").inner_text() == "2"


def test_what_was_not_read_stands_beside_the_sources_with_its_command(inside):
    inside.go("#/health")
    card = inside.page.locator(".card", has=inside.page.get_by_role("heading", name="Not read"))
    row = card.get_by_role("listitem").filter(has_text="documents")
    row.get_by_text("its source is off by default").wait_for()
    assert row.get_by_text("ragmem seed --source documents").is_visible()
    assert row.get_by_text("~/Documents/tide.pdf").is_visible()


def test_the_progress_of_another_process_is_shown_while_it_runs(inside):
    page = inside.page
    data = httpx.get(f"{inside.server.url}/v1/memory/stats", headers=inside.server.headers).json()["home"]
    with SharedProgress(Path(data).parent / "state", "setup", Silent()) as running:
        running.begin("newest first", 400, unit="bytes")
        page.reload()
        bar = page.get_by_role("progressbar", name="Setup reads sessions, the newest first")
        bar.get_by_text("0 B of 400 B").wait_for()
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.querySelector('main').scrollWidth - innerWidth") <= 0
        running.begin("connect", 2)
        page.get_by_role("progressbar", name="Setup connects the assistants").wait_for()
    page.get_by_role("complementary", name="Progress").wait_for(state="detached")


def test_what_others_have_shared_is_reviewed_and_told_with_its_author_as_text(browser, tmp_path, start):
    remote, folder = make_shared(tmp_path)
    for member, said in (("ada", ADA), ("bob", BOB), ("eve", SHARED_HOSTILE)):
        share(remote, tmp_path, member, statement(member, *said))
    fetch(tmp_path, folder)
    with start(tmp_path) as server, visiting(browser, server) as visit:
        page = visit.page
        page.goto(f"{server.url}/#token={server.token}")
        page.get_by_role("heading", name="Search").wait_for()
        page.keyboard.press("4")
        card = page.locator(".card.shared")
        eve = card.locator("li", has_text="from eve")
        eve.get_by_role("button", name="Show text").click()
        eve.get_by_text("window.ran=2").wait_for()
        assert card.locator("li img, li script, li a").count() == 0
        eve.get_by_role("button", name="Reject").click()
        eve.wait_for(state="detached")

        card.locator("summary", has_text="Conflicts").click()
        for _, text in (ADA, BOB):
            card.get_by_text(text).wait_for()
        card.locator("li", has_text="from ada").get_by_role("button", name="Accept").click()
        page.get_by_text(f"Accepted: {ADA[0]}").wait_for()
        card.locator("li", has_text="from bob").get_by_role("button", name="Accept").wait_for()

        visit.go("#/search?q=queue+of+the+tide+gauge&nearest=1")
        result = page.locator(".result", has_text="from ada")
        result.get_by_text("unsigned").wait_for()
        assert page.locator(".result", has_text="from bob").count() == 0
        result.locator(".result-title").click()
        page.get_by_role("complementary", name="Memory").get_by_text("from ada").wait_for()

        visit.go("#/lifecycle")
        card.locator("summary", has_text="Members").click()
        card.get_by_role("button", name="Mute ada", exact=True).click()
        card.get_by_role("button", name="Unmute ada").wait_for()
        assert page.evaluate("window.ran") is None
        assert not visit.told


def test_the_panel_of_what_is_shared_is_hidden_where_nobody_shares(inside):
    inside.page.keyboard.press("4")
    inside.page.get_by_role("heading", name="Plan of the next gc").wait_for()
    assert inside.page.locator(".card.shared").count() == 0
