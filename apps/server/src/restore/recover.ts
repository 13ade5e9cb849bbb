import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { recallKeySets } from '../signing-keys/recall-keys.ts';
import { insertFleet, lockFleet, newestKeySet, readFleet, setEpoch } from '../signing-keys/store.ts';
import { type EpochFile, memoryOf } from './epoch-file.ts';
import { type DatabaseFacts, type EpochVerdict, judgeEpoch } from './epoch-rules.ts';
import type { RememberedKeys } from './key-sets-file.ts';
import { NoKeyLeft, type RevokedAgain, replayRevocations } from './replay-revocations.ts';
import type { RevocationJournal } from './revocation-journal.ts';
import {
  countActiveFamilies,
  countLiveServers,
  eventHashAt,
  readEventHead,
  readMarks,
  settleRestore,
} from './store.ts';

/** A server not seen for this long has stopped, in milliseconds. */
export const SERVER_GONE_MS = 120_000;
/** If no key set is remembered, versions continue this far above: agents accept only newer sets than theirs. */
export const KEY_SET_GAP = 1_000;

export interface RecoverParts {
  file: EpochFile | null;
  /** The key sets and roots in the data folder. */
  keys: RememberedKeys;
  journal: Pick<RevocationJournal, 'entries'>;
  /** Public halves of the signing keys whose private halves this server has. */
  held: ReadonlySet<string>;
}

export type RecoverOutcome =
  | { ok: true; verdict: EpochVerdict; revokedAgain: RevokedAgain }
  /** The log line of the refused start. */
  | { ok: false; fault: string };

/**
 * Compares the database with what this server recorded outside it (T20, reading 12). Begins a new epoch if the
 * database was restored, brings newer keys back, and revokes again what the journal names. One transaction,
 * safe to repeat.
 */
export async function recover(platform: Platform, parts: RecoverParts): Promise<RecoverOutcome> {
  try {
    const outcome = await platform.database.transact((tx) => recoverIn(tx, platform, parts));
    const { verdict, revokedAgain } = outcome;
    if (verdict.kind === 'restored') {
      platform.log.error('THE DATABASE WAS RESTORED OR REPLACED; a new epoch begins: see RESTORE_DETECTED', {
        epoch: verdict.epoch,
        sign: verdict.sign,
        ...revokedAgain,
      });
    } else if (countOf(revokedAgain) > 0) {
      platform.log.warn('revocations of the journal were made again', { ...revokedAgain });
    }
    return { ok: true, ...outcome };
  } catch (error) {
    if (error instanceof NoKeyLeft) return { ok: false, fault: error.message };
    throw error;
  }
}

async function recoverIn(
  tx: Tx,
  platform: Platform,
  parts: RecoverParts,
): Promise<{ verdict: EpochVerdict; revokedAgain: RevokedAgain }> {
  const { file, journal, held } = parts;
  const { engine } = platform.database;
  const { facts, backupCreatedAtMs } = await readFacts(tx, { file, nowMs: platform.now() });
  const verdict = judgeEpoch(file && memoryOf(file), facts);
  if (verdict.kind === 'restored') {
    if (facts.fleetId === null) {
      const at = { epoch: verdict.epoch, created_at: platform.now() };
      await insertFleet(tx, { fleet_id: platform.newId(), ...at });
    } else {
      await setEpoch(tx, verdict.epoch);
    }
    // The remembered key sets show which versions agents may hold; without them a gap has to be enough.
    const newest = (await newestKeySet(tx))?.version ?? 0;
    await settleRestore(tx, newest > 0 && parts.keys.key_sets.length === 0 ? newest + KEY_SET_GAP : 0);
  }
  const keysRecalled = await recallKeySets(tx, { remembered: parts.keys, held });
  const { revokedAgain, lostReuses } = await replayRevocations(tx, { journal, engine, held });
  if (verdict.kind === 'restored') {
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'RESTORE_DETECTED',
      severity: 'critical',
      component: 'restore',
      actor: 'server',
      content: {
        sign: verdict.sign,
        epoch: verdict.epoch,
        previous_epoch: facts.epoch,
        backup_created_at: backupCreatedAtMs === null ? null : rfc3339(backupCreatedAtMs),
        database_events: facts.eventsPosition,
        remembered_events: file?.events.position ?? null,
        remembered_at: file?.written_at ?? null,
        events_lost: file === null ? null : Math.max(0, file.events.position - facts.eventsPosition),
        keys_recalled: keysRecalled,
        revoked_again: revokedAgain,
        active_families: await countActiveFamilies(tx),
      },
    });
  } else if (countOf(revokedAgain) > 0) {
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'AGENT_REVOKED',
      severity: 'warning',
      component: 'restore',
      actor: 'server',
      content: { act: 'journal_replayed', ...revokedAgain },
    });
  }
  for (const { familyId, agentId, reason, atMs } of lostReuses) {
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'REFRESH_TOKEN_REUSE',
      severity: 'critical',
      component: 'restore',
      agentId,
      actor: 'server',
      content: { family_id: familyId, reason, act: 'journal_replayed', at: rfc3339(atMs) },
    });
  }
  return { verdict, revokedAgain };
}

/** Locks the fleet's row, so the second of two replicas sees the result of the first. */
export async function readFacts(
  tx: Tx,
  { file, nowMs }: { file: EpochFile | null; nowMs: number },
): Promise<{ facts: DatabaseFacts; backupCreatedAtMs: number | null }> {
  const fleet = (await readFleet(tx)) && (await lockFleet(tx));
  const marks = await readMarks(tx);
  const facts: DatabaseFacts = {
    fleetId: fleet?.fleet_id ?? null,
    epoch: fleet?.epoch ?? 0,
    mark: marks.mark,
    eventsPosition: (await readEventHead(tx)).position,
    hashAtMemory: file === null ? null : await eventHashAt(tx, file.events.position),
    isRestored: marks.restored_at !== null,
    liveServers: await countLiveServers(tx, nowMs - SERVER_GONE_MS),
  };
  return { facts, backupCreatedAtMs: marks.backup_created_at };
}

function countOf({ families, agents, keys, api_tokens, operators }: RevokedAgain): number {
  return families + agents + keys + api_tokens + operators;
}
