import { type Static, Type } from 'typebox';
import { sortBy } from './lists-api.ts';
import { HookRun, ProbesAround } from './probes.ts';
import { RestartReport } from './restarts.ts';
import { KeptWayBack } from './rollbacks.ts';
import { Count, nullable, PackageName, strict, Timestamp, Uuid } from './scalars.ts';
import { CommandAction, CommandStatus } from './states.ts';

const TextOrNull = nullable(Type.String());
const TimeOrNull = nullable(Timestamp);
const IntegerOrNull = nullable(Type.Integer());

/** Packages of a command that its item names. */
export const COMMAND_PACKAGES_SHOWN = 3;

/** A package that a command changes. */
const CommandPackage = strict({ name: PackageName, from: Type.String(), to: Type.String() });
export type CommandPackage = Static<typeof CommandPackage>;

/** The packages of the updates that a command names. */
const CommandPackages = strict({
  total: Count,
  /** By name; fewer than `total` where there are more, or where their updates are deleted. */
  first: Type.Array(CommandPackage, { maxItems: COMMAND_PACKAGES_SHOWN }),
});

/** A command as operators see it (R5). */
export const CommandItem = strict({
  id: Uuid,
  agent_id: Uuid,
  hostname: Type.String(),
  action: CommandAction,
  params: Type.Unknown(),
  /** The updates that its parameters name. */
  update_ids: Type.Array(Uuid),
  packages: CommandPackages,
  status: CommandStatus,
  seq: IntegerOrNull,
  created_by: Type.String(),
  created_at: Timestamp,
  not_before: Timestamp,
  expires_at: Timestamp,
  sent_at: TimeOrNull,
  received_at: TimeOrNull,
  /** When the host began, by its own clock; so are the next two. */
  started_at: TimeOrNull,
  /** Of an installation: when everything was downloaded and the installation began. Null: not yet, or it did not say. */
  installing_at: TimeOrNull,
  finished_at: TimeOrNull,
  reason: TextOrNull,
  exit_code: IntegerOrNull,
  output_tail: TextOrNull,
  /** Of an installation: how many of the replaced files the host keeps; null: it does not say. */
  way_back: nullable(KeptWayBack),
  /** What ran old code after the installation. */
  restarts: nullable(RestartReport),
  /** Root's probes before the installation. */
  probes: nullable(ProbesAround),
  /** Root's programs that ran before and after it. */
  hooks: nullable(Type.Array(HookRun)),
});
export type CommandItem = Static<typeof CommandItem>;

/** Filters of the list of commands; query values are text. */
export const CommandFilter = {
  agent_id: Type.Optional(Uuid),
  update_id: Type.Optional(Uuid),
  /** The event of a bulk approval: the commands that its approvals led to. */
  bulk_id: Type.Optional(Uuid),
  status: Type.Optional(CommandStatus),
  action: Type.Optional(CommandAction),
  /** Whether the time has come from which on its host may have it. */
  due: Type.Optional(Type.Enum(['true', 'false'])),
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
};
export const COMMAND_SORTS = ['created_at'] as const;
export const COMMAND_SORT_DEFAULT = '-created_at';
export const CommandSort = sortBy(COMMAND_SORTS, 'default -created_at, newest first');

export const CommandQueued = strict({ command_id: Uuid });

/** The answer to a result: what the command is now. */
export const CommandResultAnswer = strict({ command_id: Uuid, status: CommandStatus });
