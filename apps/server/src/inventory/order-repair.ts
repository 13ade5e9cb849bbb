import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { PackageCondition } from '@tidegate/protocol/package-condition';
import type { Repair } from '@tidegate/protocol/repairs';
import { Value } from 'typebox/value';
import { queueForHost } from '../commands/host-commands.ts';
import { COMMAND_LIFETIME_MS } from '../commands/queue-command.ts';
import { hasOpenRepair } from '../commands/store.ts';
import { appendEvent } from '../events/append-event.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { findReport, type ReportRow } from './store.ts';

/** Packages that an event names. */
const EVENT_PACKAGES_MAX = 50;

/** What a report says is wrong with the packages of its host; null where it says nothing. */
export function conditionOf({ condition }: Pick<ReportRow, 'condition'>): PackageCondition | null {
  return condition === null ? null : Value.Parse(PackageCondition, JSON.parse(condition));
}

/** What an operator has seen of a repair, in one number: SHA-256 of its canonical JSON (RFC 8785). */
export function repairDigest(repair: Repair): string {
  return sha256Hex(canonicalJson(repair));
}

/**
 * Queues the repair that the host offers, exactly as the operator saw it, and records who ordered it. The command is
 * all that is signed: it names every package and every script. Returns its id.
 *
 * Throws `Refusal`: `not_found` without such a host, `conflict` where it offers another repair by now, or none, or
 * where one is under way.
 */
export async function orderRepair(
  platform: Platform,
  { agentId, sha256, by }: { agentId: string; sha256: string; by: string },
): Promise<string> {
  return queueForHost(platform, agentId, async (tx, queue) => {
    const report = await findReport(tx, { agentId, ecosystem: 'apt' });
    const repair = (report && conditionOf(report)?.repair) ?? null;
    if (repair === null) {
      throw new Refusal('conflict', { detail: 'The host reports nothing that a repair could finish.' });
    }
    if (repairDigest(repair) !== sha256) {
      throw new Refusal('conflict', {
        detail: 'The host reports something else by now: look at what it offers, and order that.',
      });
    }
    const sinceMs = platform.now() - COMMAND_LIFETIME_MS;
    if (await hasOpenRepair(tx, { agentId, sinceMs })) {
      throw new Refusal('conflict', { detail: 'A repair of this host is under way.' });
    }
    const commandId = await queue({ action: 'repair', params: repair, createdBy: by });
    const { packages } = repair;
    await appendEvent(tx, platform, {
      ...{ kind: 'system', type: 'repair_ordered', severity: 'warning', component: 'commands' },
      ...{ agentId, actor: by },
      content: {
        ...{ actor: by, command_id: commandId, sha256, package_count: packages.length },
        packages: packages.slice(0, EVENT_PACKAGES_MAX).map(({ name, version }) => `${name} ${version}`),
      },
    });
    return commandId;
  });
}
