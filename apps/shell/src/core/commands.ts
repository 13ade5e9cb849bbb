import type { Scope } from '@tidegate/capability';
import type { Static, TSchema } from 'typebox';
import { Check, Errors } from 'typebox/value';
import type { Outcome, Sender } from '../backend.ts';
import type { Json } from '../json.ts';

/** A call that the gate has allowed. */
export interface AllowedCall {
  readonly command: string;
  readonly sender: Sender;
  readonly args: unknown;
  readonly scope: Scope;
}
export type Command = (call: AllowedCall) => Outcome | Promise<Outcome>;
/** By the name of the permission in capability files. */
export type Commands = Readonly<Record<string, Command>>;

export interface CommandTable {
  readonly commands: Commands;
  /** Runs all other commands of core plugins, if the backend supports them. */
  readonly byBackend: Command;
}

/** A command with a schema for its arguments; other arguments fail with the first difference. */
export function command<T extends TSchema>(
  schema: T,
  run: (args: Static<T>, call: AllowedCall) => Outcome | Promise<Outcome>,
): Command {
  return (call) => {
    const { args } = call;
    if (Check(schema, args)) return run(args, call);
    const [fault] = Errors(schema, args);
    return failed(
      `${call.command}: args${fault?.instancePath ?? ''} ${fault?.message ?? 'have another form'}`,
    );
  };
}

export const done = (value: Json = null): Outcome => ({ kind: 'done', value });
export const failed = (detail: string): Outcome => ({ kind: 'failed', detail });
export const UNSUPPORTED: Outcome = { kind: 'unsupported' };
