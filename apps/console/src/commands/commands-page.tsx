import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { actorText } from '../ui/actor.ts';
import type { Column } from '../ui/data-table.tsx';
import { FilterChips } from '../ui/filter-chips.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { None } from '../ui/none.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { PACKAGES_COLUMN } from './command-packages.tsx';
import { ACTION_WORDS, CommandStatusBadge, reasonInWords, STATUS_LOOKS } from './command-words.tsx';

const FILTERS = ['status', 'action', 'agent_id', 'update_id', 'bulk_id', 'due', 'since', 'until'] as const;
const STATUSES = Object.fromEntries(Object.keys(STATUS_LOOKS).map((status) => [status, status]));
const FIELDS: readonly (typeof FILTERS)[number][] = ['status', 'action'];

const COLUMNS: readonly Column<CommandItem>[] = [
  {
    id: 'action',
    header: 'Command',
    cell: ({ id, action }) => (
      <Link to="/commands/$id" params={{ id }} className="font-medium">
        {ACTION_WORDS[action]}
      </Link>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    part: 'pinned',
    cell: ({ status }) => <CommandStatusBadge status={status} />,
  },
  PACKAGES_COLUMN,
  {
    id: 'hostname',
    header: 'Host',
    cell: ({ agent_id: id, hostname }) => (
      <Link to="/hosts/$id" params={{ id }} title={hostname} className="inline-block max-w-56 truncate">
        {hostname}
      </Link>
    ),
  },
  {
    id: 'reason',
    header: 'Reason',
    wraps: true,
    cell: ({ reason, exit_code: code }) =>
      reason === null && !code ? (
        <None word="–" />
      ) : (
        <span title={reason ?? undefined}>
          {reasonInWords(reason)}
          {code !== null && code !== 0 && <span className="text-muted"> (exit code {code})</span>}
        </span>
      ),
  },
  { id: 'created_by', roomy: true, header: 'Requested by', cell: (command) => actorText(command.created_by) },
  {
    id: 'created_at',
    header: 'Requested',
    sort: 'created_at',
    sortFirst: 'descending',
    cell: (command) => <Time at={command.created_at} />,
  },
  {
    id: 'finished_at',
    roomy: true,
    header: 'Finished',
    cell: (command) => <Time at={command.finished_at} empty="not yet" />,
  },
];

/** What hosts were asked to do, the newest first. */
export function CommandsPage() {
  const list = useListSearch(FILTERS);
  const navigate = useNavigate();
  const query = useQuery(listQuery<CommandItem>('commands', '/api/v1/commands', list.query));
  return (
    <Page title="Commands" lead="What hosts were asked to do. Each command is signed and runs at most once.">
      <ListTable
        list={list}
        query={query}
        noun="commands"
        empty={
          <EmptyState
            title="No command has been sent yet"
            action={<Link to="/updates">See pending updates</Link>}
          >
            Approving an update sends a command to its host. You can request a scan on a host's page.
          </EmptyState>
        }
        toolbar={
          <>
            <FilterSelect
              label="Status"
              value={list.filter.status}
              choices={STATUSES}
              onChoose={(status) => list.setFilter({ status })}
            />
            <FilterSelect
              label="Command"
              value={list.filter.action}
              choices={ACTION_WORDS}
              onChoose={(action) => list.setFilter({ action })}
            />
            <FilterChips
              filter={list.filter}
              without={FIELDS}
              words={{ bulk_id: 'of one bulk approval' }}
              onRemove={(name) => list.setFilter({ [name]: undefined })}
            />
          </>
        }
        label="Commands"
        columns={COLUMNS}
        rowId={idOf}
        onOpen={({ id }) => void navigate({ to: '/commands/$id', params: { id } })}
        order="-created_at"
      />
    </Page>
  );
}

const idOf = ({ id }: CommandItem) => id;
