import { CheckInAnswer, CheckInRequest } from '@tidegate/protocol/agent-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { bindMachine } from '../agents/bind-machine.ts';
import type { Observation } from '../agents/clone-rules.ts';
import { isTooOld } from '../agents/guard-rules.ts';
import { recordMismatch } from '../agents/record-mismatch.ts';
import { forgetRestarts } from '../agents/restarts-store.ts';
import { recordBoot, recordUptimeWentBack, suspectClone } from '../agents/suspect-clone.ts';
import { type DeliveryKeys, deliverCommands } from '../commands/deliver-commands.ts';
import type { Config } from '../config.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { AgentCaller } from '../platform/http/access.ts';
import { CHECK_IN_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { CHECK_IN_ACCESS } from './access.ts';
import type { Addresses } from './addresses.ts';
import { createAnswers } from './answer.ts';
import { isIdle, isUnchanged } from './idle-rules.ts';
import type { LastSeen } from './last-seen.ts';
import { hasDueCommands, writeFacts } from './store.ts';

export interface CheckInDeps {
  platform: Platform;
  config: Pick<Config, 'minAgentVersion'>;
  keyRing: DeliveryKeys & Pick<KeyRing, 'state'>;
  lastSeen: LastSeen;
  addresses: Addresses;
}

const NO_COMMANDS: readonly string[] = [];

/**
 * The check-in, by far the most frequent request. Without news it costs the guard's coalesced read and an
 * update of `last_seen` in memory: the request writes and signs nothing.
 */
export function mountCheckIn(routes: Routes, deps: CheckInDeps): void {
  const { platform, keyRing, lastSeen, addresses } = deps;
  const answers = createAnswers(platform.random);
  routes.agent({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/check-in',
    access: CHECK_IN_ACCESS,
    bodyMaxBytes: CHECK_IN_MAX_BYTES,
    schema: {
      summary: "Report an agent's state and get its commands",
      tags: ['agents'],
      params: strict({ agent_id: Uuid }),
      body: CheckInRequest,
      // The handler returns serialized JSON.
      response: { 200: Type.Unsafe<string>(CheckInAnswer) },
      refuses: ['conflict'],
    },
    handler: async ({ agent: caller, body: facts, request, reply }) => {
      const nowMs = platform.now();
      const seen = { atMs: nowMs, bootId: facts.boot_id, address: request.ip };
      const intervalSeconds = answers.intervalOf(caller);
      const commands = isIdle(caller, facts)
        ? NO_COMMANDS
        : await takeNews(deps, { caller, facts, nowMs, seen });
      if (commands === 'foreign_machine') {
        const { agentId, machineId } = caller;
        await recordMismatch(platform, request, { agentId, recorded: null, reported: machineId });
        throw new Refusal('conflict', { detail: 'The machine belongs to another agent.' });
      }
      const { agentId } = caller;
      const evidence = addresses.record({
        ...{ agentId, seen, intervalSeconds },
        socketAddress: request.socket.remoteAddress,
      });
      if (evidence) {
        await platform.database.transact((tx) =>
          suspectClone(tx, platform, { agentId, sign: 'address_alternates', evidence }),
        );
      }
      lastSeen.record(agentId, nowMs, intervalSeconds);
      const text = answers.text({ caller, facts, nowMs, state: await keyRing.state(), commands });
      reply.header('content-type', 'application/json; charset=utf-8');
      return text;
    },
  });
}

interface Visit {
  caller: AgentCaller;
  facts: CheckInRequest;
  nowMs: number;
  seen: Observation;
}

/**
 * In one transaction: binds an unbound machine, writes changed facts, takes receipts and delivers commands.
 */
async function takeNews(
  { platform, config, keyRing }: CheckInDeps,
  { caller, facts, nowMs, seen }: Visit,
): Promise<readonly string[] | 'foreign_machine'> {
  const { agentId, machineId } = caller;
  const { database } = platform;
  // Commands can be withheld for hours; they must not cost a transaction per check-in.
  if (
    caller.bound &&
    isUnchanged(caller, facts) &&
    !(await hasDueCommands(database.read, { agentId, nowMs }))
  ) {
    return NO_COMMANDS;
  }
  return database.transact(async (tx) => {
    if (!caller.bound) {
      const outcome = await bindMachine(tx, platform, { agentId, machineId, by: 'check-in' });
      if (outcome === 'foreign_machine') return outcome;
      if (outcome === 'conflict') {
        throw new Refusal('conflict', { detail: 'The agent was bound or revoked meanwhile.' });
      }
    }
    await writeSeen(tx, platform, { caller, facts, seen });
    // An agent below the minimum version gets only its own update.
    const ownUpdateOnly = isTooOld(facts.agent_version, config.minAgentVersion);
    const { received } = facts;
    return deliverCommands(tx, platform, keyRing, { agentId, machineId, received, ownUpdateOnly });
  });
}

/** Writes the reported facts, and records facts that one machine cannot report (T3). */
async function writeSeen(
  tx: Tx,
  platform: Platform,
  { caller, facts, seen }: Pick<Visit, 'caller' | 'facts' | 'seen'>,
): Promise<void> {
  const { agentId } = caller;
  if (!(await writeFacts(tx, { agentId, facts, anyUptime: false }))) {
    await writeFacts(tx, { agentId, facts, anyUptime: true });
    await recordUptimeWentBack(tx, platform, { agentId, seen });
  } else if (caller.bootId !== facts.boot_id) {
    await forgetRestarts(tx, { agentId, bootId: facts.boot_id });
    await recordBoot(tx, platform, { agentId, seen });
  }
}
