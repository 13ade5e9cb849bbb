import type { WindowAction } from '@tidegate/protocol/policies-api';
import { Trash2 } from 'lucide-react';
import { faultAt, faultUnder } from '../api/field-faults.ts';
import { IconButton } from '../ui/button.tsx';
import { CheckList } from '../ui/check-list.tsx';
import { Field, Select, TextArea } from '../ui/field.tsx';
import { LIMITS, type WindowDraft } from './draft-rules.ts';
import {
  ACTIONS,
  minutesText,
  NTH_KEYS,
  NTHS,
  RECUR_KEYS,
  RECURS,
  rruleOf,
  WEEKDAY_KEYS,
  WEEKDAYS,
} from './schedule-rules.ts';

interface WindowProps {
  readonly window: WindowDraft;
  readonly index: number;
  /** What the policy does by itself. */
  readonly done: readonly WindowAction[];
  /** Of the list of time zones. */
  readonly zonesId: string;
  readonly error: Error | null;
  /** Just added: it takes the focus. */
  readonly isNew: boolean;
  readonly onChange: (changes: Partial<WindowDraft>) => void;
  readonly onRemove: () => void;
}

/** One window: on which dates it opens, when, and for how long. */
export function WindowFields(props: WindowProps) {
  const { window, done, index, zonesId, error, onChange, onRemove } = props;
  const named = `Window ${index + 1}`;
  const fault = (name: string) => faultUnder(error, `/windows/${index}/${name}`);
  const whole = faultAt(error, `/windows/${index}`);
  // What a window names stays to be unchecked when the policy does not do it any more.
  const chosen = window.actions ?? done;
  const choices = [...new Set([...done, ...(window.actions ?? [])])];
  return (
    <fieldset className="space-y-3 rounded-lg border border-line p-3">
      <legend className="flex items-center gap-1 px-1 font-medium">
        {named}
        <IconButton label={`Remove ${named.toLowerCase()}`} onClick={onRemove}>
          <Trash2 aria-hidden="true" className="size-4" />
        </IconButton>
      </legend>
      {whole && (
        <p tabIndex={-1} data-fault className="text-[0.9rem] text-bad">
          {whole}
        </p>
      )}
      <RecurrenceFields {...props} />
      <div className="grid grid-cols-4 gap-3 max-md:grid-cols-1">
        <Field
          {...{ label: window.recurs === 'once' ? 'Date' : 'From', type: 'date', required: true }}
          {...{ value: window.starts_on, error: fault('starts_on') }}
          onChange={({ target: { value } }) => onChange({ starts_on: value })}
        />
        <Field
          {...{ label: 'Start', type: 'time', required: true, value: window.start, error: fault('start') }}
          onChange={({ target: { value: start } }) => onChange({ start })}
        />
        <Field
          {...{ label: 'Time zone', required: true, maxLength: 64, list: zonesId, spellCheck: false }}
          {...{ autoComplete: 'off', value: window.zone, error: fault('zone') }}
          onChange={({ target: { value: zone } }) => onChange({ zone })}
        />
        <Field
          {...{ label: 'Minutes', type: 'number', required: true, max: LIMITS.mostMinutes }}
          {...{ min: LIMITS.leastMinutes, value: window.minutes, error: fault('duration_minutes') }}
          hint={minutesText(Number(window.minutes))}
          onChange={({ target: { value: minutes } }) => onChange({ minutes })}
        />
      </div>
      {choices.length > 1 && (
        <CheckList
          legend="What it is for"
          choices={choices.map((one) => [one, ACTIONS[one]])}
          chosen={chosen}
          onChange={(actions) => onChange({ actions })}
          error={fault('actions')}
        />
      )}
      {chosen.includes('install') && (
        <Field
          {...{ label: 'Hours to catch up', type: 'number', min: 1, max: LIMITS.catchUpHours }}
          {...{ value: window.catchUpHours, error: fault('catch_up_hours') }}
          hint="After it, for hosts that were away. Leave empty to let them wait for the next window."
          onChange={({ target: { value: catchUpHours } }) => onChange({ catchUpHours })}
        />
      )}
      {window.recurs !== 'once' && (
        <TextArea
          {...{ label: 'Dates without a window', rows: 2, spellCheck: false, value: window.except }}
          {...{ placeholder: '2026-12-24', error: fault('except') }}
          hint="One per line, such as holidays. May be empty."
          onChange={({ target: { value: except } }) => onChange({ except })}
        />
      )}
    </fieldset>
  );
}

function RecurrenceFields({ window, index, error, isNew, onChange }: WindowProps) {
  const { recurs, weekdays, nth, rule } = window;
  return (
    <>
      <Select
        label="Opens"
        value={recurs}
        autoFocus={isNew}
        onChange={({ target: { value } }) => {
          const next = RECUR_KEYS.find((one) => one === value) ?? 'daily';
          // A rule is easier to write from one that says what was chosen.
          onChange({
            recurs: next,
            ...(next === 'rule' && rule === '' ? { rule: rruleOf(window) ?? '' } : {}),
          });
        }}
      >
        {RECUR_KEYS.map((one) => (
          <option key={one} value={one}>
            {RECURS[one]}
          </option>
        ))}
      </Select>
      {recurs === 'weekly' && (
        <CheckList
          legend="Weekdays"
          choices={WEEKDAY_KEYS.map((day) => [day, WEEKDAYS[day]])}
          chosen={weekdays}
          onChange={(next) => onChange({ weekdays: next })}
        />
      )}
      {recurs === 'monthly' && (
        <div className="grid grid-cols-2 gap-3">
          <Select
            label="Which of the month"
            value={nth}
            onChange={({ target: { value } }) =>
              onChange({ nth: NTH_KEYS.find((one) => one === value) ?? '1' })
            }
          >
            {NTH_KEYS.map((one) => (
              <option key={one} value={one}>
                {NTHS[one]}
              </option>
            ))}
          </Select>
          <Select
            label="Weekday"
            value={weekdays[0] ?? 'MO'}
            onChange={({ target: { value } }) =>
              onChange({ weekdays: WEEKDAY_KEYS.filter((one) => one === value) })
            }
          >
            {WEEKDAY_KEYS.map((day) => (
              <option key={day} value={day}>
                {WEEKDAYS[day]}
              </option>
            ))}
          </Select>
        </div>
      )}
      {recurs === 'rule' && (
        <Field
          {...{ label: 'Rule', required: true, maxLength: LIMITS.ruleChars, spellCheck: false }}
          {...{ autoComplete: 'off', value: rule, error: faultUnder(error, `/windows/${index}/rrule`) }}
          hint="Of dates, without times, such as FREQ=MONTHLY;BYDAY=2TU or FREQ=WEEKLY;INTERVAL=2;BYDAY=SU."
          onChange={({ target: { value } }) => onChange({ rule: value })}
        />
      )}
    </>
  );
}
