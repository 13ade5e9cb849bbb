import { type ApprovalPayload, Envelope, ApprovalPayload as Payload } from '@tidegate/protocol/documents';
import {
  type InstalledOn,
  ROLLBACK_SHOWN_MAX,
  type RollbackAnswer,
  type RollbackSkip,
} from '@tidegate/protocol/rollbacks';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Compile } from 'typebox/compile';
import { findAgent, findAgents } from '../agents/store.ts';
import { storedApproval } from '../approval-tokens/store.ts';
import { awaitPlan } from '../commands/await-plan.ts';
import { lastInstallationOf, type OpenedCommand } from '../commands/store.ts';
import { appendEvent } from '../events/append-event.ts';
import { installedVersions } from '../inventory/installed-store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { type GroupScope, isInScope } from '../platform/db/group-scope.ts';
import type { Platform } from '../platform/platform.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { listedUpdate } from '../updates/list-store.ts';
import { lockUpdates } from '../updates/lock-updates.ts';
import { findUpdates } from '../updates/many-store.ts';
import { newRow } from '../updates/record-scan.ts';
import { insertRollback, isUnderWay, markTakenBack, updatesThatBrought } from '../updates/rollbacks-store.ts';
import { insertHistory, insertUpdates } from '../updates/store.ts';
import { namedForEvent } from '../updates/update-set.ts';
import { undoingOf } from './rollback-rules.ts';

const envelopes = Compile(Envelope);
const payloads = Compile(Payload);

type Parts = Pick<Platform, 'database' | 'newId' | 'now'>;

export interface RollbackOrder {
  /** Updates that name the installations, several of one being one order; or a version on hosts. */
  readonly of: readonly string[] | InstalledOn;
  readonly reason: string;
  /** Says what would be undone, and writes nothing. */
  readonly dryRun: boolean;
  /** In whose name the rollbacks are approved once they are planned. */
  readonly operator: string;
  /** Who asks, for the record. */
  readonly actor: string;
  readonly scope: GroupScope;
}

/**
 * Asks for the rollback of installations. Each becomes an update of its own, which takes the ordinary path: the host plans
 * it, the gate judges the plan, and a token binds the old files. One transaction for each, so that one that fails stops
 * no other.
 */
export async function requestRollbacks(
  platform: Parts,
  { of, scope, ...by }: RollbackOrder,
): Promise<RollbackAnswer> {
  const { updateIds, skipped } = await named(platform, { of, scope });
  const answer: RollbackAnswer = { requested: [], skipped };
  for (const updateId of new Set(updateIds)) {
    if (answer.requested.some(({ undoes }) => undoes.includes(updateId))) continue;
    const update = await listedUpdate(platform.database.read, { id: updateId, scope });
    if (update === null) {
      answer.skipped.push({ update_id: updateId, code: 'not_found' });
      continue;
    }
    const outcome = await platform.database.transact((tx) =>
      requestRollback(tx, platform, { updateId, ...by }),
    );
    if (typeof outcome === 'string') {
      answer.skipped.push({ update_id: updateId, agent_id: update.agent_id, code: outcome });
    } else answer.requested.push(outcome);
  }
  return answer;
}

/** The updates that are meant, and the hosts that have none; those outside of the scope are not known. */
async function named(
  { database }: Parts,
  { of, scope }: Pick<RollbackOrder, 'of' | 'scope'>,
): Promise<{ updateIds: readonly string[]; skipped: RollbackAnswer['skipped'] }> {
  if (!('agent_ids' in of)) return { updateIds: of, skipped: [] };
  const agents = await findAgents(database.read, of.agent_ids);
  const visible = [...agents.values()].filter(({ group_name: group }) => isInScope(scope, group));
  const ids = new Set(visible.map(({ id }) => id));
  const found = await updatesThatBrought(database.read, { ...of, agent_ids: [...ids] });
  const having = new Set(found.map(({ agent_id: agentId }) => agentId));
  const skipped = [...new Set(of.agent_ids)]
    .filter((agentId) => !having.has(agentId))
    .map((agentId) => ({
      agent_id: agentId,
      code: ids.has(agentId) ? ('not_installed' as const) : ('not_found' as const),
    }));
  return { updateIds: found.map(({ id }) => id), skipped };
}

