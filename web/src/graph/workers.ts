/** The two helpers of the graph: the build puts the names of their files in. */

declare const LAYOUT_WORKER: string;
declare const PAINT_WORKER: string;

export function openLayout(): Worker {
  return new Worker(LAYOUT_WORKER, { name: "layout" });
}

export function openPainter(): Worker {
  return new Worker(PAINT_WORKER, { name: "paint" });
}
