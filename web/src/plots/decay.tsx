/** How recency falls with age, kind by kind, and where one memory is on the way. */

import type { JSX } from "preact";

import { useGet } from "../api";
import { days, DAY_MS } from "../format";
import { Skeleton } from "../parts/basics";
import type { Curve, Decay, Kind } from "../shapes";

const DECAY = "/v1/memory/decay";
/** The published formula, and the one that ranks: what a point of a curve has behind its age. */
const PUBLISHED = 2;
const RANKS = 1;

/** The recency of an age, read off a curve. */
function recencyAt(curve: Curve, age: number, column: 1 | 2): number {
  const { points } = curve;
  const next = points.findIndex(([at]) => at >= age);
  if (next === 0) return points[0]![column];
  if (next < 0) return points.at(-1)![column];
  const [before, after] = [points[next - 1]!, points[next]!];
  const share = (age - before[0]) / (after[0] - before[0]);
  return before[column] + (after[column] - before[column]) * share;
}

function pathOf(
  curve: Curve,
  column: 1 | 2,
  x: (age: number) => number,
  y: (recency: number) => number,
  most = Number.POSITIVE_INFINITY,
): string {
  return curve.points
    .filter(([age]) => age <= most)
    .map((point, index) => `${index ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(point[column]).toFixed(1)}`)
    .join("");
}

/** A small curve of one kind with a point at the age of one memory. */
export function DecaySpark({ kind, at }: { kind: Kind; at: string }): JSX.Element | null {
  const age = Math.max(0, (Date.now() - new Date(at).getTime()) / DAY_MS);
  const span = Math.max(60, Math.ceil((age * 1.25) / 30) * 30);
  const { data } = useGet<Decay>(DECAY, { days: Math.min(span, 3650), points: 61 });
  const curve = data?.curves.find((one) => one.kind === kind);
  if (!curve) return <div class="spark" aria-hidden="true" />;
  const [width, height] = [190, 84];
  const most = curve.points.at(-1)![0];
  const x = (value: number): number => 4 + (Math.min(value, most) / most) * (width - 8);
  const y = (value: number): number => 8 + (1 - value) * (height - 26);
  const recency = recencyAt(curve, age, RANKS);
  return (
    <figure class="spark">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`recency ${recency.toFixed(2)} at an age of ${days(age)}`}
      >
        <line class="axis" x1="4" x2={width - 4} y1={y(0)} y2={y(0)} />
        {curve.half_life_days < most && (
          <line
            class="half-life"
            x1={x(curve.half_life_days)}
            x2={x(curve.half_life_days)}
            y1={y(1)}
            y2={y(0)}
          />
        )}
        <path class={`curve stroke-${kind}`} d={pathOf(curve, RANKS, x, y)} />
        <circle class={`fill-${kind} point`} cx={x(age)} cy={y(recency)} r="4.5" />
        <text class="tick" x="4" y={height - 4}>
          today
        </text>
        <text class="tick end" x={width - 4} y={height - 4}>
          {days(most)}
        </text>
      </svg>
      <figcaption>
        ranks as {recency.toFixed(2)} at {days(age)}; half-life {days(curve.half_life_days)}
      </figcaption>
    </figure>
  );
}

/** All curves in one picture, each with its half-life; `chosen` is a memory that is shown on its own. */
export function DecayCurves({
  chosen,
}: {
  chosen?: { kind: Kind; at: string } | undefined;
}): JSX.Element {
  const span = 365;
  const { data } = useGet<Decay>(DECAY, { days: span, points: 121 });
  if (!data) return <Skeleton lines={5} tall />;
  const [width, height] = [460, 250];
  const [left, right, top, bottom] = [34, 12, 12, 28];
  const x = (age: number): number => left + (Math.min(age, span) / span) * (width - left - right);
  const y = (value: number): number => top + (1 - value) * (height - top - bottom);
  const age = chosen ? Math.max(0, (Date.now() - new Date(chosen.at).getTime()) / DAY_MS) : null;
  const curves = [...data.curves].sort((one, other) => other.half_life_days - one.half_life_days);
  const own = chosen && curves.find((curve) => curve.kind === chosen.kind);
  return (
    <div class="decay">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="xMinYMid"
        role="img"
        aria-label="Recency by age for each kind"
      >
        {[0, 0.25, 0.5, 0.75, 1].map((value) => (
          <g key={value}>
            <line class="grid" x1={left} x2={width - right} y1={y(value)} y2={y(value)} />
            <text class="tick end" x={left - 6} y={y(value) + 3.5}>
              {value.toFixed(2).replace(/0$/, "")}
            </text>
          </g>
        ))}
        {[0, 90, 180, 270, 360].map((value) => (
          <text key={value} class={value ? "tick middle" : "tick"} x={x(value)} y={height - 8}>
            {value ? `${value} d` : "now"}
          </text>
        ))}
        {curves.map((curve) => (
          <path
            key={curve.kind}
            class={`curve stroke-${curve.kind}${own && own !== curve ? " faint" : ""}`}
            d={pathOf(curve, PUBLISHED, x, y)}
          />
        ))}
        {curves.map((curve) => (
          <circle
            key={curve.kind}
            class={`half stroke-${curve.kind}`}
            cx={x(curve.half_life_days)}
            cy={y(0.5)}
            r="4"
          />
        ))}
        {own && age !== null && (
          <circle class={`fill-${own.kind} point`} cx={x(age)} cy={y(recencyAt(own, age, PUBLISHED))} r="6" />
        )}
      </svg>
      <ul class="decay-legend">
        {curves.map((curve) => (
          <li key={curve.kind}>
            <span class={`kind kind-${curve.kind}`}>
              <i aria-hidden="true" />
              {curve.kind}
            </span>
            <span class="quiet">{days(curve.half_life_days)}</span>
          </li>
        ))}
      </ul>
      <p class="quiet small">
        {own && age !== null
          ? `The open memory is ${days(age)} old: ${recencyAt(own, age, PUBLISHED).toFixed(2)} of its recency is left, which ranks as ${recencyAt(own, age, RANKS).toFixed(2)}.`
          : "The circles mark half-lives: at that age half of the recency is left. Open a memory to see its position."}
      </p>
    </div>
  );
}
