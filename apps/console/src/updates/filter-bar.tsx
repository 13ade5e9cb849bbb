import type { UpdateFilter } from '@tidegate/protocol/updates-api';
import type { ReactNode, RefObject } from 'react';
import type { ListSearch } from '../api/list-search.ts';
import { FilterTextBox } from '../filters/filter-text-box.tsx';
import { MANAGERS } from '../hosts/package-managers.ts';
import { FilterChips } from '../ui/filter-chips.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { FILTER_NAMES, type FilterName, UPDATE_FILTERS } from './filter-rules.ts';
import { OFFER_WORDS, STATE_WORDS } from './update-words.ts';

type Choices = Readonly<Record<string, string>>;

const VERDICTS: Readonly<Record<NonNullable<UpdateFilter['verdict']>, string>> = {
  clear: 'clear',
  vulnerable: 'vulnerable',
  unchecked: 'unchecked',
  not_judged: 'not judged',
};
const SEVERITIES: Readonly<Record<NonNullable<UpdateFilter['severity']>, string>> = {
  critical: 'critical',
  high: 'high',
  medium: 'medium',
  low: 'low',
  none: 'none',
  unknown: 'unknown',
};
const MAX_CHANGES: Choices = { patch: 'patch', minor: 'minor' };
const YES_NO: Choices = { true: 'yes', false: 'no' };

const SELECTS: readonly (readonly [FilterName, string, Choices])[] = [
  ['state', 'State', STATE_WORDS],
  ['ecosystem', 'Package manager', MANAGERS],
  ['fixes_severity', 'Fixes', SEVERITIES],
  ['fixes_exploited', 'Fixes exploited', YES_NO],
  ['verdict', 'Verdict', VERDICTS],
  ['severity', 'Brings or keeps', SEVERITIES],
  ['exploited', 'Exploited', YES_NO],
  ['offer', 'Offered as', OFFER_WORDS],
  ['max_change', 'Greatest change', MAX_CHANGES],
];

/** The filter as text, selects and chips, which always agree. */
export function FilterBar({
  list,
  box,
  without,
  children,
}: {
  list: ListSearch<FilterName>;
  box: RefObject<HTMLInputElement | null>;
  /** A part that all updates of the list have alike. */
  without?: FilterName;
  /** More controls in the bar: views, columns. */
  children?: ReactNode;
}) {
  const { filter, setFilter } = list;
  return (
    <>
      <FilterTextBox
        of="updates"
        names={UPDATE_FILTERS}
        placeholder="openssl host:web-*"
        filter={filter}
        onFilter={setFilter}
        box={box}
      />
      {SELECTS.filter(([name]) => name !== without).map(([name, label, choices]) => (
        <FilterSelect
          key={name}
          label={label}
          value={filter[name]}
          choices={choices}
          onChoose={(value) => setFilter({ [name]: value })}
        />
      ))}
      <div className="flex flex-wrap gap-1">{children}</div>
      <FilterChips
        filter={filter}
        names={FILTER_NAMES}
        onRemove={(name) => setFilter({ [name]: undefined })}
        onClear={list.clearFilter}
      />
    </>
  );
}
