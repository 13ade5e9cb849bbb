import { useMutation } from '@tanstack/react-query';
import type { OriginDetail, OriginRequest, OriginRule } from '@tidegate/protocol/origins-api';
import { useState } from 'react';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { endOfDay } from '../ui/day-rules.ts';
import { Field, Select, TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { LastDay } from '../ui/last-day.tsx';
import { toast } from '../ui/toasts.tsx';
import { keyOf, ORIGINS, type Prefill, RULE_HINTS, RULES, suitesOf } from './origin-rules.ts';

const DAYS = 180;
const AGE_DAYS = 7;
const AGE_DAYS_MAX = 365;

/** Registers a third-party repository by its signing key and suites; a link can fill in the fields. */
export function AddOrigin({ prefill, onClose }: { prefill: Prefill | null; onClose: () => void }) {
  const [rule, setRule] = useState<OriginRule>('ask');
  const adding = useMutation({
    mutationFn: (body: OriginRequest) => withStepUp(() => post<OriginDetail>(ORIGINS, body)),
    onSuccess: async ({ suites }) => {
      toast(`${suites.join(', ')} is registered.`);
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      onClose();
    },
  });
  const faults = fieldFaults(adding.error);
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim();
    adding.mutate({
      ecosystem: prefill?.ecosystem ?? 'apt',
      key: keyOf(text('key')),
      suites: suitesOf(text('suites')),
      rule,
      min_age_days: rule === 'allow_older_than' ? Number(text('days')) : null,
      reason: text('reason'),
      ends_at: endOfDay(text('ends_on')),
    });
  };
  return (
    <FormDialog
      title="Register an origin"
      lead="No vulnerability database covers this repository. A registration counts only for packages that this key signed, in these suites. Hashes are checked as always."
      submit="Register the origin"
      busy={adding.isPending}
      error={adding.error?.message}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        {...{ label: 'Fingerprint of the signing key', name: 'key', required: true, maxLength: 128 }}
        {...{ autoComplete: 'off', spellCheck: false, defaultValue: prefill?.key, error: faults.key }}
        hint="Compare it with what the publisher shows: gpg --show-keys FILE prints that of a key file."
      />
      <TextArea
        {...{ label: 'Suites', name: 'suites', required: true, rows: 2, spellCheck: false }}
        {...{ defaultValue: prefill?.suites.join('\n'), error: faults.suites }}
        hint="One per line, as Label:suite, such as Docker CE:bookworm."
      />
      <Select
        label="Rule"
        value={rule}
        onChange={({ target: { value } }) =>
          setRule(value === 'allow' || value === 'allow_older_than' ? value : 'ask')
        }
        hint={RULE_HINTS[rule]}
        error={faults.rule}
      >
        {Object.entries(RULES).map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </Select>
      {rule === 'allow_older_than' && (
        <Field
          {...{ label: 'Days', name: 'days', type: 'number', required: true, error: faults.min_age_days }}
          {...{ min: 1, max: AGE_DAYS_MAX, defaultValue: AGE_DAYS }}
          hint="Since the server first saw the file in a plan."
        />
      )}
      <TextArea
        {...{ label: 'Reason', name: 'reason', required: true, maxLength: 2_000, error: faults.reason }}
        autoFocus={prefill !== null}
      />
      <LastDay label="In force until" name="ends_on" days={DAYS} error={faults.ends_at} />
    </FormDialog>
  );
}
