/** The fields of the answers that the page reads; `/openapi.json` has all of them. */

export const KINDS = ["preference", "architecture", "error", "research", "general"] as const;
export type Kind = (typeof KINDS)[number];

export interface MemorySummary {
  id: string;
  full_id: string;
  source: string;
  uri: string;
  title: string;
  kind: Kind;
  category: string;
  tier: string;
  state: string;
  project: string;
  spec: string;
  tags: string[];
  protected: boolean;
  event_time: string;
  created_at: string;
  updated_at: string;
  metadata: Record<string, unknown>;
}

/** Fields of a memory, match or archived memory that the views place themselves, or leave out. */
const PLACED = new Set(
  (
    "id full_id source uri title place locator kind category tier state project spec protected event_time " +
    "created_at updated_at excerpt text summary score heading run rule archived_at because successor"
  ).split(" "),
);

/** The member who has shared a memory and what their signature is worth; null for one's own. */
export function originOf({ source, metadata }: MemorySummary): { member: string; verdict: string } | null {
  const { origin, verdict } = metadata;
  if (source !== "shared" || typeof origin !== "string" || !origin) return null;
  return { member: origin, verdict: typeof verdict === "string" ? verdict : "" };
}

/** The other fields that have one value: the page shows a new field of the server without a change. */
export function furtherFields(memory: MemorySummary): [name: string, value: string][] {
  return Object.entries(memory).flatMap(([name, value]: [string, unknown]) =>
    PLACED.has(name) || value === null || value === "" || value === false || typeof value === "object"
      ? []
      : [[name.replaceAll("_", " "), String(value)]],
  );
}

export interface MemoryItem extends MemorySummary {
  excerpt: string;
}

export interface MemoryPage {
  memories: MemoryItem[];
  total: number;
  next: string | null;
}

export interface Life {
  type: string;
  life: "buffer" | "proven" | "permanent";
  age: number;
  connections: number;
  reprieves: number;
  sessions: number;
  feedback: number;
  pinned: boolean;
  superseded_by: string;
  action: string;
  rule: string;
  reason: string;
}

export interface Link {
  id: string;
  title: string;
  strength: number;
  cosine: number;
  shared: number;
}

export interface Former {
  id: string;
  event_time: string;
  until: string;
  text: string;
  rule: string;
  reason: string;
}

export interface Superseded {
  id: string;
  since: string;
  rule: string;
  reason: string;
}

export interface MemoryDetail extends MemorySummary {
  text: string;
  summary: string;
  chunks: { id: string; heading: string; start: number; end: number }[];
  entities: string[];
  superseded_by: Superseded | null;
  perhaps_outdated: Superseded | null;
  replaced: Former[];
  merged_from: string[];
  life: Life;
  connections: Link[];
}

export interface HistoryEvent {
  at: string;
  what: string;
  detail: string;
}

export interface Match extends MemorySummary {
  score: number;
  heading: string;
  text: string;
  excerpt: string;
  duplicates: string[];
  elsewhere: { id: string; full_id: string; project: string; uri: string }[];
  replaced: Former[];
  superseded_by: Superseded | null;
  perhaps_outdated: Superseded | null;
  terms?: Record<string, number> | null;
  explained?: string[] | null;
}

export interface QueryAnswer {
  query: string;
  rung: string;
  route: { name?: string; guessed?: boolean; reasons?: unknown[] };
  matches: Match[];
  evidence?: Record<string, unknown> | null;
  notes: string[];
  seconds: number;
}

export interface Stats {
  home: string;
  bytes: number;
  catalog: Record<"state" | "source" | "kind" | "tier" | "project" | "total", Record<string, number>>;
  store: Record<string, number>;
  models: string;
  inbox: { waiting: number; since: string | null; aside: number };
  archived: number;
}

export interface Project {
  id: string;
  name: string;
  memories: number;
}

export interface ProjectChanged {
  project: string;
  name: string;
  memories: number;
}

export interface Source {
  source: string;
  memories: number;
  newest: string | null;
  reader: string | null;
  scope: string | null;
  signal: string | null;
  enabled: boolean | null;
  globs: string[];
}

export interface UnreadFiles {
  what: string;
  reason: string;
  files: number;
  bytes: number;
  more: boolean;
  places: string[];
  command: string;
}

export interface Unread {
  looked_at: string;
  unread: UnreadFiles[];
  cut: string;
}

export interface Operation {
  name: string;
  phase: string;
  done: number;
  total: number;
  unit: string;
  detail: string;
}

export interface Progress {
  operation: Operation | null;
  memories: number;
  indexed: number;
  pending: number;
}

export interface Bucket {
  start: string;
  total: number;
  kinds: Partial<Record<Kind, number>>;
}

export interface Timeline {
  total: number;
  first: string | null;
  last: string | null;
  buckets: Bucket[];
  is_truncated: boolean;
}

export interface Curve {
  kind: Kind;
  half_life_days: number;
  points: [number, number, number][];
  memories: number;
}

export interface Decay {
  weights: Record<string, number>;
  min_score_threshold: number;
  bound: number;
  curves: Curve[];
}

export interface CompactNode {
  name: string;
  type: string;
  degree: number;
  memories: number;
  project: number;
  first: number | null;
  last: number | null;
}

export interface CompactGraph {
  projects: string[];
  types: Record<string, number>;
  nodes: CompactNode[];
  edges: [number, number, number][];
  total_nodes: number;
  total_edges: number;
  is_truncated: boolean;
}

