import {
  ORIGIN_TYPE,
  ORIGINS_MAX,
  type OriginPayload,
  type OriginRequest,
} from '@tidegate/protocol/origins-api';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, guarded, repeat } from '../platform/repeat.ts';
import { sha256Hex } from '../platform/sha256.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { type AnyOriginRow, endOrigin, expiredOrigins, insertOrigin, originsInForce } from './store.ts';

/** Every registration ends; longest life in milliseconds. */
const LIFETIME_MAX_MS = 365 * 24 * 3_600_000;
/** Registrations whose end is recorded in one transaction. */
const BATCH = 100;

export interface OriginDeps {
  readonly platform: Platform;
  readonly keyRing: Pick<KeyRing, 'fleetId' | 'signer'>;
}

/** What is wrong with a request of the right form; null if nothing is. */
export function originFault(
  { rule, min_age_days: days, ends_at: endsAt }: OriginRequest,
  nowMs: number,
): { path: string; message: string } | null {
  if ((rule === 'allow_older_than') !== (days !== null)) {
    const message =
      rule === 'allow_older_than' ? 'must say how many days, 1 to 365' : `must be null for ${rule}`;
    return { path: '/min_age_days', message };
  }
  const endsAtMs = Date.parse(endsAt);
  if (endsAtMs > nowMs && endsAtMs <= nowMs + LIFETIME_MAX_MS) return null;
  return { path: '/ends_at', message: 'must be a time in the next 365 days' };
}

/** Signs and stores a registration with its event. Throws a Refusal if more would be in force than allowed. */
export async function registerOrigin(
  tx: Tx,
  { platform, keyRing }: OriginDeps,
  { request, actor }: { request: OriginRequest; actor: string },
): Promise<AnyOriginRow> {
  const nowMs = platform.now();
  if ((await originsInForce(tx, nowMs)).length >= ORIGINS_MAX) {
    throw new Refusal('conflict', {
      detail: `At most ${ORIGINS_MAX} origins may be registered. Revoke some first.`,
    });
  }
  const id = platform.newId();
  const payload: OriginPayload = {
    ...{ v: 1, fleet_id: keyRing.fleetId, origin_id: id, ...request },
    ...{ created_by: actor, created_at: rfc3339(nowMs) },
  };
  const bytes = Buffer.from(JSON.stringify(payload));
  const row = {
    id,
    sha256: sha256Hex(bytes),
    envelope: JSON.stringify(keyRing.signer().sign(ORIGIN_TYPE, bytes)),
    ecosystem: request.ecosystem,
    signing_key: request.key,
    suites: JSON.stringify(request.suites),
    rule: request.rule,
    min_age_days: request.min_age_days,
    reason: request.reason,
    ...{ created_by: actor, created_at: nowMs, ends_at: Date.parse(request.ends_at) },
    ...{ ended_at: null, end_reason: null, ended_by: null },
  };
  await insertOrigin(tx, row);
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'origin_registered', severity: 'warning', component: 'security', actor },
    content: { ...aboutOrigin(row), reason: row.reason, ends_at: rfc3339(row.ends_at), actor },
  });
  return row;
}

/** Revokes a registration, with its event; false when there is none in force. Approvals that used it keep their token. */
export async function revokeOrigin(
  tx: Tx,
  platform: Platform,
  { id, actor }: { id: string; actor: string },
): Promise<boolean> {
  const row = await endOrigin(tx, { id, by: actor, reason: 'revoked', nowMs: platform.now() });
  if (!row) return false;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'origin_revoked', severity: 'info', component: 'security', actor },
    content: { ...aboutOrigin(row), actor },
  });
  return true;
}

/** Records that registrations have ended. They count no longer from their very end, whether this has run or not. */
export function createOriginBackground(
  platform: Platform,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  return repeat({
    intervalMs,
    run: () => guarded(platform, 'recording ended origins failed', () => recordEndedOrigins(platform)),
  });
}

export async function recordEndedOrigins(platform: Platform): Promise<void> {
  const nowMs = platform.now();
  const ids = await expiredOrigins(platform.database.read, { nowMs, limit: BATCH });
  if (ids.length === 0) return;
  await platform.database.transact(async (tx) => {
    for (const id of ids) {
      const row = await endOrigin(tx, { id, by: 'server', reason: 'expired', nowMs });
      if (!row) continue;
      await appendEvent(tx, platform, {
        ...{ kind: 'system', type: 'origin_expired', severity: 'info', component: 'security' },
        ...{ actor: 'server', content: aboutOrigin(row) },
      });
    }
  });
}

function aboutOrigin({ id, sha256, ecosystem, signing_key, suites, rule, min_age_days }: AnyOriginRow) {
  return {
    origin_id: id,
    sha256,
    ecosystem,
    key: signing_key,
    suites: JSON.parse(suites),
    rule,
    min_age_days,
  };
}
