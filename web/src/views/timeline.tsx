/** Timeline: what happened when, and how it fades. */

import type { JSX } from "preact";

import { useGet, usePages } from "../api";
import { counted, date } from "../format";
import { memoryHref, WithPanel } from "../memory";
import { Card, Empty, ErrorLine, NothingStored, Skeleton } from "../parts/basics";
import { plain } from "../parts/texts";
import { Days, type Span } from "../plots/days";
import { DecayCurves } from "../plots/decay";
import { amend, useRoute } from "../route";
import type { MemoryPage, Timeline as Counts, MemoryDetail } from "../shapes";
import { Meta, moveBetween } from "./search";

const PAGE = 30;

export function Timeline(): JSX.Element {
  const { values } = useRoute();
  const { project } = values;
  const counts = useGet<Counts>("/v1/memory/timeline", { by: "day", project });
  const span = spanOf(values);
  return (
    <WithPanel open={values.open} onChanged={counts.reload}>
      <div class="view timeline">
        {counts.problem && <ErrorLine problem={counts.problem} retry={counts.reload} />}
        {!counts.data && !counts.problem && <Skeleton lines={6} tall />}
        {counts.data && counts.data.buckets.length === 0 && (
          project ? <Empty title="This project has no memories" /> : <NothingStored />
        )}
        {counts.data && counts.data.buckets.length > 0 && (
          <>
            <Card
              className="wide"
              title={counted(counts.data.total, "memory", "memories")}
              aside={
                span ? (
                  <>
                    <span class="quiet">
                      {date(span.from)} to {date(lastDay(span))}
                    </span>
                    <button type="button" class="link" onClick={() => { setSpan(null); }}>
                      Show all
                    </button>
                  </>
                ) : (
                  <span class="quiet">
                    {counts.data.first && date(counts.data.first)} to {counts.data.last && date(counts.data.last)}
                  </span>
                )
              }
            >
              <Days buckets={counts.data.buckets} span={span} onSpan={setSpan} />
            </Card>
            <div class="timeline-columns">
              <Items key={`${project ?? ""}/${span?.from ?? ""}/${span?.until ?? ""}`} span={span} project={project} open={values.open} />
              <Fading open={values.open} />
            </div>
          </>
        )}
      </div>
    </WithPanel>
  );
}

/** The span in the address; none if it has no two days, one after the other. */
function spanOf({ from = "", until = "" }: Record<string, string>): Span | null {
  return Date.parse(`${from}T00:00:00Z`) < Date.parse(`${until}T00:00:00Z`) ? { from, until } : null;
}

function setSpan(span: Span | null): void {
  amend({ from: span?.from, until: span?.until, open: undefined }, { replace: true });
}

function lastDay(span: Span): string {
  return new Date(Date.parse(`${span.until}T00:00:00Z`) - 1).toISOString();
}

function Items({
  span,
  project,
  open,
}: {
  span: Span | null;
  project: string | undefined;
  open: string | undefined;
}): JSX.Element {
  const parameters = { since: span?.from, until: span?.until, project, limit: PAGE };
  const { pages, problem, loading, reload, more } = usePages<MemoryPage>("/v1/memory/memories", parameters);
  if (!pages[0]) return problem ? <ErrorLine problem={problem} retry={reload} /> : <Skeleton lines={8} tall />;
  const memories = pages.flatMap((page) => page.memories);
  return (
    <section aria-label="Memories of the period">
      <h2 class="list-head">
        {span ? counted(pages[0].total, "memory", "memories") : "Latest first"}
      </h2>
      {!memories.length && <Empty title="Nothing in this period" />}
      <ol class="results plain">
        {memories.map((memory) => (
          <li key={memory.full_id} class={open && memory.full_id.startsWith(open) ? "result open" : "result"}>
            <div class="result-text">
              <a class="result-title" href={memoryHref(memory.id)} onKeyDown={moveBetween}>
                {memory.title || memory.id}
              </a>
              <Meta memory={memory} />
              <p class="excerpt short">{plain(memory.excerpt, memory.title)}</p>
            </div>
          </li>
        ))}
      </ol>
      {problem && <ErrorLine problem={problem} />}
      {more && (
        <button type="button" class="button" disabled={loading} onClick={more}>
          {loading ? "Loading" : "Show more"}
        </button>
      )}
    </section>
  );
}

function Fading({ open }: { open: string | undefined }): JSX.Element {
  const { data } = useGet<MemoryDetail>(open ? `/v1/memory/memories/${open}` : null);
  return (
    <Card title="How it fades" className="fading">
      <DecayCurves
        chosen={data ? { kind: data.kind, at: data.event_time } : undefined}
      />
    </Card>
  );
}
