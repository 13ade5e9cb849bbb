import type { LoginMethod } from '@tidegate/protocol/login-methods';

/** How a session was opened, with the second factor that was asked for. */
const WORDS: Readonly<Record<LoginMethod, { by: string; factor: string | null }>> = {
  password: { by: 'password', factor: null },
  'password+totp': { by: 'password', factor: 'authenticator app' },
  'password+recovery_code': { by: 'password', factor: 'recovery code' },
  'password+passkey': { by: 'password', factor: 'passkey' },
  passkey: { by: 'passkey', factor: 'passkey' },
  provider: { by: 'identity provider', factor: null },
  'provider+factor': { by: 'identity provider', factor: 'its second factor' },
};

/** `password and authenticator app`. */
export function loginText(method: LoginMethod): string {
  const { by, factor } = WORDS[method];
  return factor === null || factor === by ? by : `${by} and ${factor}`;
}
