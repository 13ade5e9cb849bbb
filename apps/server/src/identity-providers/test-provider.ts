import type { ProviderCheck, ProviderTest } from '@tidegate/protocol/identity-providers-api';
import { nullable } from '@tidegate/protocol/scalars';
import { type Configuration, genericGrantRequest, type ServerMetadata } from 'openid-client';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Platform } from '../platform/platform.ts';
import {
  ALLOWED_ALGORITHMS,
  clockFault,
  explainFault,
  type FaultReason,
  TOKEN_ALGORITHMS,
} from './explain-fault.ts';
import { type Provider, readProvider, redirectUri } from './provider.ts';
import { CLOCK_TOLERANCE_SECONDS, type ProviderClient } from './provider-client.ts';
import type { ProviderRow } from './store.ts';

const Keys = Compile(
  Type.Object({
    keys: Type.Array(Type.Object({ kty: Type.String(), use: Type.Optional(nullable(Type.String())) })),
  }),
);
/** Faults of the description itself, by the check that they fail. */
const CHECK_OF: Partial<Record<FaultReason, ProviderCheck['check']>> = {
  issuer: 'issuer',
  endpoint: 'endpoints',
  client: 'client',
};

/** Tries everything that works without a person, and says what is wrong with each part. */
export async function testProvider(
  { platform, client }: { platform: Platform; client: ProviderClient },
  { row, origin }: { row: ProviderRow; origin: string },
): Promise<ProviderTest> {
  const redirect_uri = redirectUri(origin, row.id);
  const described = await client.describe(row);
  if (!described.ok) {
    const { reason, text } = described.fault;
    const check = CHECK_OF[reason] ?? 'discovery';
    const before = check === 'discovery' ? [] : [passed('discovery', 'The provider answers.')];
    return { passed: false, checks: [...before, failed(check, text)], redirect_uri };
  }
  const { metadata, config } = described.value;
  const provider = readProvider(row);
  const checks: ProviderCheck[] = [
    passed('discovery', 'The provider answers, and describes itself.'),
    passed('issuer', `It calls itself ${metadata.issuer}.`),
    passed('endpoints', 'Its addresses can be used.'),
    await checkClock(client, platform, provider),
    checkAlgorithms(metadata),
    await checkKeys(client, metadata),
    await checkClient(config, redirect_uri),
    checkClaims(provider, metadata),
    checkLogout(metadata),
  ];
  return { passed: checks.every(({ outcome }) => outcome !== 'failed'), checks, redirect_uri };
}

async function checkClock(
  client: ProviderClient,
  platform: Platform,
  { issuer }: Provider,
): Promise<ProviderCheck> {
  const answer = await client.fetch(discoveryUrl(issuer), {
    method: 'GET',
    headers: { accept: 'application/json' },
  });
  const told = Date.parse(answer.headers.get('date') ?? '');
  if (Number.isNaN(told))
    return { check: 'clock', outcome: 'skipped', text: 'The provider does not tell its time.' };
  const apart = Math.round(Math.abs(told - platform.now()) / 1_000);
  if (apart > CLOCK_TOLERANCE_SECONDS) return failed('clock', clockFault(apart).text);
  return passed('clock', `The clocks agree within ${Math.max(1, apart)} seconds.`);
}

function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

function checkAlgorithms(metadata: ServerMetadata): ProviderCheck {
  const signs = metadata.id_token_signing_alg_values_supported ?? ['RS256'];
  const common = signs.filter((alg) => TOKEN_ALGORITHMS.includes(alg));
  if (common.length === 0) {
    return failed(
      'algorithms',
      `The provider signs ID tokens with ${signs.join(', ')} only. ${ALLOWED_ALGORITHMS}`,
    );
  }
  const pkce = metadata.code_challenge_methods_supported;
  if (pkce && !pkce.includes('S256')) {
    return failed(
      'algorithms',
      'The provider does not take part in PKCE with S256: its code could be used by others.',
    );
  }
  if (!metadata.response_types_supported?.includes('code')) {
    return warning('algorithms', 'The provider does not list the response type code.');
  }
  if (!pkce)
    return warning(
      'algorithms',
      `It signs with ${common.join(', ')}. It does not say whether it checks PKCE.`,
    );
  return passed('algorithms', `It signs with ${common.join(', ')}, and checks PKCE.`);
}

