import { Link } from '@tanstack/react-router';
import type { InstalledItem } from '@tidegate/protocol/inventory-api';
import { Pin } from 'lucide-react';
import { Badge, StateBadge, VerdictBadge } from '../ui/badge.tsx';
import { Cut } from '../ui/cut.tsx';
import type { Column } from '../ui/data-table.tsx';
import { SecurityBadge } from '../updates/update-columns.tsx';
import { MANAGERS } from './package-managers.ts';

/** The columns of the package list of a host. */
export const INSTALLED_COLUMNS: readonly Column<InstalledItem>[] = [
  {
    id: 'name',
    header: 'Package',
    sort: 'name',
    wide: true,
    cell: ({ name, held }) => (
      <span className="inline-flex max-w-full items-center gap-1.5">
        <span title={name} className="truncate font-medium">
          {name}
        </span>
        {held && (
          <Badge tone="neutral" icon={<Pin />} title="The package manager is set not to change it">
            held
          </Badge>
        )}
      </span>
    ),
  },
  {
    id: 'version',
    header: 'Version',
    cell: ({ version }) => <Cut text={version} />,
  },
  { id: 'ecosystem', header: 'Ecosystem', cell: ({ ecosystem }) => MANAGERS[ecosystem] },
  // For npm and PyPI, the folder that the package is installed in.
  {
    id: 'arch',
    header: 'Arch or folder',
    cell: ({ arch }) => (arch === null ? <NotReported /> : <Cut text={arch} />),
  },
  {
    id: 'source',
    header: 'Source',
    cell: (item) => {
      const text = [item.source_name, item.source_version].filter((part) => part !== null).join(' ');
      return text === '' ? <NotReported /> : <Cut text={text} />;
    },
  },
  {
    id: 'update',
    header: 'Update',
    cell: ({ name, update }) =>
      update === null ? (
        <span className="text-muted">none known</span>
      ) : (
        <span className="inline-flex items-center gap-1.5">
          <Link
            to="/updates/$id"
            params={{ id: update.id }}
            aria-label={`Update of ${name} to ${update.available_version}`}
            title={update.available_version}
            className="mono max-w-40 truncate"
          >
            {update.available_version}
          </Link>
          {update.security && <SecurityBadge />}
          <StateBadge state={update.state} />
          <VerdictBadge verdict={update.verdict} />
        </span>
      ),
  },
];

function NotReported() {
  return (
    <span className="text-muted" title="not reported">
      –<span className="sr-only">not reported</span>
    </span>
  );
}
