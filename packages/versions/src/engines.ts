import { satisfies, validRange } from 'semver';

/** A longer range comes from no person. */
const RANGE_MAX_CHARS = 256;

/**
 * Whether a Node of this version may run a package that declares this `engines.node`, as npm decides it: prereleases count as
 * their release. A range that is no range excludes nothing: package managers ignore it, and the resolver decides when planning.
 */
export function allowsNode(range: string, nodeVersion: string): boolean {
  if (range.length > RANGE_MAX_CHARS || validRange(range) === null) return true;
  return satisfies(nodeVersion, range, { includePrerelease: true });
}
