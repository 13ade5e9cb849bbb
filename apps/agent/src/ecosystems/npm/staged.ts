import { join } from 'node:path';
import { bundlersOf } from '@tidegate/protocol/bundles';
import type { PlanAction } from '@tidegate/protocol/plan';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { isAddress } from './artifacts.ts';
import { identityIn } from './bundled.ts';
import { placePathOf } from './locations.ts';
import type { Parsed } from './lockfile.ts';
import { isSafeArgument } from './session.ts';
import { readTarball, type TarballFacts } from './tarball.ts';
import { parseLoosely } from './tree.ts';

const Manifest = Type.Record(Type.String(), Type.Unknown());
const Scripts = Type.Record(Type.String(), Type.Unknown());
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall'];

/** A package of the approval, by its staged file. */
export interface StagedPackage {
  name: string;
  version: string;
  path: string;
  artifact: { url: string; sha512: string };
  /** The package.json inside the file. */
  manifest: Record<string, unknown>;
  hasShrinkwrap: boolean;
  /** Whether it has install scripts that npm would run. */
  hasScripts: boolean;
  /** The packages in the file beside it, each with its name and version, its package.json, and whether it has scripts. */
  bundled: readonly { key: string; hasScripts: boolean; manifest: Record<string, unknown> }[];
}

/** The one place of an approval. */
export function placeOf(actions: readonly PlanAction[]): Parsed<string> {
  const places = new Set(actions.map(({ arch }) => (arch === undefined ? '' : placePathOf(arch))));
  const [place, ...others] = places;
  if (place === undefined || place === '' || others.length > 0) {
    return { ok: false, reason: 'the approval is not about one place' };
  }
  return { ok: true, value: place };
}

/**
 * Reads the metadata of the staged files, each once. Refuses a file of another package than its action's, and one
 * without the packages it should bundle.
 */
export async function readStaged(
  actions: readonly PlanAction[],
  stage: string,
): Promise<Parsed<StagedPackage[]>> {
  const staged = new Map<string, StagedPackage>();
  const bundlers = bundlersOf({ ecosystem: 'npm', actions });
  for (const approved of actions) {
    const { action, name, to_version: version, artifact } = approved;
    if (action === 'remove' || bundlers.has(approved)) continue;
    if (version === undefined || !isSafeArgument({ name, version })) {
      return { ok: false, reason: `npm does not accept the name or version of ${name}` };
    }
    if (artifact?.sha512 === undefined || !isAddress(artifact.url)) {
      return { ok: false, reason: `the file of ${name} has no SHA-512 or no address` };
    }
    const { url, sha512, filename } = artifact;
    const key = `${name}@${version}`;
    const known = staged.get(key);
    if (known !== undefined && known.artifact.sha512 !== sha512) {
      return { ok: false, reason: `the approval holds two files of ${key}` };
    }
    if (known !== undefined) continue;
    const path = join(stage, filename);
    const read = await readTarball(path);
    if (!read.ok) return { ok: false, reason: `${name}: ${read.reason}` };
    const manifest = parseLoosely(read.facts.manifest);
    if (!Check(Manifest, manifest)) return { ok: false, reason: `${name}: the package.json cannot be read` };
    if (manifest.name !== name || manifest.version !== version) {
      return { ok: false, reason: `the file of ${key} is another package` };
    }
    const { hasShrinkwrap, hasGyp } = read.facts;
    const hasScripts = hasGyp || hasInstallScript(manifest);
    const bundled = bundledIn(read.facts);
    staged.set(key, {
      ...{ name, version, path, artifact: { url, sha512 }, manifest },
      ...{ hasShrinkwrap, hasScripts, bundled },
    });
  }
  for (const [{ name, to_version: version = '' }, { name: around, to_version: at = '' }] of bundlers) {
    const key = `${name}@${version}`;
    if (!staged.get(`${around}@${at}`)?.bundled.some((one) => one.key === key)) {
      return { ok: false, reason: `the file of ${around}@${at} does not hold ${key}` };
    }
  }
  return { ok: true, value: [...staged.values()] };
}

function bundledIn({ bundled }: TarballFacts): StagedPackage['bundled'] {
  return [...bundled.values()].flatMap((text) => {
    const said = identityIn(text);
    const manifest = parseLoosely(text);
    if (said === null || !Check(Manifest, manifest)) return [];
    return [{ key: `${said.name}@${said.version}`, hasScripts: hasInstallScript(manifest), manifest }];
  });
}

function hasInstallScript({ scripts }: Record<string, unknown>): boolean {
  return Check(Scripts, scripts) && INSTALL_SCRIPTS.some((script) => Object.hasOwn(scripts, script));
}
