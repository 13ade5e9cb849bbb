import type { PackageItem, UpdateItem } from '@tidegate/protocol/updates-api';
import { ArrowRight, Layers, ShieldCheck } from 'lucide-react';
import { MANAGERS } from '../hosts/package-managers.ts';
import { Badge, ExploitedBadge, SeverityBadge, StateBadge, VerdictBadge } from '../ui/badge.tsx';
import type { Column } from '../ui/data-table.tsx';
import { RowLink } from '../ui/row-link.tsx';
import { Time } from '../ui/time.tsx';
import { CHANGE_WORDS, offersText, percent, siblingsText } from './update-words.ts';

/** The columns of the list of updates; the package itself cannot be hidden. */
export const UPDATE_COLUMNS: readonly Column<UpdateItem>[] = [
  {
    id: 'name',
    header: 'Package',
    sort: 'name',
    wide: true,
    cell: (update) => (
      <span className="inline-flex max-w-full items-center gap-1.5">
        <RowLink href={`/updates/${update.id}`} className="min-w-0 truncate font-medium">
          {update.name}
        </RowLink>
        {update.security && <SecurityBadge />}
        <OfferBadge update={update} />
        <SiblingsBadge siblings={update.siblings} />
      </span>
    ),
  },
  {
    id: 'verdict',
    header: 'Verdict',
    part: 'pinned',
    cell: ({ verdict }) => <VerdictBadge verdict={verdict} />,
  },
  {
    id: 'fixes',
    header: 'Fixes',
    ...{ sort: 'urgency', falls: true, order: 'Urgency' },
    cell: (update) => <WorstFixed {...update} />,
  },
  { id: 'ecosystem', roomy: true, header: 'Package manager', cell: ({ ecosystem }) => MANAGERS[ecosystem] },
  {
    id: 'hostname',
    header: 'Host',
    sort: 'hostname',
    cell: ({ hostname, agent_id: id }) => (
      <RowLink
        href={`/hosts/${id}`}
        title={hostname}
        className="inline-block max-w-[clamp(8rem,14cqw,16rem)] truncate"
      >
        {hostname}
      </RowLink>
    ),
  },
  {
    id: 'versions',
    header: 'Versions',
    cell: (update) => (
      <span className="inline-block max-w-[clamp(9rem,26cqw,24rem)] truncate align-bottom">
        <Versions update={update} isBrief />
      </span>
    ),
  },
  { id: 'state', header: 'State', sort: 'state', cell: ({ state }) => <StateBadge state={state} /> },
  { id: 'parts', header: 'Vulnerabilities', cell: (update) => <PartCounts {...update} /> },
  {
    id: 'severity',
    header: 'Brings or keeps',
    ...{ sort: 'severity', falls: true },
    cell: ({ severity }) => <SeverityBadge severity={severity} />,
  },
  {
    id: 'exploited',
    header: 'Exploited',
    ...{ sort: 'exploited', falls: true },
    cell: (update) => <Exploitation {...update} />,
  },
  { id: 'origin', header: 'Origin', cell: ({ origin }) => origin ?? <Nothing /> },
  {
    id: 'discovered_at',
    roomy: true,
    header: 'Found',
    sort: 'discovered_at',
    sortFirst: 'descending',
    cell: (update) => <Time at={update.discovered_at} />,
  },
  {
    id: 'updated_at',
    header: 'Changed',
    sort: 'updated_at',
    sortFirst: 'descending',
    cell: (update) => <Time at={update.updated_at} />,
  },
];

/** Hidden until the operator chooses to show it. */
export const HIDDEN_AT_FIRST = ['ecosystem', 'parts', 'exploited', 'origin', 'updated_at'] as const;

export function SecurityBadge() {
  return (
    <Badge tone="accent" icon={<ShieldCheck />} title="The distribution marks it as a security update">
      security
    </Badge>
  );
}

/** Why the version of an npm or PyPI package is offered; nothing for the others, which offer one. */
function OfferBadge({ update }: { update: Pick<UpdateItem, 'offers' | 'change'> }) {
  const { offers, change } = update;
  if (offers.length === 0) return null;
  const isFix = offers.includes('smallest_fix');
  const title = `Offered as ${offersText(update)}${change === null ? '' : `: ${CHANGE_WORDS[change]}`}`;
  return (
    <Badge tone={isFix ? 'accent' : 'neutral'} title={title}>
      {offers.map((offer) => SHORT_OFFERS[offer]).join(', ')}
    </Badge>
  );
}

