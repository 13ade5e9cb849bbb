import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { RollbackAction, RollbackAnswer } from '@tidegate/protocol/rollbacks';
import { Undo2 } from 'lucide-react';
import { useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { DialogPlace } from '../ui/dialog.tsx';
import { TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Panel } from '../ui/page.tsx';
import { Skeleton } from '../ui/states.tsx';
import { toast } from '../ui/toasts.tsx';
import type { UpdateView } from './update-view.ts';
import { offersRollback, SKIP_TEXTS } from './way-back-rules.ts';

const URL = '/api/v1/updates/rollback';

const VERBS = { install: 'Install', upgrade: 'Upgrade', downgrade: 'Take back', remove: 'Remove' } as const;

/** Offers to undo a finished installation, after showing what that would do. */
export function RollBack({ update }: { update: UpdateView }) {
  const { may } = useSession();
  const [isOpen, setOpen] = useState(false);
  if (update.rollback_of !== null)
    return (
      <Panel title="Rollback">
        <p className="text-muted">
          This undoes an installation: its packages go back to the versions before, and nothing else changes.
          Configuration files and data stay as they are.
        </p>
      </Panel>
    );
  if (!offersRollback(update) || !may('approver')) return null;
  return (
    <Panel title="Rollback">
      <p className="mb-3 text-muted">
        {update.way_back?.kind === 'none'
          ? 'When the host planned the update, the old files were not available. It looks for them again when you ask.'
          : 'The installation can be undone as long as the host or its archives have the old files.'}
      </p>
      <Button icon={<Undo2 aria-hidden="true" className="size-4" />} onClick={() => setOpen(true)}>
        Roll back…
      </Button>
      {isOpen && <RollBackDialog update={update} onClose={() => setOpen(false)} />}
    </Panel>
  );
}

function RollBackDialog({ update, onClose }: { update: UpdateView; onClose: () => void }) {
  const navigate = useNavigate();
  const asked = useQuery({
    queryKey: ['updates', update.id, 'rollback'],
    queryFn: () => post<RollbackAnswer>(URL, { update_ids: [update.id], dry_run: true }),
    gcTime: 0,
  });
  const order = useMutation({
    mutationFn: (reason: string) =>
      withStepUp(() => post<RollbackAnswer>(URL, { update_ids: [update.id], reason })),
    onSuccess: ({ requested: [made] }) => {
      if (!made?.update_id) return;
      onClose();
      toast(
        `${isolated(update.hostname)} is asked for the plan of the rollback. If the plan is clear, it is approved.`,
      );
      void navigate({ to: '/updates/$id', params: { id: made.update_id } });
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['updates'] }),
  });
  const [undone] = asked.data?.requested ?? [];
  const [skipped] = order.data?.skipped ?? asked.data?.skipped ?? [];
  const error = order.error?.message ?? asked.error?.message ?? (skipped && SKIP_TEXTS[skipped.code]);
  return (
    <FormDialog
      tone="danger"
      title={`Roll back ${isolated(update.name)} on ${isolated(update.hostname)}`}
      lead="The host plans this, and the plan is judged like any other: an old version with a known vulnerability needs an override."
      submit="Roll back"
      busy={order.isPending}
      waits={asked.isPending}
      error={error}
      onSubmit={(form) => order.mutate(String(form.get('reason') ?? '').trim())}
      onClose={onClose}
    >
      <DialogPlace>
        {asked.isPending && <Skeleton />}
        {undone && <Undone {...undone} />}
      </DialogPlace>
      <p>Configuration files and data are not undone. No policy asks for these updates again.</p>
      <TextArea label="Reason" name="reason" maxLength={4_096} required />
    </FormDialog>
  );
}

function Undone({ actions, action_count: count, undoes }: RollbackAnswer['requested'][number]) {
  return (
    <div>
      <p className="font-medium">
        {counted(undoes.length, 'update')}, {counted(count, 'package')}:
      </p>
      <ul aria-label="What the rollback does" className="max-h-64 overflow-y-auto">
        {actions.map((action) => (
          <li key={`${action.name}:${action.arch ?? ''}`} className="break-words">
            {actionText(action)}
          </li>
        ))}
        {count > actions.length && <li>and {counted(count - actions.length, 'other package')}</li>}
      </ul>
    </div>
  );
}

function actionText({ action, name, from_version: from, to_version: to }: RollbackAction): string {
  const versions = [from, to].filter((version) => version !== undefined).join(' to ');
  return `${VERBS[action]} ${isolated(name)} ${from && to ? 'from ' : ''}${versions}`;
}
