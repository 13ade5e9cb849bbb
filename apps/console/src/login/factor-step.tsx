import { useQuery } from '@tanstack/react-query';
import type { FactorMethod, PasskeyOptions } from '@tidegate/protocol/factors-api';
import type { SessionAnswer } from '@tidegate/protocol/operators-api';
import { type FormEvent, useState } from 'react';
import { post } from '../api/client.ts';
import { sessionQuery } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { CodeField, METHOD_LABELS } from './code-field.tsx';
import { arePasskeysOffered, provePasskey } from './passkeys.ts';

/** After the identity provider: the second factor, without which the session opens nothing. */
export function FactorStep({ onProven }: { onProven: () => Promise<void> }) {
  const { data: session } = useQuery(sessionQuery);
  const [picked, setPicked] = useState<FactorMethod | null>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const methods = session ? methodsOf(session) : [];
  const method = picked ?? methods[0];
  const prove = async (proof: () => Promise<unknown>) => {
    setBusy(true);
    setFailure(undefined);
    try {
      await post('/api/v1/auth/step-up', await proof());
      await onProven();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = new FormData(event.currentTarget).get('code');
    void prove(async () => {
      if (method === 'passkey') {
        return provePasskey(await post<PasskeyOptions>('/api/v1/auth/step-up/options'));
      }
      return method === 'totp' ? { totp: code } : { recovery_code: code };
    });
  };
  return (
    <form className="space-y-4" onSubmit={submit}>
      <p>You are signed in at your identity provider. Your second factor is needed as well.</p>
      {(method === 'totp' || method === 'recovery_code') && <CodeField method={method} error={failure} />}
      {method === 'passkey' && failure && (
        <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
          {failure}
        </p>
      )}
      <Button
        type="submit"
        tone="primary"
        busy={busy}
        disabled={method === undefined}
        className="w-full justify-center"
      >
        {method === 'passkey' ? 'Use the passkey' : 'Log in'}
      </Button>
      <div className="flex flex-wrap justify-between gap-2">
        {methods
          .filter((other) => other !== method)
          .map((other) => (
            <Button key={other} tone="quiet" onClick={() => setPicked(other)}>
              {METHOD_LABELS[other]}
            </Button>
          ))}
      </div>
    </form>
  );
}

function methodsOf({ factors }: SessionAnswer): readonly FactorMethod[] {
  return [
    ...(factors.passkeys > 0 && arePasskeysOffered() ? ['passkey' as const] : []),
    ...(factors.totp ? ['totp' as const] : []),
    ...(factors.recovery_codes_left > 0 ? ['recovery_code' as const] : []),
  ];
}
