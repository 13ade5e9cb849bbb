import { SEVERITIES } from '@tidegate/protocol/event-types';
import type { ListSearch } from '../api/list-search.ts';
import { Field, Select } from '../ui/field.tsx';
import { FilterChips } from '../ui/filter-chips.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import { EVENT_TYPES } from './narrative-rules.ts';

export const EVENT_FILTERS = [
  'kind',
  'type',
  'severity',
  'component',
  'agent_id',
  'q',
  'since',
  'until',
] as const;
type Name = (typeof EVENT_FILTERS)[number];

const WITH_FIELD: readonly Name[] = ['kind', 'type', 'severity', 'component', 'q', 'since', 'until'];

/** The filters of the list of events. Times are in UTC, as everything that is stored. */
export function EventFilters({ list }: { list: ListSearch<Name> }) {
  const { filter, setFilter } = list;
  const choose = (name: Name) => (event: { target: { value: string } }) =>
    setFilter({ [name]: event.target.value || undefined });
  const time = (name: 'since' | 'until') => ({
    type: 'datetime-local',
    value: filter[name]?.slice(0, 16) ?? '',
    onChange: (event: { target: { value: string } }) =>
      setFilter({ [name]: event.target.value === '' ? undefined : `${event.target.value}:00Z` }),
  });
  return (
    <>
      <SearchBox
        label="Type or actor"
        value={filter.q ?? ''}
        onSearch={(text) => setFilter({ q: text || undefined })}
      />
      <Select label="Kind" value={filter.kind ?? ''} onChange={choose('kind')}>
        <option value="">All</option>
        <option value="security">Security</option>
        <option value="system">System</option>
      </Select>
      <Select label="Type" value={filter.type ?? ''} onChange={choose('type')} className="max-w-56">
        <option value="">All</option>
        {[...new Set([...EVENT_TYPES, ...(filter.type ? [filter.type] : [])])].map((type) => (
          <option key={type}>{type}</option>
        ))}
      </Select>
      <Select label="Severity" value={filter.severity ?? ''} onChange={choose('severity')}>
        <option value="">All</option>
        {SEVERITIES.map((severity) => (
          <option key={severity}>{severity}</option>
        ))}
      </Select>
      <SearchBox
        label="Component"
        maxLength={64}
        value={filter.component ?? ''}
        onSearch={(text) => setFilter({ component: text || undefined })}
      />
      <Field label="Since (UTC)" {...time('since')} />
      <Field label="Until (UTC)" {...time('until')} />
      <FilterChips
        filter={filter}
        without={WITH_FIELD}
        onRemove={(name) => setFilter({ [name]: undefined })}
      />
    </>
  );
}
