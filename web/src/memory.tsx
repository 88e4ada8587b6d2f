/** One memory beside a view: its text, where it stands in its life, what it is connected with. */

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

import { post, postInTurn, put, useGet } from "./api";
import { date, dateTime, percent, tail, words } from "./format";
import { Ago, CloseButton, Confirm, ErrorLine, KindDot, Meter, onEscape, Origin, Skeleton, usePanelFocus } from "./parts/basics";
import { Icon } from "./parts/icons";
import { Prose } from "./parts/texts";
import { say, sayProblem } from "./parts/toast";
import { DecaySpark } from "./plots/decay";
import { projectName } from "./projects";
import { amend, href, readRoute } from "./route";
import { furtherFields, type HistoryEvent, type Life, type Link, type MemoryDetail } from "./shapes";

const LIVES: Record<Life["life"], string> = {
  buffer: "On trial",
  proven: "Proven",
  permanent: "Permanent",
};

/** The place of a memory in the page as it is. */
export function memoryHref(id: string): string {
  const { view, values } = readRoute();
  return href(view, { ...values, open: id });
}

export function closePanel(): void {
  amend({ open: undefined });
}

/** A view with the panel of a memory beside it, which covers the view where there is little room. */
export function WithPanel({
  open,
  wordsOf = null,
  onChanged,
  children,
}: {
  open: string | undefined;
  wordsOf?: RegExp | null;
  onChanged?: () => void;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class={open ? "with-panel open" : "with-panel"}>
      <div class="with-panel-main">{children}</div>
      {open && <MemoryPanel key={open} id={open} marked={wordsOf} onChanged={onChanged} />}
    </div>
  );
}

export function MemoryPanel({
  id,
  marked = null,
  onChanged,
  onClose = closePanel,
}: {
  id: string;
  marked?: RegExp | null;
  onChanged?: (() => void) | undefined;
  onClose?: () => void;
}): JSX.Element {
  const { data, problem, reload } = useGet<MemoryDetail>(`/v1/memory/memories/${encodeURIComponent(id)}`);
  const panel = usePanelFocus(id);
  const changed = (): void => {
    reload();
    onChanged?.();
  };
  return (
    <aside
      class="panel"
      ref={panel}
      tabIndex={-1}
      aria-label="Memory"
      onKeyDown={onEscape(onClose)}
    >
      <div class="panel-bar">
        {data ? <Actions memory={data} onChanged={changed} onGone={onClose} /> : <span class="grow" />}
        <CloseButton label="Close" onClick={onClose} />
      </div>
      {problem && <ErrorLine problem={problem} retry={reload} />}
      {!data && !problem && <Skeleton lines={8} tall />}
      {data && <Content memory={data} marked={marked} />}
    </aside>
  );
}

function Actions({
  memory,
  onChanged,
  onGone,
}: {
  memory: MemoryDetail;
  onChanged: () => void;
  onGone: () => void;
}): JSX.Element {
  const [asking, setAsking] = useState(false);
  const path = `/v1/memory/memories/${memory.full_id}`;
  const rate = (verdict: "good" | "bad"): void => {
    post(`${path}/feedback`, { verdict }).then(() => {
      say(verdict === "good" ? "Rated: useful" : "Rated: not useful");
      onChanged();
    }, sayProblem);
  };
  const pin = (): void => {
    const pinned = !memory.life.pinned;
    put(`${path}/pin`, { pinned }).then(() => {
      say(pinned ? "Pinned: it never expires" : "No longer pinned");
      onChanged();
    }, sayProblem);
  };
  const forget = (): void => {
    setAsking(false);
    post<{ run: string }>("/v1/memory/forget", { ids: [memory.full_id], confirm: true }).then(({ run }) => {
      say("Forgotten: it is archived", () => {
        postInTurn("/v1/memory/gc/undo", { run, confirm: true }).then(() => {
          say("It is back");
          onChanged();
        }, sayProblem);
      });
      onGone();
      onChanged();
    }, sayProblem);
  };
  return (
    <div class="actions" role="group" aria-label="This memory">
      <button type="button" class="action" onClick={() => { rate("good"); }}>
        <Icon name="good" />
        <span>Useful</span>
      </button>
      <button type="button" class="action" onClick={() => { rate("bad"); }}>
        <Icon name="bad" />
        <span>Not useful</span>
      </button>
      <button type="button" class="action" aria-pressed={memory.life.pinned} onClick={pin}>
        <Icon name="pin" />
        <span>{memory.life.pinned ? "Pinned" : "Pin"}</span>
      </button>
      <button type="button" class="action" onClick={() => { setAsking(true); }}>
        <Icon name="forget" />
        <span>Forget</span>
      </button>
      {asking && (
        <Confirm
          title="Forget this memory?"
          action="Forget"
          danger
          onYes={forget}
          onNo={() => { setAsking(false); }}
        >
          <p>
            <strong>{memory.title || memory.id}</strong> goes into the archive and is found no more. Lifecycle
            has it for some time, and brings it back.
          </p>
        </Confirm>
      )}
    </div>
  );
}

