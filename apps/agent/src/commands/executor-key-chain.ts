import { join } from 'node:path';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import { ExecutorState, STATE_MAX_BYTES, STATE_NAME } from '../jobs/executor-state.ts';
import { readTrusted } from '../platform/file-layer.ts';
import { fetchKeyChain } from '../session/refresh-keys.ts';
import type { KeyChain } from '../trust/trusted-keys-chain.ts';
import type { Runtime } from './runtime.ts';

/**
 * The key sets that lead from what the executor trusts to what this agent does. The executor learns of keys by its jobs
 * alone, so it may have slept through any number of them. Null where it is not behind, and where they cannot be fetched:
 * it may be that it does not need them, and it judges that itself.
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

/** Only to know what to fetch: whether to believe it is the executor's own matter, which reads it with more care. */
export function stateOfExecutor(folder: string): ExecutorState | null {
  const path = join(folder, STATE_NAME);
  const read = readTrusted(path, { maxBytes: STATE_MAX_BYTES, ownerUid: null, forbiddenMode: 0 });
  const parsed = read.ok ? parseStrictJson(read.bytes) : null;
  return parsed?.ok && Check(ExecutorState, parsed.value) ? parsed.value : null;
}
