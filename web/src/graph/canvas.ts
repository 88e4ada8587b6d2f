/** Shows a graph of thousands of nodes, and lets hands and keys move it.
 *
 * A worker finds the places, another paints discs and lines. The page shows the latest picture, moved and
 * scaled to where the hand is now, until a sharp one has come; only labels and what is hovered over are
 * painted here. So a frame costs the same few milliseconds however large the graph is.
 */

import { FAMILIES } from "./families";
import type { FromLayout, ToLayout } from "./layout";
import { discRadius, Stamps, type Colours, type FromPainter, type ToPainter, type View } from "./painting";
import { openLayout, openPainter } from "./workers";

export interface GraphNode {
  id: string;
  label: string;
  family: number;
  /** How many connections it has in all; decides its size and when its label appears. */
  degree: number;
}

/** Numbers of two nodes, and how much speaks for the connection. */
export type GraphEdge = readonly [number, number, number];

interface Handlers {
  onOpen: (id: string) => void;
  onHover: (id: string | null) => void;
  /** Called with each new layout, first when no node lies at its beginning any more. */
  onPlaced: () => void;
  onSettled: () => void;
}

type Placing = readonly [scale: number, x: number, y: number];

interface Point {
  x: number;
  y: number;
}

const SMALLEST = 0.02;
const LARGEST = 8;
const LABEL_FONT = 12;
const LABEL_CHARS = 30;
const CELL = 32;
/** What a picture shows beyond each edge of the window, as a share of it: room for the next moves. */
const MARGIN = 0.18;
/** How much of that must be left, lest the next picture comes too late. */
const SPARE = 0.05;
/** How many times larger or smaller a picture may be shown than it was painted. */
const STRETCH = 1.5;
/** Milliseconds without a move after which a sharp picture is painted. */
const REST_MS = 120;
/** CSS pixels that a hand may tremble in a click. */
const STILL = 4;
const FLIGHT_MS = 220;
/** How much of what is not meant disappears behind the ground, while something is. */
const VEIL = 0.78;

export class GraphCanvas {
  private readonly picture: HTMLCanvasElement;
  private readonly top: HTMLCanvasElement;
  private readonly pictureContext: ImageBitmapRenderingContext;
  private readonly context: CanvasRenderingContext2D;
  private readonly handlers: Handlers;
  private readonly calm = matchMedia("(prefers-reduced-motion: reduce)");
  private readonly painter = openPainter();
  private layout: Worker | null = null;
  private nodes: readonly GraphNode[] = [];
  private neighbours: number[][] = [];
  private places = new Float32Array(0);
  private radii = new Float32Array(0);
  private order: number[] = [];
  private shown = new Uint8Array(0);
  private colours: Colours;
  private readonly stamps = new Stamps();
  private readonly widths = new Map<string, number>();
  private ratio = 1;
  private width = 0;
  private height = 0;
  private scale = 1;
  private x = 0;
  private y = 0;
  private frame = 0;
  /** The person moved the view: it is not fitted to the whole any more. */
  private touched = false;
  private settled = false;
  private stale = true;
  private painting = false;
  private painted: View | null = null;
  private resting = 0;
  private paintedWithout = -1;
  private hovered = -1;
  private opened = -1;
  private found: ReadonlySet<number> | null = null;
  private held = -1;
  private pressed: Point | null = null;
  private moved = false;
  private readonly pointers = new Map<number, Point>();
  private pinch = 0;
  private flight: { from: Placing; to: Placing; began: number } | null = null;
  private readonly resizing: ResizeObserver;
  private readonly ended = new AbortController();

  /** `picture` lies below `top`, which takes hands and keys; both fill the same box. */
  constructor(picture: HTMLCanvasElement, top: HTMLCanvasElement, handlers: Handlers) {
    this.picture = picture;
    this.top = top;
    this.handlers = handlers;
    this.pictureContext = picture.getContext("bitmaprenderer", { alpha: false })!;
    this.context = top.getContext("2d")!;
    this.colours = this.readColours();
    this.painter.addEventListener("message", ({ data }: MessageEvent<FromPainter>) => {
      this.takePicture(data);
    });
    this.tellPainter({ task: "colours", colours: this.colours });
    this.listen();
    this.resizing = new ResizeObserver(() => {
      this.resize();
    });
    this.resizing.observe(top);
    this.resize();
  }

