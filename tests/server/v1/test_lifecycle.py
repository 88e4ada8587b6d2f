"""How memories live, over HTTP: decay, gc in jobs, its runs, and the archive."""

import threading
import uuid

import pytest
from starlette.exceptions import HTTPException

from ragmem.api import gc
from ragmem.server.http.workers import Workers
from ragmem.server.v1.gc import MAX_PLANS, Jobs
from ragmem.services.lifecycle import plan
from ragmem.services.processes import worker_pool


def ok(response):
    assert response.status_code == 200, response.text
    return response.json()


def twins(api):
    """Store a text twice in a project, which gc then takes for one."""
    text = f"The brass tap in the kitchen drips {uuid.uuid4().hex}."
    return {api.stored(text, uri=f"tap:{uuid.uuid4().hex}", project="kitchen") for _ in range(2)}


def planned(api, **fields):
    return ok(api.post("gc/plan", rules=["duplicate"], projects=["kitchen"], **fields))


def test_curves_begin_at_one_and_halve_as_published(api):
    decay = api.read("decay", points=5)
    assert {one["kind"] for one in decay["curves"]} == {
        "preference",
        "architecture",
        "error",
        "research",
        "general",
    }
    for curve in decay["curves"]:
        ages, ranked, published = zip(*curve["points"], strict=True)
        assert (ages[0], ranked[0], published[0]) == (0, 1, 1)
        assert ages[2] == curve["half_life_days"]
        assert published[2] == 0.5
        assert list(ranked) == sorted(ranked, reverse=True)
    assert api.read("decay", points=3, days=10)["curves"][0]["points"][-1][0] == 10


def test_the_report_tells_states_and_what_goes_next(api):
    report = api.read("lifecycle", project="garden")
    assert report["memories"] == 1
    assert sum(report["states"].values()) - report["states"]["archived"] == 1


def test_a_large_memory_is_planned_in_several_processes(open_memory, connect, monkeypatch):
    monkeypatch.setattr(gc, "LARGE", 1)
    monkeypatch.setattr(worker_pool, "cpu_count", lambda: 2)
    asked, plans = [], plan.plan_projects

    def told(catalog, store, projects, *, workers):
        asked.append(workers)
        return plans(catalog, store, projects, workers=1)

    monkeypatch.setattr(plan, "plan_projects", told)
    memory = open_memory()
    with connect(memory) as client:
        client.post("/v1/memory/memories", text="The brass tap in the kitchen drips since March.")
        assert ok(client.post("/v1/memory/gc/plan", wait=30))["status"] == "done"
    assert asked == [2]


def test_the_plans_of_the_latest_jobs_are_kept(api):
    jobs = [planned(api)["id"] for _ in range(MAX_PLANS + 1)]
    assert [api.read(f"gc/jobs/{job}")["plan"] is None for job in jobs] == [True] + [False] * MAX_PLANS
    refused = api.post("gc/apply", job=jobs[0], confirm=True)
    assert refused.status_code == 400
    assert "the latest plans are kept" in refused.json()["hint"]


def test_a_plan_is_carried_out_and_taken_back(api):
    pair = twins(api)
    job = planned(api)
    assert (job["status"], job["what"]) == ("done", "plan")
    leaving = {one["id"] for one in job["plan"]["items"] if one["action"] == "remove"} & pair
    assert len(leaving) == 1
    clusters = {one["hidden"][0]["id"]: one for one in job["plan"]["clusters"]}
    (cluster,) = (clusters[one] for one in leaving)
    assert {cluster["kept"]["id"]} == {one[:12] for one in pair} - leaving
    assert cluster["statement"].startswith("The brass tap in the kitchen drips")
    assert cluster["hidden"][0]["differs"] == []
    done = ok(api.post("gc/apply", job=job["id"], confirm=True))
    assert done["outcome"]["removed"] >= 1
    run = done["outcome"]["run"]
    (gone,) = leaving
    assert api.get(f"memories/{gone}").status_code == 404
    assert gone in {one["id"] for one in api.read("archive", run=run, rule="duplicate")["archived"]}
    assert run in {one["run"] for one in api.read("gc/runs")["runs"]}
    undone = ok(api.post("gc/undo", run=run, confirm=True))
    assert undone["outcome"]["restored"] >= 1
    assert api.read(f"memories/{gone}")["id"] == gone


