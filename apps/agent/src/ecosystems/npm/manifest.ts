import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Parsed } from './lockfile.ts';
import { isName } from './session.ts';

const Section = Type.Optional(Type.Record(Type.String(), Type.String()));
const SECTIONS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

/** A project's package.json. Other members are preserved. */
const Manifest = Type.Object({
  dependencies: Section,
  devDependencies: Section,
  optionalDependencies: Section,
  workspaces: Type.Optional(Type.Unknown()),
});
export type Manifest = Static<typeof Manifest>;

const EXACT = /^[=v\s]*\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\s*$/;
const LOOKS_ELSEWHERE = /[:/]/;

export function parseManifest(text: string): Parsed<Manifest> {
  const json = parseStrictJson(text);
  if (!json.ok) return { ok: false, reason: `package.json ${json.reason}` };
  if (!Check(Manifest, json.value)) return { ok: false, reason: 'package.json does not describe a project' };
  return { ok: true, value: json.value };
}

/** A direct dependency of the project. */
export interface DirectNeed {
  name: string;
  range: string;
  /** An exact version is a pin: it is reported as held and never moved. */
  isPinned: boolean;
  /** False for dependencies from git, a file or another registry and for aliases: they get no updates. */
  isRegistry: boolean;
}

export function directNeeds(manifest: Manifest): DirectNeed[] {
  const needs = new Map<string, DirectNeed>();
  for (const section of SECTIONS) {
    for (const [name, range] of Object.entries(manifest[section] ?? {})) {
      const isRegistry = isName(name) && !LOOKS_ELSEWHERE.test(range);
      needs.set(name, { name, range, isPinned: EXACT.test(range), isRegistry });
    }
  }
  return [...needs.values()];
}

/** The same package.json with these dependencies pinned wherever they are declared. */
export function pinNeeds(manifest: Manifest, wishes: readonly { name: string; version: string }[]): string {
  const pinned: Manifest = { ...manifest };
  for (const section of SECTIONS) {
    const needs = manifest[section];
    if (needs === undefined) continue;
    const pins = wishes.filter(({ name }) => Object.hasOwn(needs, name));
    if (pins.length === 0) continue;
    pinned[section] = { ...needs, ...Object.fromEntries(pins.map(({ name, version }) => [name, version])) };
  }
  return JSON.stringify(pinned);
}
