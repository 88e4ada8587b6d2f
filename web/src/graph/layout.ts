/** What the page and the worker of the layout tell each other. */

export type ToLayout =
  | {
      task: "begin";
      count: number;
      /** Pairs of node numbers, one after the other. */
      edges: Uint32Array;
      weights: Float32Array;
      radii: Float32Array;
      /** Where nodes were before, x and y; NaN for a new one. */
      known: Float32Array | null;
      /** Send places once, at the end: for people who want no motion. */
      quiet: boolean;
    }
  /** A hand put a node elsewhere: it stays there, and the others make room. */
  | { task: "drop"; node: number; x: number; y: number };

export interface FromLayout {
  places: Float32Array;
  settled: boolean;
}