  close(): void {
    this.ended.abort();
    this.resizing.disconnect();
    this.layout?.terminate();
    this.painter.terminate();
    clearTimeout(this.resting);
    cancelAnimationFrame(this.frame);
  }

  /** Show another graph; nodes that were there already keep their places. */
  show(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): void {
    const { known, kept } = this.knownPlaces(nodes);
    this.nodes = nodes;
    this.hovered = -1;
    this.opened = -1;
    this.found = null;
    this.held = -1;
    this.shown = new Uint8Array(nodes.length).fill(1);
    this.neighbours = nodes.map(() => []);
    for (const [one, other] of edges) {
      this.neighbours[one]?.push(other);
      this.neighbours[other]?.push(one);
    }
    this.radii = Float32Array.from(nodes, (node) => 2.6 + 1.5 * Math.sqrt(Math.min(node.degree, 260)));
    this.order = nodes.map((_, index) => index).sort((one, other) => this.degree(other) - this.degree(one));
    this.places = new Float32Array(nodes.length * 2);
    this.settled = false;
    this.touched = kept > nodes.length / 2 && this.touched;
    const pairs = Uint32Array.from(edges.flatMap(([one, other]) => [one, other]));
    this.tellPainter({
      task: "graph",
      graph: {
        edges: pairs,
        radii: this.radii,
        families: Uint8Array.from(nodes, (node) => node.family),
        order: Uint32Array.from(this.order),
      },
    });
    // A layout of before must not move the nodes of now.
    this.layout?.terminate();
    this.layout = this.startLayout();
    this.tellLayout({
      task: "begin",
      count: nodes.length,
      edges: pairs,
      weights: Float32Array.from(edges, (edge) => edge[2]),
      radii: this.radii,
      known: kept ? known : null,
      quiet: this.calm.matches,
    });
    this.repaint();
  }

  /** Show these nodes alone: a 1 for each that is, in the order they were given. */
  showOnly(shown: Uint8Array<ArrayBuffer>): void {
    this.shown = shown;
    this.tellPainter({ task: "shown", shown: this.shown });
    this.repaint();
  }

  /** Mark nodes that a search found; null marks none. */
  mark(ids: ReadonlySet<string> | null): void {
    this.found = ids && new Set(this.nodes.flatMap((node, index) => (ids.has(node.id) ? [index] : [])));
    this.draw();
  }

  /** Mark the node that is open beside the picture, and bring it into view. */
  open(id: string | null): void {
    this.opened = id === null ? -1 : this.nodes.findIndex((node) => node.id === id);
    if (this.opened >= 0) this.bringIntoView(this.opened);
    this.draw();
  }

  recolour(): void {
    this.colours = this.readColours();
    this.stamps.clear();
    this.tellPainter({ task: "colours", colours: this.colours });
    this.repaint();
  }

  zoom(factor: number): void {
    this.touched = true;
    this.flyTo(this.aroundPoint(factor, { x: this.width / 2, y: this.height / 2 }));
  }

  pan(dx: number, dy: number): void {
    this.touched = true;
    this.flyTo([this.scale, this.x + dx, this.y + dy]);
  }

  fit(): void {
    this.touched = false;
    const whole = this.whole();
    if (whole) this.flyTo(whole);
  }

  /** Where a node lies on the canvas in CSS pixels, for tests and benchmarks. */
  placeOf(id: string): Point | null {
    const node = this.nodes.findIndex((one) => one.id === id);
    return node < 0 ? null : this.onScreen(node);
  }

  private knownPlaces(nodes: readonly GraphNode[]): { known: Float32Array; kept: number } {
    const before = new Map(this.nodes.map((node, index) => [node.id, index] as const));
    const known = new Float32Array(nodes.length * 2).fill(Number.NaN);
    let kept = 0;
    nodes.forEach((node, index) => {
      const old = before.get(node.id);
      if (old === undefined) return;
      known[2 * index] = this.places[2 * old] ?? Number.NaN;
      known[2 * index + 1] = this.places[2 * old + 1] ?? Number.NaN;
      kept += 1;
    });
    return { known, kept };
  }

