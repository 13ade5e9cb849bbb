import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { appendEvent } from '../events/append-event.ts';
import { endProviderSessions, findProviderSession } from '../operators/identities/store.ts';
import { revokeSession } from '../operators/store.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import type { Platform } from '../platform/platform.ts';
import { openSecret } from '../platform/seal-secret.ts';
import { actorOf } from './apply-grant.ts';
import { CLOCK_TOLERANCE_SECONDS, type ProviderClient } from './provider-client.ts';
import { findProvider, useOnce } from './store.ts';

/** A logout token is refused when it was issued longer ago, in seconds. */
const LOGOUT_TOKEN_AGE_SECONDS = 300;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const text = Type.String({ minLength: 1, maxLength: 255 });
/** OpenID Connect Back-Channel Logout 1.0, section 2.4; issuer, audience, signature and expiry are checked before. */
const LogoutClaims = Compile(
  Type.Object({
    iat: Type.Number(),
    ...{ iss: Type.String(), jti: text },
    sub: Type.Optional(text),
    sid: Type.Optional(text),
    events: Type.Object({ [EVENT]: Type.Object({}) }),
    nonce: Type.Optional(Type.Never()),
  }),
);

export interface LogOutDeps {
  platform: Platform;
  client: ProviderClient;
  key: Buffer;
}

/** Ends the session here, whatever the provider does. Returns where to log out there; null: nowhere. */
export async function logOut(
  { platform, client, key }: LogOutDeps,
  { caller, returnTo }: { caller: OperatorCaller; returnTo: string },
): Promise<string | null> {
  const { sessionId } = caller;
  const opened = await findProviderSession(platform.database.read, sessionId);
  await platform.database.transact((tx) => revokeSession(tx, sessionId, platform.now()));
  const row = opened && (await findProvider(platform.database.read, opened.provider_id));
  if (!row || row.enabled === 0) return null;
  const { sealed_id_token: sealedToken } = opened;
  const idToken = sealedToken === null ? null : openSecret(sealedToken, { key, owner: sessionId });
  return client.logoutUrl(row, { idToken: idToken?.toString() ?? null, returnTo });
}

/** Ends the sessions that a logout token names, once for each token. Returns why it was refused, or null. */
export async function logOutByProvider(
  { platform, client }: Pick<LogOutDeps, 'platform' | 'client'>,
  { providerId, token }: { providerId: string; token: string },
): Promise<string | null> {
  const row = await findProvider(platform.database.read, providerId);
  if (!row) return 'There is no such identity provider.';
  const verified = await client.verifyLogoutToken(row, token);
  if (!verified.ok) return verified.fault.text;
  const claims = verified.value;
  if (!LogoutClaims.Check(claims)) {
    return 'A logout token needs iat, jti and the event backchannel-logout, and has no nonce.';
  }
  const { iat, iss: issuer, jti, sub, sid } = claims;
  if (sub === undefined && sid === undefined) return 'A logout token names sub, sid or both.';
  const nowMs = platform.now();
  const ageSeconds = nowMs / 1_000 - iat;
  if (ageSeconds > LOGOUT_TOKEN_AGE_SECONDS || ageSeconds < -CLOCK_TOLERANCE_SECONDS) {
    return `The token was issued ${Math.round(ageSeconds)} seconds ago by the clock of this server.`;
  }
  const hash = createHash('sha256')
    .update(`logout ${JSON.stringify([row.id, issuer, jti])}`)
    .digest('hex');
  const expiresAt = (iat + LOGOUT_TOKEN_AGE_SECONDS) * 1_000 + 1;
  return platform.database.transact(async (tx) => {
    if (!(await useOnce(tx, { hash, expiresAt, nowMs }))) return 'This token was used before.';
    const ended = await endProviderSessions(tx, {
      providerId: row.id,
      issuer,
      ...(sub === undefined ? {} : { subject: sub }),
      ...(sid === undefined ? {} : { providerSid: sid }),
      nowMs,
    });
    for (const operatorId of new Set(ended.map((one) => one.operatorId))) {
      await appendEvent(tx, platform, {
        kind: 'security',
        type: 'SESSION_REVOKED',
        severity: 'info',
        component: 'identity-providers',
        actor: actorOf(row.id),
        content: {
          operator_id: operatorId,
          provider: row.id,
          sessions: ended.filter((one) => one.operatorId === operatorId).length,
        },
      });
    }
    return null;
  });
}
