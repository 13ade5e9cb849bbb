import type { StepUpMethod } from '@tidegate/protocol/factors-api';
import { useSyncExternalStore } from 'react';
import { ApiError } from '../api/client.ts';
import { proofsIn } from './methods-rules.ts';

interface Asked {
  readonly Prompt: typeof import('./step-up-prompt.tsx').Prompt;
  readonly methods: readonly StepUpMethod[];
  readonly proven: () => void;
  readonly refused: (why: Error) => void;
}

let asked: Asked | null = null;
const listeners = new Set<() => void>();

function set(next: Asked | null): void {
  asked = next;
  for (const listener of listeners) listener();
}

/** An act asks for at most the password and a second factor. */
const PROOFS_MAX = 2;

/** Runs an act; if the server asks for a fresh proof, asks the operator and runs the act again. */
export async function withStepUp<T>(act: () => Promise<T>): Promise<T> {
  for (let proofs = 0; ; proofs++) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'step_up_required' || proofs === PROOFS_MAX) {
        throw error;
      }
      await prove(proofsIn(error.problem));
    }
  }
}

/** Resolves once the operator gave a proof; rejects if they cancel, or if the prompt does not load. */
async function prove(methods: readonly StepUpMethod[]): Promise<void> {
  const { Prompt } = await import('./step-up-prompt.tsx').catch(() => {
    throw new Error('Nothing was changed: the dialog to confirm that it is you did not load. Try again.');
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  set({ Prompt, methods, proven: resolve, refused: reject });
  await promise;
}

/** The dialog of `withStepUp`; rendered once, in the frame around the pages. */
export function StepUpPrompt() {
  const now = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => asked,
  );
  if (!now) return null;
  const { Prompt, methods, proven, refused } = now;
  return (
    <Prompt
      key={methods.join()}
      methods={methods}
      onProven={() => {
        set(null);
        proven();
      }}
      onCancelled={() => {
        set(null);
        refused(new Error('Nothing was changed: you did not confirm that it is you.'));
      }}
    />
  );
}
