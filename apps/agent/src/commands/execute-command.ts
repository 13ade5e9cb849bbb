import type { CommandResult } from '@tidegate/protocol/agent-api';
import type { CommandPayload } from '@tidegate/protocol/documents';
import { sendInventory } from '../inventory/send-inventory.ts';
import { sendProbes } from '../inventory/send-probes.ts';
import type { HandedCommand } from '../journal/journal.ts';
import type { Pause } from '../platform/back-off.ts';
import { timestamp } from '../platform/clock.ts';
import { describeFailure, type Failure, storageFailure } from '../platform/failures.ts';
import { plainStart } from '../platform/plain-text.ts';
import { shorten } from '../restarts/report-form.ts';
import { callAgent } from '../session/call-agent.ts';
import { refreshKeys } from '../session/refresh-keys.ts';
import type { CommandEnd } from './command-end.ts';
import { resumeJob } from './executor-job.ts';
import { installUpdate } from './install-update.ts';
import { proveAgent } from './prove-agent.ts';
import { rebootHost, restartServices, resumeReboot } from './reboot-host.ts';
import { repairPackages } from './repair-packages.ts';
import type { Runtime } from './runtime.ts';

export interface AcceptedCommand {
  command: CommandPayload;
  envelope: Uint8Array;
  pause: Pause;
  stopping: AbortSignal;
}

/**
 * Does what an accepted command says. Expected failures are results; nothing is thrown for them. `left`: this
 * process ends before the command does.
 */
export async function executeCommand(
  runtime: Runtime,
  accepted: AcceptedCommand,
): Promise<CommandEnd | 'left'> {
  const { command } = accepted;
  const startedAt = timestamp(runtime.nowMs());
  const end = (failure: Failure | null, reason?: string): CommandEnd =>
    ended(runtime, startedAt, failure, reason);
  switch (command.action) {
    case 'scan': {
      const { problems } = await runtime.inventory.scan(command.params.ecosystems ?? null);
      const wanted = command.params.ecosystems ?? runtime.drivers.map(({ ecosystem }) => ecosystem);
      const { failure } = await sendInventory(runtime, { wanted });
      return end(failure, problems.length === 0 ? undefined : problems.join('; '));
    }
    case 'plan_update':
      return planUpdate(runtime, command, end);
    case 'install_update':
      return addRestarts(runtime, await installUpdate(runtime, { ...accepted, command }), accepted.pause);
    case 'repair':
      return addRestarts(runtime, await repairPackages(runtime, { ...accepted, command }), accepted.pause);
    case 'refresh_keys': {
      const refreshed = await refreshKeys(runtime);
      if (!refreshed.ok) return end(refreshed.failure);
      const { refusal } = refreshed.value;
      return end(null, refusal === null ? undefined : `the key set was refused: ${refusal}`);
    }
    case 'set_polling': {
      const { polling } = runtime.config.current();
      const next = { ...polling, check_in_seconds: command.params.interval_seconds };
      const saved = runtime.config.change({ polling: next });
      return end(storageFailure(saved));
    }
    case 'run_probes': {
      await runtime.probes.look(accepted.pause);
      return end(await sendProbes(runtime));
    }
    case 'reboot':
      return rebootHost(runtime, { ...accepted, command });
    case 'restart_services':
      return addRestarts(runtime, await restartServices(runtime, { ...accepted, command }), accepted.pause);
    case 'update_agent': {
      const reason = `not_supported: this agent version cannot carry out "${command.action}"`;
      return { result: { status: 'refused', reason }, events: [], failure: null };
    }
  }
}

/** Ends a job that an earlier process of this agent has handed to the executor. */
export async function resumeCommand(
  runtime: Runtime,
  handed: HandedCommand,
  { pause, stopping }: { pause: Pause; stopping: AbortSignal },
): Promise<CommandEnd | 'left'> {
  if (handed.action === 'reboot') return resumeReboot(runtime, handed, { pause, stopping });
  const isOver = new AbortController();
  void proveAgent(runtime, { commandId: handed.commandId, pause, isOver: isOver.signal });
  const end = await resumeJob(runtime, handed, stopping);
  isOver.abort();
  return addRestarts(runtime, end, pause);
}

/** Adds what runs old code after packages may have changed: whether the job succeeded or not. */
async function addRestarts(
  { restarts }: Runtime,
  end: CommandEnd | 'left',
  pause: Pause,
): Promise<CommandEnd | 'left'> {
  if (end === 'left') return end;
  const { started_at, finished_at } = end.result;
  if (started_at === undefined || finished_at === undefined || end.failure !== null) return end;
  await restarts.refreshAfter(Date.parse(finished_at), pause);
  const report = restarts.report();
  return report === null ? end : { ...end, result: { ...end.result, restarts: shorten(report) } };
}

async function planUpdate(
  runtime: Runtime,
  { params }: Extract<CommandPayload, { action: 'plan_update' }>,
  end: (failure: Failure | null, reason?: string) => CommandEnd,
): Promise<CommandEnd> {
  const driver = runtime.drivers.find(({ ecosystem }) => ecosystem === params.ecosystem);
  if (driver === undefined) return end(null, `${params.ecosystem} is not supported on this host`);
  const updates = params.updates.map(({ name, arch, to_version: toVersion }) => ({
    ...{ name, toVersion },
    ...(arch === undefined ? {} : { arch }),
  }));
  const { undo } = params;
  const planned = await driver.plan(runtime.paths, { updates, ...(undo && { undo }) });
  if (!planned.ok) return end(null, planned.reason);
  const body = { sets: [params.updates.map(({ update_id: id }) => id)], plan: planned.plan };
  const sent = await callAgent(runtime, { method: 'PUT', path: '/plans', body });
  return end(sent.ok ? null : sent.failure);
}

/** Reports success unless there is an error or a failure reason. */
function ended(runtime: Runtime, startedAt: string, failure: Failure | null, reason?: string): CommandEnd {
  const text = failure === null ? reason : describeFailure(failure);
  const result: CommandResult = {
    status: text === undefined ? 'success' : 'failed',
    ...(text === undefined ? {} : { reason: plainStart(text, 4_000) }),
    started_at: startedAt,
    finished_at: timestamp(runtime.nowMs()),
  };
  const stops = failure?.kind === 'terminal' || failure?.kind === 'storage';
  return { result, events: [], failure: stops ? failure : null };
}