type Requested = RollbackAnswer['requested'][number];

async function requestRollback(
  tx: Tx,
  platform: Parts,
  { updateId, reason, operator, actor, dryRun }: Omit<RollbackOrder, 'of' | 'scope'> & { updateId: string },
): Promise<Requested | RollbackSkip> {
  const command = await lastInstallationOf(tx, updateId);
  const approval = command && (await approvalOf(tx, command));
  if (!command || !approval) return 'not_installed';
  const { agent_id: agentId, ecosystem, token_id: tokenId } = approval;
  const agent = await findAgent(tx, agentId);
  if (!agent || agent.status === 'revoked') return 'not_found';
  const undoes = approval.updates.map(({ update_id: id }) => id);
  // Of two requests for one installation the second one sees the first.
  await lockUpdates(tx, { engine: platform.database.engine, updateIds: undoes });
  const names = approval.updates.map(({ name }) => name);
  const versionsOf = await installedVersions(tx, { agentId, ecosystem, names });
  const undoing = undoingOf(
    approval,
    (update) => command.status === 'success' || versionsOf(update).includes(update.to_version),
  );
  if (undoing.kind !== 'undo') return undoing.kind;
  const { main, actions } = undoing;
  const undone = await findUpdates(tx, undoes);
  const { arch = '' } = undone.get(main.update_id) ?? {};
  const present = versionsOf({ name: main.name, arch });
  if (!present.includes(main.to_version) && !present.includes(main.from_version)) return 'changed_since';
  if (await isUnderWay(tx, { tokenId, of: { agentId, ecosystem, name: main.name, arch } }))
    return 'under_way';

  const shown = { actions: actions.slice(0, ROLLBACK_SHOWN_MAX), action_count: actions.length };
  const answer = { agent_id: agentId, token_id: tokenId, undoes, ...shown };
  if (dryRun) return { update_id: null, ...answer };
  const offer = {
    name: main.name,
    arch,
    current_version: main.to_version,
    available_version: main.from_version,
  };
  const row = {
    ...newRow(platform, { agentId, ecosystem, update: offer }),
    // Left to people, as everything that was taken back.
    ...{ rollback_of: tokenId, taken_back: 1, change: null },
  };
  await insertUpdates(tx, [row]);
  await insertHistory(tx, [
    {
      ...{ id: platform.newId(), update_id: row.id, at: row.discovered_at, from_state: null },
      ...{ to_state: 'pending', reason: 'rollback', actor },
    },
  ]);
  await insertRollback(tx, { updateId: row.id, tokenId, actions });
  await markTakenBack(tx, undoes);
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'rollback_requested', severity: 'warning', component: 'approvals' },
    ...{ agentId, actor },
    content: {
      ...namedForEvent([...undone.values()], undoes.length),
      ...{ actor: operator, reason, token_id: tokenId, command_id: command.id, rollback_id: row.id },
    },
  });
  await awaitPlan(tx, platform, {
    ...{ updates: [row], askedBy: operator, policy: null, bulkId: null, askedAtMs: platform.now(), round: 0 },
    ...{ actor, notBeforeMs: null },
  });
  return { update_id: row.id, ...answer };
}

/**
 * The approval that a command carried out. The command's seal holds, and covers the digest of the approval: it is the
 * signed one even where its key was revoked since.
 */
async function approvalOf(tx: Tx, command: OpenedCommand): Promise<ApprovalPayload | null> {
  const { approval_id: tokenId, approval_sha256: sha256 } = command;
  const stored = tokenId === null ? null : await storedApproval(tx, tokenId);
  const envelope = stored && parseStrictJson(stored.envelope);
  if (!envelope?.ok || !envelopes.Check(envelope.value)) return null;
  const bytes = Buffer.from(envelope.value.payload, 'base64');
  const payload = parseStrictJson(bytes);
  if (sha256Hex(bytes) !== sha256 || !payload.ok || !payloads.Check(payload.value)) return null;
  return payload.value;
}
