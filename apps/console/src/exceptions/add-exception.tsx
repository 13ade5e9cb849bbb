import { useMutation } from '@tanstack/react-query';
import type { AgeException, AgeExceptionRequest } from '@tidegate/protocol/approvals-api';
import { isolated } from '@tidegate/protocol/isolated';
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
import { AGED, EXCEPTIONS, type Prefill } from './exception-rules.ts';

const DAYS = 7;

/** Excepts one version from the minimum age; a link can fill in the fields. */
export function AddException({ prefill, onClose }: { prefill: Prefill | null; onClose: () => void }) {
  const [ecosystem, setEcosystem] = useState<AgeExceptionRequest['ecosystem']>(prefill?.ecosystem ?? 'npm');
  const adding = useMutation({
    mutationFn: (body: AgeExceptionRequest) => withStepUp(() => post<AgeException>(EXCEPTIONS, body)),
    onSuccess: async ({ name, version }) => {
      toast(`${isolated(name)}@${isolated(version)} is excepted from the minimum age.`);
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      onClose();
    },
  });
  const faults = fieldFaults(adding.error);
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name)).trim();
    adding.mutate({
      ecosystem,
      name: text('name'),
      version: text('version'),
      reason: text('reason'),
      expires_at: endOfDay(text('expires_on')),
    });
  };
  return (
    <FormDialog
      title="Add an age exception"
      lead="The minimum age no longer applies to this version, on any host. Known vulnerabilities, signature and hashes are still checked."
      submit="Add the exception"
      busy={adding.isPending}
      error={adding.error?.message}
      onSubmit={submit}
      onClose={onClose}
    >
      <Select
        label="Package manager"
        value={ecosystem}
        onChange={(e) => setEcosystem(e.target.value === 'pypi' ? 'pypi' : 'npm')}
        error={faults.ecosystem}
      >
        {Object.entries(AGED).map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </Select>
      <Field
        {...{ label: 'Package', name: 'name', required: true, maxLength: 214, error: faults.name }}
        {...{ autoComplete: 'off', spellCheck: false, defaultValue: prefill?.name }}
      />
      <Field
        {...{ label: 'Version', name: 'version', required: true, maxLength: 256, error: faults.version }}
        {...{ autoComplete: 'off', spellCheck: false, defaultValue: prefill?.version }}
        hint="One exact version, not a range."
      />
      <TextArea
        label="Reason"
        name="reason"
        required
        maxLength={4_096}
        autoFocus={prefill !== null}
        error={faults.reason}
      />
      <LastDay label="Expires after" name="expires_on" days={DAYS} error={faults.expires_at} />
    </FormDialog>
  );
}
