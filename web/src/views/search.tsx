/** Search: a question, its filters, and answers whose scores are explained. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { post, useGet, useLoaded } from "../api";
import { compact, count, counted, seconds } from "../format";
import { memoryHref, WithPanel } from "../memory";
import {
  Ago,
  Empty,
  ErrorLine,
  KindDot,
  Meter,
  NothingStored,
  Origin,
  Select,
  Skeleton,
  useIsEmpty,
} from "../parts/basics";
import { Icon } from "../parts/icons";
import { Inline, Marked, plain, wordsOf } from "../parts/texts";
import { projectName } from "../projects";
import { amend, go, href, useRoute } from "../route";
import {
  type MemorySummary,
  type QueryAnswer,
  furtherFields,
  KINDS,
  type Match,
  type MemoryPage,
  type Source,
  type Stats,
} from "../shapes";

const ROUTES = ["knowledge", "episode", "operational", "recon", "code"];
const MODES = ["local", "global", "hybrid", "naive", "mix"];
const SPANS: readonly (readonly [since: string, until: string, label: string])[] = [
  ["7d", "", "last 7 days"],
  ["30d", "", "last 30 days"],
  ["3m", "", "last 3 months"],
  ["12m", "", "last 12 months"],
  ["", "30d", "older than 30 days"],
  ["", "3m", "older than 3 months"],
  ["", "12m", "older than 12 months"],
];
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const TYPING_MS = 280;
const FILTERS = ["kind", "source", "since", "until", "how", "history", "tiers"];
const TOUR = "ragmem.tour";

export function Search(): JSX.Element {
  const { values } = useRoute();
  const query = values.q ?? "";
  const words = useMemo(() => wordsOf(query), [query]);
  const [round, setRound] = useState(0);
  const isEmpty = useIsEmpty();
  return (
    <WithPanel
      open={values.open}
      wordsOf={words}
      onChanged={() => {
        setRound((before) => before + 1);
      }}
    >
      <div class="view search">
        <Box query={query} />
        <Filters values={values} />
        {isEmpty ? (
          <NothingStored />
        ) : query.trim() ? (
          <Answers key={round} values={values} words={words} />
        ) : (
          <Start key={round} values={values} />
        )}
      </div>
    </WithPanel>
  );
}

function Box({ query }: { query: string }): JSX.Element {
  const [text, setText] = useState(query);
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  const asked = useRef(query);
  useEffect(() => {
    // The box follows the address, except where the address follows the box.
    if (query !== asked.current) setText(query);
    asked.current = query;
  }, [query]);
  useEffect(() => () => { clearTimeout(timer.current); }, []);
  const ask = (question: string): void => {
    clearTimeout(timer.current);
    asked.current = question.trim();
    // A result that was opened meanwhile stays open.
    amend({ q: asked.current || undefined }, { replace: true });
  };
  return (
    <form
      class="search-box"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        ask(text);
      }}
    >
      <Icon name="search" />
      <input
        id="search"
        ref={input}
        type="search"
        value={text}
        placeholder="Ask a question"
        aria-label="Search memories"
        autocomplete="off"
        spellcheck={false}
        maxLength={4000}
        onInput={(event) => {
          const { value } = event.currentTarget;
          setText(value);
          clearTimeout(timer.current);
          timer.current = window.setTimeout(() => { ask(value); }, TYPING_MS);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") {
            event.preventDefault();
            document.querySelector<HTMLElement>(".result-title")?.focus();
          }
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

function Filters({ values }: { values: Record<string, string> }): JSX.Element {
  const sources = useGet<{ sources: Source[] }>("/v1/memory/sources").data?.sources ?? [];
  const kinds = new Set((values.kind ?? "").split(",").filter(Boolean));
  const [unfolded, setUnfolded] = useState(false);
  const chosen = FILTERS.filter((name) => values[name]).length;
  const set = (name: string) => (value: string): void => {
    amend({ [name]: value || undefined }, { replace: true });
  };
  return (
    <>
      <button
        type="button"
        class="button filters-fold"
        aria-expanded={unfolded}
        aria-controls="filters"
        onClick={() => { setUnfolded(!unfolded); }}
      >
        {chosen ? `Filters (${chosen} chosen)` : "Filters"}
      </button>
      <div id="filters" class={unfolded ? "filters unfolded" : "filters"} role="group" aria-label="Filters">
        <div class="kind-filter">
          {KINDS.map((kind) => (
            <button
              key={kind}
              type="button"
              class={`kind-button kind-${kind}`}
              aria-pressed={kinds.has(kind)}
              onClick={() => {
                const next = new Set(kinds);
                if (!next.delete(kind)) next.add(kind);
                set("kind")(KINDS.filter((one) => next.has(one)).join(","));
              }}
            >
              <i aria-hidden="true" />
              {kind}
            </button>
          ))}
        </div>
        <Select label="Source" value={values.source ?? ""} onChange={set("source")}>
          <option value="">any source</option>
          {sources.filter((one) => one.memories > 0).map((one) => (
            <option key={one.source} value={one.source}>{one.source}</option>
          ))}
        </Select>
        <TimeFilter since={values.since ?? ""} until={values.until ?? ""} />
        <Select label="Type of answer" value={values.how ?? ""} onChange={set("how")}>
          <option value="">any answer</option>
          <optgroup label="Only">
            {ROUTES.map((one) => <option key={one} value={one}>{one}</option>)}
          </optgroup>
          <optgroup label="LightRAG's modes">
            {MODES.map((one) => <option key={one} value={`mode:${one}`}>{one}</option>)}
          </optgroup>
        </Select>
        <label class="check">
          <input
            type="checkbox"
            checked={values.history === "1"}
            onChange={(event) => { set("history")(event.currentTarget.checked ? "1" : ""); }}
          />
          superseded too
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={values.tiers === "all"}
            onChange={(event) => { set("tiers")(event.currentTarget.checked ? "all" : ""); }}
          />
          discarded too
        </label>
      </div>
    </>
  );
}

/** A span that has a name, or two days that are chosen. */
function TimeFilter({ since, until }: { since: string; until: string }): JSX.Element {
  const named = SPANS.some(([from, to]) => from === since && to === until);
  const [choosing, setChoosing] = useState(false);
  const days = choosing || (!named && Boolean(since || until));
  const change = (from: string, to: string): void => {
    amend({ since: from || undefined, until: to || undefined }, { replace: true });
  };
  return (
    <>
      <Select
        label="Time"
        value={days ? "days" : since || until ? `${since}/${until}` : ""}
        onChange={(value) => {
          setChoosing(value === "days");
          const [from = "", to = ""] = value === "days" ? [] : value.split("/");
          change(from, to);
        }}
      >
        <option value="">any time</option>
        {SPANS.map(([from, to, label]) => (
          <option key={label} value={`${from}/${to}`}>{label}</option>
        ))}
        <option value="days">between two days</option>
      </Select>
      {days && (
        <span class="days-chosen">
          <input
            type="date"
            aria-label="Since this day"
            value={DAY.test(since) ? since : ""}
            onChange={(event) => { change(event.currentTarget.value, until); }}
          />
          <span class="quiet">to before</span>
          <input
            type="date"
            aria-label="Before this day"
            value={DAY.test(until) ? until : ""}
            onChange={(event) => { change(since, event.currentTarget.value); }}
          />
        </span>
      )}
    </>
  );
}

