import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { getFile } from '../api/client.ts';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { saveFile } from '../ui/save-file.ts';
import { toast } from '../ui/toasts.tsx';

const TYPE = 'application/x-tar';
const DAY_MS = 86_400_000;
const SPAN_DAYS = 90;

/** Asks for a span and saves the evidence of one host, or of all that the operator sees. */
export function EvidenceDialog({
  host,
  onClose,
}: {
  host?: { readonly id: string; readonly hostname: string };
  onClose: () => void;
}) {
  const [today] = useState(() => Date.now());
  const of = host === undefined ? 'all hosts' : host.hostname;
  const download = useMutation({
    mutationFn: async ({ since, until }: { since: string; until: string }) => {
      // The last day counts as a whole; today ends now.
      const next = dayOf(Date.parse(until) + DAY_MS);
      const query = { since, until: next > dayOf(Date.now()) ? undefined : next, agent_id: host?.id };
      const text = await getFile('/api/v1/evidence', { query, accept: TYPE });
      return saveFile(`evidence-${since}-to-${until}.tar`, { text, type: TYPE });
    },
    onSuccess: (path) => {
      toast(`The evidence is saved${path === null ? '' : ` in ${path}`}.`);
      onClose();
    },
  });
  return (
    <FormDialog
      title={`Evidence of ${of}`}
      lead="One signed file for an auditor: who approved what and why, what was installed, and why other updates wait. Open report.html in it to read it."
      submit="Download"
      tone="primary"
      busy={download.isPending}
      error={download.error?.message}
      onSubmit={(form) =>
        download.mutate({ since: String(form.get('since')), until: String(form.get('until')) })
      }
      onClose={onClose}
    >
      <div className="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
        <Field
          {...{ label: 'From', name: 'since', type: 'date', required: true, max: dayOf(today) }}
          defaultValue={dayOf(today - SPAN_DAYS * DAY_MS)}
        />
        <Field
          {...{ label: 'To', name: 'until', type: 'date', required: true, max: dayOf(today) }}
          hint="This day included, in UTC."
          defaultValue={dayOf(today)}
        />
      </div>
      <p className="text-muted">
        <code className="mono">tidegate verify-evidence</code> verifies it anywhere, without this server. For
        a year of a large fleet, use <code className="mono">tidegate evidence</code> on the server.
      </p>
    </FormDialog>
  );
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