function Content({ memory, marked }: { memory: MemoryDetail; marked: RegExp | null }): JSX.Element {
  return (
    <div class="panel-content">
      <h2 class="panel-title">{memory.title || "Without a title"}</h2>
      <p class="meta">
        <KindDot kind={memory.kind} />
        <span>{projectName(memory.project)}</span>
        <Origin memory={memory} />
        <Ago at={memory.event_time} />
        {memory.protected && <span class="badge">protected</span>}
        {memory.category !== "none" && <span class="badge">{words(memory.category)}</span>}
      </p>
      {memory.superseded_by && (
        <p class="notice">
          Superseded since {date(memory.superseded_by.since)} by{" "}
          <a href={memoryHref(memory.superseded_by.id)}>{memory.superseded_by.id}</a>:{" "}
          {memory.superseded_by.reason}
        </p>
      )}
      {memory.perhaps_outdated && (
        <p class="notice">
          Perhaps outdated, see{" "}
          <a href={memoryHref(memory.perhaps_outdated.id)}>{memory.perhaps_outdated.id}</a>
        </p>
      )}
      <Prose text={memory.text} title={memory.title} words={marked} />
      <Standing memory={memory} />
      <Connections links={memory.connections} />
      {memory.replaced.length > 0 && (
        <section>
          <h3>Replaces</h3>
          <ul class="plain-list">
            {memory.replaced.map((former) => (
              <li key={former.id}>
                <a href={memoryHref(former.id)}>{former.text.slice(0, 160)}</a>
                <span class="quiet">
                  {date(former.event_time)} until {date(former.until)}: {former.reason}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {memory.entities.length > 0 && (
        <section>
          <h3>Speaks of</h3>
          <p class="chips">
            {memory.entities.slice(0, 40).map((name) => (
              <a class="chip" key={name} href={href("graph", { entity: name })}>
                {name}
              </a>
            ))}
          </p>
        </section>
      )}
      <Details memory={memory} />
      <History id={memory.full_id} />
    </div>
  );
}

function Standing({ memory }: { memory: MemoryDetail }): JSX.Element {
  const { life } = memory;
  return (
    <section>
      <h3>Position</h3>
      <div class="standing">
        <div>
          <p class="standing-life">
            <strong>{life.pinned ? "Pinned" : LIVES[life.life]}</strong>
            <span class="quiet">gc would {life.action} it</span>
          </p>
          <p class="quiet">{life.reason}</p>
        </div>
        <DecaySpark kind={memory.kind} at={memory.event_time} />
        <dl class="figures">
          <div title="connected memories">
            <dt>connections</dt>
            <dd>{life.connections}</dd>
          </div>
          <div title="sessions in which it was recalled">
            <dt>recalls</dt>
            <dd>{life.sessions}</dd>
          </div>
          <div title="newer memories of its project">
            <dt>newer ones</dt>
            <dd>{life.age}</dd>
          </div>
          <div title="useful minus not useful ratings">
            <dt>feedback</dt>
            <dd>{life.feedback > 0 ? `+${life.feedback}` : life.feedback}</dd>
          </div>
        </dl>
      </div>
    </section>
  );
}

function Connections({ links }: { links: Link[] }): JSX.Element | null {
  const [all, setAll] = useState(false);
  if (!links.length) return null;
  const shown = all ? links : links.slice(0, 6);
  return (
    <section>
      <h3>
        Connected with <span class="quiet">{links.length}</span>
      </h3>
      <ul class="link-list">
        {shown.map((link) => (
          <li key={link.id}>
            <a
              href={memoryHref(link.id)}
              title={`alike in meaning ${percent(link.cosine)}, shared names ${percent(link.shared)}`}
            >
              {link.title || link.id}
            </a>
            <Meter share={link.strength} />
            <span class="number">{link.strength.toFixed(2)}</span>
          </li>
        ))}
      </ul>
      {links.length > shown.length && (
        <button type="button" class="link" onClick={() => { setAll(true); }}>
          Show all {links.length}
        </button>
      )}
    </section>
  );
}

function Details({ memory }: { memory: MemoryDetail }): JSX.Element {
  const rows: [string, ComponentChildren][] = [
    ["id", <code key="id">{memory.full_id}</code>],
    ["from", <span key="uri" title={memory.uri}>{tail(memory.uri, 3)}</span>],
    ["happened", dateTime(memory.event_time)],
    ["stored", dateTime(memory.created_at)],
    ["tier, state", `${memory.tier}, ${memory.state}`],
  ];
  if (memory.tags.length) rows.push(["tags", memory.tags.join(", ")]);
  if (memory.spec) rows.push(["spec", memory.spec]);
  rows.push(...furtherFields(memory));
  for (const [name, value] of Object.entries(memory.metadata).slice(0, 12)) {
    rows.push([words(name), typeof value === "string" ? value : JSON.stringify(value)]);
  }
  return (
    <section>
      <h3>Details</h3>
      <dl class="details">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function History({ id }: { id: string }): JSX.Element | null {
  const { data, problem } = useGet<{ history: HistoryEvent[] }>(`/v1/memory/memories/${id}/history`);
  if (problem) return <ErrorLine problem={problem} />;
  if (!data?.history.length) return null;
  return (
    <section>
      <h3>History</h3>
      <ol class="history">
        {data.history.slice(-12).map((one, index) => (
          <li key={index}>
            <time dateTime={one.at}>{date(one.at)}</time>
            <span>
              <strong>{one.what}</strong> {one.detail}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
