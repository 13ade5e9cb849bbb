import { type Static, Type } from 'typebox';

// What an ACME server answers (RFC 8555, section 7.1), as far as it is read here. Members that are not listed are allowed.

const Url = Type.String({ pattern: '^https://[^\\s]+$', maxLength: 2_048 });

export const Directory = Type.Object({
  newNonce: Url,
  newAccount: Url,
  newOrder: Url,
  meta: Type.Optional(Type.Object({ termsOfService: Type.Optional(Type.String({ maxLength: 2_048 })) })),
});
export type Directory = Static<typeof Directory>;

/** RFC 7807, with the error types of RFC 8555, section 6.7. */
export const Problem = Type.Object({
  type: Type.Optional(Type.String()),
  detail: Type.Optional(Type.String()),
});
export type Problem = Static<typeof Problem>;

export const Account = Type.Object({ status: Type.String() });

export const Order = Type.Object({
  status: Type.Enum(['pending', 'ready', 'processing', 'valid', 'invalid']),
  authorizations: Type.Array(Url, { maxItems: 100 }),
  finalize: Url,
  certificate: Type.Optional(Url),
  error: Type.Optional(Problem),
});
export type Order = Static<typeof Order>;

export const Challenge = Type.Object({
  type: Type.String(),
  url: Url,
  token: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{16,512}$' })),
  error: Type.Optional(Problem),
});

export const Authorization = Type.Object({
  status: Type.Enum(['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked']),
  identifier: Type.Object({ type: Type.String(), value: Type.String() }),
  challenges: Type.Array(Challenge, { maxItems: 32 }),
});
export type Authorization = Static<typeof Authorization>;
