/** Memories by time and kind as stacked bars; a span is chosen by dragging, or with the arrow keys. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { count, date, DAY_MS, isoDay } from "../format";
import { KINDS, type Bucket, type Kind } from "../shapes";

export interface Span {
  from: string;
  /** The first day that no longer belongs to it. */
  until: string;
}

interface Bar {
  start: number;
  end: number;
  total: number;
  kinds: Partial<Record<Kind, number>>;
}

const HEIGHT = 220;
const LEFT = 36;
const RIGHT = 8;
const TOP = 14;
const BOTTOM = 26;
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "short", timeZone: "UTC" });
const MONTH_YEAR = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric", timeZone: "UTC" });

function dayOf(text: string): number {
  return Math.floor(Date.parse(`${text}T00:00:00Z`) / DAY_MS);
}

function textOf(value: number): string {
  return isoDay(new Date(value * DAY_MS));
}

/** Days together in a bar: few enough that a bar is wide enough to see and to hit. */
function width(days: number): number {
  return days <= 130 ? 1 : days <= 900 ? 7 : 30;
}

function barsOf(buckets: readonly Bucket[]): { bars: Bar[]; first: number; last: number; days: number } {
  const starts = buckets.map((bucket) => dayOf(bucket.start));
  const first = Math.min(...starts);
  const last = Math.max(...starts) + 1;
  const days = width(last - first);
  const bars = new Map<number, Bar>();
  buckets.forEach((bucket, index) => {
    const place = Math.floor((starts[index]! - first) / days);
    const start = first + place * days;
    const bar = bars.get(place) ?? { start, end: start + days, total: 0, kinds: {} };
    bar.total += bucket.total;
    for (const kind of KINDS) bar.kinds[kind] = (bar.kinds[kind] ?? 0) + (bucket.kinds[kind] ?? 0);
    bars.set(place, bar);
  });
  const whole = first + Math.ceil((last - first) / days) * days;
  return { bars: [...bars.values()], first, last: Math.max(whole, first + days * 7), days };
}

/** A round number above a value, and steps to it. */
function scaleOf(most: number): number[] {
  const rough = Math.max(1, most) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
}

function monthsBetween(first: number, last: number, most: number): { at: number; label: string }[] {
  const found: { at: number; label: string }[] = [];
  const moment = new Date(first * DAY_MS);
  moment.setUTCDate(1);
  while (moment.getTime() / DAY_MS < last) {
    const at = moment.getTime() / DAY_MS;
    const january = moment.getUTCMonth() === 0;
    if (at >= first) found.push({ at, label: (january || !found.length ? MONTH_YEAR : MONTH).format(moment) });
    moment.setUTCMonth(moment.getUTCMonth() + 1);
  }
  const every = Math.ceil(found.length / most);
  return found.filter((_, index) => index % every === 0);
}

