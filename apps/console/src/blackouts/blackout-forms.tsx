import { useMutation } from '@tanstack/react-query';
import type { Blackout, BlackoutRequest } from '@tidegate/protocol/blackouts-api';
import { isolated } from '@tidegate/protocol/isolated';
import { useState } from 'react';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import type { HostScope } from '../holds/hold-rules.ts';
import { ScopeSelect } from '../holds/scope-select.tsx';
import { withStepUp } from '../login/step-up.tsx';
import { ownZone } from '../policies/window-times.tsx';
import { plusDays } from '../ui/day-rules.ts';
import { Field, TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { BLACKOUTS, requestOf } from './blackout-rules.ts';

/** Begins a blackout between two times: at first those of a day. */
export function AddBlackout({ day, onClose }: { day?: string; onClose: () => void }) {
  const [scope, setScope] = useState<HostScope>({ kind: 'all' });
  const adding = useMutation({
    mutationFn: (body: BlackoutRequest) => post<Blackout>(BLACKOUTS, body),
    onSuccess: async ({ name, state }) => {
      toast(
        state === 'active'
          ? `${isolated(name)}: changes are withheld from now on.`
          : `${isolated(name)} is planned.`,
      );
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      onClose();
    },
  });
  const faults = fieldFaults(adding.error);
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '');
    adding.mutate(
      requestOf({
        ...{ name: text('name'), reason: text('reason'), scope },
        ...{ from: text('from'), until: text('until') },
      }),
    );
  };
  return (
    <FormDialog
      title="Plan a blackout"
      lead="Hosts are given no command that changes them, whoever approved it. They are still scanned and judged, and what is approved meanwhile is delivered afterwards. What has begun is not interrupted."
      submit="Plan the blackout"
      busy={adding.isPending}
      error={adding.error?.message}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        {...{ label: 'Name', name: 'name', required: true, maxLength: 128, autoComplete: 'off' }}
        error={faults.name}
      />
      <ScopeSelect scope={scope} onChange={setScope} error={faults.scope} />
      <Field
        {...{ label: 'From', name: 'from', type: 'datetime-local', required: true }}
        defaultValue={day && `${day}T00:00`}
        hint={`In your time zone, ${ownZone()}.`}
        error={faults.starts_at}
      />
      <Field
        {...{ label: 'Until', name: 'until', type: 'datetime-local', required: true }}
        defaultValue={day && `${plusDays(day, 1)}T00:00`}
        error={faults.ends_at}
      />
      <TextArea
        {...{ label: 'Reason', name: 'reason', required: true, maxLength: 1_000 }}
        error={faults.reason}
      />
    </FormDialog>
  );
}

/** Ends a blackout before its time. */
export function EndBlackout({
  blackout: { id, name },
  onClose,
}: {
  blackout: Blackout;
  onClose: () => void;
}) {
  const ending = useMutation({
    mutationFn: (reason: string) => withStepUp(() => post<Blackout>(`${BLACKOUTS}/${id}/end`, { reason })),
    onSuccess: async () => {
      toast(`${isolated(name)} is ended.`);
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      onClose();
    },
  });
  return (
    <FormDialog
      title={`End ${isolated(name)}`}
      lead="What it withheld is delivered with the next check-ins of its hosts."
      submit="End the blackout"
      busy={ending.isPending}
      error={ending.error?.message}
      onSubmit={(form) => ending.mutate(String(form.get('reason') ?? '').trim())}
      onClose={onClose}
    >
      <TextArea
        {...{ label: 'Reason', name: 'reason', required: true, maxLength: 1_000 }}
        error={fieldFaults(ending.error).reason}
      />
    </FormDialog>
  );
}
