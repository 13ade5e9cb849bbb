import type { Scope } from '@tidegate/capability';
import type { Static, TSchema } from 'typebox';
import { Check, Errors } from 'typebox/value';
import type { Outcome, Sender } from '../backend.ts';
import type { Json } from '../json.ts';

/** A call that the gate let through. */
export interface AllowedCall {
  readonly command: string;
  readonly sender: Sender;
  readonly args: unknown;
  readonly scope: Scope;
}
export type Command = (call: AllowedCall) => Outcome | Promise<Outcome>;
/** By the name of the permission, as capability files have it. */
export type Commands = Readonly<Record<string, Command>>;

export interface CommandTable {
  readonly commands: Commands;
  /** For the names of core plugins that are not in there: the backend's to do, or not. */
  readonly byBackend: Command;
}

/** A command whose arguments have a form; what has another one fails with the first difference. */
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