export interface EntityMention {
  id: string;
  project: string;
  source: string;
  title: string;
  event_time: string;
  text: string;
}

export interface NearEntity {
  project: string;
  name: string;
  type: string;
  keywords: string;
  weight: number;
  descriptions: string[];
}

export interface EntityWhole {
  entity: {
    name: string;
    type: string;
    degree: number;
    project: string;
    descriptions?: string[];
    aliases?: { name?: string }[];
    projects?: { project: string; memories?: number; degree?: number }[];
  };
  memories: EntityMention[];
  neighbours: NearEntity[];
}

export interface Loner {
  id: string;
  title: string;
  project: string;
  action: string;
  newer: number;
  left: number;
  reprieves: number;
  score: number;
  reasons: string[];
}

export interface Run {
  run: string;
  caller: string;
  started_at: string;
  ended_at: string | null;
  undone_at: string | null;
  archived: number;
  counts: Record<string, number>;
}

/** Connected memories: the title of the best connected one, their names, and all of them by date. */
export interface Topic {
  id: string;
  title: string;
  project: string;
  size: number;
  names: string[];
  members: { id: string; at: string; title: string }[];
}

export interface Lifecycle {
  memories: number;
  states: Record<string, number>;
  types: Record<string, { memories: number; protected: number }>;
  pinned: number;
  connections: number;
  connected: number;
  density: number;
  expiries: Record<string, number>;
  clusters: Topic[];
  at_risk: number;
  loners: Loner[];
  runs: Run[];
  idle_gc: boolean;
}

export interface PlanItem {
  id: string;
  action: string;
  rule: string;
  reason: string;
  title: string;
  uri: string;
  others: string[];
}

export interface ClusterMemory {
  id: string;
  title: string;
  at: string;
  source: string;
}

/** `differs`: its words, and those of the memory that stays. */
export interface HiddenMemory extends ClusterMemory {
  reason: string;
  differs: [string, string][];
  words_more: number;
}

export interface PlanCluster {
  id: string;
  action: string;
  rule: string;
  statement: string;
  size: number;
  kept: ClusterMemory;
  hidden: HiddenMemory[];
}

export interface Plan {
  memories: number;
  searched: number;
  searched_after: number;
  counts: { action: string; rule: string; memories: number }[];
  items: PlanItem[];
  clusters: PlanCluster[];
  left_out: number;
  note: string;
  large: boolean;
  empty: boolean;
}

export interface Job {
  id: string;
  what: "plan" | "apply" | "undo";
  status: "running" | "done" | "failed";
  step: string;
  done: number;
  total: number;
  error: string | null;
  plan: Plan | null;
  outcome: Record<string, unknown> | null;
}

export interface Archived extends MemorySummary {
  excerpt: string;
  run: string;
  rule: string;
  archived_at: string;
  because: string;
  successor: string | null;
}

export interface ArchivePage {
  archived: Archived[];
  total: number;
  next: string | null;
}

export interface Proposal {
  id: string;
  sort: "memory" | "skill";
  approval: "proposed" | "accepted" | "rejected";
  project: string;
  title: string;
  says: string;
  at: string;
  sources: string[];
  path: string;
}

export interface ProposalDetail extends Proposal {
  text: string;
}

export interface Proposals {
  proposals: Proposal[];
  waiting: number;
}

export interface Decided {
  proposals: Proposal[];
  notes: string[];
}

export interface SharedItem {
  id: string;
  record: string;
  project: string;
  sort: string;
  member: string;
  verdict: string;
  approval: "" | "proposed" | "accepted" | "rejected";
  withdrawn: boolean;
  memory: string;
  title: string;
  kind: string;
  at: string;
}

export interface SharedDetail extends SharedItem {
  text: string;
}

export interface SharedItems {
  records: SharedItem[];
  waiting: number;
}

export interface ShareDecided {
  records: SharedItem[];
  note: string;
}

export interface SharedProject {
  project: string;
  waiting: number;
  members: {
    member: string;
    memories: number;
    waiting: number;
    rejected: number;
    withdrawn: number;
    unsigned: number;
    muted: boolean;
    fetched_at: string | null;
  }[];
}

export interface SharedProjects {
  projects: SharedProject[];
  waiting: number;
}

export interface SharedConflicts {
  conflicts: { project: string; reason: string; memories: SharedDetail[] }[];
  total: number;
}

export interface Check {
  name: string;
  status: "ok" | "warning" | "failed";
  detail: string;
  fix: string;
}

export interface Health {
  status: "ok" | "warning" | "failed";
  checked_at: string;
  checks: Check[];
}

export interface Injection {
  at: string;
  session: string;
  assistant: string;
  project: string;
  event: string;
  reason: string;
  question: string;
  memory: string;
  title: string;
  state: string;
  score: number | null;
  tokens: number;
}

export interface LogEntry {
  at: string;
  operation: string;
  detail: Record<string, unknown>;
  undoable: boolean;
}

export interface Agent {
  id: string;
  config_name: string;
  project_path: string;
  host: string;
  pid: number;
  status: string;
  current_task: string;
  progress: number | null;
  joined: string;
  last_seen: string;
  stale: boolean;
  should_stop: boolean;
  stop_reason: string;
  paused: boolean;
  pause_reason: string;
  waiting: number;
  listening: boolean;
}

export interface AgentEvent {
  id: number;
  at: string;
  type: string;
  agent: string;
  data: Record<string, unknown>;
}
