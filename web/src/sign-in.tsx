/** The door: the token opens it, and the server's cookie keeps it open. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { asProblem, Problem, signIn } from "./api";
import { ErrorLine } from "./parts/basics";

export function SignIn({ problem: before, onIn }: { problem: Problem | null; onIn: () => void }): JSX.Element {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Problem | null>(before);
  const [busy, setBusy] = useState(false);
  const enter = (): void => {
    if (!token.trim() || busy) return;
    setBusy(true);
    setProblem(null);
    signIn(token.trim())
      .then(onIn, (error: unknown) => {
        setProblem(asProblem(error));
      })
      .finally(() => {
        setBusy(false);
      });
  };
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          enter();
        }}
      >
        <Mark />
        <h1>ragmem</h1>
        <p class="quiet">The memory of your coding assistants.</p>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            name="token"
            autocomplete="current-password"
            autofocus
            required
            spellcheck={false}
            value={token}
            onInput={(event) => {
              setToken(event.currentTarget.value);
            }}
          />
        </label>
        <button type="submit" class="button primary" disabled={busy || !token.trim()}>
          {busy ? "Signing in" : "Sign in"}
        </button>
        <div class="sign-in-problem">{problem && <ErrorLine problem={problem} />}</div>
        <p class="quiet small">
          Where is it? <code>ragmem serve --print-token</code> prints it, and <code>ragmem serve --open</code>{" "}
          opens this page signed in.
        </p>
      </form>
    </main>
  );
}

export function Mark(): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M10 11l12-1M10 11l5 11M22 10l-7 12" />
      <circle cx="10" cy="11" r="3.4" />
      <circle cx="22" cy="10" r="2.6" />
      <circle cx="15" cy="22" r="4.2" />
    </svg>
  );
}
