import { HOOKS_MAX, type HookStage } from '@tidegate/protocol/probes';
import { strict } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { type CheckFolder, folderBeside, readCheckFolder } from '../probes/check-folder.ts';
import { ProgramArgs, ProgramPath } from '../probes/probe-file.ts';

/** Time that one hook has unless its file says otherwise, in seconds. */
export const HOOK_SECONDS = 300;
/** Time that all hooks of a stage have together, in seconds. */
export const STAGE_MAX_SECONDS = 45 * 60;

/** A program of root's that must succeed, as root writes it down (docs/operator-guide.md, "Probes and hooks"). */
export const HookFile = strict({
  v: Type.Literal(1),
  program: ProgramPath,
  args: Type.Optional(ProgramArgs),
  timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: STAGE_MAX_SECONDS })),
  /** Whether a rollback goes on where this fails before it: it does unless root says `must_succeed`. */
  rollback: Type.Optional(Type.Enum(['may_fail', 'must_succeed'])),
});
export type HookFile = Static<typeof HookFile>;

/** What an installation does: a rollback takes each of its updates back to an earlier version. */
export type HookedChange = 'update' | 'rollback';

/**
 * Whether a hook that fails before an installation stops it. What guards the way forward must not close the way back,
 * unless root wants it so; a file that cannot be read may say so.
 */
export function stopsAt(change: HookedChange, hook: HookFile | null): boolean {
  return change === 'update' || hook === null || hook.rollback === 'must_succeed';
}

/** The hooks that root has named for a stage: `hooks.d/before` and `hooks.d/after` beside the policy. */
export function readHooks(policy: PolicyPlace, stage: HookStage): CheckFolder<HookFile> {
  return readCheckFolder(folderBeside(policy, `hooks.d/${stage}`), HookFile, HOOKS_MAX / 2);
}
