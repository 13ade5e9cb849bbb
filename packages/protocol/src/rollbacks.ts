import { type Static, Type } from 'typebox';
import { type PlanAction, PlanActionKind } from './plan.ts';
import {
  Count,
  Ecosystem,
  nullable,
  PackageName,
  PackageVersion,
  ShortText,
  strict,
  Uuid,
} from './scalars.ts';

/** Most actions that one rollback undoes: a planning command names them all. */
export const ROLLBACK_MAX_ACTIONS = 2_000;

/** One action of a rollback: the opposite of what an installation did. */
export const RollbackAction = strict({
  action: PlanActionKind,
  name: PackageName,
  arch: Type.Optional(ShortText),
  from_version: Type.Optional(PackageVersion),
  to_version: Type.Optional(PackageVersion),
});
export type RollbackAction = Static<typeof RollbackAction>;

/** The opposite of each action: what an installation brought goes, and what it replaced or removed comes back. */
export function inverseOf(actions: readonly PlanAction[]): RollbackAction[] {
  return actions.map(({ action, name, arch, from_version: from, to_version: to }) => ({
    // npm installs a package anew with another one; so does undoing that.
    action: from !== undefined && from === to ? action : OPPOSITES[action],
    name,
    ...(arch !== undefined && { arch }),
    ...(to !== undefined && { from_version: to }),
    ...(from !== undefined && { to_version: from }),
  }));
}

const OPPOSITES = {
  install: 'remove',
  remove: 'install',
  upgrade: 'downgrade',
  downgrade: 'upgrade',
} as const;

/** Whether each update of an approval goes to an earlier version: then it undoes, and mends a host. */
export function takesBack({
  updates,
  actions,
}: {
  updates: readonly { name: string; to_version: string }[];
  actions: readonly PlanAction[];
}): boolean {
  return updates.every((update) =>
    actions.some(
      ({ action, name, to_version: to }) =>
        action === 'downgrade' && name === update.name && to === update.to_version,
    ),
  );
}

/** Whether the old files of a plan can be had, so that what it does could be undone. */
export const WayBack = strict({
  /** `none` also where nothing is known. */
  kind: Type.Enum(['complete', 'partial', 'none']),
  /** Packages whose old file cannot be had: the first, and how many there are. */
  missing: Type.Array(strict({ package: PackageName, version: PackageVersion }), { maxItems: 50 }),
  missing_count: Count,
});
export type WayBack = Static<typeof WayBack>;

/** How many of the files that an installation replaced are kept on the host. */
export const KeptWayBack = strict({ kept: Count, replaced: Count });
export type KeptWayBack = Static<typeof KeptWayBack>;

/** Packages without a way back that are named. */
const MISSING_MAX = 50;

/** The way back of a plan. */
export function wayBackOf(actions: readonly PlanAction[]): WayBack {
  const replaced = actions.flatMap(({ name, from_version: version, back }) =>
    version === undefined ? [] : [{ package: name, version, isThere: back !== undefined }],
  );
  const lacking = replaced.filter(({ isThere }) => !isThere);
  const missing = lacking.slice(0, MISSING_MAX).map(({ isThere: _, ...named }) => named);
  return { kind: kindOf(replaced.length, lacking.length), missing, missing_count: lacking.length };
}

function kindOf(replaced: number, lacking: number): WayBack['kind'] {
  if (replaced > 0 && lacking === replaced) return 'none';
  return lacking === 0 ? 'complete' : 'partial';
}

/** Most installations that one request undoes. */
export const ROLLBACKS_MAX = 500;

/** One version of a package on hosts, such as those of a failed ring. */
export const InstalledOn = strict({
  ecosystem: Ecosystem,
  name: PackageName,
  version: PackageVersion,
  agent_ids: Type.Array(Uuid, { minItems: 1, maxItems: ROLLBACKS_MAX }),
});
export type InstalledOn = Static<typeof InstalledOn>;

/** Installations to undo: each named by one of its updates, or those that brought one version to these hosts. */
export const RollbackRequest = strict({
  /** Either this or `installed`. */
  update_ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: ROLLBACKS_MAX })),
  installed: Type.Optional(InstalledOn),
  /** Required unless it is a dry run. */
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096, pattern: '\\S' })),
  /** Answers what would be undone, and does nothing. */
  dry_run: Type.Optional(Type.Boolean()),
});
export type RollbackRequest = Static<typeof RollbackRequest>;

/** Why an installation is not undone. */
export const RollbackSkip = Type.Enum([
  'not_found',
  'not_installed',
  'under_way',
  'changed_since',
  'too_large',
]);
export type RollbackSkip = Static<typeof RollbackSkip>;

/** Actions of one rollback that an answer lists. */
export const ROLLBACK_SHOWN_MAX = 100;

export const RollbackAnswer = strict({
  /** Rollbacks that wait for their plan; the gate judges each when it is there. */
  requested: Type.Array(
    strict({
      /** The rollback, an update of its own; null in a dry run. */
      update_id: nullable(Uuid),
      agent_id: Uuid,
      /** The approval that it undoes, and all of its updates. */
      token_id: Uuid,
      undoes: Type.Array(Uuid),
      /** What the host does: the first actions, and how many there are. */
      actions: Type.Array(RollbackAction, { maxItems: ROLLBACK_SHOWN_MAX }),
      action_count: Count,
    }),
  ),
  /** Without `agent_id` where the update is not known; without `update_id` where the host does not have the version. */
  skipped: Type.Array(
    strict({ update_id: Type.Optional(Uuid), agent_id: Type.Optional(Uuid), code: RollbackSkip }),
  ),
});
export type RollbackAnswer = Static<typeof RollbackAnswer>;