function questionOf(values: Record<string, string>): Record<string, unknown> {
  const how = values.how ?? "";
  return {
    query: (values.q ?? "").trim(),
    limit: 20,
    explain: true,
    kinds: (values.kind ?? "").split(",").filter(Boolean),
    sources: values.source ? [values.source] : [],
    projects: values.project ? [values.project] : null,
    since: values.since ?? null,
    until: values.until ?? null,
    history: values.history === "1",
    all_tiers: values.tiers === "all",
    nearest: values.nearest === "1",
    ...(how.startsWith("mode:") ? { mode: how.slice(5) } : how ? { route: how } : {}),
  };
}

function Answers({ values, words }: { values: Record<string, string>; words: RegExp | null }): JSX.Element {
  const question = questionOf(values);
  const { data, problem, loading, reload } = useLoaded<QueryAnswer>(
    `query ${JSON.stringify(question)}`,
    (signal) => post<QueryAnswer>("/v1/memory/query", question, signal),
  );
  const before = useRef<QueryAnswer | null>(null);
  if (data) before.current = data;
  const shown = data ?? (loading ? before.current : null);
  if (problem) return <ErrorLine problem={problem} retry={reload} />;
  // That nothing was found is said only of the present question.
  if (!shown || (loading && !shown.matches.length)) return <Skeleton lines={9} tall />;
  if (!shown.matches.length) return <Nothing values={values} notes={shown.notes} />;
  return (
    <div class={loading ? "answers waiting" : "answers"} aria-busy={loading}>
      <p class="summary" role="status">
        <span>
          <strong>{counted(shown.matches.length, "memory", "memories")}</strong> in {seconds(shown.seconds)}
        </span>
        <span>searched by {shown.rung}</span>
        {shown.route.name && (
          <span>
            type of answer: <em>{shown.route.name}</em>
          </span>
        )}
      </p>
      {shown.notes.map((note) => (
        <p key={note} class="notice">
          <Inline text={note} />
        </p>
      ))}
      <ol class="results">
        {shown.matches.map((match) => (
          <Result key={match.full_id} match={match} words={words} open={values.open} />
        ))}
      </ol>
    </div>
  );
}