export function Days({
  buckets,
  span,
  onSpan,
}: {
  buckets: readonly Bucket[];
  span: Span | null;
  onSpan: (span: Span | null) => void;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(900);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const [pointed, setPointed] = useState<Bar | null>(null);
  const { bars, first, last, days } = useMemo(() => barsOf(buckets), [buckets]);
  useEffect(() => {
    const sizing = new ResizeObserver(([entry]) => {
      if (entry) setWide(Math.max(280, Math.round(entry.contentRect.width)));
    });
    if (box.current) sizing.observe(box.current);
    return () => {
      sizing.disconnect();
    };
  }, []);
  const steps = scaleOf(Math.max(...bars.map((bar) => bar.total)));
  const most = steps.at(-1) ?? 1;
  const inner = wide - LEFT - RIGHT;
  const x = (value: number): number => LEFT + ((value - first) / (last - first)) * inner;
  const y = (value: number): number => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  const dayAt = (event: PointerEvent): number => {
    const left = box.current?.getBoundingClientRect().left ?? 0;
    const value = first + ((event.clientX - left - LEFT) / inner) * (last - first);
    return Math.max(first, Math.min(last, value));
  };
  const snapped = ([one, other]: [number, number]): [number, number] => {
    const [low, high] = [Math.min(one, other), Math.max(one, other)];
    const from = first + Math.floor((low - first) / days) * days;
    return [from, Math.max(from + days, first + Math.ceil((high - first) / days) * days)];
  };
  const chosen: [number, number] | null = drag
    ? snapped(drag)
    : span
      ? [dayOf(span.from), dayOf(span.until)]
      : null;
  const choose = (from: number, until: number): void => {
    onSpan({ from: textOf(Math.max(first, from)), until: textOf(Math.min(last + days, until)) });
  };
  const gap = inner / ((last - first) / days) > 5 ? 1.5 : 0.5;
  return (
    <div
      class="days"
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Memories by day. Left and right move the selected period, with Shift they change its end, Escape selects all."
      onKeyDown={(event) => {
        const now = chosen ?? [last - days * 7, last];
        const step = event.key === "ArrowLeft" ? -days : event.key === "ArrowRight" ? days : 0;
        if (event.key === "Escape" && chosen) onSpan(null);
        else if (step && event.shiftKey) choose(now[0], Math.max(now[0] + days, now[1] + step));
        else if (step) choose(now[0] + step, now[1] + step);
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <svg
        width={wide}
        height={HEIGHT}
        viewBox={`0 0 ${wide} ${HEIGHT}`}
        aria-hidden="true"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          const at = dayAt(event);
          setDrag([at, at]);
        }}
        onPointerMove={(event) => {
          const at = dayAt(event);
          if (drag) setDrag([drag[0], at]);
          setPointed(bars.find((bar) => at >= bar.start && at < bar.end) ?? null);
        }}
        onPointerUp={() => {
          if (drag) choose(...snapped(drag));
          setDrag(null);
        }}
        onPointerCancel={() => {
          setDrag(null);
        }}
        onPointerLeave={() => {
          setPointed(null);
        }}
      >
        {steps.map((step) => (
          <g key={step}>
            <line class="grid" x1={LEFT} x2={wide - RIGHT} y1={y(step)} y2={y(step)} />
            <text class="tick end" x={LEFT - 7} y={y(step) + 3.5}>
              {count(step)}
            </text>
          </g>
        ))}
        {monthsBetween(first, last, Math.max(2, Math.floor(inner / 80))).map(({ at, label }) => (
          <text key={at} class="tick" x={x(at)} y={HEIGHT - 7}>
            {label}
          </text>
        ))}
        {chosen && (
          <rect class="brush" x={x(chosen[0])} width={x(chosen[1]) - x(chosen[0])} y={TOP - 6} height={HEIGHT - TOP - BOTTOM + 6} rx="4" />
        )}
        {bars.map((bar) => {
          let below = 0;
          const inside = !chosen || (bar.start >= chosen[0] && bar.start < chosen[1]);
          return (
            <g key={bar.start} class={inside ? "" : "outside"}>
              {KINDS.map((kind) => {
                const value = bar.kinds[kind] ?? 0;
                if (!value) return null;
                const [from, to] = [below, below + value];
                below = to;
                return (
                  <rect
                    key={kind}
                    class={`fill-${kind}`}
                    x={x(bar.start) + gap / 2}
                    width={Math.max(1.5, Math.min(28, x(bar.end) - x(bar.start) - gap))}
                    y={y(to)}
                    height={Math.max(0.8, y(from) - y(to))}
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
      <p class="days-told">
        {pointed ? (
          <>
            <strong>
              {days === 1
                ? date(textOf(pointed.start))
                : `${date(textOf(pointed.start))} to ${date(textOf(pointed.end - 1))}`}
            </strong>
            {KINDS.filter((kind) => pointed.kinds[kind]).map((kind) => (
              <span key={kind} class={`kind kind-${kind}`}>
                <i aria-hidden="true" />
                {kind} {pointed.kinds[kind]}
              </span>
            ))}
          </>
        ) : (
          <>
            {KINDS.map((kind) => (
              <span key={kind} class={`kind kind-${kind}`}>
                <i aria-hidden="true" />
                {kind}
              </span>
            ))}
            <span class="quiet">
              {days === 1 ? "by day" : days === 7 ? "by week" : "by 30 days"}; drag to choose a span
            </span>
          </>
        )}
      </p>
    </div>
  );
}
