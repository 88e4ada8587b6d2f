/** The frame of the page: the way between views, the project, the theme, the keys. */

import type { JSX } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";

import { asProblem, Problem, session, sessionEnded, signIn, signOut } from "./api";
import { CloseButton, ErrorLine, useModal } from "./parts/basics";
import { Icon, type IconName } from "./parts/icons";
import { ProgressStrip } from "./parts/progress";
import { sayProblem, Toasts } from "./parts/toast";
import { useProjects } from "./projects";
import { amend, go, href, readRoute, useRoute } from "./route";
import { Mark, SignIn } from "./sign-in";
import { chosenTheme, chooseTheme, type Theme } from "./theme";
import { Agents } from "./views/agents";
import { Graph } from "./views/graph";
import { Health } from "./views/health";
import { Lifecycle } from "./views/lifecycle";
import { Search } from "./views/search";
import { Timeline } from "./views/timeline";

interface View {
  id: string;
  label: string;
  icon: IconName;
  key: string;
  show: () => JSX.Element;
  /** Whether it is of the chosen project. */
  ofProject: boolean;
}

const VIEWS: readonly View[] = [
  { id: "search", label: "Search", icon: "search", key: "1", show: Search, ofProject: true },
  { id: "graph", label: "Graph", icon: "graph", key: "2", show: Graph, ofProject: true },
  { id: "timeline", label: "Timeline", icon: "timeline", key: "3", show: Timeline, ofProject: true },
  { id: "lifecycle", label: "Lifecycle", icon: "lifecycle", key: "4", show: Lifecycle, ofProject: true },
  { id: "agents", label: "Agents", icon: "agents", key: "5", show: Agents, ofProject: false },
  { id: "health", label: "Health", icon: "health", key: "6", show: Health, ofProject: false },
];

type Standing = "asking" | "out" | "in";

export function App(): JSX.Element {
  const [standing, setStanding] = useState<Standing>("asking");
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    enter().then(
      (authenticated) => {
        setStanding(authenticated ? "in" : "out");
      },
      (error: unknown) => {
        setProblem(asProblem(error));
        setStanding("out");
      },
    );
    const end = (): void => {
      setProblem(new Problem("the session has ended", "sign in again", 401));
      setStanding("out");
    };
    sessionEnded.addEventListener("end", end);
    return () => {
      sessionEnded.removeEventListener("end", end);
    };
  }, []);
  if (standing === "asking") return <div class="asking" aria-busy="true" />;
  if (standing === "out") {
    return (
      <SignIn
        problem={problem}
        onIn={() => {
          setProblem(null);
          setStanding("in");
        }}
      />
    );
  }
  return (
    <Frame
      onOut={() => {
        signOut().then(() => {
          setStanding("out");
        }, sayProblem);
      }}
    />
  );
}

/** Sign in by the token in the address, which leaves it at once, or by the cookie of before. */
async function enter(): Promise<boolean> {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return session();
  history.replaceState(null, "", href("search"));
  await signIn(token);
  return true;
}

