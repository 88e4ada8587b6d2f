/** Requests to the server this page came from; what goes wrong is a Problem with a text for people. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export class Problem extends Error {
  readonly status: number;
  readonly hint: string;

  constructor(message: string, hint: string, status: number) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

type Value = string | number | boolean | undefined | null;
export type Parameters = Record<string, Value | readonly string[]>;

let csrf = "";

/** Told when the session has ended meanwhile. */
export const sessionEnded = new EventTarget();

export function address(path: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (Array.isArray(value)) for (const one of value as readonly string[]) query.append(name, one);
    else if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

function told(detail: unknown): string {
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail)) {
    const first = detail[0] as { loc?: unknown[]; msg?: string } | undefined;
    return first ? `${String(first.loc?.at(-1) ?? "request")}: ${first.msg ?? "is not right"}` : "";
  }
  return "";
}

async function send(method: string, url: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (csrf && method !== "GET") headers["X-CSRF-Token"] = csrf;
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "same-origin",
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem("the server does not answer", "is `ragmem serve` still running?", 0);
  }
  let answer: unknown = null;
  try {
    answer = await response.json();
  } catch {
    answer = null; // an answer without a body, or from something in between
  }
  if (response.ok) return answer;
  const { detail, hint } = (answer ?? {}) as { detail?: unknown; hint?: string };
  if (response.status === 401 && !url.startsWith("/session")) sessionEnded.dispatchEvent(new Event("end"));
  throw new Problem(told(detail) || `the server answered ${response.status}`, hint ?? "", response.status);
}

export async function get<T>(path: string, parameters?: Parameters, signal?: AbortSignal): Promise<T> {
  return (await send("GET", address(path, parameters), undefined, signal)) as T;
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await send("POST", path, body, signal)) as T;
}

const TURN_MS = 700;

/** Begin a job of gc; while another one runs, as the plan that a view makes by itself, it waits for its turn. */
export async function postInTurn<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await post<T>(path, body, signal);
    } catch (error) {
      if (signal?.aborted || asProblem(error).status !== 409) throw error;
      await new Promise((resolve) => setTimeout(resolve, TURN_MS));
    }
  }
}

export async function put<T>(path: string, body: unknown): Promise<T> {
  return (await send("PUT", path, body)) as T;
}

interface SessionState {
  authenticated: boolean;
  csrf_token?: string;
}

export async function session(): Promise<boolean> {
  const state = await get<SessionState>("/session");
  csrf = state.csrf_token ?? "";
  return state.authenticated;
}

export async function signIn(token: string): Promise<void> {
  const state = await post<SessionState>("/session", { token });
  csrf = state.csrf_token ?? "";
}

export async function signOut(): Promise<void> {
  await send("DELETE", "/session");
  csrf = "";
  kept.clear(); // the next one to sign in may see other projects
}

export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(String(error), "this is a bug in the page", 0);
}

export interface Loaded<T> {
  data: T | null;
  problem: Problem | null;
  loading: boolean;
  reload: () => void;
}

const kept = new Map<string, unknown>();
const MOST_KEPT = 60;

function keep(key: string, value: unknown): void {
  kept.delete(key);
  kept.set(key, value);
  const oldest = kept.keys().next().value;
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
}

/** Load what a key stands for; what was loaded before is shown until the new answer has come. */
export function useLoaded<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string | null; data: T | null; problem: Problem | null }>({
    key: null,
    data: null,
    problem: null,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (key === null) return undefined;
    const ended = new AbortController();
    latest.current(ended.signal).then(
      (data) => {
        if (ended.signal.aborted) return;
        keep(key, data);
        setState({ key, data, problem: null });
      },
      (error: unknown) => {
        if (!ended.signal.aborted) setState({ key, data: null, problem: asProblem(error) });
      },
    );
    return () => {
      ended.abort();
    };
  }, [key, round]);
  const reload = useCallback(() => {
    setRound((before) => before + 1);
  }, []);
  const current = state.key === key;
  const data = current ? state.data : ((key === null ? null : kept.get(key)) as T | undefined) ?? null;
  return { data, problem: current ? state.problem : null, loading: key !== null && !current, reload };
}

/** Load a path with its parameters; a path of null loads nothing. */
export function useGet<T>(path: string | null, parameters?: Parameters): Loaded<T> {
  const url = path === null ? null : address(path, parameters);
  return useLoaded<T>(url, (signal) => get<T>(url ?? "", undefined, signal));
}

/** Load a list page by page; `more` loads the next page, null at the end. */
export function usePages<P extends { next: string | null }>(
  path: string,
  parameters: Parameters,
): Omit<Loaded<P>, "data"> & { pages: P[]; more: (() => void) | null } {
  const first = useGet<P>(path, parameters);
  const [further, setFurther] = useState<P[]>([]);
  const [loading, setLoading] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    setFurther([]);
    setProblem(null);
  }, [first.data]);
  const pages = first.data ? [first.data, ...further] : [];
  const cursor = pages.at(-1)?.next;
  const more = (): void => {
    setLoading(true);
    get<P>(path, { ...parameters, cursor })
      .then(
        (page) => {
          setFurther([...further, page]);
          setProblem(null);
        },
        (error: unknown) => {
          setProblem(asProblem(error));
        },
      )
      .finally(() => {
        setLoading(false);
      });
  };
  return { ...first, problem: first.problem ?? problem, loading: loading || first.loading, pages, more: cursor ? more : null };
}
