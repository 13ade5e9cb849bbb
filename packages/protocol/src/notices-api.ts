import { type Static, Type } from 'typebox';
import { nullable, strict, Timestamp, Uuid } from './scalars.ts';

/** Changes to what lets an operator in, as the account's page tells them. */
export const NOTICE_KINDS = [
  'totp_added',
  'totp_removed',
  'passkey_added',
  'passkey_renamed',
  'passkey_removed',
  'recovery_codes_made',
  'recovery_code_used',
  'password_changed',
  'password_reset',
  'factors_reset',
  'sessions_ended',
  'api_token_created',
  'api_token_revoked',
  'api_tokens_ended',
  'identity_bound',
  'identity_unbound',
  'identities_ended',
  'access_changed',
  'logins_slowed',
] as const;
export const NoticeKind = Type.Enum(NOTICE_KINDS);
export type NoticeKind = Static<typeof NoticeKind>;

/** Notices that are kept for each operator, the newest. */
export const NOTICES_KEPT = 50;

export const Notice = strict({
  id: Uuid,
  kind: NoticeKind,
  subject: nullable(Type.String(), {
    description: 'the name of the passkey, the label of the API token, or the count of what was ended',
  }),
  at: Timestamp,
  actor: Type.String(),
  address: nullable(Type.String(), { description: "null: done on the server's command line" }),
  is_new: Type.Boolean(),
});
export type Notice = Static<typeof Notice>;

/** The newest notice that was shown: it and those before it are no longer new. */
export const NoticesSeen = strict({ until: Uuid });
