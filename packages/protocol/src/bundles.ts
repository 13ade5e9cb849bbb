import type { Artifact, PlanAction, PlanFault } from './plan.ts';
import type { Ecosystem } from './scalars.ts';

/** The members of an action that say in which file it comes. */
type Brought = Pick<PlanAction, 'name' | 'to_version' | 'source_name' | 'source_version' | 'artifact'>;

/**
 * The actions of npm packages that come inside the tarball of another one, each with the action of that one (decision
 * 0011): `source_name` and `source_version` name it, it stands in the same plan with a file of its own, and the file
 * is the same to the byte. Whatever only claims to be bundled is not in the map, and is judged as any other package.
 */
export function bundlersOf<A extends Brought>(plan: {
  ecosystem: Ecosystem;
  actions: readonly A[];
}): Map<A, A> {
  const bundlers = new Map<A, A>();
  if (plan.ecosystem !== 'npm') return bundlers;
  const own = new Map<string, A>();
  for (const action of plan.actions) {
    const { name, to_version: version, artifact } = action;
    if (claimsBundler(action) || version === undefined || !artifact) continue;
    own.set(keyOf({ name, version, artifact }), action);
  }
  for (const action of plan.actions) {
    const { source_name: name, source_version: version, artifact } = action;
    if (name === undefined || version === undefined || !artifact) continue;
    const bundler = own.get(keyOf({ name, version, artifact }));
    if (bundler) bundlers.set(action, bundler);
  }
  return bundlers;
}

/** What npm packages say of the package around them without its being in the plan, with that very file. */
export function bundleFaults(plan: { ecosystem: Ecosystem; actions: readonly PlanAction[] }): PlanFault[] {
  if (plan.ecosystem !== 'npm') return [];
  const bundlers = bundlersOf(plan);
  return plan.actions.flatMap((action, index) =>
    !claimsBundler(action) || bundlers.has(action)
      ? []
      : [
          {
            path: `/actions/${index}/source_name`,
            message: 'names no package of the plan with this artifact',
          },
        ],
  );
}

function claimsBundler({ source_name, source_version }: Brought): boolean {
  return source_name !== undefined || source_version !== undefined;
}

function keyOf({ name, version, artifact }: { name: string; version: string; artifact: Artifact }): string {
  return JSON.stringify([name, version, textOf(artifact)]);
}

function textOf({ filename, url, size_bytes: size, sha256, sha512 }: Artifact): string {
  return JSON.stringify([filename, url, size, sha256 ?? null, sha512 ?? null]);
}
