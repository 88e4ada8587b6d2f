/** Lifecycle: what will be archived next and why, what went, and the way back. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { asProblem, get, post, postInTurn, Problem, useGet, usePages } from "../api";
import { compact, count, counted, dateTime, percent, words } from "../format";
import { memoryHref, WithPanel } from "../memory";
import {
  Ago,
  Card,
  Confirm,
  Empty,
  ErrorLine,
  KindDot,
  NothingStored,
  Skeleton,
  useIsEmpty,
} from "../parts/basics";
import { Icon } from "../parts/icons";
import { plain } from "../parts/texts";
import { say, sayProblem } from "../parts/toast";
import { projectName } from "../projects";
import { useRoute } from "../route";
import type {
  ArchivePage,
  Archived,
  ClusterMemory,
  HiddenMemory,
  Job,
  Lifecycle as Report,
  Plan,
  PlanCluster,
  PlanItem,
  Run,
  Topic,
} from "../shapes";
import { Approvals } from "./approvals";
import { Shared } from "./shared";

const POLL_MS = 700;
/** Items of a group that are shown at first. */
const SHOWN = 6;

export function Lifecycle(): JSX.Element {
  const { values } = useRoute();
  const isEmpty = useIsEmpty();
  const report = useGet<Report>(isEmpty === false ? "/v1/memory/lifecycle" : null, { project: values.project, limit: 12 });
  const [round, setRound] = useState(0);
  const changed = (): void => {
    setRound((before) => before + 1);
    report.reload();
  };
  // What was undone is planned again.
  const [undone, setUndone] = useState(0);
  const onUndone = (): void => {
    setUndone((before) => before + 1);
    changed();
  };
  return (
    <WithPanel open={values.open} onChanged={changed}>
      <div class="view lifecycle">
        {isEmpty ? (
          <NothingStored />
        ) : isEmpty === null ? (
          <Skeleton lines={4} tall />
        ) : (
          <>
            {report.problem && <ErrorLine problem={report.problem} retry={report.reload} />}
            {!report.data && !report.problem && <Skeleton lines={4} tall />}
            {report.data && <Summary report={report.data} />}
            <div class="lifecycle-columns">
              <div>
                <Approvals project={values.project} onChanged={changed} />
                <Shared project={values.project} onChanged={changed} />
                <Next key={undone} project={values.project} onChanged={changed} onUndone={onUndone} />
                {report.data && <Loners report={report.data} />}
                {report.data && <Topics topics={report.data.clusters} />}
              </div>
              <div>
                <Archive key={round} ofAll={Boolean(values.project)} onChanged={changed} />
                {report.data && <Runs runs={report.data.runs} onUndone={onUndone} />}
              </div>
            </div>
          </>
        )}
      </div>
    </WithPanel>
  );
}

const STATES: readonly (readonly [string, string, string])[] = [
  ["permanent", "permanent", "protected by its kind or by you"],
  ["proven", "proven", "recalled often enough to stay, restored, or from files that you keep"],
  ["buffer", "on trial", "new: stays if something connects with it"],
  ["superseded", "superseded", "a newer memory says otherwise"],
  ["archived", "archived", "out of the search, can be restored"],
];

