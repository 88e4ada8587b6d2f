/** Finds places for the nodes of a graph, off the thread that draws. */

import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type Simulation,
  type SimulationLinkDatum,
  type SimulationNodeDatum,
} from "d3-force";

import type { FromLayout, ToLayout } from "./layout";
import { startingPlaces } from "./start";

interface Body extends SimulationNodeDatum {
  index: number;
  radius: number;
  degree: number;
}

type Spring = SimulationLinkDatum<Body> & { weight: number };

/** How many steps until places are told: each time all is painted anew, which takes as long as some steps. */
const STEPS_TOLD = 5;
const DONE_BELOW = 0.006;
/** Only from here on discs make room for each other: while all still moves far it is lost work. */
const APART_BELOW = 0.15;

let simulation: Simulation<Body, Spring> | null = null;
let bodies: Body[] = [];
let running = false;
let quiet = false;

function send(settled: boolean): void {
  const places = new Float32Array(bodies.length * 2);
  bodies.forEach((body, index) => {
    places[2 * index] = body.x ?? 0;
    places[2 * index + 1] = body.y ?? 0;
  });
  const message: FromLayout = { places, settled };
  postMessage(message, { transfer: [places.buffer] });
}

function run(): void {
  if (!simulation) {
    running = false;
    return;
  }
  for (let step = 0; step < STEPS_TOLD && simulation.alpha() > DONE_BELOW; step += 1) {
    if (simulation.alpha() < APART_BELOW && !simulation.force("apart")) {
      simulation.force("apart", forceCollide<Body>((body) => body.radius + 2.5));
    }
    simulation.tick();
  }
  const settled = simulation.alpha() <= DONE_BELOW;
  if (settled || !quiet) send(settled);
  if (settled) {
    running = false;
    return;
  }
  setTimeout(run, 0); // messages of drags come in between
}

function wake(): void {
  if (!running) {
    running = true;
    setTimeout(run, 0);
  }
}

function begin(message: Extract<ToLayout, { task: "begin" }>): void {
  const { count, edges, weights, radii, known } = message;
  const degree = new Uint32Array(count);
  for (const end of edges) degree[end] = (degree[end] ?? 0) + 1;
  const start = startingPlaces(count, edges, weights);
  bodies = Array.from({ length: count }, (_, index) => {
    const x = known?.[2 * index];
    const y = known?.[2 * index + 1];
    return {
      index,
      degree: degree[index] ?? 0,
      radius: radii[index] ?? 4,
      x: x !== undefined && !Number.isNaN(x) ? x : (start[2 * index] ?? 0),
      y: y !== undefined && !Number.isNaN(y) ? y : (start[2 * index + 1] ?? 0),
    };
  });
  const springs: Spring[] = [];
  for (let index = 0; index < weights.length; index += 1) {
    const source = edges[2 * index] ?? 0;
    const target = edges[2 * index + 1] ?? 0;
    if (source !== target) springs.push({ source, target, weight: weights[index] ?? 1 });
  }
  simulation?.stop();
  simulation = forceSimulation<Body>(bodies)
    .stop()
    .alpha(0.5)
    .alphaDecay(0.08)
    .velocityDecay(0.38)
    .force(
      "link",
      forceLink<Body, Spring>(springs)
        .distance((spring) => {
          const one = spring.source as Body;
          const other = spring.target as Body;
          return 22 + one.radius + other.radius + 3 * Math.sqrt(Math.min(one.degree, other.degree));
        })
        .strength((spring) => {
          const fewest = Math.min((spring.source as Body).degree, (spring.target as Body).degree);
          return 0.9 / Math.max(1, fewest);
        }),
    )
    .force(
      "charge",
      forceManyBody<Body>()
        .strength((body) => -26 - 7 * Math.sqrt(body.degree))
        .theta(1.4)
        .distanceMax(900),
    )
    .force("x", forceX<Body>(0).strength((body) => (body.degree ? 0.035 : 0.09)))
    .force("y", forceY<Body>(0).strength((body) => (body.degree ? 0.045 : 0.11)));
  quiet = message.quiet;
  if (!quiet) send(false); // where they begin is near where they end
  wake();
}

addEventListener("message", (event: MessageEvent<ToLayout>) => {
  const message = event.data;
  if (message.task === "begin") {
    begin(message);
    return;
  }
  const body = bodies[message.node];
  if (!simulation || !body) return;
  body.fx = message.x;
  body.fy = message.y;
  simulation.alpha(Math.max(simulation.alpha(), 0.12));
  wake();
});
