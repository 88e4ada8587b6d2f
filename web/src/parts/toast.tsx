/** One line at the bottom that says what was done, for a while; screen readers hear it as well. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { asProblem } from "../api";

interface Note {
  text: string;
  failed: boolean;
  undo?: (() => void) | undefined;
}

const notes = new EventTarget();
const SHOWN_MS = 6000;
/** Longer, because there is something to press. */
const SHOWN_WITH_UNDO_MS = 20_000;

export function say(text: string, undo?: () => void): void {
  notes.dispatchEvent(new CustomEvent<Note>("note", { detail: { text, failed: false, undo } }));
}

export function sayProblem(error: unknown): void {
  const problem = asProblem(error);
  const text = problem.hint ? `${problem.message}: ${problem.hint}` : problem.message;
  notes.dispatchEvent(new CustomEvent<Note>("note", { detail: { text, failed: true } }));
}

export function Toasts(): JSX.Element {
  const [note, setNote] = useState<Note | null>(null);
  useEffect(() => {
    let timer = 0;
    const show = (event: Event): void => {
      const { detail } = event as CustomEvent<Note>;
      setNote(detail);
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        setNote(null);
      }, detail.undo ? SHOWN_WITH_UNDO_MS : SHOWN_MS);
    };
    notes.addEventListener("note", show);
    return () => {
      notes.removeEventListener("note", show);
      clearTimeout(timer);
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {note && (
        <div class={note.failed ? "toast failed" : "toast"}>
          <span>{note.text}</span>
          {note.undo && (
            <button
              type="button"
              class="link"
              onClick={() => {
                setNote(null);
                note.undo?.();
              }}
            >
              Undo
            </button>
          )}
        </div>
      )}
    </div>
  );
}
