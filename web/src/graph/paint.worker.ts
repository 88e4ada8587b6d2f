/** Paints the graph off the page's thread, so that hands and keys never wait for a picture. */

import { paintGraph, Stamps, type Colours, type FromPainter, type PaintedGraph, type ToPainter } from "./painting";

const canvas = new OffscreenCanvas(1, 1);
const context = canvas.getContext("2d", { alpha: false })!;
const stamps = new Stamps();

let graph: PaintedGraph | null = null;
let colours: Colours | null = null;
let shown = new Uint8Array(0);
let places = new Float32Array(0);

addEventListener("message", ({ data }: MessageEvent<ToPainter>) => {
  switch (data.task) {
    case "graph":
      graph = data.graph;
      shown = new Uint8Array(graph.radii.length).fill(1);
      places = new Float32Array(graph.radii.length * 2);
      break;
    case "colours":
      colours = data.colours;
      stamps.clear();
      break;
    case "shown":
      shown = data.shown as Uint8Array<ArrayBuffer>;
      break;
    case "places":
      places = data.places as Float32Array<ArrayBuffer>;
      break;
    case "paint": {
      const { view, without } = data;
      const [width, height] = [Math.round(view.width * view.ratio), Math.round(view.height * view.ratio)];
      if (canvas.width !== width || canvas.height !== height) {
        canvas.width = width;
        canvas.height = height;
      }
      if (graph && colours) paintGraph(context, stamps, { graph, colours, shown, places, view, without });
      const answer: FromPainter = { picture: canvas.transferToImageBitmap(), view, without };
      postMessage(answer, { transfer: [answer.picture] });
      break;
    }
  }
});
