import type { Progress } from '@tidegate/protocol/progress-api';
import { RestartReport } from '@tidegate/protocol/restarts';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { CommandStatus, UpdateState } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import { isTooOld } from '../agents/guard-rules.ts';
import { hostsInScope, withTags } from '../agents/host-scope.ts';
import { isOnline } from '../agents/presence.ts';
import { type AgentRow, findAgent } from '../agents/store.ts';
import { CHANGING_ACTIONS, createFreezes, createThaws } from '../blackouts/blackout-rules.ts';
import { liveBlackouts } from '../blackouts/store.ts';
import { oneCommandItem } from '../commands/command-view.ts';
import { findHostedCommand, type HostedCommand } from '../commands/store.ts';
import { namesPackage } from '../holds/hold-rules.ts';
import { holdsInForce } from '../holds/store.ts';
import { updatesNamedBy } from '../package-history/installations-store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { findUpdate, type UpdateRow } from '../updates/store.ts';
import { rebootOf } from './reboot-facts.ts';
import { commandAhead, commandOf, currentCommand, ringOf, unsignedUpdate } from './store.ts';
import { type WaitFacts, waitsOf } from './wait-rules.ts';

/** The first agent that says when an installation begins. */
const TELLS_INSTALLING = '0.2.0';

interface Asked {
  readonly id: string;
  readonly nowMs: number;
}

/** Null: there is no such command; the same for those below. */
export async function progressOfCommand(db: Db, { id, nowMs }: Asked): Promise<Progress | null> {
  const command = await findHostedCommand(db, id);
  return (
    command && progressOf(db, { agentId: command.agent_id, command, update: null, nowMs, outlivesHost: true })
  );
}

export async function progressOfUpdate(db: Db, { id, nowMs }: Asked): Promise<Progress | null> {
  const update = await findUpdate(db, id);
  if (update === null) return null;
  const command = await commandOf(db, update);
  return progressOf(db, { agentId: update.agent_id, command, update, nowMs, outlivesHost: false });
}

/** What the host does, will do next, or did last. */
export async function progressOfHost(db: Db, { id, nowMs }: Asked): Promise<Progress | null> {
  const command = await currentCommand(db, id);
  return progressOf(db, { agentId: id, command, update: null, nowMs, outlivesHost: false });
}

interface Subject {
  readonly agentId: string;
  readonly command: HostedCommand | null;
  readonly update: UpdateRow | null;
  readonly nowMs: number;
  /** The history of a deleted host stays, and waits for nothing; the host itself and its updates are gone. */
  readonly outlivesHost: boolean;
}

async function progressOf(db: Db, subject: Subject): Promise<Progress | null> {
  const { agentId, command, nowMs, outlivesHost } = subject;
  const agent = await findAgent(db, agentId);
  if (agent === null && !outlivesHost) return null;
  const waits = agent ? waitsOf(await factsOf(db, subject, agent), nowMs) : [];
  return {
    as_of: rfc3339(nowMs),
    command: command && (await oneCommandItem(db, command)),
    waits: waits.map(({ untilMs, sinceMs, ...wait }) => ({
      ...wait,
      until: untilMs === null ? null : rfc3339(untilMs),
      since: sinceMs === null ? null : rfc3339(sinceMs),
    })),
  };
}

async function factsOf(db: Db, { command, update, nowMs }: Subject, agent: AgentRow): Promise<WaitFacts> {
  const isChanging = CHANGING_ACTIONS.some((action) => action === command?.action);
  return {
    host: {
      id: agent.id,
      isRevoked: agent.status === 'revoked',
      isOnline: isOnline(agent, nowMs),
      tellsInstalling: !isTooOld(agent.agent_version, TELLS_INSTALLING),
    },
    update: update && Value.Parse(UpdateState, update.state),
    command: command && {
      status: Value.Parse(CommandStatus, command.status),
      isChanging,
      notBeforeMs: command.not_before,
      isInstallation: command.action === 'install_update',
      startedAtMs: command.started_at,
      installingAtMs: command.installing_at,
    },
    ...(await standing(db, { command, update, nowMs }, agent)),
    ring: update && (await ringOf(db, update)),
    ahead: command && (await commandAhead(db, command)),
    restart: command && restartAfter(command, agent),
    unsigned: command && (await unsignedUpdate(db, command)),
    reboot: await rebootOf(db, { command, agent, nowMs }),
  };
}

/** The holds and the blackout that are for this host, and of the holds those on these packages. */
async function standing(
  db: Db,
  { command, update, nowMs }: Pick<Subject, 'command' | 'update' | 'nowMs'>,
  agent: AgentRow,
): Promise<Pick<WaitFacts, 'holds' | 'blackout'>> {
  const inForce = await holdsInForce(db, nowMs);
  const blackouts = await liveBlackouts(db, nowMs);
  if (inForce.length + blackouts.length === 0) return { holds: [], blackout: null };
  const scopes = [...inForce, ...blackouts].map(({ scope }) => scope);
  const [host] = await withTags(db, [{ id: agent.id, group: agent.group_name }], scopes);
  if (!host) throw new Error('a host without its tags');
  const named = command ? await updatesNamedBy(db, command.id) : update ? [update] : [];
  const packages = named.map(({ ecosystem, name }) => ({
    ecosystem: Value.Parse(Ecosystem, ecosystem),
    name,
  }));
  const frozen = createFreezes(blackouts, nowMs).of(host);
  return {
    holds: inForce.filter(
      (hold) => hostsInScope(hold.scope)(host) && packages.some((one) => namesPackage(hold, one)),
    ),
    blackout: frozen && {
      ...{ id: frozen.blackout.id, name: frozen.blackout.name },
      untilMs: createThaws(blackouts, nowMs)(host),
    },
  };
}

/** What of an installation still runs the old version: as long as the host has not booted, and reports it. */
function restartAfter({ restarts }: HostedCommand, agent: AgentRow): WaitFacts['restart'] {
  if (restarts === null) return null;
  const { boot_id: bootId, reboot, services } = Value.Parse(RestartReport, JSON.parse(restarts));
  if (bootId !== agent.boot_id) return null;
  if (reboot.need === 'needed' && agent.reboot_need === 'needed') return 'reboot';
  return services.need === 'needed' && agent.services_restart === 'needed' ? 'services' : null;
}
