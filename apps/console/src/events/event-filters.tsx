import { EVENT_TYPES } from '@tidegate/protocol/event-narratives';
import { SEVERITIES } from '@tidegate/protocol/event-types';
import { eventWords } from '@tidegate/protocol/event-words';
import type { ListSearch } from '../api/list-search.ts';
import { Field } from '../ui/field.tsx';
import { FilterChips } from '../ui/filter-chips.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { SearchBox } from '../ui/search-box.tsx';

export const EVENT_FILTERS = [
  'about',
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

const WITH_FIELD: readonly Name[] = ['about', 'kind', 'type', 'severity', 'component', 'q', 'since', 'until'];

const TOPICS = { administration: 'People, access and settings' };
const KINDS = { security: 'Security', system: 'System' };

/** The filters of the event list. Times are in UTC. */
export function EventFilters({ list }: { list: ListSearch<Name> }) {
  const { filter, setFilter } = list;
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
      <FilterSelect
        label="About"
        value={filter.about}
        choices={TOPICS}
        onChoose={(about) => setFilter({ about })}
      />
      <FilterSelect
        label="Kind"
        value={filter.kind}
        choices={KINDS}
        onChoose={(kind) => setFilter({ kind })}
      />
      <FilterSelect
        label="Type"
        value={filter.type}
        choices={typesInWords([...EVENT_TYPES, ...(filter.type ? [filter.type] : [])])}
        onChoose={(type) => setFilter({ type })}
      />
      <FilterSelect
        label="Severity"
        value={filter.severity}
        choices={asWords(SEVERITIES)}
        onChoose={(severity) => setFilter({ severity })}
      />
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

/** Types by their words. */
function typesInWords(types: readonly string[]): Readonly<Record<string, string>> {
  const pairs = types.map((type) => [type, eventWords(type)] as const);
  return Object.fromEntries(pairs.toSorted(([, a], [, b]) => a.localeCompare(b)));
}

/** Choices whose labels are their values. */
function asWords(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, name.replaceAll('_', ' ').toLowerCase()]));
}
