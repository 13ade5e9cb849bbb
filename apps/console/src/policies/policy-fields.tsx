import { faultUnder } from '../api/field-faults.ts';
import { MANAGER_KEYS, MANAGERS } from '../hosts/package-managers.ts';
import { CheckBox } from '../ui/check-box.tsx';
import { CheckList } from '../ui/check-list.tsx';
import { dayFrom } from '../ui/day-rules.ts';
import { Field, Select, TextArea } from '../ui/field.tsx';
import { useNow } from '../ui/time.tsx';
import type { FieldsProps } from './draft-rules.ts';
import { FollowUpFields } from './follow-up-fields.tsx';
import { CHANGES, REMAINING, SEVERITIES, SEVERITY_KEYS } from './policy-rules.ts';
import { RingList } from './ring-list.tsx';
import { ScopeChoice } from './scope-choice.tsx';
import { WindowList } from './window-list.tsx';

const DAYS_MAX = 364;
const AGE_HOURS_MAX = 24 * 365;

/** The fields of a policy. */
export function PolicyFields(props: FieldsProps) {
  const { draft, error, onChange } = props;
  const now = useNow();
  const fault = (pointer: string) => faultUnder(error, pointer);
  return (
    <>
      <Field
        {...{ label: 'Name', required: true, maxLength: 128, autoComplete: 'off', autoFocus: true }}
        {...{ value: draft.name, error: fault('/name') }}
        onChange={({ target: { value: name } }) => onChange({ name })}
      />
      <TextArea
        {...{ label: 'What it is for', required: true, maxLength: 1_000, rows: 2 }}
        {...{ value: draft.text, error: fault('/text') }}
        hint="For whoever finds it later, such as who agreed to it."
        onChange={({ target: { value: text } }) => onChange({ text })}
      />
      <ScopeChoice {...props} />
      <TermFields {...props} />
      <FollowUpFields {...props} />
      <WindowList {...props} />
      <RingList {...props} />
      <Field
        {...{ label: 'In force until', type: 'date', required: true, error: fault('/ends_at') }}
        {...{ min: dayFrom(now, 0), max: dayFrom(now, DAYS_MAX), value: draft.endsOn }}
        hint="A day in UTC, at most a year from now."
        onChange={({ target: { value: endsOn } }) => onChange({ endsOn })}
      />
    </>
  );
}

function TermFields({ draft, error, onChange }: FieldsProps) {
  const fault = (name: string) => faultUnder(error, `/terms/${name}`);
  return (
    <>
      <CheckList
        legend="Package managers"
        choices={MANAGER_KEYS.map((one) => [one, MANAGERS[one]])}
        chosen={draft.ecosystems}
        onChange={(ecosystems) => onChange({ ecosystems })}
        error={fault('ecosystems')}
      />
      <div className="grid grid-cols-3 gap-3 max-md:grid-cols-1">
        <TextArea
          {...{ label: 'Packages', required: true, rows: 3, spellCheck: false, value: draft.packages }}
          hint="One name per line; * stands for any characters."
          error={fault('packages')}
          onChange={({ target: { value: packages } }) => onChange({ packages })}
        />
        <TextArea
          {...{ label: 'Except', rows: 3, spellCheck: false, value: draft.excepted }}
          hint="Names that are left to people, such as linux-*."
          error={fault('except_packages')}
          onChange={({ target: { value: excepted } }) => onChange({ excepted })}
        />
        <TextArea
          {...{ label: 'Origins', rows: 3, spellCheck: false, value: draft.origins }}
          hint="Such as Debian:bookworm-security. Leave empty for any."
          error={fault('origins')}
          onChange={({ target: { value: origins } }) => onChange({ origins })}
        />
      </div>
      <CheckBox
        checked={draft.securityOnly}
        onChange={({ target: { checked: securityOnly } }) => onChange({ securityOnly })}
      >
        Only security updates, and what fixes a known vulnerability
      </CheckBox>
      <div className="grid grid-cols-2 gap-3 max-md:grid-cols-1">
        <Select
          label="Minimum severity"
          value={draft.severity ?? ''}
          hint="Of a known vulnerability that the update fixes."
          error={fault('minimum_severity')}
          onChange={({ target: { value } }) =>
            onChange({ severity: SEVERITY_KEYS.find((one) => one === value) ?? null })
          }
        >
          <option value="">any, or none</option>
          {SEVERITY_KEYS.map((one) => (
            <option key={one} value={one}>
              {SEVERITIES[one]}
            </option>
          ))}
        </Select>
        <Select
          label="Greatest change"
          value={draft.change}
          hint="npm and PyPI only."
          error={fault('max_change')}
          onChange={({ target: { value } }) =>
            onChange({ change: value === 'patch' || value === 'minor' ? value : 'any' })
          }
        >
          {Object.entries(CHANGES).map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </Select>
        <Field
          {...{ label: 'Minimum age in hours', type: 'number', min: 1, max: AGE_HOURS_MAX }}
          {...{ value: draft.ageHours, error: fault('min_age_hours') }}
          hint="Of every version that is new to the host. Leave empty for none."
          onChange={({ target: { value: ageHours } }) => onChange({ ageHours })}
        />
        <Select
          label="If known vulnerabilities remain on the host"
          value={draft.remaining}
          hint="Those that it has today and keeps."
          error={fault('remaining_vulnerabilities')}
          onChange={({ target: { value } }) =>
            onChange({ remaining: value === 'approve' ? 'approve' : 'ask' })
          }
        >
          {Object.entries(REMAINING).map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </Select>
      </div>
    </>
  );
}
