import { type Static, Type } from 'typebox';
import { Groups } from './operators-api.ts';
import { Count, nullable, strict, Timestamp, Uuid } from './scalars.ts';
import { Role } from './states.ts';

/** Chosen by an admin; part of the redirect URI, so it never changes. */
export const ProviderId = Type.String({
  pattern: '^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$',
  minLength: 1,
  maxLength: 40,
  description: 'lower-case letters, digits and hyphens',
});
/** Most identity providers of a server. */
export const PROVIDERS_MAX = 20;
/** Most rules of one mapping. */
export const MAPPING_MAX = 200;

const Name = Type.String({ pattern: '^[^\\p{Cc}]+$', minLength: 1, maxLength: 64 });
/** Claims and their values, as providers write them. */
const ClaimName = Type.String({ pattern: '^[\\x21-\\x7e]+$', minLength: 1, maxLength: 128 });
const ClaimValue = Type.String({ pattern: '^[^\\p{Cc}]+$', minLength: 1, maxLength: 256 });
const Issuer = Type.String({
  pattern: '^https?://[^\\s?#]+$',
  maxLength: 512,
  description: 'exactly as the provider writes it; http only for localhost',
});
const ClientId = Type.String({ pattern: '^[\\x20-\\x7e]+$', minLength: 1, maxLength: 256 });
const ClientSecret = Type.String({ minLength: 1, maxLength: 1_024, description: 'write-only' });
const Scopes = Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,128}$' }), {
  minItems: 1,
  maxItems: 20,
  uniqueItems: true,
  description: 'must contain openid',
});

/** What an account may do: a role for groups of hosts, or for the whole fleet. */
export const Grant = strict({ role: Role, groups: Groups });
export type Grant = Static<typeof Grant>;

/** A group of the provider and what its members may do. */
export const MappingRule = strict({ group: ClaimValue, role: Role, groups: Groups });
export type MappingRule = Static<typeof MappingRule>;
export const Mapping = Type.Array(MappingRule, { maxItems: MAPPING_MAX });
export type Mapping = Static<typeof Mapping>;

/** How the server proves to the provider who it is. */
export const CLIENT_AUTH = ['client_secret_basic', 'client_secret_post'] as const;
export type ClientAuth = (typeof CLIENT_AUTH)[number];

const settings = {
  name: Name,
  client_id: ClientId,
  client_auth: Type.Enum(CLIENT_AUTH),
  scopes: Scopes,
  group_claim: Type.String({
    ...ClaimName,
    description: 'the claim that lists groups; dots lead into nested claims, as in realm_access.roles',
  }),
  username_claim: Type.String({ ...ClaimName, description: 'names operators that are created at sign-in' }),
  mapping: Type.Array(MappingRule, {
    maxItems: MAPPING_MAX,
    description: 'the rules of the highest role that match count; their groups of hosts are added up',
  }),
  default_grant: nullable(Grant, { description: 'for accounts that no rule matches; null: no access' }),
  creates_operators: Type.Boolean({
    description: 'whether the first sign-in of an account creates an operator',
  }),
  factor_values: Type.Array(ClaimValue, {
    maxItems: 20,
    uniqueItems: true,
    description: 'a sign-in whose acr or amr claim is one of these counts as a second factor',
  }),
  acr_values: nullable(Type.String({ pattern: '^[\\x20-\\x7e]+$', minLength: 1, maxLength: 256 }), {
    description: 'asked of the provider at each sign-in, separated by spaces',
  }),
  enabled: Type.Boolean(),
};

export const IdentityProvider = strict({
  id: ProviderId,
  issuer: Issuer,
  ...settings,
  operators: Count,
  redirect_uri: Type.String({ description: 'to register at the provider' }),
  logout_uri: Type.String({ description: 'for the back-channel logout of the provider' }),
  created_by: Type.String(),
  created_at: Timestamp,
  changed_at: Timestamp,
});
export type IdentityProvider = Static<typeof IdentityProvider>;

const { name, client_id, ...withDefaults } = settings;
export const NewIdentityProvider = strict({
  id: ProviderId,
  issuer: Issuer,
  ...{ name, client_id, client_secret: ClientSecret },
  ...optional(withDefaults),
});
export type NewIdentityProvider = Static<typeof NewIdentityProvider>;

/** The id and the issuer never change: accounts are bound to the issuer. */
export const IdentityProviderChange = Type.Object(
  { ...optional(settings), client_secret: Type.Optional(ClientSecret) },
  { additionalProperties: false, minProperties: 1 },
);
export type IdentityProviderChange = Static<typeof IdentityProviderChange>;

function optional<T extends Readonly<Record<string, Type.TSchema>>>(schemas: T) {
  return Type.Partial(strict(schemas)).properties;
}

/** What the login page shows. */
export const OfferedProvider = strict({ id: ProviderId, name: Name });
export const OfferedProviders = strict({ items: Type.Array(OfferedProvider) });
export type OfferedProviders = Static<typeof OfferedProviders>;

/** Longest place of the console to return to, in characters. */
export const NEXT_MAX = 512;
export const SignInRequest = strict({
  provider_id: ProviderId,
  next: Type.Optional(
    Type.String({ maxLength: NEXT_MAX, description: 'a path of the console to go to afterwards' }),
  ),
});
export type SignInRequest = Static<typeof SignInRequest>;
/** For a proof of the account that the session was opened with. */
export const ProviderStepUp = strict({ next: SignInRequest.properties.next });
/** Where the browser goes next, at the provider. */
export const SignInStart = strict({ url: Type.String() });
export type SignInStart = Static<typeof SignInStart>;

/** An account of a provider that logs an operator in. */
export const Identity = strict({
  id: Uuid,
  provider_id: ProviderId,
  provider_name: Name,
  issuer: Type.String(),
  subject: Type.String(),
  created_by: Type.String(),
  created_at: Timestamp,
  last_used_at: nullable(Timestamp),
});
export type Identity = Static<typeof Identity>;
export const Identities = strict({
  items: Type.Array(Identity),
  has_password: Type.Boolean({ description: 'without one, only the provider logs the operator in' }),
});
export type Identities = Static<typeof Identities>;

/** Binds an operator to an account that has not signed in yet. */
export const NewIdentity = strict({
  provider_id: ProviderId,
  issuer: Type.Optional(Type.String({ ...Issuer, description: 'unless it is that of the provider' })),
  subject: Type.String({ pattern: '^[\\x20-\\x7e]+$', minLength: 1, maxLength: 255 }),
});
export type NewIdentity = Static<typeof NewIdentity>;

export const CHECK_OUTCOMES = ['passed', 'failed', 'warning', 'skipped'] as const;
export const ProviderCheck = strict({
  check: Type.Enum([
    'discovery',
    'issuer',
    'endpoints',
    'clock',
    'algorithms',
    'keys',
    'client',
    'claims',
    'logout',
  ]),
  outcome: Type.Enum(CHECK_OUTCOMES),
  text: Type.String(),
});
export type ProviderCheck = Static<typeof ProviderCheck>;
export const ProviderTest = strict({
  passed: Type.Boolean(),
  checks: Type.Array(ProviderCheck),
  redirect_uri: Type.String(),
});
export type ProviderTest = Static<typeof ProviderTest>;

export const LogoutAnswer = strict({
  url: nullable(Type.String(), {
    description: 'where the browser goes to log out at the provider too; null: nowhere',
  }),
});
export type LogoutAnswer = Static<typeof LogoutAnswer>;
