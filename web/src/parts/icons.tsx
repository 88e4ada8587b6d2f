/** The few signs of the page, drawn with lines of one width. */

import type { JSX } from "preact";

const PATHS = {
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4",
  graph: "M6 7l11-1M6 7l5 11M17 6l-6 12M6 7m-2.2 0a2.2 2.2 0 1 0 4.4 0 2.2 2.2 0 1 0-4.4 0M17 6m-2.2 0a2.2 2.2 0 1 0 4.4 0 2.2 2.2 0 1 0-4.4 0M11 18m-2.2 0a2.2 2.2 0 1 0 4.4 0 2.2 2.2 0 1 0-4.4 0",
  timeline: "M4 20V12M9 20V6M14 20v-9M19 20V4",
  lifecycle: "M20 12a8 8 0 1 1-2.4-5.7M20 3v4h-4",
  agents: "M4 6h16v10H10l-4 4v-4H4z",
  health: "M3 12h4l3-8 4 16 3-8h4",
  close: "M6 6l12 12M18 6L6 18",
  good: "M7 11v9H4v-9zM7 11l4-7c1.5 0 2.5 1 2.2 2.6L12.6 10H19l-1.6 8.4a2 2 0 0 1-2 1.6H7",
  bad: "M17 13V4h3v9zM17 13l-4 7c-1.5 0-2.5-1-2.2-2.6l.6-3.4H5l1.6-8.4A2 2 0 0 1 8.6 4H17",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  forget: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
  moon: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  out: "M14 4H5v16h9M10 12h10M17 9l3 3-3 3",
  keys: "M3 7h18v10H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  restore: "M4 4v5h5M4.6 9A8 8 0 1 1 4 13",
  arrow: "M5 12h14M13 6l6 6-6 6",
  send: "M4 12l16-8-6 16-3-6z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
