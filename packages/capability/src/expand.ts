import { pointTo, quote } from './findings.ts';
import { splitIdentifier } from './identifier.ts';
import { appPermission, type Permission, type Plugin, type Plugins } from './manifests.ts';
import type { Place } from './shape.ts';
import { nearest } from './suggest.ts';

/** Deepest nesting of sets in sets. */
export const MAX_SET_DEPTH = 64;
/** Plugins that a message names. */
const MAX_NAMED = 20;

interface PermissionSet {
  readonly kind: 'set';
  readonly identifier: string;
  readonly plugin: string;
  readonly members: readonly string[];
}

/** What an identifier names. */
type Named = PermissionSet | { readonly kind: 'permission'; readonly permission: Permission } | null;

/** Turns the identifier of an entry into permissions, each once, in order; null when nothing has that name. */
export function expand(plugins: Plugins, identifier: string): readonly Permission[] | null {
  const named = nameEntry(plugins, identifier);
  if (named === null) return null;
  const permissions = new Set<Permission>();
  gather(named, { plugins, permissions, seen: new Set() });
  return [...permissions];
}

/** Says of an identifier that names nothing what it may have been meant to be. */
export function unknownPermission(plugins: Plugins, identifier: string): string {
  const near = nearest(identifier, identifiersOf(plugins));
  const hint = near === null ? '' : `; did you mean ${quote(near)}?`;
  const { plugin } = splitIdentifier(identifier);
  if (plugin === null)
    return `unknown permission ${quote(identifier)} of the application${hint || '; it has "allow-<command>" and "deny-<command>" alone'}`;
  if (plugins.has(plugin)) return `unknown permission ${quote(identifier)}${hint}`;
  const names = [...plugins.keys()].slice(0, MAX_NAMED).join(', ');
  return `unknown permission ${quote(identifier)}: there is no plugin ${quote(plugin)}${hint || `; known are ${names}`}`;
}

/** Tells the report of sets with unknown members, of those that contain themselves and of those nested too deep. */
export function checkSets(plugins: Plugins, { path, report }: Place): void {
  const heights = new Map<string, number>();
  for (const [name, plugin] of plugins) {
    for (const [set, setPath] of setsOf(name, plugin, pointTo(path, name))) {
      for (const [i, member] of set.members.entries()) {
        if (nameMember(plugins, member, set.plugin) !== null) continue;
        // Looking for the nearest name takes time that errors past the listed ones do not deserve.
        const message = report.isFull ? '' : unknownPermission(plugins, memberInFull(member, set.plugin));
        report.error(pointTo(setPath, i), `${message} (from set ${quote(set.identifier)})`);
      }
      heightOf(set, { plugins, heights, open: [], at: { path: setPath, report } });
    }
  }
}

interface Heights {
  readonly plugins: Plugins;
  /** Of each set that was judged: one more than that of its highest member, infinite for a fault. */
  readonly heights: Map<string, number>;
  readonly open: readonly string[];
  readonly at: Place;
}

function heightOf(set: PermissionSet, walk: Heights): number {
  const { plugins, heights, open, at } = walk;
  const known = heights.get(set.identifier);
  if (known !== undefined) return known;
  if (open.includes(set.identifier)) {
    const cycle = [...open.slice(open.indexOf(set.identifier)), set.identifier];
    at.report.error(at.path, `a set contains itself: ${cycle.join(' → ')}`);
    return Number.POSITIVE_INFINITY;
  }
  let height = 1;
  for (const member of set.members) {
    const named = nameMember(plugins, member, set.plugin);
    if (named?.kind !== 'set') continue;
    // The walk ends at the depth by itself: it never goes further than a set may be nested.
    const below =
      open.length >= MAX_SET_DEPTH
        ? MAX_SET_DEPTH
        : heightOf(named, { ...walk, open: [...open, set.identifier] });
    height = Math.max(height, 1 + below);
  }
  if (height > MAX_SET_DEPTH && height < Number.POSITIVE_INFINITY) {
    at.report.error(at.path, `sets are nested deeper than ${MAX_SET_DEPTH}, at ${quote(set.identifier)}`);
    height = Number.POSITIVE_INFINITY;
  }
  heights.set(set.identifier, height);
  return height;
}

function gather(
  named: NonNullable<Named>,
  walk: { plugins: Plugins; permissions: Set<Permission>; seen: Set<string> },
): void {
  if (named.kind === 'permission') {
    walk.permissions.add(named.permission);
    return;
  }
  if (walk.seen.has(named.identifier)) return;
  walk.seen.add(named.identifier);
  for (const member of named.members) {
    const inside = nameMember(walk.plugins, member, named.plugin);
    if (inside !== null) gather(inside, walk);
  }
}

/** An entry of a capability names a default set, else a set, else a permission. */
function nameEntry(plugins: Plugins, identifier: string): Named {
  const { plugin: name, base } = splitIdentifier(identifier);
  if (name === null) return namePermission(appPermission(base));
  const plugin = plugins.get(name);
  if (plugin === undefined) return null;
  return nameSet(plugin, name, base) ?? namePermission(plugin.permissions.get(base));
}

/** A member of a set names a permission, else a set; of the set's own plugin where it names none. */
function nameMember(plugins: Plugins, member: string, home: string): Named {
  const { plugin: other, base } = splitIdentifier(member);
  const name = other ?? home;
  const plugin = plugins.get(name);
  if (plugin === undefined) return null;
  return namePermission(plugin.permissions.get(base)) ?? nameSet(plugin, name, base);
}

function nameSet(plugin: Plugin, name: string, base: string): Named {
  const members = base === 'default' ? plugin.defaults : plugin.sets.get(base);
  return members === undefined ? null : { kind: 'set', identifier: `${name}:${base}`, plugin: name, members };
}

function namePermission(permission: Permission | null | undefined): Named {
  return permission ? { kind: 'permission', permission } : null;
}

function memberInFull(member: string, home: string): string {
  return member.includes(':') ? member : `${home}:${member}`;
}

function* setsOf(name: string, plugin: Plugin, path: string): Generator<[PermissionSet, string]> {
  yield [
    { kind: 'set', identifier: `${name}:default`, plugin: name, members: plugin.defaults },
    `${path}/default`,
  ];
  for (const [base, members] of plugin.sets)
    yield [
      { kind: 'set', identifier: `${name}:${base}`, plugin: name, members },
      pointTo(`${path}/sets`, base),
    ];
}

function* identifiersOf(plugins: Plugins): Generator<string> {
  for (const [name, { permissions, sets }] of plugins) {
    yield `${name}:default`;
    for (const base of [...sets.keys(), ...permissions.keys()]) yield `${name}:${base}`;
  }
}
