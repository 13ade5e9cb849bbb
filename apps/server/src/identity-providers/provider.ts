import {
  type ClientAuth,
  Grant,
  type IdentityProvider,
  Mapping,
} from '@tidegate/protocol/identity-providers-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { ProviderRow } from './store.ts';

const Texts = Type.Array(Type.String());

/** An identity provider as its row describes it; the secret stays sealed. */
export interface Provider {
  id: string;
  name: string;
  issuer: string;
  clientId: string;
  clientAuth: ClientAuth;
  scopes: readonly string[];
  groupClaim: string;
  usernameClaim: string;
  mapping: Mapping;
  defaultGrant: Grant | null;
  createsOperators: boolean;
  /** Values of acr and amr that count as a second factor. */
  factorValues: readonly string[];
  acrValues: string | null;
  isEnabled: boolean;
}

export function readProvider(row: ProviderRow): Provider {
  return {
    id: row.id,
    name: row.name,
    issuer: row.issuer,
    clientId: row.client_id,
    clientAuth: row.client_auth,
    scopes: Value.Parse(Texts, JSON.parse(row.scopes)),
    groupClaim: row.group_claim,
    usernameClaim: row.username_claim,
    mapping: Value.Parse(Mapping, JSON.parse(row.mapping)),
    defaultGrant: row.default_grant === null ? null : Value.Parse(Grant, JSON.parse(row.default_grant)),
    createsOperators: row.creates_operators === 1,
    factorValues: Value.Parse(Texts, JSON.parse(row.factor_values)),
    acrValues: row.acr_values,
    isEnabled: row.enabled === 1,
  };
}

/** As the API shows it: never with the secret. */
export function providerView(
  row: ProviderRow,
  { operators, baseUrl }: { operators: number; baseUrl: string },
): IdentityProvider {
  const provider = readProvider(row);
  return {
    id: row.id,
    name: row.name,
    issuer: row.issuer,
    client_id: row.client_id,
    client_auth: row.client_auth,
    scopes: [...provider.scopes],
    group_claim: row.group_claim,
    username_claim: row.username_claim,
    mapping: provider.mapping,
    default_grant: provider.defaultGrant,
    creates_operators: provider.createsOperators,
    factor_values: [...provider.factorValues],
    acr_values: row.acr_values,
    enabled: provider.isEnabled,
    operators,
    redirect_uri: redirectUri(baseUrl, row.id),
    logout_uri: logoutUri(baseUrl, row.id),
    created_by: row.created_by,
    created_at: rfc3339(row.created_at),
    changed_at: rfc3339(row.changed_at),
  };
}

/** One for each provider, so that the answer of one is never taken for that of another (RFC 9700, section 4.4.2). */
export function redirectUri(baseUrl: string, providerId: string): string {
  return `${baseUrl}/sign-in/${providerId}/callback`;
}

export function logoutUri(baseUrl: string, providerId: string): string {
  return `${baseUrl}/sign-in/${providerId}/logout`;
}
