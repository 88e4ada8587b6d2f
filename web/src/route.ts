/** The place in the page: `#/view?key=value`. A fragment never reaches the server nor its log. */

import { useEffect, useState } from "preact/hooks";

export interface Route {
  view: string;
  values: Record<string, string>;
}

export function readRoute(hash = location.hash): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path || "search", values: Object.fromEntries(new URLSearchParams(query)) };
}

export function href(view: string, values: Record<string, string | undefined> = {}): string {
  const kept = Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = new URLSearchParams(kept).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

const changed = new EventTarget();

function tell(): void {
  changed.dispatchEvent(new Event("route"));
}

addEventListener("hashchange", tell);

/** Go elsewhere; `replace` leaves no step in the history, for what changes with each key or drag. */
export function go(
  view: string,
  values: Record<string, string | undefined> = {},
  { replace = false }: { replace?: boolean } = {},
): void {
  const target = href(view, values);
  if (target === location.hash) return;
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  tell();
}

/** Change some values of this place and keep the others. */
export function amend(
  values: Record<string, string | undefined>,
  options: { replace?: boolean } = {},
): void {
  const { view, values: here } = readRoute();
  go(view, { ...here, ...values }, options);
}

addEventListener("popstate", tell);

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const update = (): void => {
      setRoute(readRoute());
    };
    changed.addEventListener("route", update);
    return () => {
      changed.removeEventListener("route", update);
    };
  }, []);
  return route;
}
