import { useNavigate } from '@tanstack/react-router';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { Check, ShieldAlert, X } from 'lucide-react';
import { type RefObject, useMemo } from 'react';
import type { Action } from '../actions/actions.ts';
import { useActions } from '../actions/registry.ts';
import { useSession } from '../api/session.ts';
import { filterKeys } from '../filters/filter-keys.tsx';
import type { Selection } from '../ui/selection.ts';
import { type Chosen, REJECT_MAX, sizeOf } from './bulk-rules.ts';
import { rejectUpdates } from './reject-updates.ts';

/** The actions of the list, on the selection or else on the focused row. */
export function useListActions(given: {
  selection: Selection;
  chosen: Chosen | null;
  rows: readonly UpdateItem[];
  active: UpdateItem | null;
  box: RefObject<HTMLInputElement | null>;
  onApprove: (chosen: Chosen) => void;
}): readonly Action[] {
  const { selection, chosen, rows, active, box, onApprove } = given;
  const navigate = useNavigate();
  const { may } = useSession();
  const isApprover = may('approver');
  const verbs = useMemo((): readonly Action[] => {
    if (!isApprover) return [];
    const group = 'Updates';
    const target: Chosen | null = chosen ?? (active ? { kind: 'ids', ids: [active.id] } : null);
    const named = rows.filter(({ id }) => target?.kind === 'ids' && target.ids.includes(id));
    const isFew =
      target?.kind === 'ids' && named.length === target.ids.length && sizeOf(target) <= REJECT_MAX;
    return [
      {
        id: 'approve',
        group,
        label: 'Approve',
        shortcut: 'a',
        icon: <Check />,
        isAllowed: target !== null,
        run: () => target && onApprove(target),
      },
      {
        id: 'reject',
        group,
        label: 'Reject',
        shortcut: 'r',
        icon: <X />,
        isAllowed: isFew,
        run: () => {
          selection.clear();
          void rejectUpdates(named);
        },
      },
    ];
  }, [isApprover, chosen, active, rows, selection, onApprove]);
  const all = useMemo(
    (): readonly Action[] => [
      ...verbs,
      {
        id: 'override',
        group: 'Updates',
        label: 'Open the override panel of the update',
        shortcut: 'o',
        icon: <ShieldAlert />,
        isAllowed: isApprover && active !== null,
        run: () =>
          active &&
          void navigate({ to: '/updates/$id', params: { id: active.id }, search: { panel: 'override' } }),
      },
      ...filterKeys('Updates', box),
    ],
    [verbs, isApprover, active, box, navigate],
  );
  useActions(all);
  return verbs;
}
