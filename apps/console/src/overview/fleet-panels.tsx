import { Link } from '@tanstack/react-router';
import type { Figure, Overview } from '@tidegate/protocol/overview-api';
import type { ReactNode } from 'react';
import { heldText, securityHeldText } from '../holds/held-rules.ts';
import { Panel } from '../ui/page.tsx';
import { type BarPart, StackedBar } from '../ui/stacked-bar.tsx';
import { HostsSeen } from './history-panels.tsx';
import { currentText, placeOf } from './overview-rules.ts';

/** The verdicts of all open updates, as parts of one bar. */
export function VerdictsPanel({ overview: { verdicts } }: { overview: Overview }) {
  const { clear, vulnerable, unchecked, not_judged } = verdicts;
  const parts: readonly BarPart[] = [
    { id: 'clear', word: 'clear', count: clear, tone: 'good' },
    { id: 'vulnerable', word: 'vulnerable', count: vulnerable, tone: 'bad' },
    { id: 'unchecked', word: 'unchecked', count: unchecked, tone: 'unknown' },
    { id: 'not_judged', word: 'not judged yet', count: not_judged, tone: 'neutral' },
  ];
  return (
    <Panel title="Verdicts of open updates">
      <StackedBar label="Open updates by verdict" parts={parts} />
    </Panel>
  );
}

/** The size of the fleet, and how much of it is online. */
export function TotalsPanel({ overview }: { overview: Overview }) {
  const { totals, held, of } = overview;
  return (
    <Panel
      title={of === 'fleet' ? 'The fleet' : 'The hosts of your groups'}
      aside={<Link to="/hosts">All hosts</Link>}
    >
      <dl className="flex flex-wrap gap-x-8 gap-y-3">
        <Total word="hosts" figure={totals.hosts} />
        <Total word="bound" figure={totals.hosts_bound} />
        <Total word="online" figure={totals.hosts_online} />
        <Total word="revoked" figure={totals.hosts_revoked} />
        <Total word="open updates" figure={totals.updates_open} />
      </dl>
      <p className="mt-3">
        {currentText(overview)} {held.updates > 0 && <Link to="/holds">{heldText(held)}</Link>}
        {held.updates > 0 && '. '}
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
