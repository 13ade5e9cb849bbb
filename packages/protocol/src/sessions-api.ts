import { type Static, Type } from 'typebox';
import { LoginMethod } from './login-methods.ts';
import { NewPassword } from './operators-api.ts';
import { strict, Timestamp, Uuid } from './scalars.ts';

/** Longest kept part of what a browser says of itself, in characters. */
export const USER_AGENT_MAX = 256;

export const Session = strict({
  id: Uuid,
  created_at: Timestamp,
  last_used_at: Timestamp,
  expires_at: Timestamp,
  address: Type.String(),
  user_agent: Type.String({ maxLength: USER_AGENT_MAX, description: 'the User-Agent header of the client' }),
  method: LoginMethod,
  is_current: Type.Boolean(),
});
export type Session = Static<typeof Session>;

/** A session as admins of the whole fleet see it: with whose it is. */
export const OperatorSession = strict({
  ...Session.properties,
  operator_id: Uuid,
  username: Type.String(),
});
export type OperatorSession = Static<typeof OperatorSession>;

export const PasswordChange = strict({
  current_password: Type.String({ minLength: 1, maxLength: 256 }),
  new_password: NewPassword,
});
export type PasswordChange = Static<typeof PasswordChange>;
