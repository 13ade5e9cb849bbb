import { CORE_PLUGINS } from './core-permissions.ts';
import { pointTo, quote, type Report } from './findings.ts';
import { commandFault, identifierFault, splitIdentifier } from './identifier.ts';
import { TARGETS, type Target } from './parse.ts';
import { listOf, oneOf, type Place, type Shape, text } from './shape.ts';
import { nearest } from './suggest.ts';
import { isMembers, kindOf, readValue, type Scope, type Value } from './values.ts';

/** The permissions of plugins as JSON: by plugin, its permissions, its sets and its default set. */
export type PermissionManifests = Readonly<Record<string, PermissionManifest>>;

export interface PermissionManifest {
  readonly permissions?: Readonly<Record<string, ManifestPermission>>;
  readonly sets?: Readonly<Record<string, readonly string[]>>;
  readonly default?: readonly string[];
}

interface ManifestPermission {
  readonly description?: string;
  /** Commands by their names in the plugin, with hyphens; without any, the scope is the whole plugin's. */
  readonly commands?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  readonly scope?: { readonly allow?: readonly Value[] | null; readonly deny?: readonly Value[] | null };
  readonly platforms?: readonly Target[] | null;
}

/** A permission as `resolve` uses it: commands in full, `core:app:version`. */
export interface Permission {
  readonly identifier: string;
  readonly plugin: string | null;
  readonly allows: readonly string[];
  readonly denies: readonly string[];
  readonly scope: Scope;
  readonly platforms: readonly Target[] | null;
}

export interface Plugin {
  readonly permissions: ReadonlyMap<string, Permission>;
  readonly sets: ReadonlyMap<string, readonly string[]>;
  readonly defaults: readonly string[];
}

export type Plugins = ReadonlyMap<string, Plugin>;

export const EMPTY_SCOPE: Scope = Object.freeze({ allow: Object.freeze([]), deny: Object.freeze([]) });

/** The core plugins with those of the manifests. Tells the report everything that is wrong in the manifests. */
export function readManifests(manifests: unknown, at: Place): Plugins {
  const plugins = new Map(CORE);
  for (const [name, manifest] of membersOf(manifests, 'an object with the manifest of each plugin', at)) {
    const place = within(at, name);
    const fault = pluginFault(name);
    if (fault !== null) place.report.error(place.path, `${quote(name)} is no plugin of a manifest: ${fault}`);
    else plugins.set(name, readPlugin(name, manifest, place));
  }
  return plugins;
}

function pluginFault(name: string): string | null {
  if (name === 'core' || name.startsWith('core:')) return 'the plugins of "core" are built in';
  return name.includes(':') ? 'a plugin has no ":" in its name' : identifierFault(`${name}:x`);
}

/** `allow-x` and `deny-x` of a command of the application, which no manifest lists. */
export function appPermission(base: string): Permission | null {
  const kind = base.startsWith('allow-') ? 'allow' : base.startsWith('deny-') ? 'deny' : null;
  if (kind === null) return null;
  const command = base.slice(kind.length + 1);
  if (command === '' || commandFault(command) !== null) return null;
  return permissionOf(null, base, kind, command);
}

const CORE: Plugins = corePlugins();

function corePlugins(): Plugins {
  const plugins = new Map<string, Plugin>();
  const sets = new Map<string, readonly string[]>();
  const defaults = Object.keys(CORE_PLUGINS).map((name) => `core:${name}:default`);
  plugins.set('core', { permissions: new Map(), sets, defaults });
  for (const [name, { commands, defaults: allowed }] of Object.entries(CORE_PLUGINS)) {
    const plugin = `core:${name}`;
    const both = commands.flatMap((command) => [
      permissionOf(plugin, `allow-${command}`, 'allow', command),
      permissionOf(plugin, `deny-${command}`, 'deny', command),
    ]);
    const permissions = new Map(both.map((one) => [splitIdentifier(one.identifier).base, one]));
    plugins.set(plugin, { permissions, sets, defaults: allowed.map((command) => `allow-${command}`) });
  }
  return plugins;
}

function permissionOf(
  plugin: string | null,
  base: string,
  kind: 'allow' | 'deny',
  command: string,
): Permission {
  const commands = [inFull(plugin, command)];
  return {
    identifier: inFull(plugin, base),
    plugin,
    allows: kind === 'allow' ? commands : [],
    denies: kind === 'deny' ? commands : [],
    scope: EMPTY_SCOPE,
    platforms: null,
  };
}

