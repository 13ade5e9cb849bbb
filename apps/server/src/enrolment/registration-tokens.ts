import {
  type CreateRegistrationToken,
  REGISTRATION_TOKEN_DEFAULT_MS,
  REGISTRATION_TOKEN_MAX_MS,
} from '@tidegate/protocol/enrolment-api';
import type { Platform } from '../platform/platform.ts';
import { hashRegistrationSecret, makeRegistrationSecret } from './registration-secrets.ts';
import { insertRegistrationToken, type RegistrationTokenRow } from './store.ts';

export type CreateOutcome =
  | { ok: true; row: RegistrationTokenRow; secret: string }
  | { ok: false; message: string };

/** Makes a registration token; its secret is in this answer and nowhere else. */
export async function createRegistrationToken(
  platform: Platform,
  { request, actor }: { request: CreateRegistrationToken; actor: string },
): Promise<CreateOutcome> {
  const nowMs = platform.now();
  const expiresAtMs =
    request.expires_at === undefined ? nowMs + REGISTRATION_TOKEN_DEFAULT_MS : Date.parse(request.expires_at);
  // Written so that a time that is none (2026-02-31) is refused too.
  if (!(expiresAtMs > nowMs && expiresAtMs <= nowMs + REGISTRATION_TOKEN_MAX_MS)) {
    return { ok: false, message: 'must be in the future and at most 90 days away' };
  }
  const secret = makeRegistrationSecret(platform.random);
  const secretHash = hashRegistrationSecret(secret);
  if (secretHash === null) throw new Error('a new registration token has the wrong form');
  const row: RegistrationTokenRow = {
    id: platform.newId(),
    label: request.label,
    secret_hash: secretHash,
    seats: request.seats ?? 1,
    seats_used: 0,
    created_by: actor,
    created_at: nowMs,
    expires_at: expiresAtMs,
    deleted_at: null,
  };
  await platform.database.transact((tx) => insertRegistrationToken(tx, row));
  return { ok: true, row, secret };
}
