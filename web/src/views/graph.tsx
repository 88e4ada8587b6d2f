/** Graph: what the memories speak of and how it hangs together. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { useGet } from "../api";
import { compact, count, counted, date, isoDay } from "../format";
import { FAMILIES, familyOf } from "../graph/families";
import { GraphCanvas } from "../graph/canvas";
import { memoryHref, MemoryPanel } from "../memory";
import {
  Ago,
  CloseButton,
  Empty,
  ErrorLine,
  Meter,
  NothingStored,
  onEscape,
  Select,
  Skeleton,
  useIsEmpty,
  usePanelFocus,
} from "../parts/basics";
import { Icon } from "../parts/icons";
import { projectName } from "../projects";
import { amend, href, readRoute, useRoute } from "../route";
import type { CompactGraph, CompactNode, EntityWhole } from "../shapes";

const SIZES = ["500", "1000", "2000", "5000"];
const USUAL_SIZE = "1000";
const STEPS = 200;
const MOST_FOUND = 8;
/** Memories that mention a name and are listed beside it. */
const MENTIONS = 30;

declare global {
  interface Window {
    /** The graph as it is shown, for tests and benchmarks. */
    ragmemGraph?: GraphCanvas;
  }
}

function idOf(node: CompactNode): string {
  return `${node.project}/${node.name}`;
}

export function Graph(): JSX.Element {
  const { values } = useRoute();
  const size = values.size ?? USUAL_SIZE;
  const { data, problem, reload } = useGet<CompactGraph>("/v1/memory/graph", {
    limit: size,
    edges: Number(size) * 3,
    project: values.project,
    alone: false,
  });
  const isEmpty = useIsEmpty();
  return (
    <div class={values.entity || values.open ? "graph-view with-panel open" : "graph-view with-panel"}>
      <div class="graph-main">
        {problem && <ErrorLine problem={problem} retry={reload} />}
        {!data && !problem && <Skeleton lines={3} />}
        {data && data.nodes.length === 0 && (
          isEmpty ? <NothingStored /> : (
            <Empty title="No names are related yet">
              <p>Names and their relations come from indexed texts.</p>
            </Empty>
          )
        )}
        {data && data.nodes.length > 0 && <Picture graph={data} values={values} />}
      </div>
      {values.open ? (
        <MemoryPanel key={values.open} id={values.open} />
      ) : (
        values.entity && <EntityPanel key={values.entity} name={values.entity} project={values.project} />
      )}
    </div>
  );
}

/** Nodes spoken of between two shares of the whole time; one without a time is always shown. */
function inSpan(node: CompactNode, from: number, to: number): boolean {
  if (node.first === null || node.last === null) return true;
  return node.last >= from && node.first <= to;
}

