import { lstat } from 'node:fs/promises';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { type Identity, runProgram } from '../../platform/run-program.ts';
import { readInstalled } from './installed.ts';
import type { Interpreter } from './interpreter.ts';
import type { CoreMetadata } from './parse-metadata.ts';
import type { PypiPlace } from './places.ts';
import type { Parsed } from './read-file.ts';

const ASK_TIMEOUT_MS = 30_000;
const ANSWER_MAX_BYTES = 16 * 1024;
const Folders = Type.Array(Type.String({ pattern: '^/', maxLength: 1_024 }), { maxItems: 16 });

/** Their location depends on the distribution; the interpreter knows it. `site` is read, not run. */
const ASK_FOLDERS =
  'import json, site, sys; print(json.dumps(site.getsitepackages([sys.base_prefix, sys.base_exec_prefix])))';

export interface SystemPackages {
  folders: string[];
  distributions: readonly CoreMetadata[];
}

/**
 * Reads the system packages that a place sees; none when it sees none. They count as installed and are never
 * changed. One unreadable package fails the call, as the place's requirements cannot be judged then.
 */
export async function readSystemPackages(
  place: PypiPlace,
  { python }: Interpreter,
  identity: Identity | null,
): Promise<Parsed<SystemPackages>> {
  const folders: string[] = [];
  let distributions: readonly CoreMetadata[] = [];
  if (!place.usesSystemPackages) return { ok: true, value: { folders, distributions } };
  const asked = await runProgram({
    ...{ program: python, args: ['-I', '-S', '-B', '-c', ASK_FOLDERS], identity },
    ...{ timeoutMs: ASK_TIMEOUT_MS, maxOutputBytes: ANSWER_MAX_BYTES },
  });
  if (!asked.ok)
    return { ok: false, reason: `${python} does not report its package folders: ${asked.detail}` };
  const answer = parseStrictJson(asked.stdout.trim());
  if (!answer.ok || !Check(Folders, answer.value)) {
    return { ok: false, reason: `${python} does not report its package folders` };
  }
  for (const folder of new Set(answer.value)) {
    if ((await lstat(folder).catch(() => null)) === null) continue;
    const state = await readInstalled({ kind: 'system', path: folder, sitePackages: folder });
    const [fault] = state.faults;
    if (fault !== undefined) return { ok: false, reason: `among the packages of the system: ${fault}` };
    folders.push(folder);
    distributions = seenFrom(distributions, state.distributions);
  }
  return { ok: true, value: { folders, distributions } };
}

/** The importable packages of two folders searched in this order: the first of each name. */
export function seenFrom(
  first: readonly CoreMetadata[],
  second: readonly CoreMetadata[],
): readonly CoreMetadata[] {
  const names = new Set(first.map(({ name }) => name));
  return [...first, ...second.filter(({ name }) => !names.has(name))];
}
