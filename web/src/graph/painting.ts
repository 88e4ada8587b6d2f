/** Paints nodes and edges of a graph for one view of it; knows nothing of hands, keys or pages. */

export interface View {
  scale: number;
  x: number;
  y: number;
  width: number;
  height: number;
  ratio: number;
}

export interface PaintedGraph {
  /** Pairs of node numbers, one after the other. */
  edges: Uint32Array;
  radii: Float32Array;
  families: Uint8Array;
  /** Numbers of the nodes, the most connected first: those lie on top. */
  order: Uint32Array;
}

export interface Colours {
  families: string[];
  edge: string;
  edgeStrong: string;
  text: string;
  ground: string;
  ring: string;
}

export type ToPainter =
  | { task: "graph"; graph: PaintedGraph }
  | { task: "colours"; colours: Colours }
  | { task: "shown"; shown: Uint8Array }
  | { task: "places"; places: Float32Array }
  | { task: "paint"; view: View; without: number };

export interface FromPainter {
  picture: ImageBitmap;
  view: View;
  without: number;
}

/** Discs grow more slowly than the picture, so that a near view shows space and not balloons. */
export function discRadius(radius: number, scale: number): number {
  return Math.max(1.3, radius * Math.min(1.5, Math.pow(scale, 0.62)));
}

/** Small pictures of discs, made once for each colour and size: stamping one is faster than drawing an arc.
 *
 * They are bitmaps: of a canvas that is stamped the browser takes a new picture each time.
 */
export class Stamps {
  private readonly made = new Map<string, ImageBitmap>();

  of(family: number, radius: number, ratio: number, colours: Colours): ImageBitmap {
    const step = Math.max(2, Math.round(radius * 2 * ratio)) / (2 * ratio);
    const key = `${family}/${step}/${ratio}`;
    const kept = this.made.get(key);
    if (kept) return kept;
    const size = Math.ceil((step + 1.5) * 2 * ratio);
    const canvas = new OffscreenCanvas(size, size);
    const context = canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    const middle = size / 2 / ratio;
    context.beginPath();
    context.arc(middle, middle, step + 0.75, 0, 2 * Math.PI);
    context.fillStyle = colours.ground;
    context.fill();
    context.beginPath();
    context.arc(middle, middle, step, 0, 2 * Math.PI);
    context.fillStyle = colours.families[family] ?? "#888";
    context.fill();
    const stamp = canvas.transferToImageBitmap();
    this.made.set(key, stamp);
    return stamp;
  }

  clear(): void {
    this.made.clear();
  }
}

const LINES_OF_A_PATH = 400;
/** From this scale on a line between two nodes that are both out of sight is left out: it only blurs. */
const NEAR = 1.1;

/** Paint the whole but for one node (-1: all), which is being dragged and painted elsewhere. */
export function paintGraph(
  context: OffscreenCanvasRenderingContext2D,
  stamps: Stamps,
  { graph, colours, shown, places, view, without }: {
    graph: PaintedGraph;
    colours: Colours;
    shown: Uint8Array;
    places: Float32Array;
    view: View;
    without: number;
  },
): void {
  const { scale, x: left, y: top, width, height, ratio } = view;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, width, height);
  const count = graph.radii.length;
  const xs = new Float32Array(count);
  const ys = new Float32Array(count);
  const inside = new Uint8Array(count);
  for (let node = 0; node < count; node += 1) {
    const x = places[2 * node]! * scale + left;
    const y = places[2 * node + 1]! * scale + top;
    xs[node] = x;
    ys[node] = y;
    inside[node] = Number(x > -20 && y > -20 && x < width + 20 && y < height + 20);
  }
  context.lineWidth = 1 / ratio;
  context.strokeStyle = colours.edge;
  context.globalAlpha = Math.min(1, 0.55 + scale * 0.35);
  context.beginPath();
  let lines = 0;
  for (let index = 0; index < graph.edges.length; index += 2) {
    const one = graph.edges[index]!;
    const other = graph.edges[index + 1]!;
    if (!shown[one] || !shown[other] || one === without || other === without) continue;
    if (!inside[one] && !inside[other]) {
      if (scale > NEAR) continue;
      if ((xs[one]! < 0 && xs[other]! < 0) || (xs[one]! > width && xs[other]! > width)) continue;
      if ((ys[one]! < 0 && ys[other]! < 0) || (ys[one]! > height && ys[other]! > height)) continue;
    }
    context.moveTo(xs[one]!, ys[one]!);
    context.lineTo(xs[other]!, ys[other]!);
    lines += 1;
    if (lines % LINES_OF_A_PATH === 0) {
      // A path of thousands of lines is rasterized as one shape, which takes longer than its parts.
      context.stroke();
      context.beginPath();
    }
  }
  context.stroke();
  context.globalAlpha = 1;
  for (let index = graph.order.length - 1; index >= 0; index -= 1) {
    const node = graph.order[index]!;
    if (!shown[node] || !inside[node] || node === without) continue;
    const stamp = stamps.of(graph.families[node]!, discRadius(graph.radii[node]!, scale), ratio, colours);
    const size = stamp.width / ratio;
    context.drawImage(stamp, xs[node]! - size / 2, ys[node]! - size / 2, size, size);
  }
}
