import type { UpdateItem } from '@tidegate/protocol/updates-api';
import type { ListSearch } from '../api/list-search.ts';
import { Select } from '../ui/field.tsx';
import { FilterChips } from '../ui/filter-chips.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import { useGroups } from './groups.ts';
import { STATUS_WORDS } from './host-rules.ts';

export const HOST_FILTERS = [
  'q',
  'status',
  'group',
  'os',
  'ecosystem',
  'agent_version',
  'online',
  'clone_suspected',
] as const;
export type HostFilterName = (typeof HOST_FILTERS)[number];

const WITH_FIELD: readonly HostFilterName[] = ['q', 'status', 'group', 'os', 'ecosystem'];
const MANAGERS: Readonly<Record<UpdateItem['ecosystem'], string>> = {
  apt: 'apt',
  dnf: 'dnf',
  npm: 'npm',
  pypi: 'PyPI',
};

/** The filters of the list of hosts. */
export function HostFilters({ list }: { list: ListSearch<HostFilterName> }) {
  const { filter, setFilter } = list;
  const groups = useGroups();
  const choose = (name: HostFilterName) => (event: { target: { value: string } }) =>
    setFilter({ [name]: event.target.value || undefined });
  const names = new Set(groups.map(({ name }) => name));
  if (filter.group !== undefined) names.add(filter.group);
  return (
    <>
      <SearchBox
        label="Name, machine id or id"
        maxLength={253}
        value={filter.q ?? ''}
        onSearch={(text) => setFilter({ q: text || undefined })}
      />
      <Select label="Status" value={filter.status ?? ''} onChange={choose('status')}>
        <option value="">All</option>
        {Object.entries(STATUS_WORDS).map(([status, word]) => (
          <option key={status} value={status}>
            {word}
          </option>
        ))}
      </Select>
      <Select label="Group" value={filter.group ?? ''} onChange={choose('group')} className="max-w-56">
        <option value="">All</option>
        {[...names].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </Select>
      <SearchBox
        label="System"
        placeholder="debian"
        maxLength={64}
        value={filter.os ?? ''}
        onSearch={(text) => setFilter({ os: text || undefined })}
      />
      <Select label="Packages of" value={filter.ecosystem ?? ''} onChange={choose('ecosystem')}>
        <option value="">All</option>
        {Object.entries(MANAGERS).map(([ecosystem, word]) => (
          <option key={ecosystem} value={ecosystem}>
            {word}
          </option>
        ))}
      </Select>
      <FilterChips
        filter={filter}
        without={WITH_FIELD}
        onRemove={(name) => setFilter({ [name]: undefined })}
      />
    </>
  );
}
