/** The small parts that all views are made of. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Problem, useGet } from "../api";
import { ago, dateTime } from "../format";
import { type Kind, type MemorySummary, originOf, type Stats } from "../shapes";
import { Icon } from "./icons";
import { Inline } from "./texts";

export function ErrorLine({ problem, retry }: { problem: Problem; retry?: () => void }): JSX.Element {
  return (
    <p class="error-line" role="alert">
      <strong>
        <Inline text={problem.message} />
      </strong>
      {problem.hint && (
        <span>
          <Inline text={problem.hint} />
        </span>
      )}
      {retry && (
        <button type="button" class="link" onClick={retry}>
          Try again
        </button>
      )}
    </p>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="empty-next">{children}</div>}
    </div>
  );
}

export function NothingStored(): JSX.Element {
  return (
    <Empty title="Nothing is stored yet">
      <p>
        Run <code>ragmem setup</code>: it shows what is on this machine, reads it, and connects your assistants.
      </p>
    </Empty>
  );
}

/** Whether nothing was ever stored; null until it is known. A view says itself what is wrong with the server. */
export function useIsEmpty(): boolean | null {
  const { data, problem } = useGet<Stats>("/v1/memory/stats");
  if (problem) return false;
  return data && !Object.keys(data.store).length;
}

/** Grey lines where text will be: the page keeps its shape while it loads. */
export function Skeleton({ lines = 3, tall = false }: { lines?: number; tall?: boolean }): JSX.Element {
  return (
    <div class={tall ? "skeleton tall" : "skeleton"} role="status" aria-busy="true" aria-label="loading">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

export function KindDot({ kind }: { kind: Kind }): JSX.Element {
  return (
    <span class={`kind kind-${kind}`}>
      <i aria-hidden="true" />
      {kind}
    </span>
  );
}

/** Who has shared something, and what their signature is worth. */
export function From({ member, verdict }: { member: string; verdict: string }): JSX.Element {
  return (
    <>
      <span>from {member}</span>
      {verdict && <span class={verdict === "verified" ? "badge" : "badge warn"}>{verdict}</span>}
    </>
  );
}

/** Where a memory comes from: its source, or the member who has shared it. */
export function Origin({ memory }: { memory: MemorySummary }): JSX.Element {
  const shared = originOf(memory);
  return shared ? <From {...shared} /> : <span>{memory.source}</span>;
}

export function Ago({ at }: { at: string }): JSX.Element {
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(at)}
    </time>
  );
}

/** A share of 0 to 1 as a bar; the number stands beside it, so that nothing is told by length alone. */
export function Meter({ share, tone = "accent" }: { share: number; tone?: string }): JSX.Element {
  const bounded = Math.max(0, Math.min(1, share));
  return (
    <span class={`meter tone-${tone}`} aria-hidden="true">
      <span style={{ width: `${bounded * 100}%` }} />
    </span>
  );
}

export function Card({
  title,
  aside,
  children,
  className = "",
}: {
  title?: ComponentChildren;
  aside?: ComponentChildren;
  children: ComponentChildren;
  className?: string;
}): JSX.Element {
  return (
    <section class={`card ${className}`}>
      {title && (
        <header class="card-head">
          <h2>{title}</h2>
          {aside && <div class="card-aside">{aside}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** Show a dialog above the page; when it goes, the focus returns to where it was. */
export function useModal(): { current: HTMLDialogElement | null } {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => {
      // A dialog that is removed without being closed leaves the focus nowhere.
      setTimeout(() => {
        if (document.activeElement === document.body) before?.focus();
      });
    };
  }, []);
  return dialog;
}

/** What had the focus before a panel took it. */
let opener: Element | null = null;

/** Focus a panel when its content changes; when no panel is left, the focus returns to what opened the first. */
export function usePanelFocus(content: string): { current: HTMLElement | null } {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    if (before && before !== document.body && !before.closest(".panel")) opener = before;
    panel.current?.focus({ preventScroll: true });
    return () => {
      setTimeout(() => {
        if (document.activeElement !== document.body || document.querySelector(".panel")) return;
        const { href } = (opener ?? {}) as Partial<HTMLAnchorElement>;
        // A list that was loaded again has another element for the same link.
        const same = [...document.querySelectorAll<HTMLElement>("main a")].find(
          (one) => href && (one as HTMLAnchorElement).href === href,
        );
        (opener?.isConnected ? (opener as HTMLElement) : same)?.focus();
      });
    };
  }, [content]);
  return panel;
}

/** Do something on Escape, unless a dialog above takes it. */
export function onEscape(act: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Escape" || (event.target as Element).closest("dialog")) return;
    event.stopPropagation();
    act();
  };
}

/** A question that has to be answered before something happens; Escape and the other button say no. */
export function Confirm({
  title,
  children,
  action,
  danger = false,
  onYes,
  onNo,
}: {
  title: string;
  children: ComponentChildren;
  action: string;
  danger?: boolean;
  onYes: () => void;
  onNo: () => void;
}): JSX.Element {
  const dialog = useModal();
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onNo();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onNo();
      }}
    >
      <div class="dialog-body">
        <h2>{title}</h2>
        {children}
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={onNo}>
            Cancel
          </button>
          <button type="button" class={danger ? "button danger" : "button primary"} onClick={onYes}>
            {action}
          </button>
        </div>
      </div>
    </dialog>
  );
}

export function CloseButton({ label, onClick }: { label: string; onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="icon-button" aria-label={label} title={`${label} (Esc)`} onClick={onClick}>
      <Icon name="close" />
    </button>
  );
}

export function Select({
  label,
  value,
  usual = "",
  onChange,
  children,
}: {
  label: string;
  value: string;
  usual?: string;
  onChange: (value: string) => void;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <label class={value === usual ? "select" : "select chosen"}>
      <span>{label}</span>
      <select
        value={value}
        onChange={(event) => {
          onChange(event.currentTarget.value);
        }}
      >
        {children}
      </select>
    </label>
  );
}
