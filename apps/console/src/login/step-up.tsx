import type { FactorMethod, PasskeyOptions, StepUpAnswer } from '@tidegate/protocol/factors-api';
import { useState, useSyncExternalStore } from 'react';
import { ApiError, post } from '../api/client.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { CodeField, METHOD_LABELS } from './code-field.tsx';
import { methodsIn } from './methods-rules.ts';
import { provePasskey } from './passkeys.ts';

interface Asked {
  readonly methods: readonly FactorMethod[];
  readonly proven: () => void;
  readonly refused: (why: Error) => void;
}

let asked: Asked | null = null;
const listeners = new Set<() => void>();

function set(next: Asked | null): void {
  asked = next;
  for (const listener of listeners) listener();
}

/** Runs an act; where it asks for a fresh second factor, asks the person and runs it again. */
export async function withStepUp<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'step_up_required') throw error;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    set({ methods: methodsIn(error.problem), proven: resolve, refused: reject });
    await promise;
    return act();
  }
}

/** The dialog of `withStepUp`; stands once in the frame around the pages. */
export function StepUpPrompt() {
  const now = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => asked,
  );
  return now && <Prompt asked={now} />;
}

function Prompt({ asked: { methods, proven, refused } }: { asked: Asked }) {
  const [method, setMethod] = useState<FactorMethod | null>(methods[0] ?? null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const prove = async (proof: () => Promise<unknown>) => {
    setBusy(true);
    setFailure(undefined);
    try {
      await post<StepUpAnswer>('/api/v1/auth/step-up', await proof());
      set(null);
      proven();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const passkeyProof = async () => provePasskey(await post<PasskeyOptions>('/api/v1/auth/step-up/options'));
  const close = () => {
    set(null);
    refused(new Error('Nothing was changed: this takes a second factor.'));
  };
  return (
    <Dialog title="Confirm that it is you" onClose={close}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          const code = new FormData(event.currentTarget).get('code');
          void prove(async () => (method === 'totp' ? { totp: code } : { recovery_code: code }));
        }}
      >
        <p>What you are about to do asks for a second factor that is at most ten minutes old.</p>
        {method === null && <p role="alert">You have no second factor that could be asked for.</p>}
        {(method === 'totp' || method === 'recovery_code') && <CodeField method={method} error={failure} />}
        {method === 'passkey' && failure && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {failure}
          </p>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          {methods
            .filter((other) => other !== method)
            .map((other) => (
              <Button key={other} tone="quiet" onClick={() => setMethod(other)}>
                {METHOD_LABELS[other]}
              </Button>
            ))}
          <Button onClick={close}>Cancel</Button>
          {method === 'passkey' ? (
            <Button tone="primary" busy={busy} onClick={() => void prove(passkeyProof)}>
              Use the passkey
            </Button>
          ) : (
            <Button type="submit" tone="primary" busy={busy} disabled={method === null}>
              Confirm
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