async function checkKeys(client: ProviderClient, { jwks_uri: uri }: ServerMetadata): Promise<ProviderCheck> {
  if (uri === undefined) return failed('keys', 'The provider names no address of its keys (jwks_uri).');
  try {
    const answer = await client.fetch(uri, { method: 'GET', headers: { accept: 'application/json' } });
    const found: unknown = answer.status === 200 ? await answer.json() : null;
    if (!Keys.Check(found))
      return failed('keys', `The address of its keys answered ${answer.status} without keys.`);
    const signing = found.keys.filter(({ kty, use }) => kty !== 'oct' && (use ?? 'sig') === 'sig');
    if (signing.length === 0) return failed('keys', 'The provider publishes no key that signs.');
    return passed(
      'keys',
      `The provider publishes ${signing.length} ${signing.length === 1 ? 'key' : 'keys'} that sign.`,
    );
  } catch (error) {
    if (error instanceof SyntaxError)
      return failed('keys', 'The address of its keys did not answer with JSON.');
    const fault = explainFault(error);
    if (!fault) throw error;
    return failed('keys', fault.text);
  }
}

/** Offers a code that cannot exist: a provider that refuses the code has accepted the client. */
async function checkClient(config: Configuration, redirect: string): Promise<ProviderCheck> {
  try {
    await genericGrantRequest(config, 'authorization_code', {
      ...{ code: 'tidegate-test', redirect_uri: redirect, code_verifier: 'x'.repeat(43) },
    });
  } catch (error) {
    const fault = explainFault(error);
    if (!fault) throw error;
    if (fault.reason === 'code')
      return passed('client', 'The provider accepts the client id and the secret.');
    if (fault.reason === 'refused') {
      return warning('client', `Not certain: ${fault.text} Sign in once to be sure of the secret.`);
    }
    if (fault.reason === 'bad_answer') {
      return failed('client', `The provider does not refuse a code that does not exist: ${fault.text}`);
    }
    return failed('client', fault.text);
  }
  return failed('client', 'The provider gave tokens for a code that does not exist: do not trust it.');
}

function checkClaims({ groupClaim, scopes, mapping }: Provider, metadata: ServerMetadata): ProviderCheck {
  const unknown = scopes.filter(
    (scope) => metadata.scopes_supported && !metadata.scopes_supported.includes(scope),
  );
  if (unknown.length > 0)
    return warning('claims', `The provider does not list the scope ${unknown.join(', ')}.`);
  const [name = groupClaim] = groupClaim.split('.');
  const claims = metadata.claims_supported;
  if (claims && !claims.includes(groupClaim) && !claims.includes(name)) {
    return warning(
      'claims',
      `The provider does not list the claim ${groupClaim}: have it send the groups for this application, or people have no access.`,
    );
  }
  if (mapping.length === 0) return warning('claims', 'No group is mapped to a role yet.');
  return passed('claims', `Groups are read from the claim ${groupClaim}.`);
}

function checkLogout(metadata: ServerMetadata): ProviderCheck {
  if (metadata.end_session_endpoint === undefined) {
    return warning(
      'logout',
      'The provider has no logout: its own session stays when somebody logs out here.',
    );
  }
  if (metadata.backchannel_logout_supported !== true) {
    return warning(
      'logout',
      'The provider does not say that it reports logouts: a logout there does not end sessions here.',
    );
  }
  return passed('logout', 'Logging out here logs out there, and the reverse.');
}

function passed(check: ProviderCheck['check'], text: string): ProviderCheck {
  return { check, outcome: 'passed', text };
}

function failed(check: ProviderCheck['check'], text: string): ProviderCheck {
  return { check, outcome: 'failed', text };
}

function warning(check: ProviderCheck['check'], text: string): ProviderCheck {
  return { check, outcome: 'warning', text };
}
