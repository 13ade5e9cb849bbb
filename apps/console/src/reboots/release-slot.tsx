import { useMutation } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { RebootSlot } from '@tidegate/protocol/reboots-api';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { SLOTS } from './reboot-words.ts';

/** Lets the next host of a group go down although one that failed may not be back. */
export function ReleaseSlot({ slot, onClose }: { slot: RebootSlot; onClose: () => void }) {
  const release = useMutation({
    mutationFn: (reason: string) => withStepUp(() => post<void>(`${SLOTS}/${slot.id}/release`, { reason })),
    onSuccess: () => {
      onClose();
      toast('The slot is free. The next host of the group may go down.');
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['commands'] }),
  });
  return (
    <FormDialog
      tone="danger"
      title={`Release the slot of ${isolated(slot.hostname)}`}
      lead="The host has not come back well. Once its slot is free, the next host of the group may go down: look at it first."
      submit="Release the slot"
      busy={release.isPending}
      error={release.error?.message}
      onSubmit={(form) => release.mutate(String(form.get('reason') ?? '').trim())}
      onClose={onClose}
    >
      <TextArea
        {...{ label: 'Reason', name: 'reason', required: true, maxLength: 1_000 }}
        error={fieldFaults(release.error).reason}
      />
    </FormDialog>
  );
}
