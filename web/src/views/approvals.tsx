/** What waits for a person: proposed memories and drafted skills, to accept or to reject. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { get, post, useGet } from "../api";
import { count } from "../format";
import { memoryHref } from "../memory";
import { Ago, Card, ErrorLine } from "../parts/basics";
import { say, sayProblem } from "../parts/toast";
import { projectName } from "../projects";
import type { Decided, Proposal, ProposalDetail, Proposals } from "../shapes";

type Verdict = "accept" | "reject";

const TOLD: Record<Verdict, string> = { accept: "Accepted", reject: "Rejected" };

/** Nothing at all where nothing waits: most homes never turn it on. */
export function Approvals({ project, onChanged }: { project: string | undefined; onChanged: () => void }): JSX.Element | null {
  const { data, problem, reload } = useGet<Proposals>("/v1/memory/approvals", { project, limit: 50 });
  const decide = (item: Proposal, verdict: Verdict): void => {
    post<Decided>("/v1/memory/approvals", { ids: [item.id], verdict }).then(({ notes, proposals }) => {
      say([`${TOLD[verdict]}: ${item.title}`, proposals[0]?.path, ...notes].filter(Boolean).join(", "));
      reload();
      onChanged();
    }, sayProblem);
  };
  if (problem && problem.status !== 404) return <ErrorLine problem={problem} retry={reload} />;
  if (!data?.proposals.length) return null;
  return (
    <Card title="Waiting for your review" aside={<span class="quiet">{count(data.waiting)}</span>}>
      <p class="quiet small">These take effect only after you accept them; searches show them marked.</p>
      <ul class="archive">
        {data.proposals.map((item) => (
          <Item key={item.id} item={item} onDecide={(verdict) => { decide(item, verdict); }} />
        ))}
      </ul>
    </Card>
  );
}

function Item({ item, onDecide }: { item: Proposal; onDecide: (verdict: Verdict) => void }): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  const show = (): void => {
    get<ProposalDetail>(`/v1/memory/approvals/${item.id}`).then((whole) => {
      setText(whole.text);
    }, sayProblem);
  };
  return (
    <li>
      <div>
        <strong>{item.sort === "skill" ? `Skill ${item.title}` : item.title}</strong>
        {item.says !== item.title && <p class="excerpt short">{item.says}</p>}
        <p class="meta">
          <span>{projectName(item.project)}</span>
          <Ago at={item.at} />
          {item.sort === "memory" && <a href={memoryHref(item.id)}>open</a>}
          {item.sort === "skill" && text === null && (
            <button type="button" class="link" onClick={show}>
              Show SKILL.md
            </button>
          )}
        </p>
        {text !== null && <pre>{text}</pre>}
      </div>
      <div class="decide">
        <button type="button" class="button" aria-label={`Accept ${item.title}`} onClick={() => { onDecide("accept"); }}>
          Accept
        </button>
        <button type="button" class="button" aria-label={`Reject ${item.title}`} onClick={() => { onDecide("reject"); }}>
          Reject
        </button>
      </div>
    </li>
  );
}