function Nothing({ values, notes }: { values: Record<string, string>; notes: string[] }): JSX.Element {
  return (
    <Empty title="No results">
      {notes.map((note) => (
        <p key={note}>
          <Inline text={note} />
        </p>
      ))}
      <Unfilter values={values} />
      {values.nearest !== "1" && (
        <button type="button" class="button" onClick={() => { amend({ nearest: "1" }); }}>
          Show what is nearest
        </button>
      )}
    </Empty>
  );
}

function Unfilter({ values }: { values: Record<string, string> }): JSX.Element | null {
  if (!["kind", "source", "since", "until", "how", "project"].some((name) => values[name])) return null;
  return (
    <button type="button" class="button" onClick={() => { go("search", { q: values.q }); }}>
      {values.q ? "Search without filters" : "Remove the filters"}
    </button>
  );
}

const TERMS: readonly (readonly [name: string, label: string, tone: string, tells: string])[] = [
  ["lexical", "words", "words", "how well the words of the question are covered"],
  ["semantic", "meaning", "meaning", "how near the text is in meaning"],
  ["graph", "names", "names", "how its names are connected with those of the question"],
  ["time", "time", "time", "how well it fits the time in the question"],
  ["recency", "recency", "recency", "how recent it is, by the half-life of its kind"],
];

