import { PublicKeysAnswer } from '@tidegate/protocol/documents';
import { Check } from 'typebox/value';
import { type Outcome, retryable } from './failures.ts';
import type { Runtime } from './runtime.ts';
import { acceptKeySet, type KeySetRefusal } from './trusted-keys.ts';

export type KeysRefreshed = { changed: boolean; refusal: KeySetRefusal | null };

/** Fetches the key set (E8) and takes it where a trusted key vouches for it; it is on disk before it is believed. */
export async function refreshKeys({
  client,
  config,
  nowMs,
  log,
}: Pick<Runtime, 'client' | 'config' | 'nowMs' | 'log'>): Promise<Outcome<KeysRefreshed>> {
  const answer = await client.request({ method: 'GET', path: '/api/v1/public-keys' });
  if (answer.kind === 'unreachable') return retryable(`public keys: ${answer.detail}`, answer.retryAfterMs);
  if (answer.kind === 'problem') return retryable(`public keys: ${answer.code}`, answer.retryAfterMs);
  if (!Check(PublicKeysAnswer, answer.body)) return retryable('public keys: an answer of unknown form');
  const accepted = acceptKeySet(config.current().trusted_keys, answer.body.key_set, nowMs());
  if (!accepted.ok) {
    const refusal = accepted.reason === 'not_newer' ? null : accepted.reason;
    if (refusal !== null) log.warn('a fetched key set was refused', { reason: refusal });
    return { ok: true, value: { changed: false, refusal } };
  }
  const saved = config.change({ trusted_keys: accepted.keys, key_set: answer.body.key_set });
  if (!saved.ok) return { ok: false, failure: { kind: 'storage', detail: saved.detail } };
  log.info('signing keys refreshed', { key_set_version: accepted.keys.version });
  return { ok: true, value: { changed: true, refusal: null } };
}
