import { type Static, Type } from 'typebox';
import { CommandItem } from './commands-api.ts';
import { nullable, strict, Timestamp, Uuid } from './scalars.ts';

/** What an update or a command can wait for. */
const WaitKind = Type.Enum([
  'host_revoked',
  'plan',
  'hold',
  'ring',
  'decision',
  'second_signature',
  'blackout',
  'time',
  'host_offline',
  'other_command',
  'check_in',
  'receipt',
  'start',
  'download',
  'installation',
  'end',
  'reboot',
  'restart',
]);
export type WaitKind = Static<typeof WaitKind>;

export const Wait = strict({
  kind: WaitKind,
  /** Ends the sentence "Waits for". */
  text: Type.String(),
  /** When it ends by itself; null: not known. */
  until: nullable(Timestamp),
  /** Since when the host works on it, by its own clock; null: not known, or it does not. */
  since: nullable(Timestamp),
  /** Of the hold, rollout, blackout, update, host or command that it waits for. */
  id: nullable(Uuid),
});
export type Wait = Static<typeof Wait>;

/** Where an update, a command or a host stands. */
export const Progress = strict({
  as_of: Timestamp,
  /** Null: none has been made yet, or none counts any more. */
  command: nullable(CommandItem),
  /** The first is what has to change first; empty: it waits for nothing, or is over. */
  waits: Type.Array(Wait),
});
export type Progress = Static<typeof Progress>;
