import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { FolderInput, RefreshCw, Tags } from 'lucide-react';
import { useMemo, useRef, useState } from 'react';
import type { Action } from '../actions/actions.ts';
import { useActions } from '../actions/registry.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { filterKeys } from '../filters/filter-keys.tsx';
import { ColumnChooser } from '../shell/column-chooser.tsx';
import { useHiddenColumns } from '../shell/hidden-columns.ts';
import { BulkBar } from '../ui/bulk-bar.tsx';
import { Button } from '../ui/button.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { useSelection } from '../ui/selection.ts';
import { EmptyState } from '../ui/states.tsx';
import { SavedViews } from '../views/saved-views.tsx';
import { GroupDialog } from './group-dialog.tsx';
import { HOST_COLUMNS } from './host-columns.tsx';
import { HOST_FILTERS, HostFilters } from './host-filters.tsx';
import { ScanDialog } from './scan-dialog.tsx';
import { TagDialog } from './tag-dialog.tsx';

const HIDDEN_AT_FIRST = ['enrolled_at'];
const HIDEABLE = HOST_COLUMNS.filter(({ id }) => id !== 'hostname');

/** The fleet, a row per host. */
export function HostsPage() {
  const list = useListSearch(HOST_FILTERS);
  const navigate = useNavigate();
  const { may } = useSession();
  const selection = useSelection(list.key);
  const columns = useHiddenColumns('hosts', HIDDEN_AT_FIRST);
  const box = useRef<HTMLInputElement>(null);
  const [open, setOpen] = useState<'scan' | 'group' | 'tags' | null>(null);
  const query = useQuery(listQuery<AgentItem>('hosts', '/api/v1/agents', list.query));
  const ids = useMemo(() => [...selection.ids], [selection.ids]);
  const verbs = useMemo((): readonly Action[] => {
    const isAny = ids.length > 0;
    const icon = 'size-4';
    const all = [
      {
        role: 'approver',
        action: {
          ...{ id: 'scan', group: 'Hosts', label: 'Scan now', shortcut: 's', isAllowed: isAny },
          icon: <RefreshCw aria-hidden="true" className={icon} />,
          run: () => setOpen('scan'),
        },
      },
      {
        role: 'admin',
        action: {
          ...{ id: 'group', group: 'Hosts', label: 'Set group', isAllowed: isAny },
          icon: <FolderInput aria-hidden="true" className={icon} />,
          run: () => setOpen('group'),
        },
      },
      {
        role: 'admin',
        action: {
          ...{ id: 'tags', group: 'Hosts', label: 'Change tags', isAllowed: isAny },
          icon: <Tags aria-hidden="true" className={icon} />,
          run: () => setOpen('tags'),
        },
      },
    ] as const;
    return all.flatMap(({ role, action }) => (may(role) ? [action] : []));
  }, [ids, may]);
  const all = useMemo((): readonly Action[] => [...verbs, ...filterKeys('Hosts', box)], [verbs]);
  useActions(all);
  const chosenTags = query.data?.items.filter(({ id }) => ids.includes(id)).flatMap(({ tags }) => tags) ?? [];

  return (
    <Page title="Hosts" actions={may('admin') && <Link to="/enrolment">Add hosts</Link>}>
      <ListTable
        list={list}
        query={query}
        noun="hosts"
        empty={
          <EmptyState
            title="No host has joined yet"
            action={may('admin') ? <Link to="/enrolment">Add the first host</Link> : null}
          >
            {may('admin') ? null : <p>Only admins can add hosts.</p>}
          </EmptyState>
        }
        toolbar={
          <>
            <HostFilters list={list} box={box} />
            <span className="ml-auto flex flex-wrap gap-1">
              <SavedViews list={list} page="hosts" filters={HOST_FILTERS} />
              <ColumnChooser columns={HIDEABLE} choice={columns} />
            </span>
          </>
        }
        label="Hosts"
        columns={HOST_COLUMNS}
        rowId={idOf}
        rowName={nameOf}
        hidden={columns.hidden}
        onOpen={(host) => void navigate({ to: '/hosts/$id', params: { id: host.id } })}
        order="hostname"
        {...(verbs.length > 0 ? { selection } : {})}
      />
      <BulkBar count={ids.length} noun={ids.length === 1 ? 'host' : 'hosts'} onClear={selection.clear}>
        {verbs.map(({ id, label, icon, shortcut, run }) => (
          <Button key={id} icon={icon} shortcut={shortcut} onClick={run}>
            {label}
          </Button>
        ))}
      </BulkBar>
      {open === 'scan' && <ScanDialog ids={ids} onClose={() => setOpen(null)} />}
      {open === 'tags' && (
        <TagDialog ids={ids} tags={chosenTags} onDone={selection.clear} onClose={() => setOpen(null)} />
      )}
      {open === 'group' && <GroupDialog ids={ids} onDone={selection.clear} onClose={() => setOpen(null)} />}
    </Page>
  );
}

const idOf = (host: AgentItem) => host.id;
const nameOf = (host: AgentItem) => host.hostname;