def test_a_memory_that_changed_since_the_plan_stays(api):
    pair = twins(api)
    job = planned(api)
    for one in pair:
        ok(api.http.put(f"/v1/memory/memories/{one}/pin", json={"pinned": True}))
    ok(api.post("gc/apply", job=job["id"], confirm=True))
    assert all(api.get(f"memories/{one}").status_code == 200 for one in pair)


@pytest.mark.parametrize("confirm", [{}, {"confirm": False}])
def test_no_plan_is_carried_out_and_no_run_undone_without_confirmation(api, confirm):
    job = planned(api)
    assert api.post("gc/apply", job=job["id"], **confirm).status_code == 422
    assert api.post("gc/undo", **confirm).status_code == 422


def test_only_a_known_job_with_a_plan_can_be_carried_out(api):
    assert api.post("gc/apply", job="j00000000", confirm=True).status_code == 404
    assert api.get("gc/jobs/j00000000").status_code == 404
    job = planned(api)
    done = ok(api.post("gc/apply", job=job["id"], confirm=True))
    assert api.post("gc/apply", job=done["id"], confirm=True).status_code == 400
    assert api.read(f"gc/jobs/{job['id']}") == job


def test_a_rule_or_run_that_there_is_not_is_refused_and_told_of(api):
    assert "known:" in api.post("gc/plan", rules=["haste"]).json()["hint"]
    assert api.post("gc/undo", run="nosuchrun", confirm=True).status_code == 404


def test_who_does_not_wait_gets_the_job_and_asks_again(api):
    response = api.post("gc/plan", projects=["garden"], wait=0)
    assert response.status_code in {200, 202}
    job = response.json()
    while job["status"] == "running":
        job = api.read(f"gc/jobs/{job['id']}")
    assert job["plan"]["memories"] >= 1


def test_the_archive_is_paged(api):
    ids = [api.stored(f"Brass to forget {uuid.uuid4().hex}.") for _ in range(3)]
    run = ok(api.post("forget", ids=ids, confirm=True))["run"]
    first = api.read("archive", run=run, limit=2)
    assert (len(first["archived"]), first["total"]) == (2, 3)
    second = api.read("archive", run=run, limit=2, cursor=first["next"])
    assert second["next"] is None
    assert {one["id"] for one in first["archived"] + second["archived"]} == set(ids)
    assert api.read("archive", rule="no such")["archived"] == []


async def two_jobs() -> tuple[str, int, str]:
    workers = Workers(1)
    jobs = Jobs(workers)
    hold = threading.Event()
    try:
        first = await jobs.begin("plan", lambda job, told: hold.wait(10), wait=0)
        with pytest.raises(HTTPException) as refused:
            await jobs.begin("apply", lambda job, told: None, wait=0)
        running = first.status
        hold.set()
        while jobs.of(first.id).status == "running":
            await jobs.join()
        return running, refused.value.status_code, jobs.of(first.id).status
    finally:
        hold.set()
        workers.close()


def test_one_job_runs_at_a_time(run_async):
    assert run_async(two_jobs()) == ("running", 409, "done")


async def ended_job() -> tuple[str, str]:
    workers = Workers(1)
    jobs = Jobs(workers)
    begun = threading.Event()

    def work(_, told):
        begun.set()
        while True:
            told.advance()

    job = await jobs.begin("plan", work, wait=0.01)
    begun.wait(5)
    workers.close()
    await jobs.join()
    return job.status, str(job.error)


def test_a_job_stops_between_two_steps_when_the_server_ends(run_async):
    assert run_async(ended_job()) == ("failed", "the server ended meanwhile")