function Summary({ report }: { report: Report }): JSX.Element {
  const total = STATES.reduce((sum, [name]) => sum + (report.states[name] ?? 0), 0) || 1;
  let from = 0;
  return (
    <Card className="wide states">
      <svg class="state-bar" viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label="Memories by state">
        {STATES.map(([name]) => {
          const width = ((report.states[name] ?? 0) / total) * 1000;
          const x = from;
          from += width;
          return width > 0 ? (
            <rect key={name} class={`state-${name}`} x={x} width={Math.max(3, width - 3)} height="14" />
          ) : null;
        })}
      </svg>
      <ul class="state-list">
        {STATES.map(([name, label, tells]) => (
          <li key={name} title={tells}>
            <i class={`state-${name}`} aria-hidden="true" />
            <strong>{compact(report.states[name] ?? 0)}</strong>
            <span>{label}</span>
          </li>
        ))}
        <li class="state-more" title="memories with at least one connection">
          <strong>{percent(report.density)}</strong>
          <span>connected, {count(report.connections)} connections</span>
        </li>
        <li class="state-more">
          <strong>{count(report.pinned)}</strong>
          <span>pinned</span>
        </li>
        <li
          class="state-more"
          title={
            report.idle_gc
              ? "this server carries gc out while nobody asks; ragmem gc --disable-idle ends it"
              : "gc runs only when you run it"
          }
        >
          <strong>{report.idle_gc ? "on" : "off"}</strong>
          <span>idle gc</span>
        </li>
      </ul>
    </Card>
  );
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

async function finished(job: Job, told: (job: Job) => void, signal?: AbortSignal): Promise<Job> {
  let now = job;
  while (now.status === "running") {
    told(now);
    await pause();
    now = await get<Job>(`/v1/memory/gc/jobs/${now.id}`, {}, signal);
  }
  if (now.status === "failed") throw new Problem(now.error ?? "it failed", "ragmem doctor tells more", 0);
  return now;
}

/** The plan of the next run: nothing happens until it is confirmed. */
function Next({
  project,
  onChanged,
  onUndone,
}: {
  project: string | undefined;
  onChanged: () => void;
  onUndone: () => void;
}): JSX.Element {
  const [job, setJob] = useState<Job | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [asking, setAsking] = useState(false);
  const ended = useRef(new AbortController());
  const plan = async (): Promise<void> => {
    const { signal } = ended.current;
    setProblem(null);
    try {
      const wanted = { projects: project ? [project] : null, most: 200, wait: 2 };
      const done = await finished(await postInTurn<Job>("/v1/memory/gc/plan", wanted, signal), setJob, signal);
      if (!signal.aborted) setJob(done);
    } catch (error) {
      if (!signal.aborted) setProblem(asProblem(error));
    }
  };
  useEffect(() => {
    ended.current = new AbortController();
    setJob(null);
    void plan();
    const { current } = ended;
    return () => {
      current.abort();
    };
  }, [project]);
  const apply = async (): Promise<void> => {
    setAsking(false);
    if (!job) return;
    const { signal } = ended.current;
    const archived = sum(job.plan?.counts ?? [], (one) => one.action === "archive");
    try {
      const begun = await postInTurn<Job>("/v1/memory/gc/apply", { job: job.id, confirm: true, wait: 5 });
      setJob(begun);
      // To its end also where the view has been left: a run that was begun goes on.
      const done = await finished(begun, setJob);
      const run = typeof done.outcome?.run === "string" ? done.outcome.run : "";
      say(archived ? `Archived ${counted(archived, "memory", "memories")}` : "Done, nothing was archived", run ? () => { undo(run, onUndone); } : undefined);
      onChanged();
    } catch (error) {
      sayProblem(error);
    }
    if (!signal.aborted) void plan();
  };
  const { plan: found = null } = job ?? {};
  const ready = job?.what === "plan" && job.status === "done" && found !== null;
  return (
    <Card
      title="Plan of the next gc"
      aside={
        ready && !found.empty ? (
          <button type="button" class="button primary" onClick={() => { setAsking(true); }}>
            Run it now
          </button>
        ) : undefined
      }
    >
      {problem && <ErrorLine problem={problem} retry={() => { void plan(); }} />}
      {!ready && !problem && (
        <>
          <p class="quiet step">
            {job?.step || "Comparing memories"}
            {job?.total ? ` (${count(job.done)} of ${count(job.total)})` : ""}
          </p>
          <Skeleton lines={4} />
        </>
      )}
      {ready && <PlanList plan={found} />}
      {asking && ready && (
        <Confirm
          title="Run gc now?"
          action="Run it"
          onYes={() => { void apply(); }}
          onNo={() => { setAsking(false); }}
        >
          <ul>
            {found.counts.filter((one) => !QUIET_ACTIONS.has(one.action)).map((one) => (
              <li key={`${one.action}/${one.rule}`}>
                {words(one.action)} {counted(one.memories, "memory", "memories")} ({words(one.rule)})
              </li>
            ))}
            <li>keep {counted(sum(found.counts, (one) => QUIET_ACTIONS.has(one.action)), "memory", "memories")}</li>
          </ul>
          <p class="quiet">Nothing is deleted: the archive keeps it, and the run can be undone.</p>
        </Confirm>
      )}
    </Card>
  );
}

const QUIET_ACTIONS = new Set(["keep"]);

function sum(counts: Plan["counts"], isCounted: (one: Plan["counts"][number]) => boolean): number {
  return counts.filter(isCounted).reduce((all, one) => all + one.memories, 0);
}

function PlanList({ plan }: { plan: Plan }): JSX.Element {
  const groups = new Map<string, PlanItem[]>();
  const told = new Set(plan.clusters.flatMap((cluster) => cluster.hidden.map((one) => one.id)));
  for (const item of plan.items) {
    if (QUIET_ACTIONS.has(item.action) || told.has(item.id)) continue;
    const key = `${item.action}/${item.rule}`;
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  const order = ["archive", "promote"];
  const sorted = [...groups.entries()].sort(
    ([one], [other]) => place(order, one) - place(order, other) || one.localeCompare(other),
  );
  if (!sorted.length && !plan.clusters.length) {
    return (
      <Empty title="Nothing to do">
        <p>Every memory is connected, protected or too new to be checked.</p>
      </Empty>
    );
  }
  return (
    <div class="plan">
      {plan.note && <p class="notice">{plan.note}</p>}
      {plan.clusters.map((cluster) => <Cluster key={cluster.id} cluster={cluster} />)}
      {sorted.map(([key, items]) => (
        <details key={key} open={items[0]!.action === "archive"}>
          <summary>
            <span class={`act act-${items[0]!.action}`}>{words(items[0]!.action)}</span>
            <span>{words(items[0]!.rule.replaceAll("-", " "))}</span>
            <span class="number">{count(items.length)}</span>
          </summary>
          <Items items={items} />
        </details>
      ))}
      {plan.left_out > 0 && <p class="quiet">and {count(plan.left_out)} more</p>}
    </div>
  );
}

/** What one memory says for others: the statement they share, and where they differ from it. */
function Cluster({ cluster }: { cluster: PlanCluster }): JSX.Element {
  const [all, setAll] = useState(false);
  const { hidden } = cluster;
  return (
    <details>
      <summary>
        <span class={`act act-${cluster.action}`}>{words(cluster.rule.replaceAll("-", " "))}</span>
        <span class="statement">{cluster.statement || cluster.kept.title}</span>
        <span class="number">{count(cluster.size)}</span>
      </summary>
      <ul>
        <Member role="kept" memory={cluster.kept} />
        {hidden.slice(0, all ? hidden.length : SHOWN).map((one) => (
          <Member key={one.id} role={cluster.action === "mark" ? "behind" : "hidden"} memory={one} differs={one.differs} more={one.words_more} />
        ))}
      </ul>
      {hidden.length > SHOWN && !all && (
        <button type="button" class="link" onClick={() => { setAll(true); }}>
          Show all {count(hidden.length)}
        </button>
      )}
    </details>
  );
}

function Member({ role, memory, differs = [], more = 0 }: {
  role: string;
  memory: ClusterMemory;
  differs?: HiddenMemory["differs"];
  more?: number;
}): JSX.Element {
  return (
    <li>
      <a href={memoryHref(memory.id)}>{memory.title}</a>
      <span class="quiet">
        {role}, {dateTime(memory.at)}
        {differs.map(([hidden, kept], place) => (
          <span key={place}>
            {"; "}
            <del>{hidden}</del> <ins>{kept || "(nothing)"}</ins>
          </span>
        ))}
        {more > 0 && `; the kept one says ${counted(more, "word")} more`}
      </span>
    </li>
  );
}

function Items({ items }: { items: PlanItem[] }): JSX.Element {
  const [all, setAll] = useState(false);
  return (
    <>
      <ul>
        {items.slice(0, all ? items.length : SHOWN).map((item) => (
          <li key={item.id}>
            <a href={memoryHref(item.id)}>{item.title || item.id}</a>
            <span class="quiet">{item.reason}</span>
          </li>
        ))}
      </ul>
      {items.length > SHOWN && !all && (
        <button type="button" class="link" onClick={() => { setAll(true); }}>
          Show all {count(items.length)}
        </button>
      )}
    </>
  );
}

function place(order: readonly string[], key: string): number {
  const found = order.indexOf(key.split("/")[0]!);
  return found < 0 ? order.length : found;
}

function Loners({ report }: { report: Report }): JSX.Element | null {
  if (!report.loners.length) return null;
  return (
    <Card
      title="Isolated memories"
      aside={<span class="quiet">{counted(report.at_risk, "memory", "memories")} at risk</span>}
    >
      <p class="quiet">These have no connections. gc archives those that the classifier calls worthless, and gives the others a reprieve.</p>
      <ul class="loners">
        {report.loners.map((one) => (
          <li key={one.id}>
            <a href={memoryHref(one.id)}>{one.title || one.id}</a>
            <span class={one.action === "archive" ? "badge warn" : "badge"}>
              {one.action === "archive"
                ? "next"
                : one.left > 0
                  ? `checked after ${counted(one.left, "newer one")}`
                  : words(one.action)}
            </span>
            <span class="quiet" title={one.reasons.join("\n")}>
              {projectName(one.project)}, {percent(one.score)} likely to be worthless
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Topics({ topics }: { topics: Topic[] }): JSX.Element | null {
  if (!topics.length) return null;
  return (
    <Card title="Topics">
      <p class="quiet">Groups of connected memories. Nothing is merged.</p>
      <div class="plan">
        {topics.map((topic) => (
          <details key={topic.id}>
            <summary>
              <span>{topic.title || topic.id}</span>
              <span class="number">{count(topic.size)}</span>
            </summary>
            <p class="quiet">{[projectName(topic.project), ...topic.names].join(", ")}</p>
            <ul>
              {topic.members.map((one) => (
                <li key={one.id}>
                  <a href={memoryHref(one.id)}>{one.title || one.id}</a>
                  <span class="quiet">{dateTime(one.at)}</span>
                </li>
              ))}
            </ul>
          </details>
        ))}
      </div>
    </Card>
  );
}

/** The archive, which is not kept by project. */
function Archive({ ofAll, onChanged }: { ofAll: boolean; onChanged: () => void }): JSX.Element {
  const { pages, problem, loading, reload, more } = usePages<ArchivePage>("/v1/memory/archive", { limit: 12 });
  const data = pages[0];
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  const restore = (item: Archived): void => {
    setGone(new Set([...gone, item.full_id]));
    post<{ note: string }>(`/v1/memory/archive/${item.full_id}/restore`, {}).then(
      ({ note }) => {
        say(`Restored: ${item.title || item.id}${note ? ` (${note})` : ""}`);
        onChanged();
      },
      (error: unknown) => {
        setGone(new Set([...gone].filter((id) => id !== item.full_id)));
        sayProblem(error);
      },
    );
  };
  const shown = pages.flatMap((page) => page.archived).filter((item) => !gone.has(item.full_id));
  return (
    <Card
      title="Archive"
      aside={data && <span class="quiet">{counted(data.total, "memory", "memories")}{ofAll && " of all projects"}</span>}
    >
      {problem && <ErrorLine problem={problem} retry={reload} />}
      {!data && !problem && <Skeleton lines={4} />}
      {data && !shown.length && (
        <Empty title="The archive is empty">
          <p>Memories that gc archives or that you forget appear here, and can be restored.</p>
        </Empty>
      )}
      <ul class="archive">
        {shown.map((item) => (
          <li key={item.full_id}>
            <div>
              <strong>{item.title || item.id}</strong>
              <p class="excerpt short">{plain(item.excerpt, item.title)}</p>
              <p class="meta">
                <KindDot kind={item.kind} />
                <span>{projectName(item.project)}</span>
                <Ago at={item.archived_at} />
                <span title={item.because}>{words(item.rule.replaceAll("-", " "))}</span>
              </p>
            </div>
            <button type="button" class="button" aria-label={`Restore ${item.title || item.id}`} onClick={() => { restore(item); }}>
              <Icon name="restore" />
              Restore
            </button>
          </li>
        ))}
      </ul>
      {more && (
        <button type="button" class="link" disabled={loading} onClick={more}>
          {loading ? "Loading" : "Show more"}
        </button>
      )}
    </Card>
  );
}

function undo(run: string, onUndone: () => void): void {
  postInTurn<Job>("/v1/memory/gc/undo", { run, confirm: true, wait: 30 }).then((job) => {
    if (job.status === "failed") sayProblem(new Problem(job.error ?? "it failed", "", 0));
    else say(job.status === "done" ? "The run is undone" : "Undoing the run");
    onUndone();
  }, sayProblem);
}

function Runs({ runs, onUndone }: { runs: Run[]; onUndone: () => void }): JSX.Element | null {
  const [asked, setAsked] = useState<Run | null>(null);
  if (!runs.length) return null;
  const undoable = runs.find((run) => run.undone_at === null && run.ended_at !== null);
  return (
    <Card title="Runs">
      <ul class="runs">
        {runs.slice(0, 8).map((run) => (
          <li key={run.run}>
            <div>
              <strong title={dateTime(run.started_at)}>
                <Ago at={run.started_at} />
              </strong>
              <span class="quiet">
                {run.caller}
                {run.undone_at && ", undone"}
              </span>
              <p class="quiet">
                {Object.entries(run.counts)
                  .map(([name, value]) => `${name.replaceAll("/", ": ").replaceAll("-", " ")} ${count(value)}`)
                  .join(", ") || "nothing changed"}
              </p>
            </div>
            {run === undoable && (
              <button type="button" class="button" onClick={() => { setAsked(run); }}>
                Undo
              </button>
            )}
          </li>
        ))}
      </ul>
      {asked && (
        <Confirm
          title="Undo this run?"
          action="Undo it"
          onNo={() => { setAsked(null); }}
          onYes={() => {
            undo(asked.run, onUndone);
            setAsked(null);
          }}
        >
          <p>What the run of {dateTime(asked.started_at)} archived or hid is restored.</p>
        </Confirm>
      )}
    </Card>
  );
}
