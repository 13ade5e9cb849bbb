import type { RateLimits } from '@tidegate/protocol/rate-limits-api';
import { useId } from 'react';
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
export function LimitsTable({ classes, draft, faults, onDraft }: Props) {
  return (
    <div className="sideways">
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">Request budgets</caption>
        <thead>
          <tr className="border-b border-line text-[0.86rem] text-muted [&>th]:px-3 [&>th]:py-2 [&>th]:font-medium">
            <th scope="col">Class</th>
            <th scope="col">Counted per</th>
            <th scope="col">Requests</th>
            <th scope="col">Window (seconds)</th>
            <th scope="col">Enabled</th>
          </tr>
        </thead>
        <tbody>
          {namesOf(classes).map((name) => (
            <tr key={name} className="border-b border-line align-top last:border-0 [&>*]:px-3 [&>*]:py-2">
              <th scope="row" className="font-normal">
                <span className="font-medium">{CLASS_WORDS[name].word}</span>
                <span className="mono block text-muted">{name}</span>
                {faults[name] && <span className="block text-bad">{faults[name]}</span>}
              </th>
              <td className="text-muted">{CLASS_WORDS[name].per}</td>
              <td>
                <Amount {...{ name, classes, draft, faults, onDraft }} field="requests" />
              </td>
              <td>
                <Amount {...{ name, classes, draft, faults, onDraft }} field="window_seconds" />
              </td>
              <td>
                <input
                  type="checkbox"
                  className="my-2 size-4.5"
                  aria-label={`Limit ${CLASS_WORDS[name].word}`}
                  checked={draft.switches[name] ?? classes[name].enabled}
                  onChange={({ target }) =>
                    onDraft({ ...draft, switches: { ...draft.switches, [name]: target.checked } })
                  }
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
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
