import { useMutation } from '@tanstack/react-query';
import type { AgeException, AgeExceptionRequest } from '@tidegate/protocol/approvals-api';
import { useState } from 'react';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { endOfDay } from '../ui/day-rules.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field, Select, TextArea } from '../ui/field.tsx';
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
      toast(`${name}@${version} is excepted from the minimum age.`);
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
    <Dialog title="Add an age exception" onClose={onClose}>
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          submit(new FormData(event.currentTarget));
        }}
      >
        <p className="text-muted">
          The minimum age no longer applies to this version, on any host. Known vulnerabilities, signature and
          hashes are still checked.
        </p>
        <Select
          label="Ecosystem"
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
        {adding.error && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {adding.error.message}
          </p>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="danger" busy={adding.isPending}>
            Add the exception
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
