import { KEY_CHAIN_MAX, KEY_SETS_PAGE, PublicKeysAnswer } from '@tidegate/protocol/documents';
import { Check } from 'typebox/value';
import type { ConfigFile, TrustedKeySet } from '../identity/config-file.ts';
import { type Outcome, retryable } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import { claimedKeySet } from '../trust/trusted-keys.ts';
import {
  type ChainOutcome,
  type ChainRefusal,
  isChainUseful,
  type KeyChain,
  takeNewest,
  walkChain,
} from '../trust/trusted-keys-chain.ts';
import type { ServerClient } from './server-client.ts';

/** Where the trusted keys are kept, and who is asked for newer ones. */
export interface KeyParts {
  client: ServerClient;
  config: ConfigFile;
  log: Log;
  /** `trustedNow`. */
  nowMs: () => number;
}

export type KeysRefreshed = { changed: boolean; refusal: ChainRefusal | null };

/**
 * Fetches the key set (E8) and accepts it if a trusted key vouches for it, directly or through the sets in
 * between; it is on disk before it is trusted.
 */
export async function refreshKeys({ client, config, nowMs, log }: KeyParts): Promise<Outcome<KeysRefreshed>> {
  const current = config.current().trusted_keys;
  const fetched = await fetchSince(client, current);
  if (!fetched.ok) return fetched;
  const reached = await reachNewest(client, { current, answer: fetched.value, nowMs: nowMs() });
  if (!reached.ok) return reached;
  const outcome = reached.value;
  if (!outcome.ok) {
    const refusal = outcome.reason === 'not_newer' ? null : outcome.reason;
    if (refusal !== null) log.warn('a fetched key set was refused', { reason: refusal });
    return { ok: true, value: { changed: false, refusal } };
  }
  const saved = config.change({ trusted_keys: outcome.keys, key_set: outcome.envelope });
  if (!saved.ok) return { ok: false, failure: { kind: 'storage', detail: saved.detail } };
  log.info('signing keys refreshed', { key_set_version: outcome.keys.version });
  return { ok: true, value: { changed: true, refusal: null } };
}

/** The server's key sets after `from`, unverified. */
export async function fetchKeyChain(client: ServerClient, from: TrustedKeySet): Promise<Outcome<KeyChain>> {
  const fetched = await fetchSince(client, from);
  return fetched.ok ? fetchRest(client, { current: from, answer: fetched.value }) : fetched;
}

async function reachNewest(
  client: ServerClient,
  { current, answer, nowMs }: { current: TrustedKeySet; answer: PublicKeysAnswer; nowMs: number },
): Promise<Outcome<ChainOutcome>> {
  const { key_set: envelope, key_sets = [], roots = [] } = answer;
  const first = takeNewest(current, { envelope, chain: { key_sets: [], roots } }, nowMs);
  if (first.ok || !isChainUseful(first.reason, { key_sets })) return { ok: true, value: first };
  const chain = await fetchRest(client, { current, answer });
  return chain.ok ? { ok: true, value: walkChain(current, chain.value, nowMs) } : chain;
}

/** Fetches pages until one is not full; keeps one set more than the limit, so that the walk can detect the excess. */
async function fetchRest(
  client: ServerClient,
  { current, answer }: { current: TrustedKeySet; answer: PublicKeysAnswer },
): Promise<Outcome<KeyChain>> {
  const { key_sets = [], roots = [] } = answer;
  const links = [...key_sets];
  let page = key_sets;
  while (page.length === KEY_SETS_PAGE && links.length <= KEY_CHAIN_MAX) {
    const version = claimedKeySet(page.at(-1))?.version;
    if (version === undefined) break;
    const more = await fetchSince(client, { ...current, version });
    if (!more.ok) return more;
    page = more.value.key_sets ?? [];
    links.push(...page);
  }
  return { ok: true, value: { key_sets: links, roots } };
}

async function fetchSince(
  client: ServerClient,
  { version, root }: TrustedKeySet,
): Promise<Outcome<PublicKeysAnswer>> {
  const path = `/api/v1/public-keys?since=${version}&root_since=${root?.version ?? 0}`;
  const answer = await client.request({ method: 'GET', path });
  if (answer.kind === 'unreachable') return retryable(`public keys: ${answer.detail}`, answer.retryAfterMs);
  if (answer.kind === 'problem') return retryable(`public keys: ${answer.code}`, answer.retryAfterMs);
  if (!Check(PublicKeysAnswer, answer.body)) return retryable('public keys: an answer in an unknown format');
  return { ok: true, value: answer.body };
}
