import type { HostPaths, OwnPlaces, OwnServer } from '../ecosystem.ts';
import { readLayout } from './layout.ts';
import { targetOf } from './release-rules.ts';

/** A host that updates its agent side by side. */
export interface OwnState {
  places: OwnPlaces;
  server: OwnServer;
  target: string;
  installed: string;
}

/** What this host has; null where a package installs the agent, or nobody has laid versions side by side. */
export function ownStateOf({ own }: HostPaths): OwnState | null {
  const target = targetOf(process);
  if (own === null || own.server === null || target === null) return null;
  const links = readLayout(own.folder);
  // The proven version: one on trial is not installed yet.
  return links.ok ? { places: own, server: own.server, target, installed: links.layout.proven } : null;
}
