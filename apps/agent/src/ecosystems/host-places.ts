import { join } from 'node:path';
import { strict } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import type { HostPaths, OwnPlaces } from './ecosystem.ts';

const Path = Type.String({ minLength: 1, maxLength: 4_096 });
const Folder = Type.String({ pattern: '^/', maxLength: 4_096 });
const Source = Type.String({ pattern: '^https?://[^\\s]+$', maxLength: 2_048 });
/** Maximum number of folders in one setting. */
const FOLDERS_MAX = 64;

/**
 * The package managers' locations and registries as set by the administrator: in config.json for the agent, in
 * the executor's own state for root. Users' own configuration is never used.
 */
export const HostPlaces = strict({
  apt_config: Type.Optional(Path),
  /** Install root of a throw-away dnf host. */
  dnf_root: Type.Optional(Folder),
  /** Prefix of the global npm packages, where it is not npm's own. */
  npm_prefix: Type.Optional(Folder),
  /** Project folders with a package.json and a lockfile. */
  npm_projects: Type.Optional(Type.Array(Folder, { maxItems: FOLDERS_MAX })),
  npm_registry: Type.Optional(Source),
  /** Virtual environments in addition to those found. */
  pypi_environments: Type.Optional(Type.Array(Folder, { maxItems: FOLDERS_MAX })),
  pypi_index: Type.Optional(Source),
  /** Where versions of the agent lie side by side, and the public half of the release key. */
  agent_versions: Type.Optional(Folder),
  release_key: Type.Optional(Folder),
});
export type HostPlaces = Static<typeof HostPlaces>;

/** The same in the form that drivers and installers take. */
export function hostPaths(places: HostPlaces | undefined, kept: string | null = null): HostPaths {
  return {
    aptConfig: places?.apt_config ?? null,
    dnfRoot: places?.dnf_root ?? null,
    npm: {
      prefix: places?.npm_prefix ?? null,
      projects: places?.npm_projects ?? [],
      registry: places?.npm_registry ?? null,
    },
    pypi: { environments: places?.pypi_environments ?? [], index: places?.pypi_index ?? null },
    kept,
    own: null,
  };
}

/** Where a host without a package of the agent has its versions side by side. */
export const DEFAULT_VERSIONS = '/usr/lib/tidegate-agent';
const DEFAULT_RELEASE_KEY = '/etc/tidegate/release.pem';
const TRIALS_NAME = 'agent-trials.json';

/** The places of the agent's own updates. `executorState` is the executor's folder. */
export function ownPlaces(
  places: HostPlaces | undefined,
  { executorState, ...rest }: { executorState: string } & Pick<OwnPlaces, 'ownerUid' | 'server'>,
): OwnPlaces {
  return {
    folder: places?.agent_versions ?? DEFAULT_VERSIONS,
    releaseKey: places?.release_key ?? DEFAULT_RELEASE_KEY,
    trials: join(executorState, TRIALS_NAME),
    ...rest,
  };
}

/** A host where every package manager is in its usual place. */
export const USUAL_PLACES: HostPaths = hostPaths(undefined);
