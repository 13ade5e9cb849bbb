import { useNavigate, useSearch } from '@tanstack/react-router';
import type { LoginAnswer } from '@tidegate/protocol/operators-api';
import { useState } from 'react';
import { ApiError, post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { placeAfterLogin } from './next-rules.ts';

/** Name and password; goes on to the place that was wanted, within the console only. */
export function LoginPage() {
  const navigate = useNavigate();
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const logIn = async (form: FormData) => {
    setBusy(true);
    setFailure(null);
    try {
      await post<LoginAnswer>('/api/v1/auth/login', {
        username: form.get('username'),
        password: form.get('password'),
      });
      queryClient.clear();
      await navigate({ href: placeAfterLogin(search.next) });
    } catch (error) {
      setFailure(error instanceof ApiError ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <main className="grid min-h-screen place-items-center p-6">
      <form
        className="w-full max-w-sm space-y-4 rounded-xl border border-line bg-surface p-6"
        onSubmit={(event) => {
          event.preventDefault();
          void logIn(new FormData(event.currentTarget));
        }}
      >
        <h1 className="flex items-center gap-2 text-lg font-semibold">
          <img src="/icon.svg" alt="" className="size-7" />
          Log in to Tidegate
        </h1>
        <Field
          label="Username"
          name="username"
          autoComplete="username webauthn"
          autoCapitalize="none"
          spellCheck={false}
          required
          maxLength={64}
          autoFocus
        />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          maxLength={256}
        />
        {failure && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {failure}
          </p>
        )}
        <Button type="submit" tone="primary" busy={busy} className="w-full justify-center">
          Log in
        </Button>
      </form>
    </main>
  );
}
