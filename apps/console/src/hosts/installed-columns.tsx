import { Link } from '@tanstack/react-router';
import type { InstalledItem } from '@tidegate/protocol/inventory-api';
import { isolated } from '@tidegate/protocol/isolated';
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
    cell: ({ name, ecosystem, held }) => (
      <span className="inline-flex max-w-full items-center gap-1.5">
        <Link
          to="/hosts"
          search={{ package: name, ecosystem }}
          title={`Hosts that have ${isolated(name)}`}
          className="truncate font-medium"
        >
          {name}
        </Link>
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
  { id: 'ecosystem', roomy: true, header: 'Package manager', cell: ({ ecosystem }) => MANAGERS[ecosystem] },
  // For npm and PyPI, the folder that the package is installed in.
  {
    id: 'arch',
    roomy: true,
    header: 'Arch or folder',
    cell: ({ arch }) => (arch === null ? <NotReported /> : <Cut text={arch} />),
  },
  {
    id: 'source',
    roomy: true,
    header: 'Source',
    cell: (item) => {
      const { source_name: name, source_version: version } = item;
      if (name === null && version === null) return <NotReported />;
      // The version of most sources is that of the package.
      const shown =
        version === item.version ? name : [name, version].filter((part) => part !== null).join(' ');
      return <Cut text={shown ?? ''} />;
    },
  },
  {
    id: 'update',
    header: 'Update',
    whole: true,
    cell: ({ name, update }) =>
      update === null ? (
        <span className="text-muted">none known</span>
      ) : (
        <span className="inline-flex items-center gap-1.5">
          <Link
            to="/updates/$id"
            params={{ id: update.id }}
            aria-label={`Update of ${isolated(name)} to ${isolated(update.available_version)}`}
            title={update.available_version}
            className="mono max-w-48 truncate"
          >
            {update.available_version}
          </Link>
          {update.security && <SecurityBadge />}
          <StateBadge state={update.state} />
        </span>
      ),
  },
  {
    id: 'verdict',
    header: 'Verdict',
    part: 'pinned',
    cell: ({ update }) => update && <VerdictBadge verdict={update.verdict} />,
  },
];

function NotReported() {
  return (
    <span className="text-muted" title="not reported">
      –<span className="sr-only">not reported</span>
    </span>
  );
}