function Frame({ onOut }: { onOut: () => void }): JSX.Element {
  const route = useRoute();
  const view = VIEWS.find((one) => one.id === route.view) ?? VIEWS[0]!;
  const projects = useProjects();
  const [help, setHelp] = useState(false);
  const title = (view.id === "search" && route.values.q) || route.values.entity || view.label;
  useEffect(() => {
    document.title = `${title} – ragmem`;
  }, [title]);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (onKey(event)) event.preventDefault();
      else if (event.key === "?" && !isWriting(event)) setHelp(true);
    };
    addEventListener("keydown", press);
    return () => {
      removeEventListener("keydown", press);
    };
  }, []);
  const { project } = route.values;
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <nav class="rail" aria-label="Views">
        <a class="brand" href={href("search", { project })} aria-label="ragmem">
          <Mark />
          <span>ragmem</span>
        </a>
        <ul>
          {VIEWS.map((one) => (
            <li key={one.id}>
              <a
                href={href(one.id, { project })}
                aria-current={one === view ? "page" : undefined}
                aria-keyshortcuts={one.key}
                aria-label={one.label}
                title={one.label}
              >
                <Icon name={one.icon} />
                <span>{one.label}</span>
                <kbd aria-hidden="true">{one.key}</kbd>
              </a>
            </li>
          ))}
        </ul>
        <div class="rail-end">
          <ThemeSwitch />
          <button type="button" class="icon-button" aria-label="Keys" title="Keys (?)" onClick={() => { setHelp(true); }}>
            <Icon name="keys" />
          </button>
          <button type="button" class="icon-button" aria-label="Sign out" title="Sign out" onClick={onOut}>
            <Icon name="out" />
          </button>
        </div>
      </nav>
      <main id="main" tabIndex={-1} class={`main main-${view.id}`}>
        <header class="bar">
          <h1>{view.label}</h1>
          {view.ofProject && (projects.length > 1 || project) && (
            <label class={project ? "select chosen" : "select"}>
              <span>Project</span>
              <select
                value={project ?? ""}
                onChange={(event) => {
                  amend({ project: event.currentTarget.value || undefined, open: undefined });
                }}
              >
                <option value="">all projects</option>
                {project && projects.every((one) => one.id !== project) && <option value={project}>{project}</option>}
                {projects.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </header>
        <ProgressStrip />
        <Shown key={view.id} view={view} />
      </main>
      <Toasts />
      {help && <Keys onClose={() => { setHelp(false); }} />}
    </div>
  );
}

/** A view; if it cannot be drawn, a line instead of an empty page. */
function Shown({ view }: { view: View }): JSX.Element {
  const [error, reset] = useErrorBoundary();
  return error ? <ErrorLine problem={asProblem(error)} retry={reset} /> : <view.show />;
}

function isWriting(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  return (
    target.isContentEditable ||
    target.tagName === "TEXTAREA" ||
    target.tagName === "SELECT" ||
    (target.tagName === "INPUT" && (target as HTMLInputElement).type !== "checkbox")
  );
}

/** Focus a box with its text selected; tells whether it is there. */
function focusOn(id: string): boolean {
  const input = document.getElementById(id) as HTMLInputElement | null;
  input?.focus();
  input?.select();
  return input !== null;
}

/** Do what a key stands for; tells whether there was anything to do. */
function onKey(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return false;
  const { view, values } = readRoute();
  if (event.key === "Escape") {
    if (isWriting(event)) {
      (event.target as HTMLElement).blur();
      return true;
    }
    if (values.open) amend({ open: undefined });
    else if (values.entity) amend({ entity: undefined });
    else return false;
    return true;
  }
  if (isWriting(event)) return false;
  if (event.key === "/") {
    const box = view === "graph" ? "find" : "search";
    if (focusOn(box)) return true;
    go("search", { project: values.project });
    // What is typed next belongs into the box: a timeout would come after it, a microtask does not.
    queueMicrotask(() => focusOn("search"));
    return true;
  }
  const target = VIEWS.find((one) => one.key === event.key);
  if (!target) return false;
  go(target.id, { project: values.project });
  return true;
}

const THEMES: readonly (readonly [Theme, IconName, string])[] = [
  ["system", "system", "as the system"],
  ["light", "sun", "light"],
  ["dark", "moon", "dark"],
];

function ThemeSwitch(): JSX.Element {
  const [theme, setTheme] = useState(chosenTheme);
  const here = THEMES.findIndex(([one]) => one === theme);
  const [, icon, label] = THEMES[here]!;
  const [next, , nextLabel] = THEMES[(here + 1) % THEMES.length]!;
  return (
    <button
      type="button"
      class="icon-button theme"
      aria-label={`Colours: ${label}; change to ${nextLabel}`}
      title={`Colours: ${label}`}
      onClick={() => {
        chooseTheme(next);
        setTheme(next);
      }}
    >
      <Icon name={icon} />
    </button>
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search, or find a name in the graph"],
  ["1 to 6", "go to a view"],
  ["↑ ↓", "from result to result"],
  ["Enter", "open"],
  ["Esc", "close what is open"],
  ["← → ↑ ↓ + − 0", "move, zoom and fit the graph"],
  ["← →, Shift", "move and stretch the span of the timeline"],
  ["?", "these keys"],
];

function Keys({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useModal();
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-label="Keys"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div class="dialog-body">
        <div class="card-head">
          <h2>Keys</h2>
          <CloseButton label="Close" onClick={onClose} />
        </div>
        <dl class="keys">
          {KEYS.map(([key, does]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      </div>
    </dialog>
  );
}
