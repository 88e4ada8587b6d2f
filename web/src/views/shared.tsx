/** What members of a team have shared: the review, the members, the conflicts. Their texts are data. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { get, post, put, useGet } from "../api";
import { count, counted } from "../format";
import { memoryHref } from "../memory";
import { Ago, Card, ErrorLine, From, Skeleton } from "../parts/basics";
import { say, sayProblem } from "../parts/toast";
import { projectName } from "../projects";
import type { ShareDecided, SharedConflicts, SharedDetail, SharedItem, SharedItems, SharedProject, SharedProjects } from "../shapes";

type Verdict = "accept" | "reject";

const TOLD: Record<Verdict, string> = { accept: "Accepted", reject: "Rejected" };
const PATH = "/v1/memory/shared";
/** Characters of a title: without one of its own it is a whole line of the text. */
const TITLE = 120;

function titleOf({ title, id }: SharedItem): string {
  return title.length > TITLE ? `${title.slice(0, TITLE)}…` : title || id;
}

/** Nothing at all where nobody shares, and for members of a team who may not review. */
export function Shared({ project, onChanged }: { project: string | undefined; onChanged: () => void }): JSX.Element | null {
  const status = useGet<SharedProjects>(PATH, { project });
  const { data, problem, reload } = useGet<SharedItems>(`${PATH}/records`, { project, limit: 50 });
  const [round, setRound] = useState(0);
  const changed = (): void => {
    status.reload();
    reload();
    setRound((before) => before + 1);
    onChanged();
  };
  const decide = (item: SharedItem, verdict: Verdict): void => {
    post<ShareDecided>(`${PATH}/records`, { project: item.project, ids: [item.record], verdict }).then(({ note }) => {
      say([`${TOLD[verdict]}: ${titleOf(item)}`, note].filter(Boolean).join(", "));
      changed();
    }, sayProblem);
  };
  const failed = status.problem ?? problem;
  if (failed && failed.status !== 404 && failed.status !== 403) return <ErrorLine problem={failed} retry={changed} />;
  if (!status.data?.projects.length) return null;
  return (
    <Card title="Shared" aside={<span class="quiet">{count(data?.waiting ?? 0)}</span>} className="shared">
      <p class="quiet small">
        Memories shared by others over git. They are injected only after you accept them; only{" "}
        <code>ragmem share</code> fetches and pushes.
      </p>
      {data && data.records.length > 0 && (
        <ul class="archive">
          {data.records.map((item) => (
            <Item key={item.project + item.record} item={item} onDecide={(verdict) => { decide(item, verdict); }} />
          ))}
        </ul>
      )}
      {data && data.waiting > data.records.length && (
        <p class="quiet small">
          {counted(data.waiting - data.records.length, "other")} wait; <code>ragmem share review accept --from MEMBER</code>{" "}
          takes all of a member.
        </p>
      )}
      <Conflicts key={round} project={project} />
      <Members projects={status.data.projects} onChanged={changed} />
    </Card>
  );
}

function Item({ item, onDecide }: { item: SharedItem; onDecide: (verdict: Verdict) => void }): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  const title = titleOf(item);
  const show = (): void => {
    get<SharedDetail>(`${PATH}/records/${item.record}`, { project: item.project }).then((whole) => {
      setText(whole.text);
    }, sayProblem);
  };
  return (
    <li>
      <div>
        <strong>{title}</strong>
        <p class="meta">
          <span>{projectName(item.project)}</span>
          <span>{item.kind}</span>
          <Ago at={item.at} />
          <From member={item.member} verdict={item.verdict} />
        </p>
        {text === null ? (
          <button type="button" class="link" aria-label={`Show text of ${title}`} onClick={show}>
            Show text
          </button>
        ) : (
          <pre tabIndex={0}>{text}</pre>
        )}
      </div>
      <div class="decide">
        <button type="button" class="button" aria-label={`Accept ${title}`} onClick={() => { onDecide("accept"); }}>
          Accept
        </button>
        <button type="button" class="button" aria-label={`Reject ${title}`} onClick={() => { onDecide("reject"); }}>
          Reject
        </button>
      </div>
    </li>
  );
}

/** Read once they are asked for: the server reads all records of a project for it. */
function Conflicts({ project }: { project: string | undefined }): JSX.Element {
  const [open, setOpen] = useState(false);
  const { data, problem, reload } = useGet<SharedConflicts>(open ? `${PATH}/conflicts` : null, { project });
  return (
    <details onToggle={(event) => { setOpen(event.currentTarget.open); }}>
      <summary>Conflicts</summary>
      {problem && <ErrorLine problem={problem} retry={reload} />}
      {open && !data && !problem && <Skeleton lines={2} />}
      {data && !data.conflicts.length && <p class="quiet small">There are no contradictions between members.</p>}
      {data?.conflicts.map((one, index) => (
        <section key={index}>
          <p>{one.reason}</p>
          {one.memories.map((item) => (
            <div key={item.record} class="told">
              <p class="meta">
                <span>{item.memory ? <a href={memoryHref(item.memory)}>{titleOf(item)}</a> : titleOf(item)}</span>
                <From member={item.member} verdict={item.verdict} />
              </p>
              <pre tabIndex={0}>{item.text}</pre>
            </div>
          ))}
        </section>
      ))}
      {data && data.total > data.conflicts.length && (
        <p class="quiet small">
          {counted(data.total - data.conflicts.length, "other")}: <code>ragmem share conflicts</code>
        </p>
      )}
    </details>
  );
}

function Members({ projects, onChanged }: { projects: SharedProject[]; onChanged: () => void }): JSX.Element {
  const mute = (project: string, member: string, muted: boolean): void => {
    put(`${PATH}/members/${encodeURIComponent(member)}`, { project, muted }).then(() => {
      say(muted ? `${member} is muted` : `${member} is told again`);
      onChanged();
    }, sayProblem);
  };
  return (
    <details>
      <summary>Members</summary>
      <ul class="archive">
        {projects.flatMap(({ project, members }) =>
          members.map((one) => (
            <li key={`${project} ${one.member}`}>
              <div>
                <strong>{one.member}</strong>
                <p class="meta">
                  <span>{projectName(project)}</span>
                  <span>{count(one.memories)} shared</span>
                  {one.waiting > 0 && <span>{count(one.waiting)} wait</span>}
                  {one.rejected > 0 && <span>{count(one.rejected)} rejected</span>}
                  {one.withdrawn > 0 && <span>{count(one.withdrawn)} withdrawn</span>}
                  {one.unsigned > 0 && <span>{count(one.unsigned)} not verified</span>}
                  {one.muted && <span class="badge">muted</span>}
                </p>
              </div>
              <button
                type="button"
                class="button"
                aria-label={`${one.muted ? "Unmute" : "Mute"} ${one.member}`}
                onClick={() => { mute(project, one.member, !one.muted); }}
              >
                {one.muted ? "Unmute" : "Mute"}
              </button>
            </li>
          )),
        )}
      </ul>
    </details>
  );
}
