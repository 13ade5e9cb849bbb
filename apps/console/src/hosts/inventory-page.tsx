import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import type { InstalledItem, ReportItem } from '@tidegate/protocol/inventory-api';
import type { Page as ListPage } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { oneQuery } from '../api/queries.ts';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import { EmptyState } from '../ui/states.tsx';
import { INSTALLED_COLUMNS } from './installed-columns.tsx';
import { InventoryAge } from './inventory-age.tsx';
import { MANAGERS } from './package-managers.ts';

const FILTERS = ['q', 'ecosystem', 'update', 'verdict'] as const;
const HAS_UPDATE = { true: 'has one', false: 'has none' };
const VERDICTS = { clear: 'clear', vulnerable: 'vulnerable', unchecked: 'unchecked' };

interface Inventory extends ListPage<InstalledItem> {
  readonly reports: readonly ReportItem[];
}

/** What a host reported to have installed. */
export function InventoryPage() {
  const { id = '' } = useParams({ strict: false });
  // Another host is another page: nothing of the one before stays on screen.
  return <InventoryOf key={id} id={id} />;
}

function InventoryOf({ id }: { id: string }) {
  const path = `/api/v1/agents/${encodeURIComponent(id)}`;
  const { data: host } = useQuery(oneQuery<AgentItem>('hosts', path));
  const list = useListSearch(FILTERS);
  // Beside its updates, so that what tells of these asks for it again too.
  const query = useQuery({
    ...oneQuery<Inventory>('updates', `${path}/inventory`, list.query),
    placeholderData: keepPreviousData,
  });
  const reports = query.data?.reports ?? null;
  const { filter, setFilter } = list;
  const name = host?.hostname ?? 'a host';

  return (
    <Page
      title={`Packages of ${name}`}
      lead={
        <Link to="/hosts/$id" params={{ id }}>
          Back to {name}
        </Link>
      }
    >
      <div className="space-y-4">
        {host && reports && reports.length > 0 && <InventoryAge host={host} reports={reports} />}
        <ListTable
          // Where nothing was received, the filter is not why nothing is there.
          list={reports?.length === 0 ? { ...list, isFiltered: false } : list}
          query={query}
          noun="packages"
          empty={<Nothing isReported={reports?.length !== 0} />}
          toolbar={
            <>
              <SearchBox
                label="Package name"
                value={filter.q ?? ''}
                onSearch={(text) => setFilter({ q: text || undefined })}
              />
              <FilterSelect
                label="Ecosystem"
                value={filter.ecosystem}
                choices={MANAGERS}
                onChoose={(ecosystem) => setFilter({ ecosystem })}
              />
              <FilterSelect
                label="Update"
                value={filter.update}
                choices={HAS_UPDATE}
                onChoose={(update) => setFilter({ update })}
              />
              <FilterSelect
                label="Verdict"
                value={filter.verdict}
                choices={VERDICTS}
                onChoose={(verdict) => setFilter({ verdict })}
              />
            </>
          }
          label={`Packages of ${name}`}
          columns={INSTALLED_COLUMNS}
          rowId={idOf}
          order="name"
        />
      </div>
    </Page>
  );
}

const idOf = ({ ecosystem, name, arch, version }: InstalledItem) =>
  JSON.stringify([ecosystem, name, arch, version]);

function Nothing({ isReported }: { isReported: boolean }) {
  return isReported ? (
    <EmptyState title="The host reported that nothing is installed">
      It has package managers that are looked at, and none of them knows a package.
    </EmptyState>
  ) : (
    <EmptyState title="No inventory received yet">
      What is installed on this host is not known. It is reported after the first scan, which the host makes
      when it has joined; a scan can be asked for on its page.
    </EmptyState>
  );
}
