import { type Static, Type } from 'typebox';
import { GroupName, nullable, ShortText, strict, Timestamp, Uuid } from './scalars.ts';
import { OperatorTag, OperatorTags } from './tags-api.ts';

/** Most hosts that one registration token can enrol. */
export const SEATS_MAX = 100_000;
/** Life of a registration token: default and longest, in milliseconds. */
export const REGISTRATION_TOKEN_DEFAULT_MS = 24 * 3_600_000;
export const REGISTRATION_TOKEN_MAX_MS = 90 * 86_400_000;

export const CreateRegistrationToken = strict({
  label: ShortText,
  seats: Type.Optional(Type.Integer({ minimum: 1, maximum: SEATS_MAX })),
  expires_at: Type.Optional(Timestamp),
  group: Type.Optional(nullable(GroupName, { description: 'the group assigned to enrolled hosts' })),
  /** Tags of hosts that it enrols for the first time. */
  tags: Type.Optional(OperatorTags),
});
export type CreateRegistrationToken = Static<typeof CreateRegistrationToken>;

export const RegistrationTokenItem = Type.Object({
  id: Uuid,
  label: ShortText,
  seats: Type.Integer({ minimum: 1 }),
  seats_used: Type.Integer({ minimum: 0 }),
  group: nullable(GroupName),
  tags: Type.Array(OperatorTag),
  created_by: Type.String(),
  created_at: Timestamp,
  expires_at: Timestamp,
});
export type RegistrationTokenItem = Static<typeof RegistrationTokenItem>;

export const RegistrationTokenFilter = {
  /** Only tokens with free seats in the last quarter of their time. */
  ending: Type.Optional(Type.Enum(['true'])),
};

/** The answer that holds the secret: it is shown once. */
export const CreatedRegistrationToken = Type.Object({
  ...RegistrationTokenItem.properties,
  token: Type.String({ description: 'tgr_ and 43 characters; shown once' }),
});
export type CreatedRegistrationToken = Static<typeof CreatedRegistrationToken>;
