import { expand, unknownPermission } from './expand.ts';
import { type Finding, Report } from './findings.ts';
import { identifierFault } from './identifier.ts';
import { has, locate } from './locate.ts';
import { type Plugins, readManifests } from './manifests.ts';
import { listCapabilities, type Placed, readCapabilities } from './parse.ts';
import { type Acl, buildAcl } from './resolve.ts';
import { type Format, positionOf, readText } from './source.ts';
import { isMembers } from './values.ts';

/** A file as it was read; `text` is null for one that is not UTF-8 or could not be read, `fault` says why. */
export interface NamedText {
  readonly name: string;
  readonly text: string | null;
  readonly fault: string;
}

/** A finding with its place, as a compiler names it. */
export interface FileFinding {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly severity: 'error' | 'warning';
  /** JSON Pointer into the file. */
  readonly path: string;
  readonly message: string;
}

export interface Checked {
  readonly findings: readonly FileFinding[];
  readonly capabilities: number;
  /** Null when there are errors. */
  readonly acl: Acl | null;
}

interface Source {
  readonly name: string;
  readonly text: string;
  readonly format: Format;
  readonly value: unknown;
}

type Found = Placed & { readonly source: Source };

/** Reads capability files and manifests together, as `resolve` does, and says everything that is wrong in any. */
export function checkFiles(
  files: readonly NamedText[],
  { manifests, platform }: { manifests: readonly NamedText[]; platform: string },
): Checked {
  const findings: FileFinding[] = [];
  const placed: Found[] = [];
  const sources: Source[] = [];
  for (const file of files) {
    const source = open(file, findings);
    if (source === null) continue;
    sources.push(source);
    const report = new Report();
    for (const one of readCapabilities(source.value, report)) placed.push({ ...one, source });
    findings.push(...place(source, report.errors, 'error'), ...place(source, report.warnings, 'warning'));
  }
  const opened = manifests.flatMap((manifest) => open(manifest, findings) ?? []);
  const permissions = merge(opened);
  findings.push(...unknownOfFaulty(sources, placed, permissions));
  const report = new Report();
  const capabilities = placed.map(({ capability }) => capability);
  const acl = buildAcl(capabilities, { permissions, platform }, report);
  const known = new Set(findings.map(({ file, path }) => `${file}#${path}`));
  for (const finding of report.errors)
    findings.push(
      ...placeOfArguments(finding, placed, opened).filter(({ file, path }) => !known.has(`${file}#${path}`)),
    );
  const isClean = findings.every(({ severity }) => severity === 'warning');
  return { findings: inOrder(findings), capabilities: placed.length, acl: isClean ? acl : null };
}

/** Capabilities that could not be read have their unknown permissions named all the same. */
function unknownOfFaulty(
  sources: readonly Source[],
  read: readonly Found[],
  permissions: unknown,
): FileFinding[] {
  const plugins = readManifests(permissions, { path: '', report: new Report() });
  return sources.flatMap((source) => {
    const wasRead = new Set(read.filter((one) => one.source === source).map(({ path }) => path));
    const items = listCapabilities(source.value, new Report())?.items ?? [];
    const report = new Report();
    for (const { raw, path } of items) if (!wasRead.has(path)) reportUnknown(raw, { plugins, path, report });
    return place(source, report.errors, 'error');
  });
}

function reportUnknown(
  raw: unknown,
  { plugins, path, report }: { plugins: Plugins; path: string; report: Report },
): void {
  const entries = isMembers(raw) && Array.isArray(raw.permissions) ? raw.permissions : [];
  for (const [i, entry] of entries.entries()) {
    const identifier: unknown = isMembers(entry) ? entry.identifier : entry;
    if (typeof identifier !== 'string' || identifierFault(identifier) !== null || report.isFull) continue;
    if (expand(plugins, identifier) === null)
      report.error(`${path}/permissions/${i}`, unknownPermission(plugins, identifier));
  }
}

function open({ name, text, fault }: NamedText, findings: FileFinding[]): Source | null {
  const format = formatOf(name);
  const refuse = (message: string): null => {
    findings.push({ file: name, line: 1, column: 1, severity: 'error', path: '', message });
    return null;
  };
  if (format === null) return refuse(`unknown format of a file: its name has to end in ".json" or ".toml"`);
  if (text === null) return refuse(fault);
  const result = readText(text, format);
  for (const { path, message, offset } of result.faults)
    findings.push({ file: name, ...positionOf(text, offset), severity: 'error', path, message });
  return result.ok ? { name, text, format, value: result.value } : null;
}

function formatOf(name: string): Format | null {
  if (name.endsWith('.json')) return 'JSON';
  return name.endsWith('.toml') ? 'TOML' : null;
}

function place(source: Source, found: readonly Finding[], severity: 'error' | 'warning'): FileFinding[] {
  const { name, text, format } = source;
  // Editors want `$schema`: a file is not worse for it.
  const listed = found.filter(({ path }) => severity === 'error' || !path.endsWith('/$schema'));
  if (listed.length === 0) return [];
  const places = locate(
    text,
    format,
    listed.map(({ path }) => path),
  );
  return listed.map(({ path, message }) => {
    const { line, column } = places.get(path) ?? { line: 1, column: 1 };
    return { file: name, line, column, severity, path, message };
  });
}

/** Places a finding of `resolve`, whose pointer is into `{ capabilities, permissions, platform }`. */
function placeOfArguments(
  { path, message }: Finding,
  placed: readonly Found[],
  manifests: readonly Source[],
): FileFinding[] {
  const [, argument, index = ''] = path.split('/');
  if (argument === 'capabilities') {
    const one = placed[Number(index)];
    const inside = path.slice(`/capabilities/${index}`.length);
    return one === undefined ? [] : place(one.source, [{ path: one.path + inside, message }], 'error');
  }
  const inside = path.slice('/permissions'.length);
  const owner = manifests.findLast(({ text, format }) => has(text, format, inside)) ?? manifests.at(-1);
  if (argument === 'permissions' && owner !== undefined)
    return place(owner, [{ path: inside, message }], 'error');
  return [{ file: '', line: 1, column: 1, severity: 'error', path, message }];
}

/** Several manifests as one: a permission, set or default set that two files have is that of the last one. */
function merge(manifests: readonly Source[]): unknown {
  const merged: Record<string, unknown> = {};
  for (const { value } of manifests) {
    if (!isMembers(value)) return value;
    for (const [plugin, manifest] of Object.entries(value)) {
      const before = Object.hasOwn(merged, plugin) ? merged[plugin] : undefined;
      merged[plugin] = isMembers(before) && isMembers(manifest) ? mergeOne(before, manifest) : manifest;
    }
  }
  return merged;
}

function mergeOne(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): unknown {
  const merged: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(after)) {
    const known = merged[key];
    merged[key] = isMembers(known) && isMembers(value) ? { ...known, ...value } : value;
  }
  return merged;
}

function inOrder(findings: readonly FileFinding[]): FileFinding[] {
  const files = [...new Set(findings.map(({ file }) => file))];
  return findings.toSorted(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
  );
}
