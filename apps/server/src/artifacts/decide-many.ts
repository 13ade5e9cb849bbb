import type { DecideManyRequest, DecideManyResult } from '@tidegate/protocol/artifacts-api';
import type { Platform } from '../platform/platform.ts';
import { decideDivergence } from './decide-divergence.ts';

/** Decides divergences one by one, each in its own transaction, and reports those that could not be decided. */
export async function decideMany(
  platform: Platform,
  { request, operator }: { request: DecideManyRequest; operator: string },
): Promise<DecideManyResult> {
  const { reason, decisions } = request;
  const result: DecideManyResult = { decided: [], failed: [] };
  for (const { id, ...decision } of decisions) {
    const outcome = await decideDivergence(platform, { id, request: { ...decision, reason }, operator });
    if (outcome.kind === 'decided') result.decided.push(id);
    else result.failed.push({ id, reason: outcome.kind });
  }
  return result;
}
