import { useMutation } from '@tanstack/react-query';
import type { ApproveAnswer, AwaitingPlanAnswer } from '@tidegate/protocol/approvals-api';
import { isolated } from '@tidegate/protocol/isolated';
import type { Static } from 'typebox';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { toast } from '../ui/toasts.tsx';
import { reopenUpdates } from './reject-updates.ts';
import type { UpdateView } from './update-view.ts';

type Approval = ApproveAnswer | Static<typeof AwaitingPlanAnswer>;

/** The body of an approval. The override is deliberate: only its own panel sets it. */
export interface ApproveBody {
  readonly override_supply_chain?: true;
  readonly override_reason?: string;
  readonly not_before?: string;
}

/** Warnings of an approval whose packages were not all checked: they stay on the page, in red. */
const UNCHECKED: ReadonlySet<string> = new Set(['closure_unchecked', 'distribution_uncovered']);

/** Approves one update. Never optimistic: the page then shows what the server reports. */
export function useApprove({ id, name, hostname }: Pick<UpdateView, 'id' | 'name' | 'hostname'>) {
  return useMutation({
    mutationFn: (body: ApproveBody) =>
      withStepUp(() => post<Approval>(`/api/v1/updates/${id}/approve`, body)),
    onSuccess: (answer) => {
      const action = { label: 'Undo', run: () => void reopenUpdates([id]) };
      if (answer.state === 'awaiting_plan') {
        toast(
          `${isolated(hostname)} is asked for the plan of ${isolated(name)}. If the plan is clear, it is approved.`,
          {
            action,
          },
        );
        return;
      }
      const notes = answer.warnings.map(({ detail }) => ` ${isolated(detail)}`).join('');
      const isUnchecked = answer.warnings.some(({ code }) => UNCHECKED.has(code));
      toast(`${isolated(name)} on ${isolated(hostname)} is approved.${notes}`, {
        action,
        tone: isUnchecked ? 'bad' : 'info',
      });
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['updates'] }),
  });
}
