/** How far a setup or a seed is that runs on this home, in whatever process; nothing while none does. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { get } from "../api";
import { bytes, count, counted } from "../format";
import type { Operation, Progress } from "../shapes";
import { Meter } from "./basics";

const BUSY_MS = 1_500;
const IDLE_MS = 10_000;
/** Vectors that wait are being made if their number fell this short a time ago. */
const STILL_MS = 60_000;

const NAMES: Record<string, string> = { setup: "Setup", seed: "Seed" };

const PHASES: Record<string, string> = {
  connect: "connects the assistants",
  seed: "reads files",
  "newest first": "reads sessions, the newest first",
  "take out": "takes out the former vectors",
  vectors: "makes vectors",
};

export function ProgressStrip(): JSX.Element | null {
  const now = useProgress();
  if (!now) return null;
  const { operation, pending, indexed, memories } = now;
  return (
    <aside class="progress" aria-label="Progress">
      <div class="progress-box">
        {operation && (
          <Step
            label={`${NAMES[operation.name] ?? operation.name} ${PHASES[operation.phase] ?? operation.phase}`}
            done={operation.done}
            total={operation.total}
            told={amount(operation)}
          />
        )}
        {pending > 0 && operation?.phase !== "vectors" && (
          <Step
            label={`Words find ${counted(memories, "memory", "memories")}; vectors follow`}
            done={indexed}
            total={indexed + pending}
            told={`${count(indexed)} of ${count(indexed + pending)}`}
          />
        )}
      </div>
    </aside>
  );
}

function Step({ label, done, total, told }: { label: string; done: number; total: number; told: string }): JSX.Element {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(1, total)}
      aria-valuenow={Math.min(done, total)}
      aria-valuetext={told}
    >
      <span>{label}</span>
      <Meter share={total ? done / total : 0} />
      <span class="quiet number">{told}</span>
    </div>
  );
}

function amount({ done, total, unit, detail }: Operation): string {
  if (!total) return "";
  const shown = unit === "bytes" ? bytes : count;
  return `${shown(done)} of ${shown(total)}${detail && `, ${detail}`}`;
}

/** Ask again and again, more often while something runs; a page in the background does not ask. */
function useProgress(): Progress | null {
  const [shown, setShown] = useState<Progress | null>(null);
  useEffect(() => {
    const ended = new AbortController();
    let timer = 0;
    let before = 0;
    let fell = -STILL_MS;
    const ask = async (): Promise<void> => {
      let next = IDLE_MS;
      try {
        if (!document.hidden) {
          const told = await get<Progress>("/v1/memory/progress", {}, ended.signal);
          if (told.pending < before) fell = performance.now();
          before = told.pending;
          const runs = told.operation !== null || (told.pending > 0 && performance.now() - fell < STILL_MS);
          setShown(runs ? told : null);
          if (runs || told.pending > 0) next = BUSY_MS;
        }
      } catch {
        setShown(null); // the views say what is wrong with the server
      }
      if (!ended.signal.aborted) timer = window.setTimeout(() => void ask(), next);
    };
    void ask();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, []);
  return shown;
}
