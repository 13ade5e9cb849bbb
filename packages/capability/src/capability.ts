import { type CommandRequest, judge } from './decide.ts';
import { commandsOf, type Explanation, explainCall } from './explain.ts';
import { type Finding, quote, Report } from './findings.ts';
import type { PermissionManifests } from './manifests.ts';
import type { Decision } from './memory.ts';
import { type Capability, readCapabilities, type Target } from './parse.ts';
import { type Acl, buildAcl } from './resolve.ts';
import { schemaOfFile } from './schema.ts';
import type { JsonSchema } from './shape.ts';
import { readSource } from './source.ts';
import { canonical, type Scope, type Value } from './values.ts';

export type { CommandRequest } from './decide.ts';
export type { PermissionEntry } from './entries.ts';
export type { Explanation, Missed } from './explain.ts';
export type { Finding } from './findings.ts';
export type { PermissionManifest, PermissionManifests } from './manifests.ts';
export type { Meeting } from './match.ts';
export type { Decision } from './memory.ts';
export type { Capability, Target } from './parse.ts';
export type { Acl, Source } from './resolve.ts';
export type { JsonSchema } from './shape.ts';
export type { Scope, Value } from './values.ts';

/**
 * Reads a capability file (R8): a text of JSON or TOML, or a value that was read from one. Answers the capabilities
 * with every default filled in, or everything that is wrong at once. Warnings are of keys that are ignored. Never throws.
 */
export function parseCapabilityFile(
  source: unknown,
): { capabilities: readonly Capability[]; warnings: readonly Finding[] } | { errors: readonly Finding[] } {
  const report = new Report();
  const read = readSource(source);
  for (const { path, message } of read.errors) report.error(path, message);
  const placed = read.file === null ? [] : readCapabilities(read.file.value, report);
  if (report.failed) return { errors: report.errors };
  return { capabilities: placed.map(({ capability }) => capability), warnings: report.warnings };
}

/**
 * Turns capabilities into the rules of one platform. `permissions` are the manifests of further plugins; the core
 * plugins are always known, as are `allow-x` and `deny-x` of the application's own commands. A permission that
 * nothing knows is an error, also on a platform where its capability is not active: a misspelt denial must not
 * vanish. Paths of errors point into `{ capabilities, permissions, platform }`. The order of capabilities and
 * permissions never changes a decision.
 */
export function resolve(
  capabilities: readonly Capability[],
  { permissions = {}, platform }: { permissions?: PermissionManifests; platform: Target },
): { acl: Acl } | { errors: readonly Finding[] } {
  const report = new Report();
  const acl = buildAcl(capabilities, { permissions, platform }, report);
  return acl === null ? { errors: report.errors } : { acl };
}

/**
 * Decides whether a call may pass. A command that any active capability denies is refused everywhere; else it takes a
 * capability that grants it, serves the origin, and matches the window or the webview. The scope is that of all such
 * capabilities with the plugin's own. Never throws, whatever the texts of the request are.
 */
export function decide(acl: Acl, request: CommandRequest): Decision {
  return judge(acl, request);
}

/** The capabilities and permissions that decided a call, and why other grants did not apply. */
export function explain(acl: Acl, request: CommandRequest): Explanation {
  return explainCall(acl, request);
}

/** Every command that a window and webview may use from an origin. */
export function allowedCommands(acl: Acl, caller: Omit<CommandRequest, 'command'>): readonly string[] {
  return commandsOf(acl, caller);
}

/**
 * Whether a scope lets a value pass: never one that is denied, else one that is allowed, else any where nothing is
 * listed as allowed. A command that needs a scope has to ask for a list that is not empty by itself. What an entry of
 * a scope means is up to the command: `matches` says it; without it only equal values match.
 */
export function scopeAllows(
  { allow, deny }: Scope,
  value: Value,
  matches: (entry: Value, value: Value) => boolean = isSame,
): boolean {
  if (deny.some((entry) => matches(entry, value))) return false;
  return allow.length === 0 || allow.some((entry) => matches(entry, value));
}

/** Whether a window or webview may be given this label: letters and digits of any script, `-`, `/`, `:` and `_`. */
export function isValidLabel(label: string): boolean {
  return LABEL.test(label);
}

/** The refusal text for a page. It omits the reason, which may reveal other windows. */
export function refusalText(command: string): string {
  return `Command ${quote(command)} not allowed by ACL`;
}

/** The JSON Schema (draft 2020-12) of a capability file, for editors. */
export function capabilitySchema(): JsonSchema {
  return schemaOfFile();
}

const LABEL = /^[\p{Alphabetic}\p{N}\-/:_]+$/u;

function isSame(entry: Value, value: Value): boolean {
  return canonical(entry) === canonical(value);
}
