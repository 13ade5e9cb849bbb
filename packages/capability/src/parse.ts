import { identifierOf, type PermissionEntry, uniqueEntries } from './entries.ts';
import { pointTo, quote, type Report } from './findings.ts';
import { parseGlob } from './glob.ts';
import {
  flag,
  listOf,
  oneOf,
  optional,
  orNull,
  type Place,
  readField,
  readMembers,
  required,
  type Shape,
  schemaOfFields,
  text,
} from './shape.ts';
import { readUrlPattern } from './url-pattern.ts';
import { isMembers, kindOf } from './values.ts';

/** The platforms that a capability or permission can be kept to, in upstream's spelling. */
export const TARGETS = ['linux', 'macOS', 'windows', 'android', 'iOS'] as const;
export type Target = (typeof TARGETS)[number];

/** One capability of a file (R8), with every default filled in. */
export interface Capability {
  readonly identifier: string;
  readonly description: string;
  readonly remote: { readonly urls: readonly string[] } | null;
  readonly local: boolean;
  readonly windows: readonly string[];
  readonly webviews: readonly string[];
  readonly permissions: readonly PermissionEntry[];
  /** `null` is every platform, an empty list is none. */
  readonly platforms: readonly Target[] | null;
}

/** Capabilities of one file, and of one shell. */
const MAX_CAPABILITIES = 10_000;

const glob = text((source) => {
  const result = parseGlob(source);
  return result.ok ? null : `${quote(source)} is no pattern of labels: ${result.fault}`;
});
const urlPattern = text((source) => {
  const result = readUrlPattern(source);
  return result.ok ? null : `${quote(source)} ${result.fault}`;
});
const REMOTE = {
  urls: required('urls', listOf(urlPattern, 'URL patterns'), 'URL patterns of the remote content.'),
};
const remoteContent: Shape<Capability['remote']> = {
  schema: schemaOfFields(Object.values(REMOTE)),
  read(raw, at) {
    const what = 'an object with "urls", or null';
    const members = readMembers(raw, { what, fields: Object.values(REMOTE), at });
    const urls = members && readField(REMOTE.urls, members, at);
    return urls === undefined ? undefined : { urls };
  },
};

/** The fields of a capability: what the reader accepts and what the schema says are this one table. */
const FIELDS = {
  identifier: required('identifier', text(), 'Identifier of the capability; no two have the same.'),
  description: optional('description', text(), '', 'What the grouped permissions allow.'),
  remote: optional(
    'remote',
    orNull(remoteContent),
    null,
    'Gives the permissions to remote content too; without it to none.',
  ),
  local: optional('local', flag, true, 'Whether the content of the application itself has the permissions.'),
  windows: optional(
    'windows',
    listOf(glob, 'window labels'),
    [],
    'Labels or patterns of windows; the capability holds for all webviews of a window that matches.',
  ),
  webviews: optional(
    'webviews',
    listOf(glob, 'webview labels'),
    [],
    'Labels or patterns of webviews, whatever their window is.',
  ),
  permissions: required('permissions', uniqueEntries, 'Permissions and sets that are given.'),
  platforms: optional(
    'platforms',
    orNull(listOf(oneOf(TARGETS, 'platform'), 'platforms')),
    null,
    'Platforms on which the capability is active; all without it, none where the list is empty.',
  ),
};

/** The schema of one capability; it refers to `#/$defs/Value`. */
export const CAPABILITY_SCHEMA = schemaOfFields(Object.values(FIELDS));

/** A capability with the pointer to where it stands. */
export interface Placed {
  readonly capability: Capability;
  readonly path: string;
}

/** The capabilities of a file that has been read: one, a list, or an object with the list (R8). */
export function readCapabilities(file: unknown, report: Report): readonly Placed[] {
  const list = listCapabilities(file, report);
  if (list === null) return [];
  if (list.items.length > MAX_CAPABILITIES) {
    report.error(list.path, `has ${list.items.length} capabilities; at most ${MAX_CAPABILITIES} are read`);
    return [];
  }
  const seen = new Set<string>();
  return list.items.flatMap(({ raw, path }) => {
    const capability = readCapability(raw, { path, report });
    const identifier = capability?.identifier ?? identifierOf(raw);
    if (identifier !== null) reportTaken(identifier, { path, report }, seen);
    return capability === undefined ? [] : [{ capability, path }];
  });
}

interface Listed {
  readonly path: string;
  readonly items: readonly { readonly raw: unknown; readonly path: string }[];
}

/** The capabilities of a file, not read yet, by its form; null for what is none of the three. */
export function listCapabilities(file: unknown, report: Report): Listed | null {
  const [list, path] =
    isMembers(file) && Object.hasOwn(file, 'capabilities')
      ? [file.capabilities, '/capabilities']
      : [file, ''];
  if (path !== '' && isMembers(file)) warnOfOthers(file, report);
  if (Array.isArray(list))
    return { path, items: list.map((raw: unknown, i) => ({ raw, path: pointTo(path, i) })) };
  if (path === '' && isMembers(list)) return { path, items: [{ raw: list, path }] };
  const expected =
    path === '' ? 'a capability, a list of them, or an object with "capabilities"' : 'a list of capabilities';
  report.error(path, `expected ${expected}, found ${kindOf(list)}`);
  return null;
}

function warnOfOthers(file: Readonly<Record<string, unknown>>, report: Report): void {
  for (const name of Object.keys(file)) {
    if (name === 'capabilities') continue;
    const message =
      name === '$schema'
        ? 'is for editors and ignored here'
        : `${quote(name)} is ignored beside "capabilities"`;
    report.warn(pointTo('', name), message);
  }
}

function readCapability(raw: unknown, at: Place): Capability | undefined {
  const members = readMembers(raw, { what: 'a capability (an object)', fields: Object.values(FIELDS), at });
  if (members === undefined) return undefined;
  const identifier = readField(FIELDS.identifier, members, at);
  const description = readField(FIELDS.description, members, at);
  const remote = readField(FIELDS.remote, members, at);
  const local = readField(FIELDS.local, members, at);
  const windows = readField(FIELDS.windows, members, at);
  const webviews = readField(FIELDS.webviews, members, at);
  const permissions = readField(FIELDS.permissions, members, at);
  const platforms = readField(FIELDS.platforms, members, at);
  if (identifier === undefined || description === undefined || remote === undefined) return undefined;
  if (local === undefined || windows === undefined || webviews === undefined) return undefined;
  if (permissions === undefined || platforms === undefined) return undefined;
  return Object.freeze({
    ...{ identifier, description, remote, local, windows, webviews, permissions, platforms },
  });
}

function reportTaken(identifier: string, { path, report }: Place, seen: Set<string>): void {
  if (seen.has(identifier))
    report.error(`${path}/identifier`, `capability ${quote(identifier)} already exists`);
  seen.add(identifier);
}
