import { quote } from './findings.ts';
import { splitIdentifier } from './identifier.ts';
import { EMPTY_SCOPE } from './manifests.ts';
import { type Caller, isServed } from './match.ts';
import type { Decision, Found } from './memory.ts';
import type { Acl, CommandRules, Grant } from './resolve.ts';
import { MAX_URL, partsOfUrl } from './url-pattern.ts';
import type { Scope } from './values.ts';

/** A call of a page: the labels of the object that received the message, never what the message says of itself. */
export interface CommandRequest {
  /** As its permission is named: `core:app:version`, `fs:read-file`, `my-command`. */
  readonly command: string;
  readonly window: string;
  readonly webview: string;
  /** `local` for the application's own content, else the URL of the document that asks. */
  readonly origin: string;
}

/** Section 6, rule 7 of upstream's rules: a denial anywhere refuses; else the grants that serve the caller decide. */
export function judge(acl: Acl, request: CommandRequest): Decision {
  const rules = acl.commands.get(request.command);
  if (rules === undefined) return refuse(request, 'no active capability names it');
  if (rules.denials.length > 0) return refuse(request, deniedBy(rules));
  const found = foundFor(acl, request);
  if (found === null)
    return refuse(request, `the origin ${quote(request.origin)} is not a URL that can be judged`);
  const known = found.decisions.get(request.command);
  if (known !== undefined) return known;
  const decision = judgeGrants(acl, rules, { request, found });
  acl.memory.keepDecision(found, request.command, decision);
  return decision;
}

/** The caller of a request, with the URL of its document read. */
export function callerOf({ window, webview, origin }: CommandRequest): Caller {
  return { window, webview, origin: origin === 'local' ? origin : partsOfUrl(origin) };
}

export function scopeOfGrants(acl: Acl, command: string, grants: readonly Grant[]): Scope {
  const { plugin } = splitIdentifier(command);
  const whole = plugin === null ? undefined : acl.pluginScopes.get(plugin);
  const scopes = [...grants.map(({ scope }) => scope), whole ?? EMPTY_SCOPE].filter(
    (scope) => scope !== EMPTY_SCOPE,
  );
  const [only = EMPTY_SCOPE] = scopes;
  if (scopes.length <= 1) return only;
  return Object.freeze({
    allow: Object.freeze(scopes.flatMap(({ allow }) => allow)),
    deny: Object.freeze(scopes.flatMap(({ deny }) => deny)),
  });
}

function foundFor(acl: Acl, request: CommandRequest): Found | null {
  const known = acl.memory.find(request);
  if (known !== undefined) return known;
  const caller = callerOf(request);
  if (caller.origin === null) return null;
  const served = Uint8Array.from(acl.audiences, (audience) => (isServed(audience, caller) ? 1 : 0));
  const found: Found = { served, decisions: new Map() };
  acl.memory.keepCaller(request, found);
  return found;
}

function judgeGrants(
  acl: Acl,
  rules: CommandRules,
  { request, found }: { request: CommandRequest; found: Found },
): Decision {
  const grants = rules.grants.filter(({ audience }) => found.served[audience] === 1);
  if (grants.length > 0)
    return Object.freeze({ allowed: true, scope: scopeOfGrants(acl, request.command, grants) });
  return refuse(request, 'no capability that grants it serves this window or webview from this origin');
}

function deniedBy({ denials }: CommandRules): string {
  const [first] = denials;
  const more = denials.length > 1 ? ` and ${denials.length - 1} more` : '';
  return first === undefined
    ? 'denied'
    : `denied by permission ${quote(first.permission)} of capability ${quote(first.capability)}${more}`;
}

function refuse({ command, window, webview, origin }: CommandRequest, why: string): Decision {
  const from =
    origin.length > MAX_URL ? 'a URL that is too long' : origin === 'local' ? 'local' : quote(origin);
  const reason = `command ${quote(command)} is not allowed on window ${quote(window)}, webview ${quote(webview)}, origin ${from}: ${why}`;
  return Object.freeze({ allowed: false, reason });
}
