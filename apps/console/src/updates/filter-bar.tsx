import type { UpdateFilter } from '@tidegate/protocol/updates-api';
import { X } from 'lucide-react';
import type { ReactNode, RefObject } from 'react';
import type { ListSearch } from '../api/list-search.ts';
import { FilterSelect } from '../ui/filter-select.tsx';
import { chipsOf, type FilterName } from './filter-rules.ts';
import { FilterTextBox } from './filter-text-box.tsx';
import { OFFER_WORDS, STATE_WORDS } from './update-words.ts';

type Choices = Readonly<Record<string, string>>;

const ECOSYSTEMS: Readonly<Record<NonNullable<UpdateFilter['ecosystem']>, string>> = {
  apt: 'apt',
  dnf: 'dnf',
  npm: 'npm',
  pypi: 'pypi',
  tidegate: 'Tidegate agent',
};
const VERDICTS: Readonly<Record<NonNullable<UpdateFilter['verdict']>, string>> = {
  clear: 'clear',
  vulnerable: 'vulnerable',
  unchecked: 'unchecked',
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
  ['ecosystem', 'Ecosystem', ECOSYSTEMS],
  ['fixes_severity', 'Fixes', SEVERITIES],
  ['fixes_exploited', 'Fixes exploited', YES_NO],
  ['verdict', 'Verdict', VERDICTS],
  ['severity', 'Severity', SEVERITIES],
  ['exploited', 'Exploited', YES_NO],
  ['offer', 'Offered as', OFFER_WORDS],
  ['max_change', 'Greatest change', MAX_CHANGES],
];

/** The filter as text, selects and chips, which always agree. */
export function FilterBar({
  list,
  box,
  children,
}: {
  list: ListSearch<FilterName>;
  box: RefObject<HTMLInputElement | null>;
  /** More controls in the bar: views, columns. */
  children?: ReactNode;
}) {
  const { filter, setFilter } = list;
  return (
    <>
      <FilterTextBox filter={filter} onFilter={setFilter} box={box} />
      {SELECTS.map(([name, label, choices]) => (
        <FilterSelect
          key={name}
          label={label}
          value={filter[name]}
          choices={choices}
          onChoose={(value) => setFilter({ [name]: value })}
        />
      ))}
      <div className="flex flex-wrap gap-1">{children}</div>
      <Chips list={list} />
    </>
  );
}

function Chips({ list: { filter, setFilter, clearFilter } }: { list: ListSearch<FilterName> }) {
  const chips = chipsOf(filter);
  if (chips.length === 0) return null;
  return (
    <ul aria-label="Active filters" className="flex w-full flex-wrap items-center gap-1.5">
      {chips.map(({ name, text }) => (
        <li key={name}>
          <button
            type="button"
            onClick={() => setFilter({ [name]: undefined })}
            title={`Remove the filter ${text}`}
            className="inline-flex min-h-6 max-w-80 items-center gap-1 rounded-full bg-accent-soft px-2.5 text-[0.9rem] text-accent hover:brightness-95"
          >
            <span className="truncate">{text}</span>
            <X aria-label="remove" className="size-3.5 shrink-0" />
          </button>
        </li>
      ))}
      {chips.length > 1 && (
        <li>
          <button
            type="button"
            onClick={clearFilter}
            className="min-h-6 px-1.5 text-[0.9rem] text-muted underline hover:text-text"
          >
            Clear all
          </button>
        </li>
      )}
    </ul>
  );
}
