import { Link } from '@tanstack/react-router';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { UnfixedItem } from '@tidegate/protocol/unfixed-api';
import { CircleHelp, Pencil } from 'lucide-react';
import { Fragment } from 'react';
import { Badge, ExploitedBadge, SeverityBadge } from '../ui/badge.tsx';
import { IconButton } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { Time } from '../ui/time.tsx';
import { fixText, nameOf, recordsBelow, shownOf } from './unfixed-rules.ts';

const RECORDS_SHOWN = 3;

/** `onNote` is null for operators who cannot note a mitigation. */
export function unfixedColumns({
  onHosts,
  onNote,
  searched,
}: {
  onHosts: (item: UnfixedItem) => void;
  onNote: ((item: UnfixedItem) => void) | null;
  /** What the list is searched for. */
  searched?: string | undefined;
}): readonly Column<UnfixedItem>[] {
  const columns: readonly Column<UnfixedItem>[] = [
    {
      id: 'vulnerability',
      header: 'Vulnerability',
      cell: (item) => <Ids item={item} searched={searched} />,
    },
    {
      id: 'severity',
      header: 'Severity',
      part: 'pinned',
      cell: (item) => <SeverityBadge severity={item.severity ?? 'unknown'} />,
    },
    {
      id: 'exploited',
      header: 'Exploited',
      ...{ sort: 'urgency', sortFirst: 'descending', order: 'Urgency' },
      cell: (item) => <Exploited item={item} />,
    },
    {
      id: 'package',
      header: 'Package',
      wide: true,
      cell: ({ package: name, distribution, installed_packages }) => (
        <span title={installed_packages.join(', ')}>
          <bdi>{name}</bdi> <span className="text-muted">{distribution}</span>
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
          aria-label={`${counted(item.hosts, 'host')} with ${isolated(nameOf(item))}`}
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
    { id: 'fix', header: 'Fix', cell: fixText },
    { id: 'statements', header: 'Statements', cell: (item) => <Statements item={item} /> },
    {
      id: 'mitigation',
      header: 'Mitigation',
      cell: ({ mitigation }) =>
        mitigation && (
          <span title={`${mitigation.note} (${isolated(mitigation.by)})`}>
            {mitigation.hook}{' '}
            <span className="text-muted">
              by <bdi>{mitigation.by}</bdi>
            </span>
          </span>
        ),
    },
  ];
  if (onNote === null) return columns;
  const note: Column<UnfixedItem> = {
    id: 'note',
    header: 'Actions',
    cell: (item) => (
      <IconButton
        word="Note"
        label={`Note the mitigation of ${isolated(nameOf(item))}`}
        onClick={() => onNote(item)}
      >
        <Pencil aria-hidden="true" className="size-4" />
      </IconButton>
    ),
  };
  return [...columns, note];
}

/**
 * The CVE by which people know it; below it the records that tell of it. Those about several vulnerabilities lead to the others.
 */
function Ids({ item, searched }: { item: UnfixedItem; searched: string | undefined }) {
  const { names, cves } = item;
  const { id, more } = shownOf(item, searched);
  const records = recordsBelow(item, id);
  const others = cves.filter((cve) => cve !== id);
  return (
    <>
      <Link
        to="/vulnerabilities/$id"
        params={{ id }}
        className="inline-flex min-h-7 items-center font-medium underline"
        title={names.join(', ')}
      >
        {id}
      </Link>
      {more > 0 && (
        <span title={others.join(', ')} className="whitespace-nowrap">
          {' '}
          and {more.toLocaleString('en')} more
        </span>
      )}
      {records.length > 0 && (
        <span className="block text-muted" title={records.map((record) => record.id).join(', ')}>
          {records.slice(0, RECORDS_SHOWN).map((record, i) => (
            <Fragment key={record.id}>
              {i > 0 && ', '}
              {record.isOfSeveral ? (
                <Link
                  to="/vulnerabilities/$id"
                  params={{ id: record.id }}
                  className="inline-flex min-h-7 items-center underline"
                >
                  {record.id}
                </Link>
              ) : (
                record.id
              )}
            </Fragment>
          ))}
          {records.length > RECORDS_SHOWN && ` and ${records.length - RECORDS_SHOWN} more`}
        </span>
      )}
    </>
  );
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
