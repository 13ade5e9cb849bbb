import type { FactorMethod, StepUpMethod } from '@tidegate/protocol/factors-api';
import { Field } from '../ui/field.tsx';

export const METHOD_LABELS: Readonly<Record<FactorMethod, string>> = {
  passkey: 'Passkey',
  totp: 'Authenticator app',
  recovery_code: 'Recovery code',
};

export const PROOF_LABELS: Readonly<Record<StepUpMethod, string>> = {
  ...METHOD_LABELS,
  password: 'Password',
  provider: 'Identity provider',
};

/** The field for an app's code or a recovery code. */
export function CodeField({
  method,
  error,
}: {
  method: 'totp' | 'recovery_code';
  error?: string | undefined;
}) {
  return method === 'totp' ? (
    <Field
      key="totp"
      label="Code from your authenticator app"
      name="code"
      inputMode="numeric"
      pattern="[0-9]{6}"
      maxLength={6}
      autoComplete="one-time-code"
      hint="Six digits"
      required
      autoFocus
      error={error}
    />
  ) : (
    <Field
      key="recovery"
      label="Recovery code"
      name="code"
      maxLength={64}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      hint="Each one works once"
      required
      autoFocus
      error={error}
    />
  );
}
