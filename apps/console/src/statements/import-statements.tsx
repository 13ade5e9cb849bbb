import { useMutation } from '@tanstack/react-query';
import type { VexFormat, VexImportAnswer, VexScope } from '@tidegate/protocol/vex-api';
import { useState } from 'react';
import { ApiError, post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { endOfDay } from '../ui/day-rules.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field, Select } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { LastDay } from '../ui/last-day.tsx';
import { ScopeFields } from './scope-fields.tsx';
import { DAYS, DOCUMENT, FORMATS, keyOf } from './statement-rules.ts';

/** Imports the statements of an OpenVEX or CycloneDX document, all or none, and shows what became of them. */
export function ImportStatements({ onClose }: { onClose: () => void }) {
  const [format, setFormat] = useState<VexFormat>('openvex');
  const [scope, setScope] = useState<VexScope>({ kind: 'all' });
  const importing = useMutation({
    mutationFn: async (form: FormData) => {
      const file = form.get('file');
      const text = file instanceof File ? await file.text() : '';
      const body = { format, document: parsed(text), scope, ends_at: endOfDay(String(form.get('ends_on'))) };
      return withStepUp(() => post<VexImportAnswer>(DOCUMENT, body));
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['updates'] }),
  });
  const { data: answer, error } = importing;
  if (answer)
    return (
      <Dialog title="Import statements" onClose={onClose}>
        <ImportResult answer={answer} onClose={onClose} />
      </Dialog>
    );
  return (
    <FormDialog
      title="Import statements"
      lead={
        <>
          Only <q>not affected</q> is taken from documents of others. You answer for each statement as if you
          had written it. If one cannot be read, none is imported.
        </>
      }
      submit="Sign and import"
      busy={importing.isPending}
      error={error && <ImportFault error={error} />}
      onSubmit={importing.mutate}
      onClose={onClose}
    >
      <Field label="File" name="file" type="file" required accept="application/json,.json" />
      <Select
        label="Format"
        value={format}
        onChange={(e) => setFormat(keyOf(FORMATS, e.target.value, 'openvex'))}
      >
        {Object.entries(FORMATS).map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </Select>
      <ScopeFields scope={scope} onChange={setScope} />
      <LastDay label="In force until" name="ends_on" days={DAYS} />
      <p className="text-muted">
        Hosts and end are for documents that have none. Documents of Tidegate keep their own.
      </p>
    </FormDialog>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('The file is not JSON. Choose a VEX document in the JSON form of its format.');
  }
}

function ImportFault({ error }: { error: Error }) {
  const faults = error instanceof ApiError ? (error.problem?.errors ?? []) : [];
  return (
    <>
      <p>{error.message}</p>
      <ul>
        {faults.map(({ path, message }) => (
          <li key={path} className="break-words">
            <span className="mono">{path}</span> {message}
          </li>
        ))}
      </ul>
    </>
  );
}

function ImportResult({ answer, onClose }: { answer: VexImportAnswer; onClose: () => void }) {
  const { imported, already, skipped } = answer;
  return (
    <div className="space-y-3">
      <p role="status">
        {imported.length.toLocaleString('en')} imported, {already.toLocaleString('en')} in force already,{' '}
        {skipped.length.toLocaleString('en')} left out
      </p>
      {skipped.length > 0 && (
        <ul aria-label="Left out" className="max-h-64 overflow-auto text-muted">
          {skipped.map(({ vulnerability, reason }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes, and entries may repeat
            <li key={i} className="break-words">
              <span className="mono">{vulnerability}</span>: <bdi>{reason}</bdi>
            </li>
          ))}
        </ul>
      )}
      <div className="flex justify-end">
        <Button autoFocus tone="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </div>
  );
}
