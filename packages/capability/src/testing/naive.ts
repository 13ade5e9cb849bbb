import type { CommandRequest } from '../decide.ts';
import type { PermissionEntry } from '../entries.ts';
import type { PermissionManifests } from '../manifests.ts';
import type { Capability, Target } from '../parse.ts';
import type { Value } from '../values.ts';

// R8 implemented literally, without regard for speed, as the reference for `decide`. It knows plugins of
// manifests and commands of the application, and remote patterns by the platform's own URLPattern.

interface World {
  readonly capabilities: readonly Capability[];
  readonly manifests: PermissionManifests;
  readonly platform: Target;
}

interface Flat {
  readonly capability: Capability;
  readonly plugin: string;
  readonly allows: readonly string[];
  readonly denies: readonly string[];
  readonly allow: readonly Value[];
  readonly deny: readonly Value[];
}

export function decideNaively(
  world: World,
  request: CommandRequest,
): { allow: Value[]; deny: Value[] } | 'refused' {
  const all = flatten(world);
  if (all.some(({ denies }) => denies.includes(request.command))) return 'refused';
  const served = all.filter(
    ({ allows, capability }) => allows.includes(request.command) && serves(capability, request),
  );
  if (served.length === 0) return 'refused';
  const plugin = request.command.includes(':') ? request.command.split(':')[0] : undefined;
  const whole = all.filter((one) => one.plugin === plugin && one.allows.length + one.denies.length === 0);
  return {
    allow: [...served, ...whole].flatMap(({ allow }) => allow),
    deny: [...served, ...whole].flatMap(({ deny }) => deny),
  };
}

function flatten({ capabilities, manifests, platform }: World): Flat[] {
  const active = capabilities.filter(({ platforms }) => platforms === null || platforms.includes(platform));
  return active
    .toSorted((a, b) => (a.identifier < b.identifier ? -1 : 1))
    .flatMap((capability) => capability.permissions.flatMap((entry) => ofEntry(entry, capability, manifests)))
    .filter((one) => one.platforms === null || one.platforms.includes(platform));
}

function ofEntry(entry: PermissionEntry, capability: Capability, manifests: PermissionManifests) {
  return [...new Set(names(entry.identifier, manifests, false))].map((name) => {
    const [plugin = '', base = ''] = name.includes(':') ? name.split(':') : ['', name];
    const command = base.replace(/^(allow|deny)-/, '');
    const app = { commands: { [base.startsWith('allow') ? 'allow' : 'deny']: [command] } };
    const permission = plugin === '' ? app : (manifests[plugin]?.permissions?.[base] ?? {});
    const inFull = (one: string) => (plugin === '' ? one : `${plugin}:${one}`);
    return {
      capability,
      plugin,
      platforms: ('platforms' in permission && permission.platforms) || null,
      allows: (permission.commands?.allow ?? []).map(inFull),
      denies: (permission.commands?.deny ?? []).map(inFull),
      allow: [...(entry.allow ?? []), ...(('scope' in permission && permission.scope?.allow) || [])],
      deny: [...(entry.deny ?? []), ...(('scope' in permission && permission.scope?.deny) || [])],
    };
  });
}

/** The permissions that an identifier comes to. A set in an entry stands before a permission, in a set after it. */
function names(identifier: string, manifests: PermissionManifests, isMember: boolean): string[] {
  const [plugin = '', base = ''] = identifier.split(':');
  const manifest = manifests[plugin];
  const set = base === 'default' ? manifest?.default : manifest?.sets?.[base];
  if (set === undefined || (isMember && manifest?.permissions?.[base] !== undefined)) return [identifier];
  return set.flatMap((member) =>
    names(member.includes(':') ? member : `${plugin}:${member}`, manifests, true),
  );
}

function serves(
  { local, remote, windows, webviews }: Capability,
  { window, webview, origin }: CommandRequest,
): boolean {
  const fromHere =
    origin === 'local' ? local : (remote?.urls ?? []).some((pattern) => new URLPattern(pattern).test(origin));
  return (
    fromHere &&
    (windows.some((one) => globMatches(one, window)) || webviews.some((one) => globMatches(one, webview)))
  );
}

/** Every way to read a glob, one after the other; exponential, and obviously so. */
export function globMatches(glob: string, label: string): boolean {
  const chars = [...label];
  const ends = Array.from({ length: chars.length + 1 }, (_, i) => i);
  const rest = (end: number) => chars.slice(end).join('');
  if (glob === '') return label === '';
  const stars = /^\*\*(\/|$)/.exec(glob)?.[0];
  // What ends in `**/` ends in `**`: the slash belongs to the wildcard.
  if (stars === glob) return true;
  if (stars !== undefined)
    return ends.some((end) => (end === 0 || chars[end - 1] === '/') && globMatches(glob.slice(3), rest(end)));
  if (glob[0] === '*') return ends.some((end) => globMatches(glob.slice(1), rest(end)));
  const token = /^\[(!?)(.[^\]]*)\]/u.exec(glob) ?? /^./u.exec(glob);
  const [char] = chars;
  if (token === null || char === undefined) return false;
  const isTaken = token.length === 1 ? token[0] === '?' || token[0] === char : inClass(token, char);
  return isTaken && globMatches(glob.slice(token[0].length), rest(1));
}

function inClass([, not, inside = '']: RegExpExecArray, char: string): boolean {
  const ranges = [...inside.matchAll(/(.)-(.)|(.)/gu)];
  const isIn = ranges.some(([, low, high, one]) =>
    one === undefined ? `${low}` <= char && char <= `${high}` : one === char,
  );
  return isIn !== (not === '!');
}
