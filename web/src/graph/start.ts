/** Places to begin with: nodes that hang together lie together, so that little is left to untangle.
 *
 * The groups are found by what most neighbours of a node belong to, and laid out as a small graph of their
 * own; each then gets its nodes around its middle, the most connected innermost.
 */

import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type SimulationLinkDatum,
  type SimulationNodeDatum,
} from "d3-force";

interface Group extends SimulationNodeDatum {
  size: number;
  /** How many edges leave it. */
  ends: number;
}

type Bridge = SimulationLinkDatum<Group> & { edges: number };

const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
const ROUNDS = 8;
const ROUNDS_OF_GROUPS = 60;
/** The distance of neighbours in a group that was just laid out, and between groups that were not yet. */
const WITHIN = 20;
const BETWEEN = 26;

/** Return x and y of each node, one after the other; `edges` are pairs of node numbers. */
export function startingPlaces(count: number, edges: Uint32Array, weights: Float32Array): Float32Array {
  const degree = new Uint32Array(count);
  for (const end of edges) degree[end]! += 1;
  const order = Uint32Array.from({ length: count }, (_, node) => node).sort(
    (one, other) => degree[other]! - degree[one]!,
  );
  const labels = labelled(order, edges, weights);
  const members = new Map<number, number[]>();
  for (const node of order) {
    const others = members.get(labels[node]!);
    if (others) others.push(node);
    else members.set(labels[node]!, [node]);
  }
  const lists = [...members.values()].sort((one, other) => other.length - one.length);
  const groups = laidOut(lists, edges);
  const places = new Float32Array(count * 2);
  lists.forEach((list, number) => {
    const { x = 0, y = 0 } = groups[number]!;
    list.forEach((node, place) => {
      const distance = WITHIN * Math.sqrt(place + 0.5);
      places[2 * node] = x + Math.cos(place * GOLDEN_ANGLE) * distance;
      places[2 * node + 1] = y + Math.sin(place * GOLDEN_ANGLE) * distance;
    });
  });
  return places;
}

/** Each node takes the label that weighs most among its neighbours, until none changes. */
function labelled(order: Uint32Array, edges: Uint32Array, weights: Float32Array): Uint32Array {
  const neighbours: [number, number][][] = Array.from(order, () => []);
  weights.forEach((weight, edge) => {
    const [one, other] = [edges[2 * edge]!, edges[2 * edge + 1]!];
    neighbours[one]!.push([other, weight]);
    neighbours[other]!.push([one, weight]);
  });
  const labels = Uint32Array.from(order, (_, node) => node);
  for (let round = 0; round < ROUNDS; round += 1) {
    let changed = false;
    for (const node of order) {
      const votes = new Map<number, number>();
      let [best, most] = [labels[node]!, 0];
      for (const [other, weight] of neighbours[node]!) {
        const label = labels[other]!;
        const sum = (votes.get(label) ?? 0) + weight;
        votes.set(label, sum);
        if (sum > most) [best, most] = [label, sum];
      }
      if (best !== labels[node]) {
        labels[node] = best;
        changed = true;
      }
    }
    if (!changed) break;
  }
  return labels;
}

function laidOut(lists: readonly number[][], edges: Uint32Array): Group[] {
  const numbers = new Uint32Array(lists.reduce((sum, list) => sum + list.length, 0));
  let before = 0;
  const groups = lists.map((list, number): Group => {
    for (const node of list) numbers[node] = number;
    const distance = BETWEEN * Math.sqrt(before + list.length / 2);
    before += list.length;
    const angle = number * GOLDEN_ANGLE;
    return { size: list.length, ends: 0, x: Math.cos(angle) * distance, y: Math.sin(angle) * distance };
  });
  const counts = new Map<number, number>();
  for (let index = 0; index < edges.length; index += 2) {
    const [one, other] = [numbers[edges[index]!]!, numbers[edges[index + 1]!]!];
    if (one === other) continue;
    const key = Math.min(one, other) * groups.length + Math.max(one, other);
    counts.set(key, (counts.get(key) ?? 0) + 1);
    groups[one]!.ends += 1;
    groups[other]!.ends += 1;
  }
  const bridges = Array.from(
    counts,
    ([key, count]): Bridge => ({
      source: Math.floor(key / groups.length),
      target: key % groups.length,
      edges: count,
    }),
  );
  const radius = (group: Group): number => WITHIN * Math.sqrt(group.size);
  const both = ({ source, target }: Bridge): [Group, Group] => [source as Group, target as Group];
  forceSimulation<Group>(groups)
    .stop()
    .alphaDecay(0.06)
    .force(
      "link",
      forceLink<Group, Bridge>(bridges)
        .distance((bridge) => both(bridge).reduce((sum, group) => sum + radius(group), WITHIN))
        .strength((bridge) => bridge.edges / Math.min(...both(bridge).map((group) => group.ends))),
    )
    .force("charge", forceManyBody<Group>().strength((group) => -30 * group.size).theta(1.2))
    .force("x", forceX<Group>(0).strength(0.06))
    .force("y", forceY<Group>(0).strength(0.075))
    .force("apart", forceCollide<Group>(radius))
    .tick(ROUNDS_OF_GROUPS);
  return groups;
}
