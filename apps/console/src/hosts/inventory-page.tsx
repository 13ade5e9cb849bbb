import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import type { InstalledItem, ReportItem } from '@tidegate/protocol/inventory-api';
import { isolated } from '@tidegate/protocol/isolated';
import type { Page as ListPage } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, oneQuery } from '../api/queries.ts';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { INSTALLED_COLUMNS } from './installed-columns.tsx';
import { InventoryAge } from './inventory-age.tsx';
import { PackageFilters } from './package-filters.tsx';

const FILTERS = ['q', 'ecosystem', 'update', 'verdict'] as const;
const HAS_UPDATE = { true: 'has one', false: 'has none' };
const VERDICTS = { clear: 'clear', vulnerable: 'vulnerable', unchecked: 'unchecked' };

interface Inventory extends ListPage<InstalledItem> {
  readonly reports: readonly ReportItem[];
}

/** The packages that a host reported as installed. */
export function InventoryPage() {
  const { id = '' } = useParams({ strict: false });
  // Remounts for another host, so that nothing of the previous one stays on screen.
  return <InventoryOf key={id} id={id} />;
}

function InventoryOf({ id }: { id: string }) {
  const path = `/api/v1/agents/${encodeURIComponent(id)}`;
  const { data: host } = useQuery(oneQuery<AgentItem>('hosts', path));
  const list = useListSearch(FILTERS);
  // Under the topic of updates, so that a change of updates refetches it too.
  const query = useQuery(listQuery<InstalledItem, Inventory>('updates', `${path}/inventory`, list.query));
  const reports = query.data?.reports ?? null;
  const { filter, setFilter } = list;
  const name = host?.hostname ?? 'a host';

  return (
    <Page
      title={`Packages of ${isolated(name)}`}
      lead={
        <Link to="/hosts/$id" params={{ id }}>
          Back to <bdi>{name}</bdi>
        </Link>
      }
    >
      <div className="space-y-4">
        {host && reports && reports.length > 0 && <InventoryAge host={host} reports={reports} />}
        <ListTable
          // Without a report, the filter is not the reason that the list is empty.
          list={reports?.length === 0 ? { ...list, isFiltered: false } : list}
          query={query}
          noun="packages"
          empty={<Nothing isReported={reports?.length !== 0} />}
          toolbar={
            <>
              <PackageFilters filter={filter} onFilter={setFilter} />
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
          label={`Packages of ${isolated(name)}`}
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
      Its package managers were scanned and know no packages.
    </EmptyState>
  ) : (
    <EmptyState title="No inventory received yet">
      What is installed on this host is not known. The host scans after it has joined and then reports; you
      can request a scan on its page.
    </EmptyState>
  );
}