function Result({
  match,
  words,
  open,
}: {
  match: Match;
  words: RegExp | null;
  open: string | undefined;
}): JSX.Element {
  const isOpen = open !== undefined && match.full_id.startsWith(open);
  return (
    <li class={isOpen ? "result open" : "result"}>
      <div class="result-text">
        <a class="result-title" href={memoryHref(match.id)} onKeyDown={moveBetween}>
          <Marked text={match.title || match.heading || match.id} words={words} />
        </a>
        <Meta memory={match}>
          {match.state === "buffered" && <span class="badge">discarded</span>}
          {match.superseded_by && <span class="badge warn">superseded</span>}
          {match.perhaps_outdated && <span class="badge">perhaps outdated</span>}
          {match.duplicates.length > 0 && <span class="quiet">+{match.duplicates.length} alike</span>}
        </Meta>
        {match.heading && match.heading !== match.title && <p class="heading-path">{match.heading}</p>}
        <p class="excerpt">
          <Marked text={plain(match.excerpt, match.title)} words={words} />
        </p>
        {isOpen && match.explained && (
          <ul class="explained" aria-label="Terms of the score">
            {match.explained.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        )}
      </div>
      <Score match={match} />
    </li>
  );
}

function Score({ match }: { match: Match }): JSX.Element {
  const terms = match.terms ?? {};
  const shown = TERMS.filter(([name]) => terms[name] !== undefined);
  return (
    <div class="score" title={(match.explained ?? []).join("\n")}>
      <p class="score-total">
        <strong>{match.score.toFixed(2)}</strong>
        <span>score</span>
      </p>
      <dl class="terms">
        {shown.map(([name, label, tone, tells]) => (
          <div key={name} title={tells}>
            <dt>{label}</dt>
            <dd>
              <Meter share={terms[name] ?? 0} tone={tone} />
              <span class="number">{(terms[name] ?? 0).toFixed(2)}</span>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Up and down go from title to title, as in any list. */
export function moveBetween(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const titles = [...document.querySelectorAll<HTMLElement>(".result-title")];
  const here = titles.indexOf(event.currentTarget as HTMLElement);
  const next = titles[here + (event.key === "ArrowDown" ? 1 : -1)];
  event.preventDefault();
  if (next) next.focus();
  else if (event.key === "ArrowUp") document.getElementById("search")?.focus();
}

export function Meta({
  memory,
  children,
}: {
  memory: MemorySummary;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <p class="meta">
      <KindDot kind={memory.kind} />
      <span>{projectName(memory.project)}</span>
      <Origin memory={memory} />
      <Ago at={memory.event_time} />
      {furtherFields(memory).map(([name, value]) => <span key={name}>{name}: {value}</span>)}
      {children}
    </p>
  );
}

/** Before anything was asked: how much there is, and what came last of what the filters let through. */
function Start({ values }: { values: Record<string, string> }): JSX.Element {
  const { project, source, since, until, open } = values;
  const stats = useGet<Stats>("/v1/memory/stats").data;
  const kind = (values.kind ?? "").split(",").filter(Boolean);
  const page = useGet<MemoryPage>("/v1/memory/memories", { limit: 12, project, source, kind, since, until });
  const filtered = project || source || since || until || kind.length;
  return (
    <>
      <Tour />
      {!filtered && <Figures stats={stats} />}
      <h2 class="list-head">
        {page.data && page.data.total > page.data.memories.length
          ? `Latest of ${count(page.data.total)} memories`
          : "Latest memories"}
      </h2>
      {page.problem && <ErrorLine problem={page.problem} retry={page.reload} />}
      {!page.data && !page.problem && <Skeleton lines={8} tall />}
      {page.data && !page.data.memories.length && !filtered && <NothingStored />}
      {page.data && !page.data.memories.length && filtered && (
        <Empty title="No memory passes the filters">
          <Unfilter values={values} />
        </Empty>
      )}
      {page.data && page.data.memories.length > 0 && (
        <ol class="results plain">
          {page.data.memories.map((memory) => (
            <li key={memory.full_id} class={open && memory.full_id.startsWith(open) ? "result open" : "result"}>
              <div class="result-text">
                <a class="result-title" href={memoryHref(memory.id)} onKeyDown={moveBetween}>
                  {memory.title || memory.id}
                </a>
                <Meta memory={memory} />
                <p class="excerpt">{plain(memory.excerpt, memory.title)}</p>
              </div>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

function isFirstVisit(): boolean {
  try {
    return localStorage.getItem(TOUR) === null;
  } catch {
    return false; // Storage is forbidden: it could not be closed for good.
  }
}

/** Three sentences for a first visit, shown until they are closed. */
function Tour(): JSX.Element | null {
  const [open, setOpen] = useState(isFirstVisit);
  if (!open) return null;
  return (
    <aside class="tour card" aria-label="First visit">
      <ol>
        <li>Type a question or a few words above; each answer shows why it was found.</li>
        <li>Open a result to read the whole memory, to rate, pin or forget it, and to see its connections.</li>
        <li>The other views show names and relations, a timeline, the next candidates of gc, and the health of the store.</li>
      </ol>
      <button
        type="button"
        class="button"
        onClick={() => {
          localStorage.setItem(TOUR, "seen");
          setOpen(false);
        }}
      >
        Close
      </button>
    </aside>
  );
}

function Figures({ stats }: { stats: Stats | null }): JSX.Element {
  const total = stats?.catalog.total;
  const figures: [one: string, many: string, value: number | undefined, target: string][] = [
    ["memory", "memories", total?.memories, href("timeline")],
    ["name", "names", stats?.store.entities, href("graph")],
    ["relation", "relations", stats?.store.relations, href("graph")],
    ["project", "projects", stats ? Object.keys(stats.catalog.project).length : undefined, href("health")],
    ["in the archive", "in the archive", stats?.archived, href("lifecycle")],
  ];
  return (
    <ul class="figure-row">
      {figures.map(([one, many, value, target]) => (
        <li key={one}>
          <a href={target}>
            <strong>{value === undefined ? "–" : compact(value)}</strong>
            <span>{value === 1 ? one : many}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
