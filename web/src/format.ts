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
/** A day has no time zone: a day in UTC stays the same day everywhere. */
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const IS_DAY = /^\d{4}-\d{2}-\d{2}(T00:00:00Z)?$/;

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
  return `${Math.round(share * 100)}%`;
}

export function bytes(value: number): string {
  let rest = value;
  for (const unit of ["B", "kB", "MB"]) {
    if (rest < 1000) return `${unit === "B" ? rest : rest.toFixed(1)} ${unit}`;
    rest /= 1000;
  }
  return `${rest.toFixed(1)} GB`;
}

function formatted(value: string, format: Intl.DateTimeFormat): string {
  const moment = new Date(value);
  if (Number.isNaN(moment.getTime())) return value;
  return (IS_DAY.test(value) ? DAY : format).format(moment);
}

export function date(value: string): string {
  return formatted(value, DATE);
}

export function dateTime(value: string): string {
  return formatted(value, DATE_TIME);
}

export function isoDay(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

/** "3 days ago", "5 months ago", "in 4 years": the age at a glance, the date stands in the title. */
export function ago(value: string, now = Date.now()): string {
  const moment = new Date(value).getTime();
  if (Number.isNaN(moment)) return value;
  const seconds = (now - moment) / 1000;
  const span = spanOf(Math.abs(seconds));
  if (!span) return "just now";
  if (span === "1 days") return seconds > 0 ? "yesterday" : "tomorrow";
  return seconds > 0 ? `${span} ago` : `in ${span}`;
}

function spanOf(seconds: number): string {
  if (seconds < 60) return "";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  const days = Math.floor(seconds / 86_400);
  if (days < 60) return `${days} days`;
  if (days < 730) return `${Math.round(days / 30.4)} months`;
  return `${Math.round(days / 365.25)} years`;
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
