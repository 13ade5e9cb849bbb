import { faultAt, faultUnder } from '../api/field-faults.ts';
import { Field, Select } from '../ui/field.tsx';
import { type FieldsProps, LIMITS } from './draft-rules.ts';
import { REBOOT_KEYS, REBOOTS, RESTART_KEYS, RESTARTS } from './policy-rules.ts';

/** What the policy asks for on hosts that it updated, and when users are warned of a reboot. */
export function FollowUpFields({ draft, error, onChange }: FieldsProps) {
  return (
    <div className="grid grid-cols-3 gap-3 max-md:grid-cols-1">
      <Select
        label="Restarts of services"
        value={draft.restarts}
        hint="Those that still run replaced files. Only policies of admins may ask for it."
        error={faultAt(error, '/restart_services')}
        onChange={({ target: { value } }) =>
          onChange({ restarts: RESTART_KEYS.find((one) => one === value) ?? 'never' })
        }
      >
        {RESTART_KEYS.map((one) => (
          <option key={one} value={one}>
            {RESTARTS[one]}
          </option>
        ))}
      </Select>
      <Select
        label="Reboots"
        value={draft.reboot}
        hint="Only policies of admins may ask for it."
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
