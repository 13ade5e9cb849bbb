import type { PermissionEntry } from './entries.ts';
import { checkSets, expand, unknownPermission } from './expand.ts';
import { pointTo, type Report } from './findings.ts';
import { type Permission, type Plugins, readManifests } from './manifests.ts';
import { type Audience, audienceOf } from './match.ts';
import { Memory } from './memory.ts';
import { type Capability, type Placed, readCapabilities, TARGETS, type Target } from './parse.ts';
import { oneOf } from './shape.ts';
import { type Scope, tooLarge, type Value } from './values.ts';

/** Commands and values of scopes that the permissions of all capabilities together may come to. */
export const MAX_RULES = 1_000_000;

/** A capability and the permission of it that says something about a command. */
export interface Source {
  readonly capability: string;
  readonly permission: string;
}

export interface Grant extends Source {
  /** Index of the capability's audience. */
  readonly audience: number;
  readonly scope: Scope;
}

/** All that the active capabilities say about one command. */
export interface CommandRules {
  /** A command of which this is not empty is refused everywhere. */
  readonly denials: Source[];
  readonly grants: Grant[];
}

/** Capabilities as `decide` asks them: active on one platform, expanded, with compiled patterns. */
export interface Acl {
  readonly audiences: readonly Audience[];
  readonly commands: ReadonlyMap<string, CommandRules>;
  /** What permissions without commands add to every command of their plugin. */
  readonly pluginScopes: ReadonlyMap<string, Scope>;
  readonly plugins: Plugins;
  readonly memory: Memory;
}

/**
 * Builds the rules of one platform, or tells the report why there are none. Pointers are into the arguments,
 * `{ capabilities, permissions, platform }`. Capabilities are read once more: what a caller put together, or changed
 * since it was parsed, is held to the same rules, and what is changed later changes no rule.
 */
export function buildAcl(
  capabilities: unknown,
  { permissions, platform }: { permissions: unknown; platform: unknown },
  report: Report,
): Acl | null {
  const target = oneOf(TARGETS, 'platform').read(platform, { path: '/platform', report });
  const fault = tooLarge(permissions);
  if (fault !== null) report.error('/permissions', fault);
  const plugins = readManifests(fault === null ? permissions : {}, { path: '/permissions', report });
  checkSets(plugins, { path: '/permissions', report });
  // Of manifests with errors nobody can say which permissions they have.
  const isKnown = target !== undefined && !report.failed;
  const placed = readAll(capabilities, report);
  if (!isKnown) return null;
  const builder = new AclBuilder(plugins, target, report);
  for (const { capability, path } of placed) builder.add(capability, path);
  return report.failed ? null : builder.acl();
}

/** By identifier, so that the order of files never matters. */
function readAll(capabilities: unknown, report: Report): readonly Placed[] {
  const fault = tooLarge(capabilities);
  if (fault !== null) report.error('/capabilities', fault);
  const placed = fault === null ? readCapabilities({ capabilities }, report) : [];
  return placed.toSorted(({ capability: a }, { capability: b }) => (a.identifier < b.identifier ? -1 : 1));
}

class AclBuilder {
  readonly #plugins: Plugins;
  readonly #platform: Target;
  readonly #report: Report;
  readonly #expanded = new Map<string, readonly Permission[] | null>();
  readonly #audiences: Audience[] = [];
  readonly #commands = new Map<string, CommandRules>();
  readonly #pluginScopes = new Map<string, { allow: Value[]; deny: Value[] }>();
  #rules = 0;

  constructor(plugins: Plugins, platform: Target, report: Report) {
    this.#plugins = plugins;
    this.#platform = platform;
    this.#report = report;
  }

  add(capability: Capability, path: string): void {
    const audience = audienceOf(capability, path, this.#report);
    const isActive = capability.platforms === null || capability.platforms.includes(this.#platform);
    if (isActive) this.#audiences.push(audience);
    for (const [i, entry] of capability.permissions.entries()) {
      const at = pointTo(`${path}/permissions`, i);
      const permissions = this.#expand(entry.identifier);
      if (permissions === null) this.#report.error(at, this.#unknown(entry.identifier));
      else if (isActive) this.#addAll(entry, permissions, { capability: capability.identifier, at });
    }
  }

  acl(): Acl {
    const pluginScopes = new Map<string, Scope>(this.#pluginScopes);
    for (const scope of pluginScopes.values())
      for (const part of [scope, scope.allow, scope.deny]) Object.freeze(part);
    return {
      audiences: this.#audiences,
      commands: this.#commands,
      pluginScopes,
      plugins: this.#plugins,
      memory: new Memory(),
    };
  }

  #expand(identifier: string): readonly Permission[] | null {
    const known = this.#expanded.get(identifier);
    if (known !== undefined) return known;
    const permissions = expand(this.#plugins, identifier);
    this.#expanded.set(identifier, permissions);
    return permissions;
  }

  /** Looking for the nearest name takes time that errors past the listed ones do not deserve. */
  #unknown(identifier: string): string {
    return this.#report.isFull ? '' : unknownPermission(this.#plugins, identifier);
  }

  #addAll(
    entry: PermissionEntry,
    permissions: readonly Permission[],
    { capability, at }: { capability: string; at: string },
  ): void {
    for (const permission of permissions) {
      if (permission.platforms !== null && !permission.platforms.includes(this.#platform)) continue;
      this.#rules += sizeOf(permission, entry);
      if (this.#rules > MAX_RULES) {
        this.#report.error(at, `from here on there are more than ${MAX_RULES} commands and values of scopes`);
        return;
      }
      this.#addOne(permission, scopeOf(entry, permission.scope), capability);
    }
  }

  #addOne({ identifier, plugin, allows, denies }: Permission, scope: Scope, capability: string): void {
    const audience = this.#audiences.length - 1;
    for (const command of denies) this.#rulesOf(command).denials.push({ capability, permission: identifier });
    for (const command of allows)
      this.#rulesOf(command).grants.push({ capability, permission: identifier, audience, scope });
    if (allows.length > 0 || denies.length > 0 || plugin === null) return;
    const whole = this.#pluginScopes.get(plugin) ?? { allow: [], deny: [] };
    for (const value of scope.allow) whole.allow.push(value);
    for (const value of scope.deny) whole.deny.push(value);
    this.#pluginScopes.set(plugin, whole);
  }

  #rulesOf(command: string): CommandRules {
    const known = this.#commands.get(command);
    if (known !== undefined) return known;
    const rules: CommandRules = { denials: [], grants: [] };
    this.#commands.set(command, rules);
    return rules;
  }
}

function sizeOf({ allows, denies, scope }: Permission, { allow, deny }: PermissionEntry): number {
  const values = scope.allow.length + scope.deny.length + (allow?.length ?? 0) + (deny?.length ?? 0);
  return 1 + allows.length + denies.length + values;
}

/** The entry's own values come first, then those of the permission. Frozen: callers of `decide` get it as it is. */
function scopeOf(entry: PermissionEntry, own: Scope): Scope {
  if (entry.allow === null && entry.deny === null) return own;
  return Object.freeze({
    allow: joined(entry.allow, own.allow),
    deny: joined(entry.deny, own.deny),
  });
}

function joined(first: readonly Value[] | null, second: readonly Value[]): readonly Value[] {
  if (first === null) return second;
  return second.length === 0 ? first : Object.freeze([...first, ...second]);
}
