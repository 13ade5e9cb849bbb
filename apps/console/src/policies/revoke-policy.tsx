import { isolated } from '@tidegate/protocol/isolated';
import type { Policy } from '@tidegate/protocol/policies-api';
import { remove } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { POLICIES } from './policy-rules.ts';

/** Asks before a policy is revoked. The server asks for no second factor here: revoking only takes rights away. */
export function RevokePolicy({
  policy: { id, name },
  onClose,
}: {
  policy: Pick<Policy, 'id' | 'name'>;
  onClose: () => void;
}) {
  const revoke = async () => {
    await remove(`${POLICIES}/${id}`);
    toast(`The policy ${isolated(name)} is revoked.`);
    await queryClient.invalidateQueries({ queryKey: ['updates'] });
  };
  return (
    <ConfirmDialog
      title={`Revoke the policy ${isolated(name)}`}
      confirm="Revoke the policy"
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>
        It approves nothing more. What it has approved stays approved; withdraw that on the page of each
        update. The policy can be published again.
      </p>
    </ConfirmDialog>
  );
}
