import { useQuery } from '@tanstack/react-query';
import type { FactorMethod, PasskeyOptions } from '@tidegate/protocol/factors-api';
import type { OfferedProviders } from '@tidegate/protocol/identity-providers-api';
import type { LoginAnswer } from '@tidegate/protocol/operators-api';
import { KeyRound, LogIn } from 'lucide-react';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError, post } from '../api/client.ts';
import { oneQuery } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { CodeField, METHOD_LABELS } from './code-field.tsx';
import { methodsIn, passkeyIn, waitIn } from './methods-rules.ts';
import { arePasskeysOffered, provePasskey } from './passkeys.ts';
import { goToProvider } from './provider-sign-in.ts';
import { useCountdown } from './use-countdown.ts';

/** The password was right; it is kept until the second factor is given. */
interface SecondStep {
  readonly username: string;
  readonly password: string;
  readonly methods: readonly FactorMethod[];
  readonly method: FactorMethod;
  readonly passkey: PasskeyOptions | null;
}

/** Logs in by password and second factor, if there is one, or by a passkey alone. */
export function LoginForm({
  username = '',
  next,
  onLoggedIn,
  onStep,
}: {
  /** Filled in for an operator who was logged in. */
  username?: string;
  /** Where an identity provider leads back to. */
  next: string;
  onLoggedIn: (answer: LoginAnswer) => void | Promise<void>;
  /** Whether the second factor is asked for now. */
  onStep?: (isSecond: boolean) => void;
}) {
  const [step, setNow] = useState<SecondStep | null>(null);
  const setStep = (to: SecondStep | null) => {
    setNow(to);
    onStep?.(to !== null);
  };
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const [waitSeconds, setWaitSeconds] = useCountdown();
  const offered = useQuery(oneQuery<OfferedProviders>('session', '/api/v1/auth/providers'));
  const providers = offered.data?.items ?? [];

  const logIn = async (
    act: () => Promise<LoginAnswer>,
    given: { username: string; password: string } | null,
  ) => {
    setBusy(true);
    setFailure(null);
    try {
      await onLoggedIn(await act());
    } catch (error) {
      const second = given && secondStepOf(error, given);
      if (second && step === null) setStep(second);
      else setFailure(error instanceof Error ? error.message : String(error));
      setWaitSeconds(waitIn(error instanceof ApiError ? error.problem : null));
      setBusy(false);
    }
  };
  const byProvider = async (id: string) => {
    setBusy(true);
    setFailure(null);
    try {
      await goToProvider('/api/v1/auth/login/provider', { provider_id: id, next });
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const byPassword = (form: FormData) => {
    const given = { username: String(form.get('username')), password: String(form.get('password')) };
    void logIn(() => post('/api/v1/auth/login', given), given);
  };
  const byCode = (form: FormData, { username, password, method }: SecondStep) => {
    const code = form.get('code');
    const factor = method === 'totp' ? { totp: code } : { recovery_code: code };
    void logIn(() => post('/api/v1/auth/login', { username, password, ...factor }), { username, password });
  };
  const byPasskey = (options: () => Promise<PasskeyOptions>) =>
    void logIn(async () => post('/api/v1/auth/login/passkey', await provePasskey(await options())), null);
  const anyPasskey = () => post<PasskeyOptions>('/api/v1/auth/login/passkey/options');

  return step === null ? (
    <Form onSubmit={byPassword}>
      <Field
        label="Username"
        name="username"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        required
        maxLength={64}
        defaultValue={username}
        readOnly={username !== ''}
        autoFocus={username === ''}
      />
      <Field
        label="Password"
        name="password"
        type="password"
        autoComplete="current-password"
        required
        maxLength={256}
        autoFocus={username !== ''}
      />
      <Failure text={failure} />
      <Button
        type="submit"
        tone="primary"
        busy={busy}
        disabled={waitSeconds > 0}
        className="w-full justify-center"
      >
        {waitSeconds > 0 ? `Log in (wait ${waitSeconds} s)` : 'Log in'}
      </Button>
      {arePasskeysOffered() && (
        <Button
          busy={busy}
          className="w-full justify-center"
          icon={<KeyRound aria-hidden="true" className="size-4" />}
          onClick={() => byPasskey(anyPasskey)}
        >
          Log in with a passkey
        </Button>
      )}
      {providers.map(({ id, name }) => (
        <Button
          key={id}
          busy={busy}
          className="w-full justify-center"
          icon={<LogIn aria-hidden="true" className="size-4" />}
          onClick={() => void byProvider(id)}
        >
          Continue with <bdi>{name}</bdi>
        </Button>
      ))}
    </Form>
  ) : (
    <Form onSubmit={(form) => byCode(form, step)}>
      {(step.method === 'totp' || step.method === 'recovery_code') && <CodeField method={step.method} />}
      <Failure text={failure} />
      {step.method === 'passkey' ? (
        <Button
          tone="primary"
          busy={busy}
          className="w-full justify-center"
          // The challenge of the first response works once; after a failure the passkey logs in alone.
          onClick={() => byPasskey(async () => (failure === null && step.passkey) || anyPasskey())}
        >
          Use the passkey
        </Button>
      ) : (
        <Button type="submit" tone="primary" busy={busy} className="w-full justify-center">
          Log in
        </Button>
      )}
      <div className="flex flex-wrap justify-between gap-2">
        {step.methods
          .filter((method) => method !== step.method)
          .map((method) => (
            <Button key={method} tone="quiet" onClick={() => setStep({ ...step, method })}>
              {METHOD_LABELS[method]}
            </Button>
          ))}
        <Button tone="quiet" onClick={() => setStep(null)}>
          Start again
        </Button>
      </div>
    </Form>
  );
}

function Form({ onSubmit, children }: { onSubmit: (form: FormData) => void; children: ReactNode }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onSubmit(new FormData(event.currentTarget));
  };
  return (
    <form className="space-y-4" onSubmit={submit}>
      {children}
    </form>
  );
}

function Failure({ text }: { text: string | null }) {
  return (
    text !== null && (
      <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
        {text}
      </p>
    )
  );
}

function secondStepOf(error: unknown, given: { username: string; password: string }): SecondStep | null {
  if (!(error instanceof ApiError) || error.code !== 'second_factor_required') return null;
  const passkey = passkeyIn(error.problem);
  const methods = methodsIn(error.problem).filter(
    (method) => method !== 'passkey' || (passkey !== null && arePasskeysOffered()),
  );
  const [method] = methods;
  return method === undefined ? null : { ...given, methods, method, passkey };
}
