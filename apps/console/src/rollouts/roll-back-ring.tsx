import { useMutation, useQuery } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { RollbackAnswer } from '@tidegate/protocol/rollbacks';
import type {
  RingRollback,
  RingRollbackAnswer,
  RolloutDetail,
  RolloutRing,
} from '@tidegate/protocol/rollouts-api';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { DialogPlace } from '../ui/dialog.tsx';
import { TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Skeleton } from '../ui/states.tsx';
import { toast } from '../ui/toasts.tsx';
import { skippedTexts, undoneText } from './rollback-words.ts';
import { ROLLOUTS } from './rollout-rules.ts';

/** Undoes what a rollout has installed on the hosts of a ring, after showing on how many and what is left out. */
export function RollBackRing({
  rollout: { id, policy_name: policy },
  lane: { ring, name },
  onClose,
}: {
  rollout: Pick<RolloutDetail, 'id' | 'policy_name'>;
  lane: Pick<RolloutRing, 'ring' | 'name'>;
  onClose: () => void;
}) {
  const path = `${ROLLOUTS}/${id}/rollback`;
  const asked = useQuery({
    queryKey: ['updates', 'rollouts', id, 'rollback', ring],
    queryFn: () => undo(path, { ring, dry_run: true }),
    gcTime: 0,
  });
  const order = useMutation({
    mutationFn: (reason: string) => withStepUp(() => undo(path, { ring, reason })),
    onSuccess: ({ requested }) => {
      onClose();
      toast(`${undoneText(requested)} will be undone, each as soon as its plan is there and clear.`);
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['updates'] }),
  });
  return (
    <FormDialog
      tone="danger"
      title={`Roll back ring “${isolated(name)}”`}
      lead={`Undoes what the rollout of ${policy} has installed on these hosts. Each host plans its own, which is judged like any other update: an old version with a known vulnerability needs an override.`}
      submit="Roll back"
      busy={order.isPending}
      waits={asked.isPending}
      error={order.error?.message ?? asked.error?.message}
      onSubmit={(form) => order.mutate(String(form.get('reason') ?? '').trim())}
      onClose={onClose}
    >
      <DialogPlace>
        {asked.isPending && <Skeleton />}
        {asked.data && <WouldUndo {...asked.data} />}
      </DialogPlace>
      <p>Configuration files and data are not undone. No policy asks for these updates again.</p>
      <TextArea
        {...{ label: 'Reason', name: 'reason', required: true, maxLength: 1_000 }}
        error={fieldFaults(order.error).reason}
      />
    </FormDialog>
  );
}

/** All parts of it, one after the other. */
async function undo(path: string, body: RingRollback): Promise<RollbackAnswer> {
  const told: RollbackAnswer = { requested: [], skipped: [] };
  let after: string | null = null;
  do {
    const part: RingRollbackAnswer = await post<RingRollbackAnswer>(path, {
      ...body,
      ...(after !== null && { after }),
    });
    told.requested.push(...part.requested);
    told.skipped.push(...part.skipped);
    after = part.next;
  } while (after !== null);
  return told;
}

function WouldUndo({ requested, skipped }: RollbackAnswer) {
  return (
    <ul aria-label="What the rollback does" className="list-disc pl-5">
      <li>{undoneText(requested)} will be undone.</li>
      {skippedTexts(skipped).map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}
