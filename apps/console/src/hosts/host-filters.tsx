import type { ListSearch } from '../api/list-search.ts';
import { FilterChips } from '../ui/filter-chips.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import { useGroups } from './groups.ts';
import { STATUS_WORDS } from './host-rules.ts';
import { MANAGERS } from './package-managers.ts';
import { REBOOT_WORDS, SERVICES_WORDS } from './restart-rules.ts';
import { useTags } from './tags.ts';

export const HOST_FILTERS = [
  'q',
  'status',
  'group',
  'tag',
  'os',
  'ecosystem',
  'agent_version',
  'online',
  'clone_suspected',
  'services_restart',
  'reboot',
] as const;
export type HostFilterName = (typeof HOST_FILTERS)[number];

const WITH_FIELD: readonly HostFilterName[] = [
  'q',
  'status',
  'group',
  'tag',
  'os',
  'ecosystem',
  'services_restart',
  'reboot',
];

/** The filters of the host list. */
export function HostFilters({ list }: { list: ListSearch<HostFilterName> }) {
  const { filter, setFilter } = list;
  const groups = useGroups();
  const names = new Set(groups.map(({ name }) => name));
  if (filter.group !== undefined) names.add(filter.group);
  const tags = new Set(useTags().map(({ tag }) => tag));
  if (filter.tag !== undefined) tags.add(filter.tag);
  return (
    <>
      <SearchBox
        label="Name, machine id or id"
        maxLength={253}
        value={filter.q ?? ''}
        onSearch={(text) => setFilter({ q: text || undefined })}
      />
      <FilterSelect
        label="Status"
        value={filter.status}
        choices={STATUS_WORDS}
        onChoose={(status) => setFilter({ status })}
      />
      <FilterSelect
        label="Group"
        value={filter.group}
        choices={Object.fromEntries([...names].map((name) => [name, name]))}
        onChoose={(group) => setFilter({ group })}
      />
      {tags.size > 0 && (
        <FilterSelect
          label="Tag"
          value={filter.tag}
          choices={Object.fromEntries([...tags].map((tag) => [tag, tag]))}
          onChoose={(tag) => setFilter({ tag })}
        />
      )}
      <SearchBox
        label="System"
        placeholder="debian"
        maxLength={64}
        value={filter.os ?? ''}
        onSearch={(text) => setFilter({ os: text || undefined })}
      />
      <FilterSelect
        label="Package manager"
        value={filter.ecosystem}
        choices={MANAGERS}
        onChoose={(ecosystem) => setFilter({ ecosystem })}
      />
      <FilterSelect
        label="Services"
        value={filter.services_restart}
        choices={SERVICES_WORDS}
        onChoose={(need) => setFilter({ services_restart: need })}
      />
      <FilterSelect
        label="Reboot"
        value={filter.reboot}
        choices={REBOOT_WORDS}
        onChoose={(need) => setFilter({ reboot: need })}
      />
      <FilterChips
        filter={filter}
        without={WITH_FIELD}
        onRemove={(name) => setFilter({ [name]: undefined })}
      />
    </>
  );
}
