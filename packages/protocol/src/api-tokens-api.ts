import { type Static, Type } from 'typebox';
import { Groups } from './operators-api.ts';
import { nullable, strict, Timestamp, Uuid, visibleText } from './scalars.ts';
import { Role } from './states.ts';

/**
 * What a token may be narrowed to: `read` what its role sees, `approve` what approvers decide, `override` what
 * passes a block of the gate, `hosts` what is done with hosts and how they enrol, `admin` the rest of what admins change.
 */
export const API_SCOPES = ['read', 'approve', 'override', 'hosts', 'admin'] as const;
export type ApiScope = (typeof API_SCOPES)[number];

/** Longest life of a token, in milliseconds. */
export const API_TOKEN_MAX_MS = 365 * 86_400_000;

const Scopes = Type.Array(Type.Enum(API_SCOPES), {
  minItems: 1,
  maxItems: API_SCOPES.length,
  uniqueItems: true,
});

export const NewApiToken = strict({
  label: visibleText(64),
  role: Role,
  groups: Type.Optional(Groups),
  scopes: Type.Optional(
    nullable(Scopes, {
      description: 'null: everything the role permits, except overriding a block of the gate',
    }),
  ),
  expires_at: Timestamp,
});
export type NewApiToken = Static<typeof NewApiToken>;

export const ApiTokenItem = strict({
  id: Uuid,
  label: Type.String(),
  role: Role,
  groups: Groups,
  scopes: nullable(Scopes),
  state: Type.Enum(['active', 'expired', 'suspended'], {
    description: 'suspended: its creator was deleted or disabled, or now has a lower role',
  }),
  created_by: Type.String(),
  created_at: Timestamp,
  expires_at: Timestamp,
  last_used_at: nullable(Timestamp, { description: 'accurate to a minute' }),
});
export type ApiTokenItem = Static<typeof ApiTokenItem>;

/** The answer that holds the secret: it is shown once. */
export const CreatedApiToken = strict({
  ...ApiTokenItem.properties,
  token: Type.String({ description: 'tg_ and 43 characters; shown once' }),
});
export type CreatedApiToken = Static<typeof CreatedApiToken>;
