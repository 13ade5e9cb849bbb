import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import { isHeldByAll, readinessText } from './key-set-rules.ts';
import type { SigningKey } from './signing-key.ts';

export const KEYS_PATH = '/api/v1/admin/signing-keys';

interface Props {
  readonly signingKey: SigningKey;
  /** Null: not known yet. */
  readonly hosts: number | null;
  readonly onClose: () => void;
}

/** A key that the server makes, or the public half of one that it never sees. */
export function AddKeyDialog({ onClose }: { onClose: () => void }) {
  const [publicKey, setPublicKey] = useState('');
  const add = useMutation({
    mutationFn: () => {
      const body = publicKey === '' ? {} : { public_key_hex: publicKey };
      return withStepUp(() => post<Omit<SigningKey, 'trusted_by'>>(KEYS_PATH, body));
    },
    onSuccess: ({ version }) => {
      done(`Key ${version} is added. Put it in use once the hosts hold it.`);
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
          Nothing signs with it yet. The keys that hosts trust already vouch for it, so that each host takes
          it with its next check-in.
        </p>
        <Field
          label="Public half (may be left out)"
          hint="64 hexadecimal digits of an Ed25519 key whose private half the server has by its settings. Left out, the server makes a pair."
          className="mono"
          pattern="[0-9a-f]{64}"
          maxLength={64}
          spellCheck={false}
          autoComplete="off"
          value={publicKey}
          error={fault ?? add.error?.message}
          onChange={(event) => setPublicKey(event.target.value.trim())}
        />
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" busy={add.isPending}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function UseKeyDialog({ signingKey: key, hosts, onClose }: Props) {
  const isReady = isHeldByAll(key.trusted_by, hosts);
  return (
    <ConfirmDialog
      title={`Sign with key ${key.version}`}
      confirm={isReady ? 'Sign with it' : 'Sign with it all the same'}
      onClose={onClose}
      onConfirm={async () => {
        await withStepUp(() => post(`${KEYS_PATH}/${key.version}/use`));
        done(`Key ${key.version} signs from now on.`);
      }}
    >
      <p>Everything that is signed from now on is signed with key {key.version}.</p>
      <p className={isReady ? '' : 'text-warn'}>
        As of now {readinessText(key.trusted_by, hosts)}
        {isReady ? '.' : ': the others refuse its commands until they checked in.'}
      </p>
      <p>It can be taken back: put another key in use.</p>
    </ConfirmDialog>
  );
}

/** Typed, for good. The server refuses where hosts would have to be enrolled again; then it is asked once more. */
export function RevokeKeyDialog({ signingKey: key, hosts, onClose }: Props) {
  const [stranding, setStranding] = useState<string | null>(null);
  const [isForced, setForced] = useState(false);
  return (
    <ConfirmDialog
      title={`Revoke key ${key.version}`}
      confirm={isForced ? 'Revoke and strand hosts' : 'Revoke for good'}
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
        done(`Key ${key.version} is revoked: nothing that it signs is taken any more.`);
      }}
    >
      <p>
        No host takes anything from this key once it hears of it; what it signed and was not carried out yet
        is signed anew. Now {readinessText(key.trusted_by, hosts)}.
      </p>
      <p>
        Hosts that slept since before the key in use was added, and that nothing leads on from, would have to
        be enrolled again. The server counts them, and refuses where there are any.
      </p>
      <p className="font-medium">A revoked key never comes back.</p>
      {stranding !== null && (
        <label className="flex items-start gap-2 rounded-md border border-bad/50 p-2.5">
          <input
            type="checkbox"
            className="mt-0.5 size-4"
            checked={isForced}
            onChange={(event) => setForced(event.target.checked)}
          />
          Revoke all the same: those hosts have to be enrolled again, one by one.
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
