import { Link } from '@tanstack/react-router';
import type { Figure, Overview } from '@tidegate/protocol/overview-api';
import type { ReactNode } from 'react';
import { heldText, securityHeldText } from '../holds/held-rules.ts';
import { Panel } from '../ui/page.tsx';
import { HostsSeen } from './history-panels.tsx';
import { currentShare, placeOf } from './overview-rules.ts';

/** The size of the fleet, and how much of it is online. */
export function TotalsPanel({ overview }: { overview: Overview }) {
  const { totals, held, of } = overview;
  const current = placeOf(totals.hosts_current.opens);
  const share = currentShare(overview);
  const kept = placeOf(held.opens);
  return (
    <Panel
      title={of === 'fleet' ? 'The fleet' : 'The hosts of your groups'}
      aside={<Link to="/hosts">All hosts</Link>}
    >
      <dl className="flex flex-wrap gap-x-8 gap-y-3">
        <Total word="hosts" figure={totals.hosts} />
        <Total word="online" figure={totals.hosts_online} />
        {totals.hosts_revoked.count > 0 && <Total word="revoked" figure={totals.hosts_revoked} />}
      </dl>
      <p className="mt-3">
        {share !== null && current ? (
          <>
            <Link to={current.to} search={current.search}>
              {share}
            </Link>{' '}
            of the active hosts are up to date.{' '}
          </>
        ) : (
          'No host is active. '
        )}
        {held.updates > 0 && kept && (
          <>
            <Link to={kept.to} search={kept.search}>
              {heldText(held)}
            </Link>
            .{' '}
          </>
        )}
        {securityHeldText(held)}
      </p>
      {of === 'fleet' && <HostsSeen />}
    </Panel>
  );
}

function Total({ word, figure }: { word: string; figure: Figure }) {
  const place = placeOf(figure.opens);
  const count: ReactNode = figure.count.toLocaleString('en');
  return (
    <div className="flex flex-col-reverse">
      <dt className="text-muted">{word}</dt>
      <dd className="text-[1.5rem] leading-tight font-semibold tabular-nums">
        {place ? (
          <Link to={place.to} search={place.search} className="text-text">
            {count}
          </Link>
        ) : (
          count
        )}
      </dd>
    </div>
  );
}
