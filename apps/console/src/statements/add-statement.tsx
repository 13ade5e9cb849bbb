import { useMutation } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { VexScope, VexStatementDetail, VexStatementRequest } from '@tidegate/protocol/vex-api';
import { useState } from 'react';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { MANAGERS } from '../hosts/package-managers.ts';
import { withStepUp } from '../login/step-up.tsx';
import { endOfDay } from '../ui/day-rules.ts';
import { Field, Select, TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { LastDay } from '../ui/last-day.tsx';
import { toast } from '../ui/toasts.tsx';
import { ScopeFields } from './scope-fields.tsx';
import {
  DAYS,
  JUSTIFICATIONS,
  keyOf,
  namesDistribution,
  type Prefill,
  STATEMENTS,
  STATUSES,
  versionsOf,
} from './statement-rules.ts';

const NOT_AFFECTED =
  'The finding no longer stops an update to these versions, unless it is about malicious code.';
const ACCEPTED =
  'The finding stops no update of a host that has it already. What introduces it is stopped as before, and so is what is known to be exploited or malicious.';

/** States what one vulnerability means for exact versions of a package; a link can fill in the fields. */
export function AddStatement({ prefill, onClose }: { prefill: Prefill | null; onClose: () => void }) {
  const [ecosystem, setEcosystem] = useState<VexStatementRequest['ecosystem']>(prefill?.ecosystem ?? 'apt');
  const [status, setStatus] = useState<VexStatementRequest['status']>('not_affected');
  const [scope, setScope] = useState<VexScope>({ kind: 'all' });
  const adding = useMutation({
    mutationFn: (body: VexStatementRequest) => withStepUp(() => post<VexStatementDetail>(STATEMENTS, body)),
    onSuccess: async ({ vulnerability, package: name }) => {
      toast(`The statement about ${vulnerability} in ${isolated(name)} is in force.`);
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      onClose();
    },
  });
  const faults = fieldFaults(adding.error);
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim();
    adding.mutate({
      ...{ vulnerability: text('vulnerability'), ecosystem, package: text('package') },
      distribution: namesDistribution(ecosystem) ? text('distribution') : null,
      versions: versionsOf(text('versions')),
      ...{ scope, status },
      justification:
        status === 'not_affected'
          ? keyOf(JUSTIFICATIONS, text('justification'), 'vulnerable_code_not_present')
          : null,
      text: text('text'),
      ends_at: endOfDay(text('ends_on')),
    });
  };
  return (
    <FormDialog
      title="State what a vulnerability means"
      lead="The server signs the statement; every decision that uses it names it and you as its author."
      submit="Sign the statement"
      busy={adding.isPending}
      error={adding.error?.message}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        {...{ label: 'Vulnerability', name: 'vulnerability', required: true, maxLength: 128 }}
        {...{ autoComplete: 'off', spellCheck: false, defaultValue: prefill?.vulnerability }}
        hint="Its CVE, or the id that a finding shows."
        error={faults.vulnerability}
      />
      <Select
        label="Package manager"
        value={ecosystem}
        onChange={(e) => setEcosystem(keyOf(MANAGERS, e.target.value, 'apt'))}
        error={faults.ecosystem}
      >
        {Object.entries(MANAGERS).map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </Select>
      {namesDistribution(ecosystem) && (
        <Field
          {...{ label: 'Distribution', name: 'distribution', required: true, maxLength: 64 }}
          {...{ autoComplete: 'off', spellCheck: false, defaultValue: prefill?.distribution }}
          hint="As in ID of /etc/os-release, such as debian, ubuntu or almalinux."
          error={faults.distribution}
        />
      )}
      <Field
        {...{ label: 'Package', name: 'package', required: true, maxLength: 214, error: faults.package }}
        {...{ autoComplete: 'off', spellCheck: false, defaultValue: prefill?.name }}
      />
      <TextArea
        {...{ label: 'Versions', name: 'versions', required: true, rows: 2 }}
        {...{ spellCheck: false, defaultValue: prefill?.version, error: faults.versions }}
        hint="Exactly these, separated by spaces or commas: no ranges, at most 100."
      />
      <ScopeFields
        scope={scope}
        host={prefill?.host ?? null}
        onChange={setScope}
        error={faults.group ?? faults.scope}
      />
      <Select
        label="Statement"
        value={status}
        onChange={(e) => setStatus(keyOf(STATUSES, e.target.value, 'not_affected'))}
        hint={status === 'accepted' ? ACCEPTED : NOT_AFFECTED}
        error={faults.status}
      >
        {Object.entries(STATUSES).map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </Select>
      {status === 'not_affected' && (
        <Select label="Because" name="justification" error={faults.justification}>
          {Object.entries(JUSTIFICATIONS).map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </Select>
      )}
      <TextArea
        {...{ label: 'Explanation', name: 'text', required: true, maxLength: 4_096, error: faults.text }}
        autoFocus={prefill !== null}
        hint="What was examined, so that others can check it."
      />
      <LastDay label="In force until" name="ends_on" days={DAYS} error={faults.ends_at} />
    </FormDialog>
  );
}
