import { eventWords } from '@tidegate/protocol/event-words';
import type { NotificationChannel } from '@tidegate/protocol/notifications-api';
import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { faultUnder } from '../api/field-faults.ts';
import { useGroups } from '../hosts/groups.ts';
import { MANAGER_KEYS, MANAGERS } from '../hosts/package-managers.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { CheckBox } from '../ui/check-box.tsx';
import { CheckList } from '../ui/check-list.tsx';
import { Field, Select } from '../ui/field.tsx';
import {
  DAYS,
  MODE_KEYS,
  MODES,
  NOTIFIABLE,
  type RuleDraft,
  SEVERITIES,
  SEVERITY_KEYS,
} from './rule-draft.ts';

export interface RuleFieldsProps {
  readonly draft: RuleDraft;
  readonly channels: readonly NotificationChannel[];
  readonly error: Error | null;
  readonly onChange: (changes: Partial<RuleDraft>) => void;
}

const TWO = 'grid grid-cols-2 gap-3 max-md:grid-cols-1';
const THREE = 'grid grid-cols-3 gap-3 max-md:grid-cols-1';

/** The fields of a rule: when it sends, about what, where to, and when not. */
export function RuleFields(props: RuleFieldsProps) {
  const { draft, channels, error, onChange } = props;
  const fault = (pointer: string) => faultUnder(error, pointer);
  return (
    <>
      <div className={TWO}>
        <Field
          {...{ label: 'Name', required: true, maxLength: 100, autoComplete: 'off', autoFocus: true }}
          {...{ value: draft.name, error: fault('/name') }}
          onChange={({ target: { value: name } }) => onChange({ name })}
        />
        <Select
          label="Channel"
          value={draft.channelId}
          error={fault('/channel_id')}
          onChange={({ target: { value: channelId } }) => onChange({ channelId })}
        >
          {channels.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
      </div>
      <Select
        label="Tell"
        value={draft.mode}
        error={fault('/mode')}
        onChange={({ target: { value } }) =>
          onChange({ mode: MODE_KEYS.find((one) => one === value) ?? 'at_once' })
        }
      >
        {MODE_KEYS.map((one) => (
          <option key={one} value={one}>
            {MODES[one]}
          </option>
        ))}
      </Select>
      <ModeFields {...props} />
      <ConditionFields {...props} />
      <QuietFields {...props} />
    </>
  );
}

function ModeFields({ draft, error, onChange }: RuleFieldsProps) {
  const fault = (name: string) => faultUnder(error, `/mode/${name}`);
  switch (draft.mode) {
    case 'at_once':
      return (
        <Field
          {...{ label: 'Minutes that share a message', type: 'number', min: 0, max: 60, required: true }}
          {...{ value: draft.batchMinutes, error: fault('batch_seconds') }}
          hint="All events within this time go into one message. 0: a message for each event."
          onChange={({ target: { value: batchMinutes } }) => onChange({ batchMinutes })}
        />
      );
    case 'digest':
      return (
        <>
          <div className={TWO}>
            <Field
              {...{ label: 'At', type: 'time', required: true, value: draft.at, error: fault('at') }}
              onChange={({ target: { value: at } }) => onChange({ at })}
            />
            <ZoneField zone={draft.zone} error={fault('zone')} onChange={onChange} />
          </div>
          <CheckList
            {...{ legend: 'On', choices: DAYS, chosen: draft.digestDays, error: fault('weekdays') }}
            hint="It says what waits, what failed, what is due and what is exploited, and what happened since the last one."
            onChange={(digestDays) => onChange({ digestDays })}
          />
        </>
      );
    case 'escalation':
      return (
        <div className={THREE}>
          <Field
            {...{ label: 'After hours', type: 'number', min: 1, max: 720, required: true }}
            {...{ value: draft.afterHours, error: fault('after_hours') }}
            hint="Since the fix was there and nobody approved or rejected it."
            onChange={({ target: { value: afterHours } }) => onChange({ afterHours })}
          />
          <Field
            {...{ label: 'Again after hours', type: 'number', min: 1, max: 720, required: true }}
            {...{ value: draft.repeatHours, error: fault('repeat_hours') }}
            onChange={({ target: { value: repeatHours } }) => onChange({ repeatHours })}
          />
          <Field
            {...{ label: 'Repeats', type: 'number', min: 0, max: 20, required: true }}
            {...{ value: draft.repeatsMax, error: fault('repeats_max') }}
            hint="At most. 0: none."
            onChange={({ target: { value: repeatsMax } }) => onChange({ repeatsMax })}
          />
        </div>
      );
  }
}

function ConditionFields({ draft, error, onChange }: RuleFieldsProps) {
  const known = useGroups().map(({ name }) => name);
  // A group without hosts is not listed, but a rule may name it.
  const groups = [...new Set([...known, ...draft.groups])];
  const fault = (name: string) => faultUnder(error, `/conditions/${name}`);
  const isAboutEvents = draft.mode !== 'escalation';
  return (
    <>
      {isAboutEvents && (
        <>
          <Select
            label="Severity"
            value={draft.severity}
            error={fault('minimum_severity')}
            onChange={({ target: { value } }) =>
              onChange({ severity: SEVERITY_KEYS.find((one) => one === value) ?? 'info' })
            }
          >
            {SEVERITY_KEYS.map((one) => (
              <option key={one} value={one}>
                {SEVERITIES[one]}
              </option>
            ))}
          </Select>
          <TypeChoice types={draft.types} onChange={(types) => onChange({ types })} />
        </>
      )}
      {groups.length > 0 && (
        <CheckList
          {...{ legend: 'Host groups', chosen: draft.groups, error: fault('groups') }}
          choices={groups.map((name) => [name, name])}
          hint="None checked: all hosts, and events that are about no host."
          onChange={(next) => onChange({ groups: next })}
        />
      )}
      <CheckList
        {...{ legend: 'Package managers', chosen: draft.ecosystems, error: fault('ecosystems') }}
        choices={MANAGER_KEYS.map((one) => [one, MANAGERS[one]])}
        hint="None checked: all, and events that name none."
        onChange={(ecosystems) => onChange({ ecosystems })}
      />
      {isAboutEvents && (
        <CheckBox
          checked={draft.exploitedOnly}
          onChange={({ target: { checked: exploitedOnly } }) => onChange({ exploitedOnly })}
        >
          Only known exploited vulnerabilities
        </CheckBox>
      )}
    </>
  );
}

function TypeChoice({
  types,
  onChange,
}: {
  types: RuleDraft['types'];
  onChange: (types: RuleDraft['types']) => void;
}) {
  const headingId = useId();
  const [next, setNext] = useState('');
  const left = NOTIFIABLE.filter((type) => !types.includes(type));
  const add = () => {
    const found = left.find((type) => type === next);
    if (found) onChange([...types, found]);
    setNext('');
  };
  return (
    <fieldset className="space-y-2">
      <legend id={headingId} className="font-medium">
        Event types
      </legend>
      {types.length === 0 && <p className="text-[0.9rem] text-muted">Every type, as none is named.</p>}
      {types.length > 0 && (
        <ul aria-labelledby={headingId} className="flex flex-wrap gap-2">
          {types.map((type) => (
            <li
              key={type}
              className="inline-flex items-center gap-1 rounded-md border border-line bg-sunken pl-2"
            >
              <span title={type}>{eventWords(type)}</span>
              <IconButton
                label={`Remove “${eventWords(type)}”`}
                onClick={() => onChange(types.filter((one) => one !== type))}
              >
                <X aria-hidden="true" className="size-4" />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <div className="flex flex-wrap items-end gap-2">
        <div className="min-w-0 flex-1">
          <Select
            label="Event type"
            value={next}
            // As the API and exports name it.
            hint={next === '' ? undefined : `Its name in the API: ${next}`}
            onChange={({ target: { value } }) => setNext(value)}
          >
            <option value="">choose one</option>
            {left.map((type) => (
              <option key={type} value={type} title={type}>
                {eventWords(type)}
              </option>
            ))}
          </Select>
        </div>
        <Button icon={<Plus aria-hidden="true" className="size-4" />} disabled={next === ''} onClick={add}>
          Add the type
        </Button>
      </div>
    </fieldset>
  );
}

function QuietFields({ draft, error, onChange }: RuleFieldsProps) {
  const fault = (name: string) => faultUnder(error, `/quiet_hours/${name}`);
  return (
    <>
      <CheckBox
        checked={draft.isQuiet}
        onChange={({ target: { checked: isQuiet } }) => onChange({ isQuiet })}
      >
        Quiet hours: no message begins in them, and what they hold back is sent at their end
      </CheckBox>
      {draft.isQuiet && (
        <div className="space-y-3 border-l-2 border-line pl-3">
          <div className={THREE}>
            <Field
              {...{ label: 'From', type: 'time', required: true }}
              {...{ value: draft.quietFrom, error: fault('from') }}
              onChange={({ target: { value: quietFrom } }) => onChange({ quietFrom })}
            />
            <Field
              {...{ label: 'Until', type: 'time', required: true }}
              {...{ value: draft.quietUntil, error: fault('until') }}
              onChange={({ target: { value: quietUntil } }) => onChange({ quietUntil })}
            />
            {draft.mode !== 'digest' && (
              <ZoneField zone={draft.zone} error={fault('zone')} onChange={onChange} />
            )}
          </div>
          <CheckList
            {...{ legend: 'Beginning on', choices: DAYS, chosen: draft.quietDays, error: fault('weekdays') }}
            onChange={(quietDays) => onChange({ quietDays })}
          />
        </div>
      )}
    </>
  );
}

function ZoneField({
  zone,
  error,
  onChange,
}: {
  zone: string;
  error: string | undefined;
  onChange: RuleFieldsProps['onChange'];
}) {
  const zonesId = useId();
  return (
    <>
      <datalist id={zonesId}>
        {['UTC', ...Intl.supportedValuesOf('timeZone')].map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <Field
        {...{ label: 'Time zone', required: true, maxLength: 64, list: zonesId, spellCheck: false }}
        {...{ autoComplete: 'off', value: zone, error }}
        onChange={({ target: { value } }) => onChange({ zone: value })}
      />
    </>
  );
}
