import type { SystemEventType } from '@tidegate/protocol/event-types';
import { queueCommand } from '../commands/queue-command.ts';
import { insertRegistrationToken } from '../enrolment/store.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';
import { setDigest } from '../updates/update-set.ts';
import { insertTestAgent, insertTestUpdate } from './agent-rows.ts';

/** One host with a row of every kind that belongs to a host. */
export interface HostRows {
  agentId: string;
  updateId: string;
  commandId: string;
  eventId: string;
  decisionId: string;
  registrationTokenId: string;
  /** Of the approval of the update. */
  tokenId: string;
}

/** Writes a host of this group, or of none if it is null, and one row of each kind that belongs to it. */
export async function insertHostRows(
  platform: Platform,
  { n, group }: { n: number; group: string | null },
): Promise<HostRows> {
  const { agentId } = await insertTestAgent(platform.database, { n, ...(group === null ? {} : { group }) });
  return insertRowsOf(platform, { agentId, n, group });
}

/** Writes one row of each kind that belongs to this host of this group. */
export async function insertRowsOf(
  platform: Platform,
  { agentId, n, group }: { agentId: string; n: number; group: string | null },
): Promise<HostRows> {
  const { database } = platform;
  const expiresAtMs = platform.now() + 86_400_000;
  const { updateId, approval } = await insertTestUpdate(database, {
    agentId,
    n,
    state: 'pending',
    expiresAtMs,
  });
  const [decisionId, registrationTokenId] = [platform.newId(), platform.newId()];
  return database.transact(async (tx) => {
    const scan = { agentId, action: 'scan', params: {}, createdBy: 'ada' } as const;
    const commandId = await queueCommand(tx, platform, scan);
    const named = { command_id: commandId, update_id: updateId };
    await tx.insertInto('command_updates').values(named).execute();
    const eventId = await appendEvent(tx, platform, {
      kind: 'system',
      type: 'agent_offline' satisfies SystemEventType,
      severity: 'warning',
      component: 'agents',
      agentId,
      content: { hostname: `host-${n}` },
    });
    await tx
      .insertInto('decisions')
      .values({
        id: decisionId,
        agent_id: agentId,
        set_sha256: setDigest([updateId]),
        outcome: 'blocked',
        actor: 'ada',
        fingerprint: 'f'.repeat(64),
        document: '{}',
        document_sha256: 'd'.repeat(64),
        decided_at: platform.now(),
        repeats: 0,
      })
      .execute();
    await tx
      .insertInto('decision_updates')
      .values({ decision_id: decisionId, update_id: updateId, stopped: 1 })
      .execute();
    await insertRegistrationToken(tx, {
      ...{ id: registrationTokenId, label: 'x', secret_hash: `hash-${n}`, seats: 1, seats_used: 0 },
      ...{
        group_name: group,
        tags: '[]',
        created_by: 'ada',
        created_at: 1,
        expires_at: expiresAtMs,
        deleted_at: null,
      },
    });
    const { tokenId } = approval;
    return { agentId, updateId, commandId, eventId, decisionId, registrationTokenId, tokenId };
  });
}
