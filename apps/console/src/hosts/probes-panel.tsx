import { useQuery } from '@tanstack/react-query';
import type { HostProbes, ProbesState } from '@tidegate/protocol/probes';
import { CircleCheck, CircleDashed, CircleHelp, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { oneQuery } from '../api/queries.ts';
import { Term } from '../glossary/term.tsx';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time, useNow } from '../ui/time.tsx';
import { ProbeAct } from './probe-act.tsx';
import { isTooOld, KIND_WORDS, probesText, shownState } from './probe-rules.ts';

const SHAPES: Readonly<Record<ProbesState, { tone: BadgeTone; icon: ReactNode; word: string }>> = {
  green: { tone: 'good', icon: <CircleCheck />, word: 'green' },
  red: { tone: 'bad', icon: <TriangleAlert />, word: 'red' },
  unknown: { tone: 'unknown', icon: <CircleHelp />, word: 'unknown' },
  none: { tone: 'neutral', icon: <CircleDashed />, word: 'none named' },
};

/** What came of the probes that root named on the host. The server knows their names and kinds, not what they do. */
export function ProbesPanel({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useQuery(
    oneQuery<HostProbes>('hosts', `/api/v1/agents/${encodeURIComponent(id)}/probes`),
  );
  return (
    <Panel id="probes" title={<Term of="probe">Probes</Term>} aside={data && <Looked at={data.at} />}>
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton rows={2} />}
      {data && <Probes probes={data} />}
      <ProbeAct id={id} />
    </Panel>
  );
}

function Probes({ probes: host }: { probes: HostProbes }) {
  const now = useNow();
  const isOld = isTooOld(host.at, now);
  return (
    <div className="space-y-3">
      <p className="flex flex-wrap items-center gap-x-2">
        <State state={shownState(host.state, isOld)} />
        <span className="min-w-0 break-words">{probesText(host, now)}</span>
      </p>
      {host.probes.length > 0 && (
        <ul className="space-y-2" aria-label="Probes of this host">
          {host.probes.map((probe) => (
            <Probe key={probe.name} probe={probe} isOld={isOld} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Probe({ probe, isOld }: { probe: HostProbes['probes'][number]; isOld: boolean }) {
  const { name, kind, state, last_state: last, detail, since } = probe;
  return (
    <li className="min-w-0">
      <p className="flex flex-wrap items-center gap-x-2">
        <span className="font-medium break-all">{name}</span>
        <span className="text-muted">{kind ? KIND_WORDS[kind] : 'kind not known'}</span>
        <State state={shownState(state, isOld)} />
        <span className="text-muted">
          {isOld && `was ${last} when it last ran, `}changed <Time at={since} />
        </span>
      </p>
      {detail !== undefined && <p className="break-words text-muted">{detail}</p>}
    </li>
  );
}

function State({ state }: { state: ProbesState }) {
  const { tone, icon, word } = SHAPES[state];
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  );
}

function Looked({ at }: { at: string | null }) {
  return (
    <span className="text-muted">
      {at === null ? (
        'never run'
      ) : (
        <>
          as of <Time at={at} />
        </>
      )}
    </span>
  );
}
