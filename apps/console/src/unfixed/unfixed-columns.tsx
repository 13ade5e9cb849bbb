import { Link } from '@tanstack/react-router';
import type { UnfixedItem } from '@tidegate/protocol/unfixed-api';
import { CircleHelp, Pencil } from 'lucide-react';
import { Badge, ExploitedBadge, SeverityBadge } from '../ui/badge.tsx';
import { IconButton } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { Time } from '../ui/time.tsx';
import { fixText, nameOf } from './unfixed-rules.ts';

/** `onNote` is null for operators who cannot note a mitigation. */
export function unfixedColumns({
  onHosts,
  onNote,
}: {
  onHosts: (item: UnfixedItem) => void;
  onNote: ((item: UnfixedItem) => void) | null;
}): readonly Column<UnfixedItem>[] {
  const columns: readonly Column<UnfixedItem>[] = [
    {
      id: 'vulnerability',
      header: 'Vulnerability',
      cell: ({ vulnerability, names }) => (
        <Link
          to="/vulnerabilities/$id"
          params={{ id: vulnerability }}
          className="font-medium underline"
          title={names.join(', ')}
        >
          {vulnerability}
        </Link>
      ),
    },
    {
      id: 'package',
      header: 'Package',
      wide: true,
      cell: ({ package: name, distribution, installed_packages }) => (
        <span title={installed_packages.join(', ')}>
          {name} <span className="text-muted">{distribution}</span>
        </span>
      ),
    },
    {
      id: 'hosts',
      header: 'Hosts',
      sort: 'hosts',
      sortFirst: 'descending',
      align: 'right',
      cell: (item) => (
        <button
          type="button"
          className="underline"
          aria-label={`${item.hosts} ${item.hosts === 1 ? 'host' : 'hosts'} with ${nameOf(item)}`}
          onClick={() => onHosts(item)}
        >
          {item.hosts}
        </button>
      ),
    },
    {
      id: 'since',
      header: 'Since',
      sort: 'first_seen_at',
      sortFirst: 'descending',
      cell: ({ first_seen_at }) => <Time at={first_seen_at} />,
    },
    {
      id: 'severity',
      header: 'Severity',
      cell: (item) => <SeverityBadge severity={item.severity ?? 'unknown'} />,
    },
    { id: 'exploited', header: 'Exploited', cell: (item) => <Exploited item={item} /> },
    { id: 'fix', header: 'Fix', cell: fixText },
    { id: 'statements', header: 'Statements', cell: (item) => <Statements item={item} /> },
    {
      id: 'mitigation',
      header: 'Mitigation',
      cell: ({ mitigation }) =>
        mitigation && (
          <span title={`${mitigation.note} (${mitigation.by})`}>
            {mitigation.hook} <span className="text-muted">by {mitigation.by}</span>
          </span>
        ),
    },
  ];
  if (onNote === null) return columns;
  const note: Column<UnfixedItem> = {
    id: 'note',
    header: 'Actions',
    cell: (item) => (
      <IconButton label={`Note the mitigation of ${nameOf(item)}`} onClick={() => onNote(item)}>
        <Pencil aria-hidden="true" className="size-4" />
      </IconButton>
    ),
  };
  return [...columns, note];
}

function Exploited({ item: { exploited } }: { item: UnfixedItem }) {
  if (exploited === true) return <ExploitedBadge />;
  if (exploited === false) return <span className="text-muted">no report</span>;
  return (
    <Badge tone="unknown" icon={<CircleHelp />}>
      not known
    </Badge>
  );
}

function Statements({ item: { statements } }: { item: UnfixedItem }) {
  if (statements.length === 0) return null;
  return (
    <Link to="/statements" className="underline">
      {[...new Set(statements.map(({ status }) => status.replace('_', ' ')))].join(', ')}
    </Link>
  );
}