function Picture({ graph, values }: { graph: CompactGraph; values: Record<string, string> }): JSX.Element {
  const picture = useRef<HTMLCanvasElement>(null);
  const top = useRef<HTMLCanvasElement>(null);
  const [canvas, setCanvas] = useState<GraphCanvas | null>(null);
  const [placed, setPlaced] = useState(false);
  const hovering = useRef<(id: string | null) => void>(() => undefined);
  const hidden = useMemo(() => new Set((values.hide ?? "").split(",").filter(Boolean)), [values.hide]);
  const [first, last] = useMemo(() => {
    const times = graph.nodes.flatMap((node) => [node.first ?? [], node.last ?? []].flat());
    return times.length ? [Math.min(...times), Math.max(...times)] : [0, 0];
  }, [graph]);
  const [from, to] = spanOf(values, first, last);

  useEffect(() => {
    const made = new GraphCanvas(picture.current!, top.current!, {
      onOpen: (id) => {
        const name = id.slice(id.indexOf("/") + 1);
        amend({ entity: name, open: undefined });
      },
      onHover: (id) => {
        hovering.current(id);
      },
      onPlaced: () => {
        setPlaced(true);
      },
      onSettled: () => {
        top.current?.setAttribute("data-settled", "true");
      },
    });
    window.ragmemGraph = made;
    setCanvas(made);
    const recolour = (): void => {
      made.recolour();
    };
    addEventListener("themechange", recolour);
    return () => {
      removeEventListener("themechange", recolour);
      delete window.ragmemGraph;
      made.close();
    };
  }, []);

  useEffect(() => {
    top.current?.removeAttribute("data-settled");
    canvas?.show(
      graph.nodes.map((node) => ({
        id: idOf(node),
        label: node.name,
        family: familyOf(node.type),
        degree: node.degree,
      })),
      graph.edges,
    );
  }, [canvas, graph]);

  const shown = useMemo(
    () =>
      Uint8Array.from(graph.nodes, (node) =>
        Number(!hidden.has(FAMILIES[familyOf(node.type)]!.id) && inSpan(node, from, to)),
      ),
    [graph, hidden, from, to],
  );
  useEffect(() => {
    canvas?.showOnly(shown);
  }, [canvas, shown]);

  useEffect(() => {
    const node = values.entity
      ? graph.nodes.find((one) => one.name.toLowerCase() === values.entity!.toLowerCase())
      : undefined;
    canvas?.open(node ? idOf(node) : null);
  }, [canvas, graph, values.entity]);

  const visible = shown.reduce((sum, one) => sum + one, 0);
  return (
    <>
      <div class={placed ? "graph-canvas" : "graph-canvas placing"}>
        {!placed && <p role="status">Arranging {counted(graph.nodes.length, "name")}</p>}
        <canvas ref={picture} class="graph-picture" aria-hidden="true" />
        <canvas
          ref={top}
          class="graph-top"
          tabIndex={0}
          role="application"
          aria-label={`Graph of ${count(visible)} names. Arrow keys move it, plus and minus zoom, 0 shows all; the search finds and opens a name.`}
        />
      </div>
      <div class="graph-tools">
        <Finder graph={graph} canvas={canvas} />
        <Select
          label="Names"
          value={values.size ?? USUAL_SIZE}
          usual={USUAL_SIZE}
          onChange={(size) => {
            amend({ size: size === USUAL_SIZE ? undefined : size }, { replace: true });
          }}
        >
          {SIZES.map((size) => (
            <option key={size} value={size}>
              {count(Number(size))} names
            </option>
          ))}
        </Select>
      </div>
      <div class="graph-zoom" role="group" aria-label="Zoom">
        <button type="button" class="icon-button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => canvas?.zoom(1.5)}>
          <Icon name="plus" />
        </button>
        <button type="button" class="icon-button" aria-label="Zoom out" title="Zoom out (-)" onClick={() => canvas?.zoom(1 / 1.5)}>
          <Icon name="minus" />
        </button>
        <button type="button" class="icon-button" aria-label="Show all" title="Show all (0)" onClick={() => canvas?.fit()}>
          <Icon name="fit" />
        </button>
      </div>
      <Legend graph={graph} hidden={hidden} />
      {last > first && <TimeSlider first={first} last={last} from={from} to={to} graph={graph} />}
      <Told graph={graph} visible={visible} hovering={hovering} />
    </>
  );
}

/** What is under the hand, or how much is shown; by itself, so that a hover renders nothing else anew. */
function Told({
  graph,
  visible,
  hovering,
}: {
  graph: CompactGraph;
  visible: number;
  hovering: { current: (id: string | null) => void };
}): JSX.Element {
  const [hovered, setHovered] = useState<string | null>(null);
  useEffect(() => {
    hovering.current = setHovered;
  }, [hovering]);
  const about = hovered === null ? undefined : graph.nodes.find((node) => idOf(node) === hovered);
  return (
    <p class="graph-told" aria-live="off">
      {about ? (
        <>
          <strong>{about.name}</strong> {about.type}, {counted(about.degree, "relation")},{" "}
          {counted(about.memories, "memory", "memories")}
          {graph.projects.length > 1 && `, ${projectName(graph.projects[about.project] ?? "")}`}
        </>
      ) : (
        <>
          {count(visible)} of {counted(graph.total_nodes, "related name")}, {count(graph.edges.length)} of{" "}
          {counted(graph.total_edges, "relation")}
        </>
      )}
    </p>
  );
}

function spanOf(values: Record<string, string>, first: number, last: number): [number, number] {
  const read = (text: string | undefined, otherwise: number): number => {
    const moment = text ? Date.parse(text) / 1000 : Number.NaN;
    return Number.isNaN(moment) ? otherwise : moment;
  };
  // The last day counts as a whole.
  return [read(values.from, first), values.to ? read(values.to, last) + 86_399 : last];
}

function dayOf(seconds: number): string {
  return date(isoDay(new Date(seconds * 1000)));
}