function inFull(plugin: string | null, name: string): string {
  return plugin === null ? name : `${plugin}:${name}`;
}

const commands = listOf(
  text((name) => {
    const fault = commandFault(name);
    return fault === null ? null : `${quote(name)} is no command: ${fault}`;
  }),
  'commands',
);
const members = listOf(
  text((name) => identifierFault(name)),
  'permission identifiers',
);
const values: Shape<readonly Value[]> = listOf(
  { schema: {}, read: (value, at) => readValue(value, at.path, at.report) },
  'values',
);
const targets = listOf(oneOf(TARGETS, 'platform'), 'platforms');

function readPlugin(plugin: string, manifest: unknown, at: Place): Plugin {
  const permissions = new Map<string, Permission>();
  const sets = new Map<string, readonly string[]>();
  let defaults: readonly string[] = [];
  for (const [key, value] of knownMembers(manifest, ['permissions', 'sets', 'default'], at)) {
    const place = within(at, key);
    if (key === 'default') defaults = members.read(value, place) ?? [];
    for (const [base, item] of key === 'default' ? [] : membersOf(value, `an object of ${key}`, place)) {
      const itemAt = within(place, base);
      const fault = baseFault(plugin, base);
      if (fault !== null)
        itemAt.report.error(itemAt.path, `${quote(base)} is no name of a permission or set: ${fault}`);
      else if (key === 'sets') sets.set(base, members.read(item, itemAt) ?? []);
      else permissions.set(base, readPermission({ plugin, base }, item, itemAt));
    }
  }
  return { permissions, sets, defaults };
}

function baseFault(plugin: string, base: string): string | null {
  if (base === 'default') return 'the default set of a plugin is its key "default"';
  return base.includes(':') ? 'it has no ":"' : identifierFault(inFull(plugin, base));
}

function readPermission(
  { plugin, base }: { plugin: string; base: string },
  value: unknown,
  at: Place,
): Permission {
  let allows: readonly string[] = [];
  let denies: readonly string[] = [];
  let scope: Scope = EMPTY_SCOPE;
  let platforms: readonly Target[] | null = null;
  for (const [key, member] of knownMembers(value, ['description', 'commands', 'scope', 'platforms'], at)) {
    const place = within(at, key);
    if (key === 'commands') {
      const named = readBoth(commands, member, place);
      allows = named.allow.map((command) => inFull(plugin, command));
      denies = named.deny.map((command) => inFull(plugin, command));
    }
    if (key === 'scope') scope = Object.freeze(readBoth(values, member, place));
    if (key === 'platforms' && member !== null) platforms = targets.read(member, place) ?? [];
  }
  return { identifier: inFull(plugin, base), plugin, allows, denies, scope, platforms };
}

function readBoth<T>(
  list: Shape<readonly T[]>,
  value: unknown,
  at: Place,
): { allow: readonly T[]; deny: readonly T[] } {
  const both: { allow: readonly T[]; deny: readonly T[] } = {
    allow: Object.freeze([]),
    deny: Object.freeze([]),
  };
  for (const [key, member] of knownMembers(value, ['allow', 'deny'], at)) {
    const items = member === null ? [] : (list.read(member, within(at, key)) ?? []);
    if (key === 'allow') both.allow = items;
    else both.deny = items;
  }
  return both;
}

/** The members of an object that may have no others: a misspelt `deny` in a manifest must not vanish. */
function knownMembers(
  value: unknown,
  known: readonly string[],
  at: Place,
): readonly (readonly [string, unknown])[] {
  return membersOf(value, `an object with ${known.join(', ')}`, at).filter(([key]) => {
    if (known.includes(key)) return true;
    const near = nearest(key, known);
    const hint = near === null ? `allowed are ${known.join(', ')}` : `did you mean ${quote(near)}?`;
    at.report.error(pointTo(at.path, key), `${quote(key)} is no key of a permission manifest; ${hint}`);
    return false;
  });
}

function membersOf(
  value: unknown,
  what: string,
  { path, report }: Place,
): readonly (readonly [string, unknown])[] {
  if (isMembers(value)) return Object.entries(value);
  report.error(path, `expected ${what}, found ${kindOf(value)}`);
  return [];
}

function within({ path, report }: { path: string; report: Report }, key: string): Place {
  return { path: pointTo(path, key), report };
}
