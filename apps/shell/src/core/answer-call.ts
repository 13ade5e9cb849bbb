import type { Acl } from '@tidegate/capability';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Outcome, Sender } from '../backend.ts';
import type { Json } from '../json.ts';
import type { CommandTable } from './commands.ts';
import { judge } from './gate.ts';

const Call = Type.Object(
  {
    id: Type.Integer({ minimum: 1 }),
    command: Type.String({ minLength: 1, maxLength: 200 }),
    args: Type.Unknown(),
  },
  { additionalProperties: false },
);
export type Call = Static<typeof Call>;

export interface AnswerDeps {
  readonly acl: Acl;
  readonly table: CommandTable;
  readonly backendName: string;
  refused(sender: Sender, refusal: { command: string; reason: string }): void;
}

export type Reply =
  | { readonly id: number; readonly ok: true; readonly value: Json }
  | { readonly id: number; readonly ok: false; readonly error: string };

/** Reads a call of a page. Null for anything but an id, a command and its arguments: it gets no reply. */
export function readCall(body: string): Call | null {
  try {
    const call: unknown = JSON.parse(body);
    return Check(Call, call) ? call : null;
  } catch {
    return null;
  }
}

/** Asks the gate, then runs the command; nothing runs before, and a refusal reveals nothing about the command. */
export async function answerCall(deps: AnswerDeps, sender: Sender, call: Call): Promise<Reply> {
  const { id, command, args } = call;
  const verdict = judge(deps.acl, sender, command);
  if (!verdict.allowed) {
    deps.refused(sender, { command, reason: verdict.reason });
    return { id, ok: false, error: verdict.text };
  }
  const { commands, byBackend } = deps.table;
  const own = Object.hasOwn(commands, command) ? commands[command] : undefined;
  const run = own ?? (command.startsWith('core:') ? byBackend : null);
  if (run === null) return { id, ok: false, error: `Command ${command} not found` };
  const outcome = await guarded(() => run({ command, sender, args, scope: verdict.scope }));
  if (outcome.kind === 'unsupported')
    return {
      id,
      ok: false,
      error: `Command ${command} is not supported on this backend (${deps.backendName})`,
    };
  if (outcome.kind === 'failed') return { id, ok: false, error: outcome.detail };
  return { id, ok: true, value: outcome.value };
}

/** A backend may lose a window at any time: the page gets the error, and the shell continues. */
async function guarded(run: () => Outcome | Promise<Outcome>): Promise<Outcome> {
  try {
    return await run();
  } catch (error) {
    return { kind: 'failed', detail: error instanceof Error ? error.message : String(error) };
  }
}
