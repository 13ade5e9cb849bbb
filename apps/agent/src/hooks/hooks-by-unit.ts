import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HookRun, HookStage } from '@tidegate/protocol/probes';
import { Count, Ecosystem, strict, Uuid } from '@tidegate/protocol/scalars';
import { type Static, type TSchema, Type } from 'typebox';
import { Check } from 'typebox/value';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { errorCode, ownUid, writeDurably } from '../platform/file-layer.ts';
import { runProgram } from '../platform/run-program.ts';
import { readTrustedJson } from '../platform/trusted-json.ts';
import { readHooks, STAGE_MAX_SECONDS, stopsAt } from './hook-file.ts';
import { FOLDER_HOOK, type HooksEnd, type RunHooks, runHooks } from './run-hooks.ts';

const FILE_MAX_BYTES = 2 * 1024 * 1024;
/** More than the unit's own limit. */
const UNIT_MAX_MS = (STAGE_MAX_SECONDS + 600) * 1_000;
const INSTANCE = /^(before|after)-([0-9a-f-]{36})$/;

const Order = strict({
  v: Type.Literal(1),
  command_id: Uuid,
  ecosystem: Ecosystem,
  change: Type.Enum(['update', 'rollback']),
  packages: Count,
  outcome: Type.Optional(Type.Enum(['success', 'failed', 'not_started'])),
});

const End = strict({
  v: Type.Literal(1),
  runs: Type.Array(HookRun, { maxItems: 40 }),
  failed: Type.Union([
    strict({ name: Type.String(), detail: Type.String(), stops: Type.Boolean() }),
    Type.Null(),
  ]),
  output: Type.String(),
});

/**
 * Has a unit of its own run the hooks: the executor has no network and few rights, and a backup or a snapshot needs both.
 * The unit gets the stage and the id by its name; both files lie in the executor's folder, where only root writes.
 */
export function hooksByUnit(means: { policy: PolicyPlace; state: string; systemctl: string }): RunHooks {
  return async (stage, facts, onOutput) => {
    const folder = readHooks(means.policy, stage);
    if (folder.ok && folder.files.length === 0) return { runs: [], failed: null, output: '' };
    const paths = pathsOf(means.state, `${stage}-${facts.commandId}`);
    const { commandId: command_id, ...told } = facts;
    try {
      mkdirSync(join(means.state, 'hooks'), { recursive: true, mode: 0o700 });
      rmSync(paths.end, { force: true });
      write(paths.order, { v: 1, command_id, ...told } satisfies Static<typeof Order>);
      const started = await runProgram({
        program: means.systemctl,
        args: ['start', `tidegate-hooks@${stage}-${command_id}.service`],
        ...{ timeoutMs: UNIT_MAX_MS, maxOutputBytes: 16 * 1024, onOverflow: 'keep_tail' },
      });
      const end = read(paths.end, End);
      if (end !== null) {
        onOutput(Buffer.from(end.output));
        return { runs: end.runs, failed: end.failed, output: end.output };
      }
      const why = started.ok ? 'it has left no result' : started.detail;
      // Any of them may not have run.
      const stops =
        !folder.ok || folder.files.some((file) => stopsAt(facts.change, file.ok ? file.value : null));
      const detail = `tidegate-hooks@.service has not run the hooks: ${why}`;
      return {
        runs: [],
        failed: { name: FOLDER_HOOK, detail, stops: stage === 'before' && stops },
        output: '',
        mayHaveRun: true,
      };
    } finally {
      for (const path of [paths.order, paths.end]) rmSync(path, { force: true });
    }
  };
}

/** The unit's part: runs the hooks that its name asks for, and leaves what became of them. */
export async function runHooksOfUnit(
  means: { policy: PolicyPlace; state: string; elapsedMs: () => number },
  instance: string,
): Promise<{ ok: true; end: HooksEnd } | { ok: false; detail: string }> {
  const [, stage, id] = INSTANCE.exec(instance) ?? [];
  if (!Check(HookStage, stage) || !Check(Uuid, id)) {
    return { ok: false, detail: 'hooks takes --run before-ID or after-ID, as its unit gives it' };
  }
  const paths = pathsOf(means.state, instance);
  const order = read(paths.order, Order);
  if (order?.command_id !== id) {
    return { ok: false, detail: `${paths.order} is no order of the executor` };
  }
  const { v: _, command_id: commandId, ...facts } = order;
  const end = await runHooks(means, stage, { commandId, ...facts }, () => {});
  try {
    write(paths.end, { v: 1, ...end } satisfies Static<typeof End>);
    return { ok: true, end };
  } catch (error) {
    return { ok: false, detail: `${paths.end} cannot be written (${errorCode(error)})` };
  }
}

function pathsOf(state: string, instance: string): { order: string; end: string } {
  return {
    order: join(state, 'hooks', `${instance}.json`),
    end: join(state, 'hooks', `${instance}.end.json`),
  };
}

function write(path: string, value: unknown): void {
  writeDurably(path, new TextEncoder().encode(JSON.stringify(value)), { mode: 0o600 });
}

function read<S extends TSchema>(path: string, schema: S): Static<S> | null {
  const trust = { maxBytes: FILE_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  return readTrustedJson(path, schema, trust);
}
