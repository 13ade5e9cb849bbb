import type { AgentItem } from '@tidegate/protocol/agents-api';
import { stringifySearch } from '../api/list-search.ts';
import { HeldCount } from '../holds/held-count.tsx';
import type { Column } from '../ui/data-table.tsx';
import { None } from '../ui/none.tsx';
import { RowLink } from '../ui/row-link.tsx';
import { Time } from '../ui/time.tsx';
import { HostBadges } from './host-badges.tsx';
import { TagList } from './tag-list.tsx';

/** The columns of the host list; the name cannot be hidden. */
export const HOST_COLUMNS: readonly Column<AgentItem>[] = [
  {
    id: 'hostname',
    header: 'Host',
    sort: 'hostname',
    wide: true,
    cell: (host) => (
      <RowLink href={`/hosts/${host.id}`} className="font-medium">
        {host.hostname}
      </RowLink>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    part: 'pinned',
    sort: 'status',
    cell: (host) => <HostBadges host={host} />,
  },
  {
    id: 'pending_updates',
    header: 'Pending updates',
    sort: 'pending_updates',
    sortFirst: 'descending',
    align: 'right',
    cell: ({ id, pending_updates: count }) =>
      count === 0 ? (
        <span className="text-muted">0</span>
      ) : (
        <RowLink href={`/updates${stringifySearch({ agent_id: id, state: 'pending' })}`}>
          {count.toLocaleString('en')}
        </RowLink>
      ),
  },
  {
    id: 'held',
    header: 'Held',
    cell: ({ held_updates: held, id }) => <HeldCount held={held} of={{ agent_id: id }} />,
  },
  {
    id: 'group',
    header: 'Group',
    cell: ({ group }) =>
      group === null ? (
        <None />
      ) : (
        <RowLink href={`/hosts${stringifySearch({ group })}`} className="inline-block max-w-48 truncate">
          {group}
        </RowLink>
      ),
  },
  { id: 'tags', roomy: true, header: 'Tags', cell: ({ tags }) => <TagList tags={tags} /> },
  { id: 'os', roomy: true, header: 'System', sort: 'os', cell: ({ os }) => `${os.id} ${os.version_id}` },
  { id: 'agent_version', roomy: true, header: 'Agent', cell: (host) => host.agent_version },
  {
    id: 'last_seen_at',
    header: 'Last seen',
    sort: 'last_seen_at',
    sortFirst: 'descending',
    cell: (host) => <Time at={host.last_seen_at} />,
  },
  {
    id: 'enrolled_at',
    header: 'Enrolled',
    sort: 'enrolled_at',
    sortFirst: 'descending',
    cell: (host) => <Time at={host.enrolled_at} />,
  },
];
