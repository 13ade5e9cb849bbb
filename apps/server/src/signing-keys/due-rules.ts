import type { SigningKeyRow } from './store.ts';

/** Age at which the signing key should be replaced. */
const KEY_MAX_AGE_MS = 365 * 86_400_000;

/** Whether a key is in use and should be replaced. */
export function isKeyDue(
  { status, in_use: inUse, created_at: createdAtMs }: Pick<SigningKeyRow, 'status' | 'in_use' | 'created_at'>,
  nowMs: number,
): boolean {
  return status === 'active' && inUse === 1 && createdAtMs <= nowMs - KEY_MAX_AGE_MS;
}
