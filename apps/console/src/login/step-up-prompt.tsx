import type { PasskeyOptions, StepUpAnswer, StepUpMethod } from '@tidegate/protocol/factors-api';
import { useState } from 'react';
import { post } from '../api/client.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { CodeField, PROOF_LABELS } from './code-field.tsx';
import { provePasskey } from './passkeys.ts';
import { goToProvider } from './provider-sign-in.ts';

export interface PromptProps {
  readonly methods: readonly StepUpMethod[];
  readonly onProven: () => void;
  readonly onCancelled: () => void;
}

/** Asks the operator for one fresh proof. */
export function Prompt({ methods, onProven, onCancelled }: PromptProps) {
  const [method, setMethod] = useState<StepUpMethod | null>(methods[0] ?? null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const prove = async (proof: () => Promise<unknown>) => {
    setBusy(true);
    setFailure(undefined);
    try {
      await post<StepUpAnswer>('/api/v1/auth/step-up', await proof());
      onProven();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const passkeyProof = async () => provePasskey(await post<PasskeyOptions>('/api/v1/auth/step-up/options'));
  const leave = async () => {
    setBusy(true);
    try {
      await goToProvider('/api/v1/auth/step-up/provider', { next: `${location.pathname}${location.search}` });
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Confirm that it is you" onClose={onCancelled}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          void prove(async () => proofOf(form, method));
        }}
      >
        <p>{WHY[method ?? 'totp']}</p>
        {method === 'password' && (
          <Field
            label="Your password"
            name="password"
            type="password"
            autoComplete="current-password"
            required
            maxLength={256}
            autoFocus
            error={failure}
          />
        )}
        {method === null && <p role="alert">You have no second factor to confirm with.</p>}
        {(method === 'totp' || method === 'recovery_code') && <CodeField method={method} error={failure} />}
        {(method === 'passkey' || method === 'provider') && failure && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {failure}
          </p>
        )}
        <DialogFooter>
          {methods
            .filter((other) => other !== method)
            .map((other) => (
              <Button key={other} tone="quiet" onClick={() => setMethod(other)}>
                {PROOF_LABELS[other]}
              </Button>
            ))}
          <Button onClick={onCancelled}>Cancel</Button>
          {method === 'provider' ? (
            <Button tone="primary" busy={busy} onClick={() => void leave()}>
              Sign in again
            </Button>
          ) : method === 'passkey' ? (
            <Button tone="primary" busy={busy} onClick={() => void prove(passkeyProof)}>
              Use the passkey
            </Button>
          ) : (
            <Button type="submit" tone="primary" busy={busy} disabled={method === null}>
              Confirm
            </Button>
          )}
        </DialogFooter>
      </form>
    </Dialog>
  );
}

const FACTOR = 'This needs a second factor: you last confirmed one more than ten minutes ago.';
const WHY: Readonly<Record<StepUpMethod, string>> = {
  password: 'This needs your password again: you last entered it more than five minutes ago.',
  provider:
    'This needs a new sign-in at your identity provider. You come back to this page; then do what you were doing again.',
  ...{ passkey: FACTOR, totp: FACTOR, recovery_code: FACTOR },
};

function proofOf(form: FormData, method: StepUpMethod | null) {
  if (method === 'password') return { password: form.get('password') };
  const code = form.get('code');
  return method === 'totp' ? { totp: code } : { recovery_code: code };
}
