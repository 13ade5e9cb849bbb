import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog, Dialog, DialogFooter } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import { isHeldByAll, readinessText } from './key-set-rules.ts';
import type { SigningKey } from './signing-key.ts';

export const KEYS_PATH = '/api/v1/admin/signing-keys';

interface Props {
  readonly signingKey: SigningKey;
  /** The number of hosts; null while unknown. */
  readonly hosts: number | null;
  readonly onClose: () => void;
}

/** Adds a key pair that the server generates, or the public key of one from its settings. */
export function AddKeyDialog({ onClose }: { onClose: () => void }) {
  const [publicKey, setPublicKey] = useState('');
  const add = useMutation({
    mutationFn: () => {
      const body = publicKey === '' ? {} : { public_key_hex: publicKey };
      return withStepUp(() => post<Omit<SigningKey, 'trusted_by'>>(KEYS_PATH, body));
    },
    onSuccess: ({ version }) => {
      done(`Key ${version} is added. Sign with it once the hosts hold it.`);
      onClose();
    },
  });
  const fault = fieldFaults(add.error).public_key_hex;
  return (
    <Dialog title="Add a signing key" onClose={onClose}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <p>
          The new key does not sign yet. Keys that hosts already trust vouch for it, so each host accepts it
          at its next check-in.
        </p>
        <Field
          label="Public key (optional)"
          hint="64 hexadecimal digits of an Ed25519 public key whose private key is in the server's settings. If empty, the server generates a key pair."
          className="mono"
          pattern="[0-9a-f]{64}"
          maxLength={64}
          spellCheck={false}
          autoComplete="off"
          value={publicKey}
          error={fault ?? add.error?.message}
          onChange={(event) => setPublicKey(event.target.value.trim())}
        />
        <DialogFooter>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" busy={add.isPending}>
            Add
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}

export function UseKeyDialog({ signingKey: key, hosts, onClose }: Props) {
  const isReady = isHeldByAll(key.trusted_by, hosts);
  return (
    <ConfirmDialog
      title={`Sign with key ${key.version}`}
      confirm={isReady ? 'Sign with it' : 'Sign with it anyway'}
      onClose={onClose}
      onConfirm={async () => {
        await withStepUp(() => post(`${KEYS_PATH}/${key.version}/use`));
        done(`Key ${key.version} signs from now on.`);
      }}
    >
      <p>From now on the server signs everything with key {key.version}.</p>
      <p className={isReady ? '' : 'text-warn'}>
        As of now {readinessText(key.trusted_by, hosts)}
        {isReady ? '.' : ': the others refuse commands signed with it until they check in.'}
      </p>
      <p>You can undo this by signing with another key.</p>
    </ConfirmDialog>
  );
}

/** Permanent, so confirmed by typing. If it would strand hosts, the server refuses and the dialog asks once more. */
export function RevokeKeyDialog({ signingKey: key, hosts, onClose }: Props) {
  const [stranding, setStranding] = useState<string | null>(null);
  const [isForced, setForced] = useState(false);
  return (
    <ConfirmDialog
      title={`Revoke key ${key.version}`}
      confirm={isForced ? 'Revoke and lose hosts' : 'Revoke permanently'}
      typed={`revoke ${key.version}`}
      onClose={onClose}
      onConfirm={async () => {
        const force = isForced ? '?force=true' : '';
        try {
          await withStepUp(() => post(`${KEYS_PATH}/${key.version}/revoke${force}`));
        } catch (error) {
          if (error instanceof ApiError && error.message.includes('force=true')) setStranding(error.message);
          throw error;
        }
        done(`Key ${key.version} is revoked: its signatures are no longer accepted.`);
      }}
    >
      <p>
        Hosts stop accepting this key as soon as they learn of it. What it signed and has not run yet is
        signed again. Now {readinessText(key.trusted_by, hosts)}.
      </p>
      <p>
        Hosts that have been offline since before the current key was added, and that trust no other key,
        would have to be enrolled again. The server counts them and refuses if there are any.
      </p>
      <p className="font-medium">A revoked key cannot be restored.</p>
      {stranding !== null && (
        <label className="flex items-start gap-2 rounded-md border border-bad/50 p-2.5">
          <input
            type="checkbox"
            className="mt-0.5 size-4"
            checked={isForced}
            onChange={(event) => setForced(event.target.checked)}
          />
          Revoke anyway: those hosts must be enrolled again, one by one.
        </label>
      )}
    </ConfirmDialog>
  );
}

function done(text: string): void {
  for (const topic of ['keys', 'events', 'overview'])
    void queryClient.invalidateQueries({ queryKey: [topic] });
  toast(text);
}
