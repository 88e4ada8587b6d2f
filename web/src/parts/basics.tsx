/** The small parts that all views are made of. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Problem } from "../api";
import { ago, dateTime } from "../format";
import { type Kind, type MemorySummary, originOf } from "../shapes";
import { Icon } from "./icons";

export function ErrorLine({ problem, retry }: { problem: Problem; retry?: () => void }): JSX.Element {
  return (
    <p class="error-line" role="alert">
      <strong>{problem.message}</strong>
      {problem.hint && <span>{problem.hint}</span>}
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
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
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
        if (event.target === dialog.current) onNo();
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
