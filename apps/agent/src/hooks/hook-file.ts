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
});
export type HookFile = Static<typeof HookFile>;

/** The hooks that root has named for a stage: `hooks.d/before` and `hooks.d/after` beside the policy. */
export function readHooks(policy: PolicyPlace, stage: HookStage): CheckFolder<HookFile> {
  return readCheckFolder(folderBeside(policy, `hooks.d/${stage}`), HookFile, HOOKS_MAX / 2);
}
