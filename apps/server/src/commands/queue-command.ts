import { type ApprovalReference, COMMAND_PARAMS } from '@tidegate/protocol/documents';
import type { CommandAction } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { namedUpdates } from './named-updates.ts';
import { type InsertedCommand, insertCommands } from './store.ts';

/** Lifetime of a command from its earliest delivery (docs/protocol/limits.md), in milliseconds. */
export const COMMAND_LIFETIME_MS = 24 * 3_600_000;

export interface NewCommand {
  agentId: string;
  action: CommandAction;
  /** As in `COMMAND_PARAMS` of the action. */
  params: Readonly<Record<string, unknown>>;
  approval?: { tokenId: ApprovalReference['token_id']; sha256: string } | null;
  /** Withheld until then; default: immediately. */
  notBeforeMs?: number | null;
  expiresAtMs?: number | null;
  /** Operator name, `sweep` or `server`. */
  createdBy: string;
}

/** Queues a command for the next check-in of its agent. Returns its id; throws on invalid parameters. */
export async function queueCommand(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  command: NewCommand,
): Promise<string> {
  const inserted = commandOf(platform, command);
  await insertCommands(tx, [inserted]);
  return inserted.row.id;
}

/** The same for many commands. */
export async function queueCommands(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  commands: readonly NewCommand[],
): Promise<void> {
  await insertCommands(
    tx,
    commands.map((command) => commandOf(platform, command)),
  );
}

function commandOf(platform: Pick<Platform, 'newId' | 'now'>, command: NewCommand): InsertedCommand {
  if (!Value.Check(COMMAND_PARAMS[command.action], command.params)) {
    throw new Error(`the parameters of ${command.action} are not valid`);
  }
  const nowMs = platform.now();
  const notBeforeMs = Math.max(nowMs, command.notBeforeMs ?? nowMs);
  const row = {
    id: platform.newId(),
    agent_id: command.agentId,
    action: command.action,
    params: JSON.stringify(command.params),
    approval_id: command.approval?.tokenId ?? null,
    approval_sha256: command.approval?.sha256 ?? null,
    status: 'pending',
    created_by: command.createdBy,
    created_at: nowMs,
    not_before: notBeforeMs,
    expires_at: command.expiresAtMs ?? notBeforeMs + COMMAND_LIFETIME_MS,
    changed_at: nowMs,
  };
  return { row, updateIds: namedUpdates(command) };
}
