import { HOST_FILTER_KEYS } from '@tidegate/protocol/filter-keys';
import type { ClockState, ListsState } from '@tidegate/protocol/timeliness';
import type { RefObject } from 'react';
import type { ListSearch } from '../api/list-search.ts';
import { FilterTextBox } from '../filters/filter-text-box.tsx';
import { FilterChips } from '../ui/filter-chips.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { useGroups } from './groups.ts';
import { STATUS_WORDS } from './host-rules.ts';
import { MANAGERS } from './package-managers.ts';
import { REBOOT_WORDS, SERVICES_WORDS } from './restart-rules.ts';
import { useTags } from './tags.ts';

export type HostFilterName = keyof typeof HOST_FILTER_KEYS;
const isFilterName = (name: string): name is HostFilterName => name in HOST_FILTER_KEYS;
export const HOST_FILTERS: readonly HostFilterName[] = Object.keys(HOST_FILTER_KEYS).filter(isFilterName);

const WITH_FIELD: readonly HostFilterName[] = [
  'status',
  'group',
  'tag',
  'ecosystem',
  'up_to_date',
  'services_restart',
  'reboot',
  'lists',
  'clock',
];

const UPDATES_WORDS = { true: 'up to date', false: 'not up to date' };
const LISTS_WORDS: Readonly<Record<ListsState, string>> = {
  stale: 'older than 2 days',
  current: 'newer',
  unknown: 'not known',
};
const CLOCK_WORDS: Readonly<Record<ClockState, string>> = {
  wrong: 'wrong',
  right: 'right',
  unknown: 'not known',
};

/** The filters of the host list. */
export function HostFilters({
  list,
  box,
}: {
  list: ListSearch<HostFilterName>;
  box: RefObject<HTMLInputElement | null>;
}) {
  const { filter, setFilter } = list;
  const groups = useGroups();
  const names = new Set(groups.map(({ name }) => name));
  if (filter.group !== undefined) names.add(filter.group);
  const tags = new Set(useTags().map(({ tag }) => tag));
  if (filter.tag !== undefined) tags.add(filter.tag);
  return (
    <>
      <FilterTextBox
        of="hosts"
        names={HOST_FILTERS}
        placeholder="web-01 group:web package:openssl"
        filter={filter}
        onFilter={setFilter}
        box={box}
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
      <FilterSelect
        label="Package manager"
        value={filter.ecosystem}
        choices={MANAGERS}
        onChoose={(ecosystem) => setFilter({ ecosystem })}
      />
      <FilterSelect
        label="Updates"
        value={filter.up_to_date}
        choices={UPDATES_WORDS}
        onChoose={(upToDate) => setFilter({ up_to_date: upToDate })}
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
      <FilterSelect
        label="Package lists"
        value={filter.lists}
        choices={LISTS_WORDS}
        onChoose={(lists) => setFilter({ lists })}
      />
      <FilterSelect
        label="Clock"
        value={filter.clock}
        choices={CLOCK_WORDS}
        onChoose={(clock) => setFilter({ clock })}
      />
      <FilterChips
        filter={filter}
        without={WITH_FIELD}
        names={HOST_FILTER_KEYS}
        onRemove={(name) => setFilter({ [name]: undefined })}
      />
    </>
  );
}
