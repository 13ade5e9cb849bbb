import { faultAt, faultUnder } from '../api/field-faults.ts';
import { Field, Select } from '../ui/field.tsx';
import { type FieldsProps, LIMITS } from './draft-rules.ts';
import { REBOOT_KEYS, REBOOTS } from './policy-rules.ts';

/** Whether the policy asks for the reboot of hosts that it updated, and when users are warned. */
export function RebootFields({ draft, error, onChange }: FieldsProps) {
  return (
    <div className="grid grid-cols-2 gap-3 max-md:grid-cols-1">
      <Select
        label="Reboots"
        value={draft.reboot}
        hint="Takes an admin as the author of the policy."
        error={faultAt(error, '/reboot') ?? faultUnder(error, '/reboot/when')}
        onChange={({ target: { value } }) =>
          onChange({ reboot: REBOOT_KEYS.find((one) => one === value) ?? 'never' })
        }
      >
        {REBOOT_KEYS.map((one) => (
          <option key={one} value={one}>
            {REBOOTS[one]}
          </option>
        ))}
      </Select>
      {draft.reboot !== 'never' && (
        <Field
          {...{ label: 'Warn users, in minutes', type: 'number', required: true, min: 0 }}
          {...{
            max: LIMITS.warnMinutes,
            value: draft.warnMinutes,
            error: faultUnder(error, '/reboot/warn_minutes'),
          }}
          hint="Before the reboot, where somebody is logged in."
          onChange={({ target: { value: warnMinutes } }) => onChange({ warnMinutes })}
        />
      )}
    </div>
  );
}
