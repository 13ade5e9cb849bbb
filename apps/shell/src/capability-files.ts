import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { type Acl, type Capability, parseCapabilityFile, resolve, type Target } from '@tidegate/capability';

const FILE_MAX_BYTES = 1024 * 1024;
const EXTENSIONS = ['.json', '.toml'];
const TARGETS: Readonly<Record<string, Target>> = { linux: 'linux', darwin: 'macOS', win32: 'windows' };

export type Loaded = { ok: true; acl: Acl; warnings: readonly string[] } | { ok: false; detail: string };

/**
 * Reads capability files, or all below a folder (except folders named `schemas`), into the rules for this system. An
 * invalid file stops the start: a rule that is skipped might have been a denial.
 */
export function loadCapabilities(paths: readonly string[], platform: string = process.platform): Loaded {
  const capabilities: Capability[] = [];
  const warnings: string[] = [];
  for (const file of paths.flatMap(filesOf)) {
    const { size } = statSync(file);
    if (size > FILE_MAX_BYTES) return { ok: false, detail: `${file} is larger than ${FILE_MAX_BYTES} bytes` };
    const read = parseCapabilityFile(readFileSync(file, 'utf8'));
    if ('errors' in read) return { ok: false, detail: wordsOf(file, read.errors) };
    for (const capability of read.capabilities) {
      if (capabilities.some(({ identifier }) => identifier === capability.identifier))
        return {
          ok: false,
          detail: `${file}: capability with identifier "${capability.identifier}" already exists`,
        };
      capabilities.push(capability);
    }
    warnings.push(...read.warnings.map((warning) => wordsOf(file, [warning])));
  }
  const target = TARGETS[platform];
  if (target === undefined) return { ok: false, detail: `there is no shell for ${platform}` };
  const resolved = resolve(capabilities, { platform: target });
  if ('errors' in resolved) return { ok: false, detail: wordsOf(paths.join(', '), resolved.errors) };
  return { ok: true, acl: resolved.acl, warnings };
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .flatMap((entry) => {
      if (entry.isDirectory()) return entry.name === 'schemas' ? [] : filesOf(join(path, entry.name));
      return EXTENSIONS.includes(extname(entry.name)) ? [join(path, entry.name)] : [];
    })
    .toSorted();
}

function wordsOf(file: string, findings: readonly { path: string; message: string }[]): string {
  return `${file}: ${findings.map(({ path, message }) => `${path === '' ? '' : `${path} `}${message}`).join('; ')}`;
}
