import type { Hold } from '@tidegate/protocol/holds-api';
import { isolated } from '@tidegate/protocol/isolated';
import { remove } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { HOLDS } from './hold-rules.ts';

/** Lets held packages change again before the end of their hold. */
export function ReleaseHold({ hold, onClose }: { hold: Hold; onClose: () => void }) {
  const named = hold.packages.join(', ');
  const release = async () => {
    await remove(`${HOLDS}/${hold.id}`);
    toast(`${isolated(named)} released.`);
    await queryClient.invalidateQueries({ queryKey: ['updates'] });
  };
  return (
    <ConfirmDialog
      title={`Release ${isolated(named)}`}
      confirm="Release"
      onConfirm={release}
      onClose={onClose}
    >
      <p>Updates that would change these packages can be approved again, by people and by policies.</p>
    </ConfirmDialog>
  );
}
