import { Plus } from 'lucide-react';
import { faultAt, faultUnder } from '../api/field-faults.ts';
import { Button } from '../ui/button.tsx';
import { Field, Select } from '../ui/field.tsx';
import type { FieldsProps } from './draft-rules.ts';
import { canaryThenRest, RING_LIMITS, withoutRing, withRing, withSwapped } from './ring-draft.ts';
import { RingFields } from './ring-fields.tsx';

const WAIT_DAYS = '7';

/** The rings of a policy; without any, all hosts get what it approves at once. */
export function RingList({ draft: { rings, waitDays }, error, onChange }: FieldsProps) {
  const fault = faultAt(error, '/rings');
  return (
    <div className="space-y-3">
      <Select
        label="Rings"
        value={rings.length === 0 ? 'none' : 'rings'}
        hint="Some hosts first; the others get the versions that have proven themselves there."
        onChange={({ target: { value } }) => onChange({ rings: value === 'rings' ? canaryThenRest() : [] })}
      >
        <option value="none">none: all hosts at once</option>
        <option value="rings">one after another</option>
      </Select>
      {fault && <p className="text-[0.9rem] text-bad">{fault}</p>}
      {rings.map((ring, i) => (
        <RingFields
          key={ring.key}
          {...{ ring, error, index: i }}
          onChange={(changes) =>
            onChange({ rings: rings.map((one, j) => (j === i ? { ...one, ...changes } : one)) })
          }
          onRemove={() => onChange({ rings: withoutRing(rings, i) })}
          onEarlier={
            i === 0 || ring.kind === 'rest' ? null : () => onChange({ rings: withSwapped(rings, i - 1) })
          }
        />
      ))}
      {rings.length > 0 && rings.length < RING_LIMITS.rings && (
        <Button
          icon={<Plus aria-hidden="true" className="size-4" />}
          onClick={() => onChange({ rings: withRing(rings) })}
        >
          Add a ring before the last
        </Button>
      )}
      {rings.length > 0 && (
        <div className="grid grid-cols-2 gap-3 max-md:grid-cols-1">
          <Select
            label="What no earlier ring has installed"
            value={waitDays === null ? 'ask' : 'wait'}
            hint="Such as a package that only the hosts of the last ring have."
            error={waitDays === null ? faultUnder(error, '/unproven') : undefined}
            onChange={({ target: { value } }) => onChange({ waitDays: value === 'wait' ? WAIT_DAYS : null })}
          >
            <option value="ask">a person decides</option>
            <option value="wait">waits for some days</option>
          </Select>
          {waitDays !== null && (
            <Field
              {...{
                label: 'Days to wait',
                type: 'number',
                required: true,
                min: 1,
                max: RING_LIMITS.waitDays,
              }}
              {...{ value: waitDays, error: faultUnder(error, '/unproven') }}
              hint="Since its ring was entered."
              onChange={({ target: { value } }) => onChange({ waitDays: value })}
            />
          )}
        </div>
      )}
    </div>
  );
}
