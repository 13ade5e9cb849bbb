import type { RateLimits } from '@tidegate/protocol/rate-limits-api';
import { useId } from 'react';
import { type FactColumn, FactsTable } from '../ui/facts-table.tsx';
import { CLASS_WORDS, type Draft, type LimitClass, type LimitField, namesOf } from './limit-rules.ts';

const REQUESTS_MAX = 100_000;
const WINDOW_MAX_SECONDS = 86_400;
const MAX: Readonly<Record<LimitField, number>> = {
  requests: REQUESTS_MAX,
  window_seconds: WINDOW_MAX_SECONDS,
};
const WORDS: Readonly<Record<LimitField, string>> = { requests: 'Requests', window_seconds: 'Seconds' };

interface Props {
  readonly classes: RateLimits['classes'];
  readonly draft: Draft;
  readonly faults: Readonly<Record<string, string>>;
  readonly onDraft: (draft: Draft) => void;
}

/** A table of all budgets, with the server's message below each field. */
export function LimitsTable(props: Props) {
  return (
    <FactsTable
      label="Request budgets"
      columns={columnsOf(props)}
      rows={namesOf(props.classes)}
      rowId={(name) => name}
    />
  );
}

function columnsOf(props: Props): readonly FactColumn<LimitClass>[] {
  const { classes, draft, faults, onDraft } = props;
  return [
    {
      ...{ header: 'Class', part: 'name' },
      cell: (name) => (
        <>
          <span className="font-medium">{CLASS_WORDS[name].word}</span>
          <span className="mono block text-muted">{name}</span>
          {faults[name] && <span className="block text-bad">{faults[name]}</span>}
        </>
      ),
    },
    { header: 'Counted per', cell: (name) => <span className="text-muted">{CLASS_WORDS[name].per}</span> },
    { header: 'Requests', cell: (name) => <Amount {...props} name={name} field="requests" /> },
    { header: 'Window (seconds)', cell: (name) => <Amount {...props} name={name} field="window_seconds" /> },
    {
      header: 'Enabled',
      cell: (name) => (
        <input
          type="checkbox"
          className="my-2 size-4.5"
          aria-label={`Limit ${CLASS_WORDS[name].word}`}
          checked={draft.switches[name] ?? classes[name].enabled}
          onChange={({ target }) =>
            onDraft({ ...draft, switches: { ...draft.switches, [name]: target.checked } })
          }
        />
      ),
    },
  ];
}

function Amount({
  name,
  field,
  classes,
  draft,
  faults,
  onDraft,
}: Props & { name: LimitClass; field: LimitField }) {
  const id = useId();
  const key = `${name}/${field}`;
  const fault = faults[key];
  return (
    <>
      <input
        type="number"
        required
        min={1}
        max={MAX[field]}
        aria-label={`${WORDS[field]} for ${CLASS_WORDS[name].word}`}
        aria-invalid={fault !== undefined || faults[name] !== undefined}
        aria-describedby={fault === undefined ? undefined : id}
        className="min-h-9 w-28 rounded-md border border-line-strong bg-surface px-2.5 py-1 tabular-nums aria-invalid:border-bad"
        value={draft.texts[key] ?? String(classes[name][field])}
        onChange={({ target }) => onDraft({ ...draft, texts: { ...draft.texts, [key]: target.value } })}
      />
      {fault !== undefined && (
        <p id={id} className="text-[0.9rem] text-bad">
          {fault}
        </p>
      )}
    </>
  );
}
