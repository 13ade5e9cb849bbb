import { join } from 'node:path';
import { ExecutorState, STATE_MAX_BYTES, STATE_NAME } from '../jobs/executor-state.ts';
import { readTrustedJson } from '../platform/trusted-json.ts';
import { fetchKeyChain } from '../session/refresh-keys.ts';
import type { KeyChain } from '../trust/trusted-keys-chain.ts';
import type { Runtime } from './runtime.ts';

/**
 * The key sets between the executor's trusted version and this agent's. The executor learns of keys only through
 * jobs, so it may have missed any number of versions. Null when it is up to date, and when the sets cannot be
 * fetched: the executor may not need them and decides itself.
 */
export async function chainForExecutor(
  { client, config }: Pick<Runtime, 'client' | 'config'>,
  stateFolder: string,
): Promise<KeyChain | null> {
  const pinned = stateOfExecutor(stateFolder)?.trusted_keys ?? null;
  if (pinned === null || pinned.version >= config.current().trusted_keys.version) return null;
  const fetched = await fetchKeyChain(client, pinned);
  return fetched.ok ? fetched.value : null;
}

/** Only selects what to fetch. The executor verifies its own copy strictly. */
export function stateOfExecutor(folder: string): ExecutorState | null {
  const trust = { maxBytes: STATE_MAX_BYTES, ownerUid: null, forbiddenMode: 0 };
  return readTrustedJson(join(folder, STATE_NAME), ExecutorState, trust);
}
