import { type Static, Type } from 'typebox';
import { Factors, RecoveryCode, SecondFactor, TotpCode } from './factors-api.ts';
import { LoginMethod } from './login-methods.ts';
import { Count, GroupName, nullable, strict, Timestamp, Uuid } from './scalars.ts';
import { Role } from './states.ts';

/** Names of new operators; they are kept in lower case. */
export const Username = Type.String({ pattern: '^[A-Za-z0-9._@-]{1,64}$', minLength: 1, maxLength: 64 });
/** New passwords: long enough, any characters, no rules of composition (ASVS 6.2). */
export const NewPassword = Type.String({ minLength: 8, maxLength: 256 });

/** Most groups that one operator or token is bound to. */
export const GROUPS_MAX = 100;
/** Groups of hosts that an operator is bound to. */
export const GroupList = Type.Array(GroupName, { minItems: 1, maxItems: GROUPS_MAX });
/** The same, with null for the whole fleet, including hosts without a group. */
export const Groups = nullable(GroupList);

export const LoginRequest = strict({
  username: Type.String({ minLength: 1, maxLength: 64 }),
  password: Type.String({ minLength: 1, maxLength: 256 }),
  /** One of the two, when a second factor is enrolled; with `totp` the recovery code is ignored. */
  totp: Type.Optional(TotpCode),
  recovery_code: Type.Optional(RecoveryCode),
});
export type LoginRequest = Static<typeof LoginRequest>;

export const OperatorIdentity = strict({ id: Uuid, username: Type.String(), role: Role, groups: Groups });
export type OperatorIdentity = Static<typeof OperatorIdentity>;

export const LoginAnswer = strict({
  token: Type.String(),
  expires_at: Timestamp,
  operator: OperatorIdentity,
});
export type LoginAnswer = Static<typeof LoginAnswer>;

/** Who the session of this request belongs to; the console asks when it is loaded. */
export const SessionAnswer = strict({
  operator: OperatorIdentity,
  expires_at: Timestamp,
  factors: Factors,
  unread_notices: Count,
  second_factor_due_at: nullable(Timestamp, {
    description: 'from this time an operator without a second factor can only enrol one; null: never',
  }),
  stepped_up_until: nullable(Timestamp, {
    description:
      'until this time no fresh proof is required: of a factor, or of the password if there is none',
  }),
  method: nullable(LoginMethod, { description: 'how the session was opened; null: an API token' }),
  needs_factor: Type.Boolean({
    description: 'a second factor must be proven before the session opens more than the account itself',
  }),
});
export type SessionAnswer = Static<typeof SessionAnswer>;

export const SetupRequest = strict({
  secret: Type.String({ minLength: 1, maxLength: 64 }),
  username: Username,
  password: NewPassword,
});
export type SetupRequest = Static<typeof SetupRequest>;

export const Operator = strict({
  id: Uuid,
  username: Type.String(),
  role: Role,
  groups: Groups,
  disabled: Type.Boolean(),
  second_factors: Type.Array(SecondFactor, { description: 'the enrolled factors; empty: only the password' }),
  has_password: Type.Boolean({
    description: 'false: an identity provider logs the operator in, and decides role and groups',
  }),
  created_at: Timestamp,
});
export type Operator = Static<typeof Operator>;

export const NewOperator = strict({
  username: Username,
  password: NewPassword,
  role: Role,
  groups: Type.Optional(Groups),
});
export type NewOperator = Static<typeof NewOperator>;

/** What a reset by an admin ends, unless it is asked to keep it. */
export const RESET_ENDS = ['totp', 'passkeys', 'identities', 'sessions', 'api_tokens'] as const;
export type ResetEnds = (typeof RESET_ENDS)[number];

export const OperatorChange = Type.Object(
  {
    password: Type.Optional(NewPassword),
    keep: Type.Optional(
      Type.Array(Type.Enum(RESET_ENDS), {
        uniqueItems: true,
        maxItems: RESET_ENDS.length,
        description: 'only with `password`: what the reset keeps; without it the reset ends all of these',
      }),
    ),
    role: Type.Optional(Role),
    groups: Type.Optional(Groups),
    disabled: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type OperatorChange = Static<typeof OperatorChange>;