  private degree(node: number): number {
    return this.nodes[node]?.degree ?? 0;
  }

  private startLayout(): Worker {
    const worker = openLayout();
    worker.addEventListener("message", ({ data }: MessageEvent<FromLayout>) => {
      this.takePlaces(data);
    });
    return worker;
  }

  private tellLayout(message: ToLayout): void {
    this.layout?.postMessage(message);
  }

  private tellPainter(message: ToPainter): void {
    this.painter.postMessage(message);
  }

  private takePlaces({ places, settled }: FromLayout): void {
    if (this.held >= 0) {
      places[2 * this.held] = this.places[2 * this.held]!;
      places[2 * this.held + 1] = this.places[2 * this.held + 1]!;
    }
    this.places = places as Float32Array<ArrayBuffer>;
    this.tellPainter({ task: "places", places });
    if (!this.touched) {
      const whole = this.whole();
      if (whole) [this.scale, this.x, this.y] = whole;
    }
    if (settled && !this.settled) {
      this.settled = true;
      this.handlers.onSettled();
    }
    this.handlers.onPlaced();
    this.repaint();
  }

  private takePicture({ picture, view, without }: FromPainter): void {
    this.painting = false;
    this.painted = view;
    this.paintedWithout = without;
    this.picture.style.width = `${view.width}px`;
    this.picture.style.height = `${view.height}px`;
    this.pictureContext.transferFromImageBitmap(picture);
    this.draw();
  }

  /** Ask for a picture of the view as it is; while one is being painted, the next waits. */
  private askForPicture(): void {
    if (this.painting || !this.width) return;
    this.painting = true;
    this.stale = false;
    const [aside, above] = [Math.round(this.width * MARGIN), Math.round(this.height * MARGIN)];
    this.tellPainter({
      task: "paint",
      view: {
        scale: this.scale,
        x: this.x + aside,
        y: this.y + above,
        width: this.width + 2 * aside,
        height: this.height + 2 * above,
        ratio: this.ratio,
      },
      without: this.moved ? this.held : -1,
    });
  }

  /** The view in which everything is seen but the few stragglers far out. */
  private whole(): Placing | null {
    const xs: number[] = [];
    const ys: number[] = [];
    for (let node = 0; node < this.nodes.length; node += 1) {
      if (!this.shown[node]) continue;
      xs.push(this.places[2 * node]!);
      ys.push(this.places[2 * node + 1]!);
    }
    if (!xs.length || !this.width) return null;
    xs.sort((one, other) => one - other);
    ys.sort((one, other) => one - other);
    const cut = Math.floor(xs.length * 0.004);
    const [left, right] = [xs[cut]!, xs[xs.length - 1 - cut]!];
    const [top, bottom] = [ys[cut]!, ys[ys.length - 1 - cut]!];
    const margin = Math.min(56, this.width / 8);
    const wide = (this.width - 2 * margin) / Math.max(1, right - left);
    const high = (this.height - 2 * margin) / Math.max(1, bottom - top);
    const scale = Math.min(2.2, Math.max(SMALLEST, Math.min(wide, high)));
    return [
      scale,
      this.width / 2 - ((left + right) / 2) * scale,
      this.height / 2 - ((top + bottom) / 2) * scale,
    ];
  }

  private bringIntoView(node: number): void {
    const { x, y } = this.onScreen(node);
    const inside = x > 60 && x < this.width - 60 && y > 60 && y < this.height - 60;
    if (inside && this.scale >= 0.55) return;
    this.touched = true;
    const scale = Math.max(this.scale, 0.9);
    this.flyTo([
      scale,
      this.width / 2 - (this.places[2 * node] ?? 0) * scale,
      this.height / 2 - (this.places[2 * node + 1] ?? 0) * scale,
    ]);
  }

  private flyTo(to: Placing): void {
    if (this.calm.matches) {
      [this.scale, this.x, this.y] = to;
      this.flight = null;
    } else {
      this.flight = { from: [this.scale, this.x, this.y], to, began: performance.now() };
    }
    this.follow();
  }

