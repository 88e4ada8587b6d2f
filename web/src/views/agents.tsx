/** Agents: who works here just now, what they say, and a word to them; live. */

import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { get, post, useGet } from "../api";
import { counted, dateTime, seconds, tail, words } from "../format";
import { Ago, Card, Confirm, Empty, ErrorLine, Meter, Skeleton } from "../parts/basics";
import { Icon } from "../parts/icons";
import { say, sayProblem } from "../parts/toast";
import { amend, useRoute } from "../route";
import type { Agent, AgentEvent } from "../shapes";

const MOST_EVENTS = 200;
const GATHER_MS = 120;
const RECENT = 60;
/** A check-in is no news of its own: it only moves the time of the agent. */
const CHECK_IN = new Set(["agent_heartbeat"]);

type Wire = "connecting" | "live" | "broken";

interface Live {
  agents: Agent[] | null;
  events: AgentEvent[];
  wire: Wire;
}

/** The agents and what happens, from a first picture on and then as it comes. */
function useLive(): Live & { reload: () => void; problem: unknown } {
  const [live, setLive] = useState<Live>({ agents: null, events: [], wire: "connecting" });
  const first = useGet<{ agents: Agent[]; cursor: number }>("/agents");
  const timer = useRef(0);
  const cursor = first.data?.cursor;
  useEffect(() => {
    if (first.data) setLive((before) => ({ ...before, agents: first.data!.agents }));
  }, [first.data]);
  const refresh = useCallback(() => {
    if (timer.current) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      get<{ agents: Agent[] }>("/agents").then(
        ({ agents }) => {
          setLive((before) => ({ ...before, agents }));
        },
        () => {
          setLive((before) => ({ ...before, wire: "broken" }));
        },
      );
    }, GATHER_MS);
  }, []);
  const begun = cursor !== undefined;
  useEffect(() => {
    if (!begun) return undefined;
    const stream = new EventSource(`/agents/events?after=${Math.max(0, cursor - RECENT)}`);
    stream.addEventListener("open", () => {
      setLive((before) => ({ ...before, wire: "live" }));
    });
    stream.addEventListener("error", () => {
      setLive((before) => ({ ...before, wire: "broken" }));
    });
    const take = (message: MessageEvent<string>): void => {
      const event = JSON.parse(message.data) as AgentEvent;
      setLive((before) =>
        before.events.some((one) => one.id === event.id)
          ? before
          : { ...before, events: [event, ...before.events].slice(0, MOST_EVENTS) },
      );
      refresh();
    };
    stream.addEventListener("message", take);
    return () => {
      stream.close();
      clearTimeout(timer.current);
      timer.current = 0;
    };
  }, [begun]);
  return { ...live, reload: first.reload, problem: first.problem };
}

export function Agents(): JSX.Element {
  const live = useLive();
  const { values } = useRoute();
  const [, setTick] = useState(0);
  useEffect(() => {
    // Times such as "3 min ago" grow old while nothing comes.
    const timer = setInterval(() => { setTick((before) => before + 1); }, 15_000);
    return () => { clearInterval(timer); };
  }, []);
  return (
    <div class="view agents">
      <p class={`wire ${live.wire}`} role="status">
        <i aria-hidden="true" />
        {live.wire === "live" ? "live" : live.wire === "connecting" ? "connecting" : "connection lost, trying again"}
      </p>
      <div class="agents-columns">
        <section aria-label="Agents">
          {live.problem !== null && live.problem !== undefined && (
            <ErrorLine problem={live.problem as never} retry={live.reload} />
          )}
          {!live.agents && !live.problem && <Skeleton lines={5} tall />}
          {live.agents && !live.agents.length && (
            <Empty title="No agents yet">
              <p>
                An agent appears here with its first <code>POST /heartbeat</code>, or by the MCP tool of the same
                name.
              </p>
            </Empty>
          )}
          <ul class="agent-list">
            {(live.agents ?? []).map((agent) => (
              <AgentCard key={agent.id} agent={agent} chosen={values.to === agent.id} />
            ))}
          </ul>
        </section>
        <div>
          <Send agents={live.agents ?? []} to={values.to ?? ""} />
          <Feed events={live.events} />
        </div>
      </div>
    </div>
  );
}

function standingOf(agent: Agent): [string, string] {
  if (agent.status === "stopped") return ["ended", "ended"];
  if (agent.stale) return ["stale", "silent"];
  if (agent.should_stop) return ["stopping", "told to stop"];
  if (agent.paused) return ["paused", "paused"];
  return ["working", words(agent.status || "here")];
}

