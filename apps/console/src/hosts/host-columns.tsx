import { Link } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { HeldCount } from '../holds/held-count.tsx';
import type { Column } from '../ui/data-table.tsx';
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
      <Link to="/hosts/$id" params={{ id: host.id }} className="font-medium">
        {host.hostname}
      </Link>
    ),
  },
  { id: 'status', header: 'Status', sort: 'status', cell: (host) => <HostBadges host={host} /> },
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
        <Link to="/updates" search={{ agent_id: id, state: 'pending' }}>
          {count.toLocaleString('en')}
        </Link>
      ),
  },
  {
    id: 'held',
    header: 'Held',
    cell: ({ held_updates: held }) => <HeldCount held={held} />,
  },
  {
    id: 'group',
    header: 'Group',
    cell: ({ group }) =>
      group === null ? (
        <span className="text-muted">none</span>
      ) : (
        <Link to="/hosts" search={{ group }} className="inline-block max-w-48 truncate align-bottom">
          {group}
        </Link>
      ),
  },
  { id: 'tags', header: 'Tags', cell: ({ tags }) => <TagList tags={tags} /> },
  { id: 'os', header: 'System', sort: 'os', cell: ({ os }) => `${os.id} ${os.version_id}` },
  { id: 'agent_version', header: 'Agent', cell: (host) => host.agent_version },
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
