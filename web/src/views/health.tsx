/** Health: where memories come from, whether all is well, and what assistants were given. */

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

import { post, useGet } from "../api";
import { bytes, compact, count, counted, tail, words } from "../format";
import { memoryHref, WithPanel } from "../memory";
import { Ago, Card, Confirm, Empty, ErrorLine, Meter, Skeleton } from "../parts/basics";
import { say, sayProblem } from "../parts/toast";
import { href, useRoute } from "../route";
import type { Check, Health as Examined, Injection, LogEntry, Project, ProjectChanged, Source, Stats, Unread } from "../shapes";

export function Health(): JSX.Element {
  const { values } = useRoute();
  return (
    <WithPanel open={values.open}>
      <div class="view health">
        <Home />
        <div class="health-columns">
          <div>
            <Sources />
            <NotRead />
            <ProjectList />
          </div>
          <div>
            <Findings />
            <Given />
            <Log />
          </div>
        </div>
      </div>
    </WithPanel>
  );
}

function Home(): JSX.Element {
  const { data, problem, reload } = useGet<Stats>("/v1/memory/stats");
  if (problem) return <ErrorLine problem={problem} retry={reload} />;
  if (!data) return <Skeleton lines={3} tall />;
  const { total, tier, state } = data.catalog;
  const late = state.pending ? `${count(state.pending)} memories wait for vectors` : `${compact(total.chunks ?? 0)} chunks`;
  const figures: [label: string, value: ComponentChildren, more: string, title?: string][] = [
    ["on disk", bytes(data.bytes), tail(data.home, 3), data.home],
    ["memories", compact(total.memories ?? 0), `${compact(total.characters ?? 0)} characters`],
    ["vectors", compact(data.store.vectors ?? data.store.chunks ?? 0), late],
    ["kept whole", compact(tier.ingest ?? 0), `${count(tier.summarize ?? 0)} summarized, ${count(tier.discard ?? 0)} in the buffer`],
    ["waiting", count(data.inbox.waiting), data.inbox.waiting ? "in the inbox" : "the inbox is empty"],
    ["models", data.models, data.inbox.aside ? `${data.inbox.aside} rejected writes` : "answer in this process"],
  ];
  return (
    <ul class="tiles">
      {figures.map(([label, value, more, title]) => (
        <li key={label}>
          <span class="quiet">{label}</span>
          <strong>{value}</strong>
          <span class="quiet small" title={title}>{more}</span>
        </li>
      ))}
    </ul>
  );
}