  private aroundPoint(factor: number, point: Point): Placing {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    const ratio = scale / this.scale;
    return [scale, point.x - (point.x - this.x) * ratio, point.y - (point.y - this.y) * ratio];
  }

  private onScreen(node: number): Point {
    return {
      x: (this.places[2 * node] ?? 0) * this.scale + this.x,
      y: (this.places[2 * node + 1] ?? 0) * this.scale + this.y,
    };
  }

  private radiusOf(node: number): number {
    return discRadius(this.radii[node] ?? 3, this.scale);
  }

  private readColours(): Colours {
    const style = getComputedStyle(this.top);
    const of = (name: string): string => style.getPropertyValue(name).trim() || "#888";
    return {
      families: FAMILIES.map((family) => of(`--family-${family.id}`)),
      edge: of("--graph-edge"),
      edgeStrong: of("--graph-edge-strong"),
      text: of("--text"),
      ground: of("--graph-ground"),
      ring: of("--accent"),
    };
  }

  private resize(): void {
    const box = this.top.getBoundingClientRect();
    if (!box.width || !box.height) return;
    this.x += (box.width - this.width) / 2;
    this.y += (box.height - this.height) / 2;
    this.width = box.width;
    this.height = box.height;
    this.ratio = Math.min(2, devicePixelRatio || 1);
    this.top.width = Math.round(box.width * this.ratio);
    this.top.height = Math.round(box.height * this.ratio);
    if (!this.touched) {
      const whole = this.whole();
      if (whole) [this.scale, this.x, this.y] = whole;
    }
    this.stale = true;
    this.paint(performance.now()); // at once: a canvas that was resized is empty
  }

  private repaint(): void {
    this.stale = true;
    this.draw();
  }

