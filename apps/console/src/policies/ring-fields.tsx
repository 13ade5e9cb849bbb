import { ArrowUp, Trash2 } from 'lucide-react';
import { faultAt, faultUnder } from '../api/field-faults.ts';
import { IconButton } from '../ui/button.tsx';
import { CheckBox } from '../ui/check-box.tsx';
import { Field, Select } from '../ui/field.tsx';
import { RING_LIMITS, type RingDraft } from './ring-draft.ts';
import { minutesText } from './schedule-rules.ts';
import { SomeHosts } from './some-hosts.tsx';

const HOSTS_MAX = 100_000;

interface RingProps {
  readonly ring: RingDraft;
  readonly index: number;
  /** The server's refusal; its messages are shown at the fields. */
  readonly error: Error | null;
  readonly onChange: (changes: Partial<RingDraft>) => void;
  readonly onRemove: () => void;
  /** Null where it cannot move. */
  readonly onEarlier: (() => void) | null;
}

/** One ring: who is in it, what it has to show, and when it halts. */
export function RingFields(props: RingProps) {
  const { ring, index, error, onChange, onRemove, onEarlier } = props;
  const named = `Ring ${index + 1}`;
  const isLast = ring.kind === 'rest';
  const whole = faultAt(error, `/rings/${index}`);
  return (
    <fieldset className="space-y-3 rounded-lg border border-line p-3">
      <legend className="flex items-center gap-1 px-1 font-medium">
        {named}
        {onEarlier && (
          <IconButton label={`Move ${named.toLowerCase()} before the one above`} onClick={onEarlier}>
            <ArrowUp aria-hidden="true" className="size-4" />
          </IconButton>
        )}
        {!isLast && (
          <IconButton label={`Remove ${named.toLowerCase()}`} onClick={onRemove}>
            <Trash2 aria-hidden="true" className="size-4" />
          </IconButton>
        )}
      </legend>
      {whole && (
        <p tabIndex={-1} data-fault className="text-[0.9rem] text-bad">
          {whole}
        </p>
      )}
      <div className="grid grid-cols-3 gap-3 max-md:grid-cols-1">
        <Field
          {...{ label: 'Ring name', required: true, maxLength: 64, autoComplete: 'off', value: ring.name }}
          error={faultUnder(error, `/rings/${index}/name`)}
          onChange={({ target: { value: name } }) => onChange({ name })}
        />
        {!isLast && <MemberFields {...props} />}
        {isLast && <p className="self-end pb-2">All other hosts, and those that join later.</p>}
      </div>
      {ring.kind === 'some' && (
        <div className="space-y-3 border-l-2 border-line pl-3">
          <SomeHosts {...ring} onChange={onChange} />
        </div>
      )}
      {!isLast && <GateFields {...props} />}
      <HaltFields {...props} />
    </fieldset>
  );
}

function MemberFields({ ring: { kind, percent }, index, error, onChange }: RingProps) {
  const fault = faultUnder(error, `/rings/${index}/members`);
  return (
    <>
      <Select
        label="Members"
        value={kind}
        error={kind === 'some' ? fault : undefined}
        onChange={({ target: { value } }) => onChange({ kind: value === 'some' ? 'some' : 'percent' })}
      >
        <option value="percent">a share of the hosts</option>
        <option value="some">some groups, tags or hosts</option>
      </Select>
      {kind === 'percent' && (
        <Field
          {...{ label: 'Share in percent', type: 'number', required: true, min: 1, max: 99, value: percent }}
          hint="Always the same hosts."
          error={fault}
          onChange={({ target: { value } }) => onChange({ percent: value })}
        />
      )}
    </>
  );
}

function GateFields({ ring, index, error, onChange }: RingProps) {
  const { count, rate, soak, probes, approval } = ring;
  const fault = (name: string) => faultUnder(error, `/rings/${index}/gate/${name}`);
  return (
    <fieldset className="space-y-2">
      <legend className="text-muted">Before the next ring</legend>
      <div className="grid grid-cols-3 gap-3 max-md:grid-cols-1">
        <Field
          {...{ label: 'Installed, at least', type: 'number', required: true, min: 1, max: HOSTS_MAX }}
          {...{ value: count, error: fault('min_success_count') }}
          hint="A number of hosts."
          onChange={({ target: { value } }) => onChange({ count: value })}
        />
        <Field
          {...{ label: 'Installed in percent, at least', type: 'number', required: true, min: 1, max: 100 }}
          {...{ value: rate, error: fault('min_success_rate_percent') }}
          hint="Of the hosts that took their updates."
          onChange={({ target: { value } }) => onChange({ rate: value })}
        />
        <Field
          {...{
            label: 'Waiting time in minutes',
            type: 'number',
            required: true,
            min: 0,
            max: RING_LIMITS.soakMinutes,
          }}
          {...{ value: soak, error: fault('soak_minutes') }}
          hint={
            soak === '' || soak === '0' ? 'None.' : `${minutesText(Number(soak))} since the installation.`
          }
          onChange={({ target: { value } }) => onChange({ soak: value })}
        />
      </div>
      <CheckBox checked={probes} onChange={({ target }) => onChange({ probes: target.checked })}>
        Its probes succeed after the waiting time; a host without probes does not count
      </CheckBox>
      <CheckBox checked={approval} onChange={({ target }) => onChange({ approval: target.checked })}>
        A person approves the next ring
      </CheckBox>
    </fieldset>
  );
}

function HaltFields({ ring, index, error, onChange }: RingProps) {
  const { kind, deadline, failedHosts, failedPercent } = ring;
  const fault = (name: string) => faultUnder(error, `/rings/${index}/${name}`);
  return (
    <div className="grid grid-cols-3 gap-3 max-md:grid-cols-1">
      <Field
        {...{ label: 'Silent after minutes', type: 'number', required: true }}
        {...{ min: RING_LIMITS.leastDeadlineMinutes, max: RING_LIMITS.deadlineMinutes }}
        {...{ value: deadline, error: fault('deadline_minutes') }}
        hint="A host that took its updates and says nothing counts as failed."
        onChange={({ target: { value } }) => onChange({ deadline: value })}
      />
      <Field
        {...{ label: 'Halt at failed hosts', type: 'number', min: 1, max: HOSTS_MAX, value: failedHosts }}
        error={fault('halt/failed_hosts')}
        hint="Leave empty for no limit by number."
        onChange={({ target: { value } }) => onChange({ failedHosts: value })}
      />
      <Field
        {...{ label: 'Halt above failed percent', type: 'number', min: 0, max: 99, value: failedPercent }}
        error={fault('halt/failed_percent')}
        hint={`Leave empty for what the share installed ${kind === 'rest' ? 'of the ring before' : 'above'} allows, unless a number is given.`}
        onChange={({ target: { value } }) => onChange({ failedPercent: value })}
      />
    </div>
  );
}
