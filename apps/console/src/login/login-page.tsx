import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { queryClient } from '../api/queries.ts';
import { FactorStep } from './factor-step.tsx';
import { LoginForm } from './login-form.tsx';
import { placeAfterLogin } from './next-rules.ts';

/** The login of a browser without a session; opens the requested page after it. */
export function LoginPage() {
  const navigate = useNavigate();
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const next = placeAfterLogin(search.next);
  /** The identity provider has opened a session that waits for a second factor. */
  const isFactorDue = search.step === 'factor';
  const [isSecond, setSecond] = useState(false);
  const open = async () => {
    queryClient.clear();
    await navigate({ href: next });
  };
  return (
    <main className="grid min-h-screen place-items-center p-6">
      <div className="w-full max-w-sm space-y-4 rounded-xl border border-line bg-surface p-6">
        <h1 className="flex items-center gap-2 text-lg font-semibold">
          <img src="/icon.svg" alt="" className="size-7" />
          {isSecond || isFactorDue ? 'Second factor' : 'Log in to Tidegate'}
        </h1>
        {isFactorDue ? (
          <FactorStep onProven={open} />
        ) : (
          <LoginForm next={next} onLoggedIn={open} onStep={setSecond} />
        )}
      </div>
    </main>
  );
}