  /** Move the picture with the view; paint another where it does not suffice, and a sharp one at rest. */
  private follow(): void {
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => {
      this.repaint();
    }, REST_MS);
    if (!this.painting && !this.suffices()) this.stale = true;
    this.draw();
  }

  private suffices(): boolean {
    const { painted } = this;
    if (!painted) return false;
    const [scale, x, y] = this.moveOf(painted);
    if (scale > STRETCH || scale < 1 / STRETCH) return false;
    const [aside, above] = [this.width * SPARE, this.height * SPARE];
    return (
      x <= -aside &&
      y <= -above &&
      x + painted.width * scale >= this.width + aside &&
      y + painted.height * scale >= this.height + above
    );
  }

  /** How the picture of a view lies in the view of now. */
  private moveOf(painted: View): Placing {
    const scale = this.scale / painted.scale;
    return [scale, this.x - painted.x * scale, this.y - painted.y * scale];
  }

  private draw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      this.paint(now);
    });
  }

  private paint(now: number): void {
    this.advanceFlight(now);
    if (this.stale) this.askForPicture();
    this.movePicture();
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const focus = this.focus();
    const near = focus >= 0 ? new Set([focus, ...(this.neighbours[focus] ?? [])]) : null;
    const lit = near ?? this.found;
    if (lit) this.paintVeil();
    if (focus >= 0) this.paintLines(focus);
    if (lit) this.paintDiscs(lit);
    if (focus >= 0) this.paintRing(focus);
    this.paintLabels(near, focus);
    if (this.flight) this.follow();
  }

  private focus(): number {
    if (this.held >= 0 && this.moved) return this.held;
    return this.hovered >= 0 ? this.hovered : this.opened;
  }

  private movePicture(): void {
    const { painted } = this;
    if (!painted) return;
    const [scale, x, y] = this.moveOf(painted);
    // Whole pixels, where it is as large as it was painted: then it is copied and not resampled.
    const snap = (value: number): number => (scale === 1 ? Math.round(value * this.ratio) / this.ratio : value);
    this.picture.style.transform = `translate(${snap(x)}px, ${snap(y)}px) scale(${scale})`;
  }

  private advanceFlight(now: number): void {
    const { flight } = this;
    if (!flight) return;
    const share = Math.min(1, Math.max(0, (now - flight.began) / FLIGHT_MS));
    const eased = 1 - Math.pow(1 - share, 3);
    const between = (part: 0 | 1 | 2): number =>
      flight.from[part] + (flight.to[part] - flight.from[part]) * eased;
    [this.scale, this.x, this.y] = [between(0), between(1), between(2)];
    if (share === 1) this.flight = null;
  }

  /** Fade the picture: as a layer that shines through it would cost more in each frame. */
  private paintVeil(): void {
    const { context } = this;
    context.globalAlpha = VEIL;
    context.fillStyle = this.colours.ground;
    context.fillRect(0, 0, this.width, this.height);
    context.globalAlpha = 1;
  }

  private paintLines(focus: number): void {
    const { context } = this;
    const from = this.onScreen(focus);
    context.strokeStyle = this.colours.edgeStrong;
    context.lineWidth = 1.25;
    context.beginPath();
    for (const other of this.neighbours[focus] ?? []) {
      if (!this.shown[other]) continue;
      const to = this.onScreen(other);
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
    }
    context.stroke();
  }

  private paintDiscs(lit: ReadonlySet<number>): void {
    for (const node of lit) {
      if (!this.shown[node]) continue;
      const { x, y } = this.onScreen(node);
      const stamp = this.stamps.of(this.nodes[node]!.family, this.radiusOf(node), this.ratio, this.colours);
      const size = stamp.width / this.ratio;
      this.context.drawImage(stamp, x - size / 2, y - size / 2, size, size);
    }
  }

  private paintRing(node: number): void {
    const { context } = this;
    const { x, y } = this.onScreen(node);
    context.beginPath();
    context.arc(x, y, this.radiusOf(node) + 4, 0, 2 * Math.PI);
    context.strokeStyle = this.colours.ring;
    context.lineWidth = 2;
    context.stroke();
  }

  /** The most important first, each only where no other label lies; more appear as one comes nearer. */
  private paintLabels(near: ReadonlySet<number> | null, focus: number): void {
    const { context } = this;
    context.font = `${LABEL_FONT}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    context.strokeStyle = this.colours.ground;
    context.fillStyle = this.colours.text;
    const lit = near ?? this.found;
    const candidates = lit ? this.order.filter((node) => lit.has(node) && node !== focus) : this.order;
    const most = lit ? 60 : Math.min(120, 24 + Math.round(60 * this.scale));
    const taken = new Set<string>();
    let written = focus >= 0 && this.label(focus, taken, true) ? 1 : 0;
    for (const node of candidates) {
      if (written >= most) break;
      if (!lit && this.radiusOf(node) * (1 + this.scale) < 6) break;
      if (this.shown[node] && this.label(node, taken, false)) written += 1;
    }
  }

  private label(node: number, taken: Set<string>, always: boolean): boolean {
    const { context } = this;
    const place = this.onScreen(node);
    const x = place.x + this.radiusOf(node) + 4;
    const { y } = place;
    if (x < -140 || y < 0 || x > this.width || y > this.height) return false;
    const { label } = this.nodes[node]!;
    const text = label.length > LABEL_CHARS ? `${label.slice(0, LABEL_CHARS - 1)}…` : label;
    let width = this.widths.get(text);
    if (width === undefined) {
      width = context.measureText(text).width;
      this.widths.set(text, width);
    }
    const row = Math.floor(y / 16);
    const [first, last] = [Math.floor(x / CELL), Math.floor((x + width) / CELL)];
    for (let column = first; column <= last && !always; column += 1) {
      if (taken.has(`${row}/${column}`)) return false;
    }
    for (let column = first; column <= last; column += 1) {
      for (const line of [row - 1, row, row + 1]) taken.add(`${line}/${column}`);
    }
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
    return true;
  }

  private nodeAt(point: Point): number {
    let best = -1;
    let nearest = Number.POSITIVE_INFINITY;
    for (let node = 0; node < this.nodes.length; node += 1) {
      if (!this.shown[node]) continue;
      const { x, y } = this.onScreen(node);
      const distance = Math.hypot(x - point.x, y - point.y);
      if (distance < this.radiusOf(node) + 4 && distance < nearest) {
        best = node;
        nearest = distance;
      }
    }
    return best;
  }

  private hover(node: number): void {
    if (node === this.hovered) return;
    this.hovered = node;
    this.top.classList.toggle("on-node", node >= 0);
    this.handlers.onHover(this.nodes[node]?.id ?? null);
    this.draw();
  }

  private listen(): void {
    const { top } = this;
    const { signal } = this.ended;
    const at = (event: MouseEvent): Point => {
      const box = top.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      act: (event: HTMLElementEventMap[K]) => void,
      passive = true,
    ): void => {
      top.addEventListener(name, act, { signal, passive });
    };
    on("pointerdown", (event) => {
      const place = at(event);
      this.pointers.set(event.pointerId, place);
      top.setPointerCapture(event.pointerId);
      this.flight = null;
      this.held = this.pointers.size === 1 ? this.nodeAt(place) : -1;
      this.pressed = place;
      this.moved = false;
      this.pinch = this.spread();
    });
    on("pointermove", (event) => {
      const place = at(event);
      const before = this.pointers.get(event.pointerId);
      if (before) this.movePointer(event.pointerId, before, place);
      else this.hover(this.nodeAt(place));
    });
    on("pointerup", (event) => {
      this.lift(event.pointerId, true);
    });
    on("pointercancel", (event) => {
      this.lift(event.pointerId, false);
    });
    on("pointerleave", () => {
      if (!this.pointers.size) this.hover(-1);
    });
    on(
      "wheel",
      (event) => {
        event.preventDefault();
        this.touched = true;
        this.flight = null;
        const lines = event.deltaMode === 1 ? 20 : 1;
        const factor = Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) * 0.0022);
        [this.scale, this.x, this.y] = this.aroundPoint(factor, at(event));
        this.follow();
      },
      false,
    );
    on("dblclick", (event) => {
      this.touched = true;
      this.flyTo(this.aroundPoint(1.8, at(event)));
    });
    on(
      "keydown",
      (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !this.moveByKey(event.key)) return;
        event.preventDefault();
      },
      false,
    );
  }

  private moveByKey(key: string): boolean {
    const step = 80;
    if (key === "ArrowLeft") this.pan(step, 0);
    else if (key === "ArrowRight") this.pan(-step, 0);
    else if (key === "ArrowUp") this.pan(0, step);
    else if (key === "ArrowDown") this.pan(0, -step);
    else if (key === "+" || key === "=") this.zoom(1.4);
    else if (key === "-") this.zoom(1 / 1.4);
    else if (key === "0") this.fit();
    else return false;
    return true;
  }

  private lift(pointer: number, clicked: boolean): void {
    if (!this.pointers.delete(pointer)) return;
    const { held, moved } = this;
    this.held = -1;
    this.moved = false;
    if (held < 0) return;
    if (moved) {
      const [x, y] = [this.places[2 * held]!, this.places[2 * held + 1]!];
      this.tellLayout({ task: "drop", node: held, x, y });
      this.tellPainter({ task: "places", places: this.places });
      this.repaint();
    } else if (clicked) {
      this.handlers.onOpen(this.nodes[held]!.id);
    }
  }

  private spread(): number {
    const [one, other] = [...this.pointers.values()];
    return one && other ? Math.hypot(one.x - other.x, one.y - other.y) : 0;
  }

  private movePointer(pointer: number, before: Point, place: Point): void {
    const [dx, dy] = [place.x - before.x, place.y - before.y];
    if (!dx && !dy) return;
    if (!this.moved && this.pressed && this.pointers.size === 1) {
      if (Math.hypot(place.x - this.pressed.x, place.y - this.pressed.y) < STILL) return;
    }
    const began = !this.moved;
    this.moved = true;
    this.touched = true;
    this.pointers.set(pointer, place);
    if (this.pointers.size > 1) {
      const spread = this.spread();
      if (this.pinch > 0 && spread > 0) {
        [this.scale, this.x, this.y] = this.aroundPoint(spread / this.pinch, place);
      }
      this.pinch = spread;
      this.follow();
    } else if (this.held >= 0) {
      this.places[2 * this.held] = (place.x - this.x) / this.scale;
      this.places[2 * this.held + 1] = (place.y - this.y) / this.scale;
      // Its old place leaves the picture once; after that it is painted on top alone.
      if (began || (this.paintedWithout !== this.held && !this.painting)) this.repaint();
      else this.draw();
    } else {
      this.x += dx;
      this.y += dy;
      this.follow();
    }
  }
}