function Finder({ graph, canvas }: { graph: CompactGraph; canvas: GraphCanvas | null }): JSX.Element {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const wanted = text.trim().toLowerCase();
  const found = useMemo(
    () => (wanted ? graph.nodes.filter((node) => node.name.toLowerCase().includes(wanted)) : []),
    [graph, wanted],
  );
  const listed = useMemo(
    () =>
      [...found]
        .sort(
          (one, other) =>
            Number(other.name.toLowerCase().startsWith(wanted)) -
              Number(one.name.toLowerCase().startsWith(wanted)) || other.degree - one.degree,
        )
        .slice(0, MOST_FOUND),
    [found, wanted],
  );
  useEffect(() => {
    canvas?.mark(wanted ? new Set(found.map(idOf)) : null);
  }, [canvas, found, wanted]);
  const open = (node: CompactNode | undefined): void => {
    if (!node) return;
    setText("");
    amend({ entity: node.name, open: undefined });
  };
  return (
    <div class="finder">
      <div class="finder-box">
        <Icon name="search" />
        <input
          id="find"
          type="text"
          list={undefined}
          role="combobox"
          aria-expanded={listed.length > 0}
          aria-controls="found-names"
          aria-activedescendant={listed.length ? `found-${chosen}` : undefined}
          aria-label="Find an entity in the graph"
          placeholder="Find a name"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !listed.length) amend({ entity: text.trim() || undefined, open: undefined });
            else if (event.key === "Enter") open(listed[chosen]);
            else if (event.key === "Escape") setText("");
            else if (event.key === "ArrowDown") setChosen(Math.min(chosen + 1, listed.length - 1));
            else if (event.key === "ArrowUp") setChosen(Math.max(chosen - 1, 0));
            else return;
            event.preventDefault();
          }}
        />
        {wanted && <span class="quiet">{compact(found.length)}</span>}
      </div>
      {wanted && !listed.length && <p class="found quiet">None of the names shown here. Enter looks in all names.</p>}
      {listed.length > 0 && (
        <ul class="found" id="found-names" role="listbox" aria-label="Names">
          {listed.map((node, index) => (
            <li
              key={idOf(node)}
              id={`found-${index}`}
              role="option"
              aria-selected={index === chosen}
              onClick={() => {
                open(node);
              }}
            >
              <i class={`family family-${FAMILIES[familyOf(node.type)]!.id}`} aria-hidden="true" />
              <span>{node.name}</span>
              <span class="quiet">{count(node.degree)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Legend({ graph, hidden }: { graph: CompactGraph; hidden: ReadonlySet<string> }): JSX.Element {
  const counts = useMemo(() => {
    const found = new Array<number>(FAMILIES.length).fill(0);
    for (const node of graph.nodes) found[familyOf(node.type)]! += 1;
    return found;
  }, [graph]);
  return (
    <div class="legend" role="group" aria-label="Types of entities">
      {FAMILIES.map((family, index) =>
        counts[index] ? (
          <button
            key={family.id}
            type="button"
            aria-pressed={!hidden.has(family.id)}
            title={family.types.join(", ")}
            onClick={() => {
              const next = new Set(hidden);
              if (!next.delete(family.id)) next.add(family.id);
              amend({ hide: [...next].join(",") || undefined }, { replace: true });
            }}
          >
            <i class={`family family-${family.id}`} aria-hidden="true" />
            <span>{family.label}</span>
            <span class="quiet">{count(counts[index])}</span>
          </button>
        ) : null,
      )}
    </div>
  );
}

function TimeSlider({
  first,
  last,
  from,
  to,
  graph,
}: {
  first: number;
  last: number;
  from: number;
  to: number;
  graph: CompactGraph;
}): JSX.Element {
  const step = (last - first) / STEPS;
  const [low, high] = [(from - first) / step, (Math.min(to, last) - first) / step];
  const set = (name: "from" | "to", value: number): void => {
    const bounded = name === "from" ? Math.min(value, high - 1) : Math.max(value, low + 1);
    const whole = name === "from" ? bounded <= 0 : bounded >= STEPS;
    const moment = new Date((first + bounded * step) * 1000);
    amend({ [name]: whole ? undefined : isoDay(moment) }, { replace: true });
  };
  const bars = useMemo(() => {
    const found = new Array<number>(60).fill(0);
    for (const node of graph.nodes) {
      if (node.last === null) continue;
      found[Math.min(59, Math.floor(((node.last - first) / (last - first)) * 60))]! += 1;
    }
    const most = Math.max(...found);
    return found.map((one) => (one ? Math.max(0.06, Math.sqrt(one / most)) : 0));
  }, [graph, first, last]);
  return (
    <div class="time-slider" role="group" aria-label="Time">
      <span class="quiet">{dayOf(from)}</span>
      <div class="time-track">
        <svg viewBox="0 0 600 40" preserveAspectRatio="none" aria-hidden="true">
          {bars.map((height, index) => (
            <rect
              key={index}
              class={index / 60 >= (low - 1) / STEPS && (index + 1) / 60 <= (high + 4) / STEPS ? "in" : ""}
              x={index * 10 + 1}
              width="8"
              y={40 - height * 38}
              height={height * 38}
            />
          ))}
        </svg>
        <input
          type="range"
          min="0"
          max={STEPS}
          value={low}
          aria-label="Mentioned since"
          aria-valuetext={dayOf(from)}
          onInput={(event) => {
            set("from", Number(event.currentTarget.value));
          }}
        />
        <input
          type="range"
          min="0"
          max={STEPS}
          value={high}
          aria-label="Mentioned until"
          aria-valuetext={dayOf(to)}
          onInput={(event) => {
            set("to", Number(event.currentTarget.value));
          }}
        />
      </div>
      <span class="quiet">{dayOf(to)}</span>
    </div>
  );
}

/** "30 of 1,204", or one number where all are shown. */
function ofAll(shown: number, all: number): string {
  return all > shown ? `${count(shown)} of ${count(all)}` : count(shown);
}

function EntityPanel({ name, project }: { name: string; project: string | undefined }): JSX.Element {
  const { data, problem, reload } = useGet<EntityWhole>("/v1/memory/entity", { name, project, limit: 60 });
  const panel = usePanelFocus(name);
  const close = (): void => {
    amend({ entity: undefined });
  };
  const [all, setAll] = useState(false);
  const neighbours = [...(data?.neighbours ?? [])].sort((one, other) => other.weight - one.weight);
  const inProjects = data?.entity.projects ?? [];
  const relations = inProjects.reduce((sum, one) => sum + (one.degree ?? 0), 0);
  const mentions = inProjects.reduce((sum, one) => sum + (one.memories ?? 0), 0);
  const heaviest = Math.max(1, ...neighbours.map((one) => one.weight));
  return (
    <aside
      class="panel"
      ref={panel}
      tabIndex={-1}
      aria-label="Name"
      onKeyDown={onEscape(close)}
    >
      <div class="panel-bar">
        <a class="action" href={href("search", { q: name, project: readRoute().values.project })}>
          <Icon name="search" />
          <span>Search memories</span>
        </a>
        <span class="grow" />
        <CloseButton label="Close" onClick={close} />
      </div>
      {problem && <ErrorLine problem={problem} retry={reload} />}
      {!data && !problem && <Skeleton lines={8} tall />}
      {data && (
        <div class="panel-content">
          <h2 class="panel-title">{data.entity.name}</h2>
          <p class="meta">
            <span class="kind">
              <i class={`family family-${FAMILIES[familyOf(data.entity.type)]!.id}`} aria-hidden="true" />
              {data.entity.type}
            </span>
            <span>{counted(relations, "relation")}</span>
            {inProjects.slice(0, 4).map((one) => (
              <span key={one.project}>{projectName(one.project)}</span>
            ))}
            {inProjects.length > 4 && <span>{counted(inProjects.length - 4, "other project")}</span>}
          </p>
          <section>
            <h3>
              Related to <span class="quiet">{ofAll(neighbours.length, relations)}</span>
            </h3>
            <ul class="link-list">
              {neighbours.slice(0, all ? neighbours.length : 12).map((one) => (
                <li key={`${one.project}/${one.name}`}>
                  <a
                    href={href("graph", { ...readRoute().values, entity: one.name, open: undefined })}
                    title={one.descriptions[0] ?? one.keywords}
                  >
                    <i class={`family family-${FAMILIES[familyOf(one.type)]!.id}`} aria-hidden="true" />
                    {one.name}
                  </a>
                  <Meter share={one.weight / heaviest} />
                  <span class="number">{one.weight.toFixed(one.weight < 10 ? 1 : 0)}</span>
                </li>
              ))}
            </ul>
            {neighbours.length > 12 && !all && (
              <button type="button" class="link" onClick={() => { setAll(true); }}>
                Show all {neighbours.length}
              </button>
            )}
          </section>
          <section>
            <h3>
              Memories <span class="quiet">{ofAll(Math.min(MENTIONS, data.memories.length), mentions)}</span>
            </h3>
            <ul class="told-list">
              {data.memories.slice(0, MENTIONS).map((one) => (
                <li key={one.id}>
                  <a href={memoryHref(one.id)}>{one.title || one.id}</a>
                  <p>{one.text}</p>
                  <p class="meta">
                    <span>{projectName(one.project)}</span>
                    <span>{one.source}</span>
                    <Ago at={one.event_time} />
                  </p>
                </li>
              ))}
            </ul>
          </section>
        </div>
      )}
    </aside>
  );
}