function SiblingsBadge({ siblings }: Pick<UpdateItem, 'siblings'>) {
  if (!siblings) return null;
  return (
    <Badge tone="neutral" icon={<Layers />} title={siblingsText(siblings)}>
      +{siblings.toLocaleString('en')}
      <span className="sr-only"> in the same transaction</span>
    </Badge>
  );
}

const SHORT_OFFERS: Readonly<Record<UpdateItem['offers'][number], string>> = {
  series: 'series',
  newest: 'newest',
  smallest_fix: 'smallest fix',
};

/** The installed and the available version; neither hides the other, however long it is. */
export function Versions({
  update: { current_version: from, available_version: to },
  wraps = false,
  isBrief = false,
}: {
  update: Pick<UpdateItem, 'current_version' | 'available_version'>;
  /** Shows long ones whole. */
  wraps?: boolean;
  /** Leaves the installed one to the title where a table has little room. */
  isBrief?: boolean;
}) {
  const each = wraps ? 'min-w-0' : 'min-w-0 truncate';
  return (
    <span className="mono inline-flex max-w-full items-center gap-1 align-bottom" title={`${from} to ${to}`}>
      <span className={`${each} ${isBrief ? 'brief-from' : ''}`}>{from}</span>{' '}
      <ArrowRight aria-label="to" className="size-3.5 shrink-0 text-muted" />{' '}
      <span className={each}>{to}</span>
    </span>
  );
}

/** How many vulnerabilities the update introduces, keeps and fixes; null is "not known", never 0. */
export function PartCounts(update: Pick<UpdateItem, 'introduces' | 'stays' | 'fixes'>) {
  const { introduces, stays, fixes } = update;
  if (introduces === null && stays === null && fixes === null) return <Nothing />;
  return (
    <span className="inline-flex gap-x-2 whitespace-nowrap">
      <Count count={introduces} sign="+" word="introduced by the update" tone="text-bad" />
      <Count count={stays} sign="=" word="on the host already, and stay" tone="text-warn" />
      <Count count={fixes} sign="−" word="fixed by the update" tone="text-good" />
    </span>
  );
}

function Count(props: { count: number | null; sign: string; word: string; tone: string }) {
  const { count, sign, word, tone } = props;
  const text = count === null ? '?' : count.toLocaleString('en');
  return (
    <span
      className={count === null || count === 0 ? 'text-muted' : tone}
      title={`${count === null ? 'not known how many' : text} ${word}`}
    >
      {sign}
      {text}
      <span className="sr-only"> {word}</span>
    </span>
  );
}

/** The worst of what the update fixes; that it fixes nothing known differs from not knowing. */
export function WorstFixed(
  update: Pick<UpdateItem | PackageItem, 'fixes' | 'fixes_severity' | 'fixes_exploited'>,
) {
  const { fixes, fixes_severity: severity, fixes_exploited: isExploited } = update;
  if (fixes === null) return <Nothing />;
  if (!fixes) return <span className="text-muted">nothing known</span>;
  return (
    <span className="inline-flex items-center gap-1.5">
      <SeverityBadge severity={severity} />
      {isExploited && <ExploitedBadge />}
    </span>
  );
}

/** Known to be exploited, or how likely that is; null is "not known", never "no". */
export function Exploitation({ known_exploited: known, epss }: Pick<UpdateItem, 'known_exploited' | 'epss'>) {
  const likely =
    epss === null ? null : (
      <span title="How likely it is to be exploited in the next 30 days (EPSS)">EPSS {percent(epss)}</span>
    );
  if (known)
    return <span className="inline-flex items-center gap-1.5">{[<ExploitedBadge key="kev" />, likely]}</span>;
  if (likely) return <span className="text-muted">{likely}</span>;
  return known === false ? <span className="text-muted">none known</span> : <Nothing />;
}

function Nothing() {
  return (
    <span data-none="" className="text-muted" title="not known">
      –<span className="sr-only">not known</span>
    </span>
  );
}
