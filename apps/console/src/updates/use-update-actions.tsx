import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { GateReport } from '@tidegate/protocol/approvals-api';
import { Check, RefreshCw, ShieldAlert, X } from 'lucide-react';
import { type RefObject, useCallback, useEffect, useMemo } from 'react';
import type { Action } from '../actions/actions.ts';
import { useActions } from '../actions/registry.ts';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { toast } from '../ui/toasts.tsx';
import { reopenUpdates } from './reject-updates.ts';
import { type UpdateView, updateQuery } from './update-view.ts';
import { STATE_VERBS } from './update-words.ts';
import { useApprove } from './use-approve.ts';

/** The actions of one update, for its buttons, its shortcuts and the palette alike. */
export function useUpdateActions(given: {
  update: UpdateView;
  isApprover: boolean;
  reasonBox: RefObject<HTMLTextAreaElement | null>;
  notBefore: RefObject<HTMLInputElement | null>;
  onReject: () => void;
}) {
  const { update, isApprover, reasonBox, notBefore, onReject } = given;
  const { id, state, gate } = update;
  const approval = useApprove(update);
  const { mutate, isPending } = approval;
  const panel = useOverridePanel(reasonBox, gate?.overridable === true);
  const canApprove = isApprover && STATE_VERBS[state].approve && !gate?.blocked_by && !isPending;
  const canOverride = isApprover && STATE_VERBS[state].approve && gate?.overridable === true;
  const approve = useCallback(() => {
    const later = notBefore.current?.value;
    mutate(later ? { not_before: new Date(later).toISOString() } : {});
  }, [mutate, notBefore]);
  const reopen = useCallback(() => void reopenUpdates([id]), [id]);
  const { setOpen } = panel;
  const actions = useMemo((): readonly Action[] => {
    if (!isApprover) return [];
    const group = 'This update';
    return [
      {
        id: 'approve',
        group,
        label: 'Approve',
        shortcut: 'a',
        icon: <Check />,
        isAllowed: canApprove,
        run: approve,
      },
      {
        id: 'reject',
        group,
        label: 'Reject',
        shortcut: 'r',
        icon: <X />,
        isAllowed: STATE_VERBS[state].reject,
        run: onReject,
      },
      {
        id: 'override',
        group,
        label: 'Open the override panel',
        shortcut: 'o',
        icon: <ShieldAlert />,
        isAllowed: canOverride,
        run: () => setOpen(true),
      },
      {
        id: 'preview',
        group,
        label: 'Check again',
        icon: <RefreshCw />,
        isAllowed: true,
        run: () => void previewAgain(id),
      },
    ];
  }, [isApprover, canApprove, canOverride, state, approve, onReject, setOpen, id]);
  useActions(actions);
  return { approval, approve, reopen, canApprove, isOverrideOpen: panel.isOpen, setOverrideOpen: setOpen };
}

/** The URL says whether the panel is open, so that the list can link to it; opening it moves the focus there. */
function useOverridePanel(reasonBox: RefObject<HTMLTextAreaElement | null>, isThere: boolean) {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const isOpen = search.panel === 'override';
  const setOpen = useCallback(
    (open: boolean) =>
      void navigate({
        to: '.',
        search: open ? { panel: 'override' } : {},
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  useEffect(() => {
    if (isOpen && isThere) reasonBox.current?.focus();
  }, [isOpen, isThere, reasonBox]);
  return { isOpen, setOpen };
}

/** Has the gate judge again without signing anything. */
async function previewAgain(id: string): Promise<void> {
  try {
    const gate = await post<GateReport>(`/api/v1/updates/${id}/preview`);
    queryClient.setQueryData(updateQuery(id).queryKey, (before) => (before ? { ...before, gate } : before));
    toast('The gate has judged the update again.');
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), { tone: 'bad' });
  }
}

/** The same for a button. */
export function usePreview(id: string) {
  return useMutation({ mutationFn: () => previewAgain(id) });
}
