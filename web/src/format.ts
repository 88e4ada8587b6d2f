/** Numbers, dates and texts as people read them. */

const NUMBER = new Intl.NumberFormat("en-GB");
const SHORT = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const DATE_TIME = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export const DAY_MS = 86_400_000;

export function count(value: number): string {
  return NUMBER.format(value);
}

export function compact(value: number): string {
  return value < 10_000 ? NUMBER.format(value) : SHORT.format(value);
}

/** "1 memory", "2,304 memories". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let rest = value / 1024;
  let unit = 0;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${rest < 10 ? rest.toFixed(1) : Math.round(rest)} ${units[unit]}`;
}

export function date(value: string): string {
  const moment = new Date(value);
  return Number.isNaN(moment.getTime()) ? value : DATE.format(moment);
}

export function dateTime(value: string): string {
  const moment = new Date(value);
  return Number.isNaN(moment.getTime()) ? value : DATE_TIME.format(moment);
}

export function day(moment: Date): string {
  return DAY.format(moment);
}

export function isoDay(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

/** "today", "3 days ago", "5 months ago": the age at a glance, the date stands in the title. */
export function ago(value: string, now = Date.now()): string {
  const moment = new Date(value).getTime();
  if (Number.isNaN(moment)) return value;
  const seconds = Math.max(0, (now - moment) / 1000);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  if (days === 1) return "yesterday";
  if (days < 60) return `${days} days ago`;
  if (days < 730) return `${Math.round(days / 30.4)} months ago`;
  return `${Math.round(days / 365.25)} years ago`;
}

export function days(value: number): string {
  return value >= 10 ? `${Math.round(value)} days` : `${value.toFixed(1)} days`;
}

export function seconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 100) return `${value.toFixed(1)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  if (value < 172_800) return `${Math.round(value / 3600)} h`;
  return `${Math.round(value / 86_400)} days`;
}

/** The last parts of a path: what tells files apart. */
export function tail(path: string, parts = 2): string {
  const pieces = path.split("/").filter(Boolean);
  return pieces.length > parts ? `…/${pieces.slice(-parts).join("/")}` : path;
}

/** A word of the machine as a person would write it: "best_practice" -> "best practice". */
export function words(value: string): string {
  return value.replaceAll("_", " ");
}