function AgentCard({ agent, chosen }: { agent: Agent; chosen: boolean }): JSX.Element {
  const [tone, told] = standingOf(agent);
  const [asking, setAsking] = useState(false);
  const signal = (type: "stop" | "pause" | "resume"): void => {
    setAsking(false);
    post("/signal", { to: agent.id, type, reason: "from the page" }).then(() => {
      say(`Told ${agent.id} to ${type}`);
    }, sayProblem);
  };
  return (
    <li class={chosen ? "agent chosen" : "agent"}>
      <div class="agent-head">
        <i class={`lamp ${tone}`} aria-hidden="true" />
        <strong>{agent.id}</strong>
        <span class={`badge ${tone}`}>{told}</span>
        {agent.waiting > 0 && <span class="badge">{counted(agent.waiting, "message")} waiting</span>}
        <span class="grow" />
        <span class="quiet">
          <Ago at={agent.last_seen} />
        </span>
      </div>
      <p class="agent-task">{agent.current_task || "No task told"}</p>
      {agent.progress !== null && (
        <div class="agent-progress">
          <Meter share={agent.progress / 100} />
          <span class="number">{agent.progress} %</span>
        </div>
      )}
      <p class="meta">
        {agent.config_name && <span>{agent.config_name}</span>}
        {agent.project_path && <span title={agent.project_path}>{tail(agent.project_path)}</span>}
        {agent.host && <span>{agent.host}{agent.pid ? `, ${agent.pid}` : ""}</span>}
        <span title={dateTime(agent.joined)}>
          here for {seconds(Math.max(0, (Date.now() - Date.parse(agent.joined)) / 1000))}
        </span>
      </p>
      {(agent.stop_reason || agent.pause_reason) && (
        <p class="notice">{agent.stop_reason || agent.pause_reason}</p>
      )}
      {agent.status !== "stopped" && (
        <div class="agent-buttons" role="group" aria-label={agent.id}>
          <button type="button" class="link" onClick={() => { amend({ to: agent.id }, { replace: true }); document.getElementById("message")?.focus(); }}>
            Message
          </button>
          {agent.paused ? (
            <button type="button" class="link" onClick={() => { signal("resume"); }}>Resume</button>
          ) : (
            <button type="button" class="link" onClick={() => { signal("pause"); }}>Pause</button>
          )}
          {!agent.should_stop && (
            <button type="button" class="link danger" onClick={() => { setAsking(true); }}>Stop</button>
          )}
        </div>
      )}
      {asking && (
        <Confirm title={`Stop ${agent.id}?`} action="Stop it" danger onYes={() => { signal("stop"); }} onNo={() => { setAsking(false); }}>
          <p>It receives the signal with its next heartbeat, and stops after its current step.</p>
        </Confirm>
      )}
    </li>
  );
}

function Send({ agents, to }: { agents: Agent[]; to: string }): JSX.Element {
  const [text, setText] = useState("");
  const [sending, setSending] = useState(false);
  const here = agents.filter((agent) => agent.status !== "stopped");
  const send = (): void => {
    if (!text.trim()) return;
    setSending(true);
    post("/signal", { to, type: "message", text: text.trim() })
      .then(() => {
        setText("");
        say(to ? `Sent to ${to}` : "Sent to all");
      }, sayProblem)
      .finally(() => { setSending(false); });
  };
  return (
    <Card title="Send a message" className="send">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <label class="field">
          <span>To</span>
          <select value={to} onChange={(event) => { amend({ to: event.currentTarget.value || undefined }, { replace: true }); }}>
            <option value="">everyone</option>
            {here.map((agent) => <option key={agent.id} value={agent.id}>{agent.id}</option>)}
          </select>
        </label>
        <label class="field">
          <span class="sr">Message</span>
          <textarea
            id="message"
            rows={3}
            value={text}
            maxLength={16_000}
            placeholder="Message"
            onInput={(event) => { setText(event.currentTarget.value); }}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
            }}
          />
        </label>
        <div class="send-row">
          <span class="quiet small">Ctrl+Enter sends; it waits until acknowledged</span>
          <button type="submit" class="button primary" disabled={sending || !text.trim() || !here.length}>
            <Icon name="send" />
            Send
          </button>
        </div>
      </form>
    </Card>
  );
}

function Feed({ events }: { events: AgentEvent[] }): JSX.Element {
  const shown = events.filter((event) => !CHECK_IN.has(event.type));
  return (
    <Card title="Events" aside={<span class="quiet">latest first</span>}>
      {!shown.length && <Empty title="No events yet"><p>Events appear here as they happen.</p></Empty>}
      <ol class="feed" aria-live="polite">
        {shown.slice(0, 60).map((event) => (
          <li key={event.id}>
            <span class="feed-type">{words(event.type)}</span>
            <span class="feed-text">
              {event.agent && <strong>{event.agent}</strong>} {textOf(event)}
            </span>
            <Ago at={event.at} />
          </li>
        ))}
      </ol>
    </Card>
  );
}

function textOf(event: AgentEvent): string {
  const { data } = event;
  for (const name of ["text", "message", "head", "reason", "current_task", "status", "summary"]) {
    const value = data[name];
    if (typeof value === "string" && value) return value;
  }
  return Object.entries(data)
    .filter(([, value]) => typeof value === "string" || typeof value === "number")
    .map(([name, value]) => `${words(name)} ${String(value)}`)
    .join(", ");
}
