import { type Static, Type } from 'typebox';

/** How a session was opened. */
export const LOGIN_METHODS = [
  'password',
  'password+totp',
  'password+recovery_code',
  'password+passkey',
  'passkey',
  // By an identity provider; with a factor where its acr or amr says so.
  'provider',
  'provider+factor',
] as const;
export const LoginMethod = Type.Enum(LOGIN_METHODS);
export type LoginMethod = Static<typeof LoginMethod>;