function Sources(): JSX.Element {
  const { data, problem, reload } = useGet<{ sources: Source[] }>("/v1/memory/sources");
  const all = [...(data?.sources ?? [])].sort((one, other) => other.memories - one.memories);
  const sources = all.filter((one) => one.memories);
  const others = all.filter((one) => !one.memories);
  const most = Math.max(1, ...sources.map((one) => one.memories));
  return (
    <Card title="Sources">
      {problem && <ErrorLine problem={problem} retry={reload} />}
      {!data && !problem && <Skeleton lines={6} />}
      {data && (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">source</th>
              <th scope="col" class="end">memories</th>
              <th scope="col" class="bar">share</th>
              <th scope="col">newest</th>
              <th scope="col">read as</th>
            </tr>
          </thead>
          <tbody>
            {sources.map((one) => (
              <tr key={one.source}>
                <th scope="row">
                  <a href={href("search", { source: one.source })} title={one.globs.join("\n")}>{one.source}</a>
                </th>
                <td class="number">{count(one.memories)}</td>
                <td class="bar"><Meter share={one.memories / most} /></td>
                <td>{one.newest ? <Ago at={one.newest} /> : "–"}</td>
                <td class="quiet">
                  {one.reader ? `${one.reader}, ${one.scope ?? ""}` : "written directly"}
                  {one.enabled === false && ", off"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {others.length > 0 && (
        <details>
          <summary>{counted(others.length, "source")} without a memory</summary>
          <p class="meta">
            {others.map((one) => (
              <span key={one.source} title={one.globs.join("\n")}>
                {one.source}{one.enabled === false && " (off)"}
              </span>
            ))}
          </p>
        </details>
      )}
      <p class="quiet small">
        <code>ragmem seed</code> brings them up to date; <code>sources.toml</code> says what is read.
      </p>
    </Card>
  );
}

/** What lies on this machine and is not in the memory: why, and what to type for it. */
function NotRead(): JSX.Element {
  const { data, problem, reload } = useGet<Unread>("/v1/memory/unread");
  return (
    <Card title="Not read" aside={data && <span class="quiet">looked <Ago at={data.looked_at} /></span>}>
      {problem && <ErrorLine problem={problem} retry={reload} />}
      {!data && !problem && <Skeleton lines={4} />}
      {data && !data.unread.length && <p class="quiet">All known files are indexed.</p>}
      <ul class="told-list">
        {(data?.unread ?? []).map((one) => (
          <li key={`${one.what} ${one.reason}`}>
            <strong>{one.what}</strong>
            <p>{one.reason}</p>
            <p class="meta">
              <span>{one.more && "more than "}{counted(one.files, "file")}</span>
              {one.bytes > 0 && <span>{bytes(one.bytes)}</span>}
              {one.places.map((place) => <span key={place} class="path">{place}</span>)}
            </p>
            <code class="command">{one.command}</code>
          </li>
        ))}
      </ul>
      {data?.cut && <p class="quiet small">There may be more repositories: {data.cut}</p>}
    </Card>
  );
}

function ProjectList(): JSX.Element | null {
  const { data, reload } = useGet<{ projects: Project[] }>("/v1/memory/projects");
  const [changing, setChanging] = useState<Project | null>(null);
  const [all, setAll] = useState(false);
  const projects = data?.projects ?? [];
  const most = Math.max(1, ...projects.map((one) => one.memories));
  if (!projects.length) return null;
  return (
    <Card title="Projects" aside={<span class="quiet">{count(projects.length)}</span>}>
      <ul class="link-list with-action">
        {projects.slice(0, all ? projects.length : SHOWN).map((one) => (
          <li key={one.id}>
            <a href={href("search", { project: one.id })}>{one.name}</a>
            <Meter share={one.memories / most} />
            <span class="number">{count(one.memories)}</span>
            {NO_PROJECTS.has(one.id) ? (
              <span />
            ) : (
              <button type="button" class="link" aria-label={`Change ${one.name}`} onClick={() => { setChanging(one); }}>
                change
              </button>
            )}
          </li>
        ))}
      </ul>
      {projects.length > SHOWN && !all && (
        <button type="button" class="link" onClick={() => { setAll(true); }}>
          Show all {count(projects.length)}
        </button>
      )}
      {changing && (
        <ChangeProject
          project={changing}
          others={projects.filter((one) => one.id !== changing.id && !NO_PROJECTS.has(one.id))}
          onEnd={(changed) => {
            setChanging(null);
            if (changed) reload();
          }}
        />
      )}
    </Card>
  );
}

/** Projects that are listed at first. */
const SHOWN = 14;
const NO_PROJECTS = new Set(["user", "unassigned"]);

/** Ask for another name, or for the project that this one becomes a part of. */
function ChangeProject({
  project,
  others,
  onEnd,
}: {
  project: Project;
  others: Project[];
  onEnd: (changed: boolean) => void;
}): JSX.Element {
  const [name, setName] = useState(project.name);
  const [into, setInto] = useState("");
  const renamed = name.trim() && name.trim() !== project.name;
  const change = (): void => {
    if (!into && !renamed) {
      onEnd(false);
      return;
    }
    post<ProjectChanged>("/v1/memory/projects", {
      operation: into ? "join" : "rename",
      project: project.id,
      to: into || name.trim(),
    }).then(
      (done) => {
        say(into ? `${project.name} was joined with ${done.name}` : `Renamed to ${done.name}`);
        onEnd(true);
      },
      (error: unknown) => {
        sayProblem(error);
        onEnd(false);
      },
    );
  };
  return (
    <Confirm
      title={`Change ${project.name}`}
      action={into ? "Join" : "Rename"}
      onYes={change}
      onNo={() => { onEnd(false); }}
    >
      <label class="field">
        <span>Name</span>
        <input value={name} maxLength={200} disabled={into !== ""} onInput={(event) => { setName(event.currentTarget.value); }} />
      </label>
      {others.length > 0 && (
        <label class="field">
          <span>Or join it with</span>
          <select value={into} onChange={(event) => { setInto(event.currentTarget.value); }}>
            <option value="">no other project</option>
            {others.map((one) => (
              <option key={one.id} value={one.id}>{one.name}</option>
            ))}
          </select>
        </label>
      )}
      {into && (
        <p class="quiet">
          {counted(project.memories, "memory", "memories")} move there; <code>ragmem projects split</code> takes it
          back.
        </p>
      )}
    </Confirm>
  );
}

const SIGNS: Record<Check["status"], string> = { ok: "fine", warning: "look", failed: "broken" };

function Findings(): JSX.Element {
  const { data, problem, reload } = useGet<Examined>("/v1/memory/health");
  const checks = data?.checks ?? [];
  const troubled = checks.filter((one) => one.status !== "ok");
  const fine = checks.filter((one) => one.status === "ok");
  return (
    <Card title="Findings" aside={data && <span class="quiet">looked <Ago at={data.checked_at} /></span>}>
      {problem && <ErrorLine problem={problem} retry={reload} />}
      {!data && !problem && <Skeleton lines={6} />}
      {data && (
        <>
          <p class={`verdict ${data.status}`}>
            <i aria-hidden="true" />
            {data.status === "ok"
              ? `All ${count(checks.length)} checks passed`
              : `${counted(troubled.length, "check")} of ${count(checks.length)} with findings`}
          </p>
          <ul class="checks">
            {troubled.map((one) => <Finding key={one.name} check={one} />)}
          </ul>
          <details>
            <summary>{counted(fine.length, "check")} without a finding</summary>
            <ul class="checks">
              {fine.map((one) => <Finding key={one.name} check={one} />)}
            </ul>
          </details>
        </>
      )}
    </Card>
  );
}

function Finding({ check }: { check: Check }): JSX.Element {
  return (
    <li class={`finding ${check.status}`}>
      <i aria-hidden="true" />
      <div>
        <strong>{words(check.name)}</strong> <span class="sr">{SIGNS[check.status]}</span>
        <p class="quiet">{check.detail}</p>
        {check.fix && <p class="fix">{check.fix}</p>}
      </div>
    </li>
  );
}

function Given(): JSX.Element {
  const { data, problem, reload } = useGet<{ injections: Injection[] }>("/v1/memory/injections", { limit: 12 });
  return (
    <Card title="Injections">
      {problem && <ErrorLine problem={problem} retry={reload} />}
      {!data && !problem && <Skeleton lines={4} />}
      {data && !data.injections.length && (
        <Empty title="Nothing was injected yet">
          <p>
            <code>ragmem connect</code> lets your assistants ask at the start of a session and at each prompt.
          </p>
        </Empty>
      )}
      <ul class="told-list">
        {(data?.injections ?? []).map((one, index) => (
          <li key={index}>
            <a href={memoryHref(one.memory)}>{one.title || one.memory.slice(0, 12)}</a>
            <p>{one.reason}{one.question && `: “${one.question}”`}</p>
            <p class="meta">
              <span>{one.assistant || "assistant"}</span>
              <span>{one.event}</span>
              <Ago at={one.at} />
              {one.score !== null && <span>score {one.score.toFixed(2)}</span>}
              <span>{count(one.tokens)} tokens</span>
            </p>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Log(): JSX.Element | null {
  const { data } = useGet<{ log: LogEntry[] }>("/v1/memory/log", { limit: 8 });
  if (!data?.log.length) return null;
  return (
    <Card title="Log">
      <ul class="log">
        {data.log.map((entry, index) => (
          <li key={index}>
            <strong>{entry.operation}</strong>
            <span class="quiet">{detailOf(entry.detail)}</span>
            <Ago at={entry.at} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function detailOf(detail: Record<string, unknown>): string {
  return Object.entries(detail)
    .filter(([name, value]) => name !== "run" && (typeof value === "number" ? value > 0 : typeof value === "string" && value))
    .slice(0, 4)
    .map(([name, value]) => `${words(name)} ${typeof value === "number" ? count(value) : tail(String(value))}`)
    .join(", ");
}
