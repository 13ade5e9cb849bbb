import { useMutation } from '@tanstack/react-query';
import { counted } from '@tidegate/protocol/count-words';
import type { HoldDetail, HoldRequest } from '@tidegate/protocol/holds-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { useState } from 'react';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { MANAGER_KEYS, MANAGERS } from '../hosts/package-managers.ts';
import { Select, TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { LastDay } from '../ui/last-day.tsx';
import { toast } from '../ui/toasts.tsx';
import type { HostScope } from './hold-rules.ts';
import { HOLDS, requestOf } from './hold-rules.ts';
import { ScopeSelect } from './scope-select.tsx';

const DAYS = 30;

/** Keeps packages as they are. */
export function AddHold({ onClose }: { onClose: () => void }) {
  const [ecosystem, setEcosystem] = useState<Ecosystem | null>(null);
  const [scope, setScope] = useState<HostScope>({ kind: 'all' });
  const adding = useMutation({
    mutationFn: (body: HoldRequest) => post<HoldDetail>(HOLDS, body),
    onSuccess: async ({ packages, held }) => {
      toast(`${packages.join(', ')} on hold: ${counted(held?.updates ?? 0, 'update')} kept back.`);
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      onClose();
    },
  });
  const faults = fieldFaults(adding.error);
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '');
    adding.mutate(
      requestOf({
        ...{ packages: text('packages'), ecosystem, scope },
        ...{ reason: text('reason'), endsOn: text('ends_on') },
      }),
    );
  };
  return (
    <FormDialog
      title="Put packages on hold"
      lead="No update that would change one of them can be approved, not even with an override or as part of another update. Approvals already given are withdrawn, unless their host has begun."
      submit="Put on hold"
      busy={adding.isPending}
      error={adding.error?.message}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextArea
        {...{ label: 'Packages', name: 'packages', required: true, rows: 3, spellCheck: false }}
        error={faults.packages}
        hint="One per line; * stands for any characters, as in linux-image-*."
      />
      <Select
        label="Package manager"
        value={ecosystem ?? ''}
        onChange={({ target: { value } }) => setEcosystem(MANAGER_KEYS.find((one) => one === value) ?? null)}
        error={faults.ecosystems}
      >
        <option value="">all package managers</option>
        {MANAGER_KEYS.map((one) => (
          <option key={one} value={one}>
            {MANAGERS[one]}
          </option>
        ))}
      </Select>
      <ScopeSelect scope={scope} onChange={setScope} error={faults.scope} />
      <TextArea
        {...{ label: 'Reason', name: 'reason', required: true, maxLength: 1_000 }}
        error={faults.reason}
      />
      <LastDay label="On hold until" name="ends_on" days={DAYS} error={faults.ends_at} />
    </FormDialog>
  );
}
