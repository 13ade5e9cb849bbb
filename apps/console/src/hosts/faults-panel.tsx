import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import type { HostFault, HostFaults } from '@tidegate/protocol/host-faults-api';
import type { ReactNode } from 'react';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { Panel } from '../ui/page.tsx';
import { ErrorPanel } from '../ui/states.tsx';
import { Lasting, Time, useNow } from '../ui/time.tsx';
import type { HostAct } from './host-acts.tsx';
import { RepairOffer } from './repair-offer.tsx';
import { reportsQuery } from './reports-query.ts';

interface Props {
  host: AgentItem;
  onAct: (act: HostAct) => void;
}

/** What is wrong with the host, the most urgent first, each with the act that mends it; nothing where nothing is. */
export function FaultsPanel({ host, onAct }: Props) {
  const { data, error, refetch } = useQuery(
    oneQuery<HostFaults>('hosts', `/api/v1/agents/${host.id}/faults`),
  );
  if (error) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (!data || data.items.length === 0) return null;
  return (
    <Panel title="What is wrong with this host">
      <ol className="-my-2 divide-y divide-line">
        {data.items.map((fault) => (
          <li
            key={`${fault.kind} ${fault.why}`}
            className="flex flex-wrap items-center gap-x-3 gap-y-2 py-2.5"
          >
            <span
              aria-hidden="true"
              className={`w-1 self-stretch rounded ${fault.urgent ? 'bg-bad' : 'bg-warn'}`}
            />
            <span className="min-w-48 flex-1 wrap-anywhere">
              <span className="block font-medium">
                <bdi>{fault.text}</bdi>
                {fault.since !== null && (
                  <span className="font-normal text-muted">
                    , {HAPPENED.has(fault.kind) ? <Time at={fault.since} /> : <Lasting since={fault.since} />}
                  </span>
                )}
              </span>
              <span className="block text-muted">{fault.why}</span>
            </span>
            <Mend fault={fault} host={host} onAct={onAct} />
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Faults that happened at a time; the others last. */
const HAPPENED: ReadonlySet<string> = new Set(['revoked', 'credentials_ended', 'command_failed']);

const LOOKS =
  'inline-flex min-h-8 items-center rounded-md border border-line-strong/60 bg-raised px-3 py-1 font-medium text-text no-underline hover:bg-sunken hover:no-underline';

/** What the reader may not do is left out: the sentence says what has to be done. */
function Mend({ fault, host, onAct }: Props & { fault: HostFault }): ReactNode {
  const { may } = useSession();
  const { mend, since, command_id: commandId } = fault;
  switch (mend) {
    case 'rebind':
      return may('admin') && <Rebind since={since} onAct={onAct} />;
    case 'scan':
      return may('approver') && <Button onClick={() => onAct('scan')}>Scan again…</Button>;
    case 'repair':
      return <Repairs id={host.id} />;
    case 'enrol':
      return (
        may('admin') && (
          <Link to="/enrolment" className={LOOKS}>
            Enrol it again
          </Link>
        )
      );
    case 'see_events':
      return (
        <Link to="/events" search={{ agent_id: host.id, type: 'MACHINE_ID_MISMATCH' }} className={LOOKS}>
          See the requests
        </Link>
      );
    case 'update_agent':
      return (
        <Link to="/updates" search={{ agent_id: host.id, ecosystem: 'tidegate' }} className={LOOKS}>
          Update the agent
        </Link>
      );
    case 'see_command':
      return (
        commandId !== null && (
          <Link to="/commands/$id" params={{ id: commandId }} className={LOOKS}>
            See why
          </Link>
        )
      );
    case 'decide_clone':
      return <Below to="clone">See the evidence</Below>;
    case 'see_condition':
      return <Below to="condition">See what is broken</Below>;
    case 'see_probes':
      return <Below to="probes">See the probes</Below>;
    case 'see_restarts':
      return <Below to="restarts">See what to restart</Below>;
    case null:
      return null;
  }
}

/** Leads to a panel of the same page. */
function Below({ to, children }: { to: string; children: string }) {
  return (
    <a href={`#${to}`} className={LOOKS}>
      {children}
    </a>
  );
}

function Repairs({ id }: { id: string }) {
  const { data } = useQuery(reportsQuery(id));
  return (data?.reports ?? []).map(
    ({ ecosystem, condition, repair_sha256: sha256 }) =>
      condition?.repair &&
      sha256 !== null && (
        <RepairOffer key={ecosystem} agentId={id} repair={condition.repair} sha256={sha256} />
      ),
  );
}

const DAY_MS = 86_400_000;

/** Names the time as a clock shows it, with the day where that is not clear. */
function Rebind({ since, onAct }: { since: string | null; onAct: Props['onAct'] }) {
  const now = useNow();
  const time = since && `${since.slice(11, 16)} UTC`;
  const day = since && now - Date.parse(since) >= DAY_MS ? `${since.slice(0, 10)} ` : '';
  return (
    <Button wraps onClick={() => onAct('rebind')}>
      Rebind to the machine that {time ? `has asked since ${day}${time}` : 'asks'}
    </Button>
  );
}
