import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { HostPaths, ReplacedFetch } from '../ecosystem.ts';
import { sha256OfFile } from '../judge-artifact.ts';
import { isIntact, type KeptVersion, openKept } from '../kept-files.ts';
import { originOf } from './actions.ts';
import { isAddress } from './artifacts.ts';
import { cachedPath, download } from './cached-files.ts';
import { bring } from './fetch.ts';
import { sha512Of } from './integrity.ts';
import { childOf, findPlace, folderOfPlace, locationIn, type NpmPlace, placePathOf } from './locations.ts';
import { findBundler, LOCKFILE_MAX_BYTES, type LockEntry, type Lockfile, parseLockfile } from './lockfile.ts';
import { findPlaces } from './places.ts';
import { lock } from './resolve.ts';
import { isName, isSafeArgument, type NpmSession, unprivileged, withNpmSession } from './session.ts';
import { readBounded } from './tree.ts';

/** The file from which a version was installed. A bundled package has that of another package. */
interface ReplacedFile {
  name: string;
  version: string;
  url: string;
  sha512: string;
  origin: string | null;
}

type Sources = Pick<Lockfile, 'entries'>;

/**
 * Adds the file of each replaced version: as it is kept here, or as the place's lockfile names it and the registry still
 * serves it. Without an answer of the registry a plan has no way back.
 */
export async function addReplaced(
  session: NpmSession,
  { place, kept }: { place: NpmPlace; kept: string | null },
  actions: readonly PlanAction[],
): Promise<PlanAction[]> {
  const store = openKept(kept);
  const own = new Map<PlanAction, KeptVersion>();
  const others: PlanAction[] = [];
  for (const action of actions) {
    const { name, arch = '', from_version: version } = action;
    const found = version === undefined ? null : store.find({ ecosystem: 'npm', name, arch, version });
    if (found !== null) own.set(action, found);
    else if (version !== undefined) others.push(action);
  }
  const files = await filesOf(session, place, others);
  // What was not served is not in the cache.
  if (files.size > 0)
    await download(
      session,
      [...files.values()].map(({ url }) => url),
    );
  return actions.map((action) => {
    const { artifact } = own.get(action) ?? {};
    const file = files.get(action);
    const back = artifact ?? (file && hashed(session, file));
    return back ? { ...action, back: { size_bytes: back.size_bytes, sha256: back.sha256 } } : action;
  });
}

async function filesOf(
  session: NpmSession,
  place: NpmPlace,
  actions: readonly PlanAction[],
): Promise<Map<PlanAction, ReplacedFile>> {
  const files = new Map<PlanAction, ReplacedFile>();
  const same = new Map(actions.map((action) => [action, sameFile(action)]));
  const others = actions.filter((action) => same.get(action) === null);
  const sources = others.length === 0 ? null : await sourcesOf(session, place, others);
  for (const action of actions) {
    const file = same.get(action) ?? fileIn(sources, place, action);
    if (file !== null) files.set(action, file);
  }
  return files;
}

/** What npm writes anew in the same version comes from the same file. */
function sameFile(action: PlanAction): ReplacedFile | null {
  const { name, to_version: version = '', artifact, source_name, source_version, origin = null } = action;
  if (action.from_version !== version || artifact?.sha512 === undefined) return null;
  const { url, sha512 } = artifact;
  return { name: source_name ?? name, version: source_version ?? version, url, sha512, origin };
}

/**
 * Where the packages of a place came from: a project's lockfile says it. Of global packages npm keeps no record, but a
 * registry has one file of a version, so it is asked for these versions.
 */
async function sourcesOf(
  session: NpmSession,
  place: NpmPlace,
  actions: readonly PlanAction[],
): Promise<Sources | null> {
  if (place.kind === 'global') return askRegistry(session, place, actions);
  const text = await readBounded(join(folderOfPlace(place), 'package-lock.json'), LOCKFILE_MAX_BYTES);
  const parsed = text.ok ? parseLockfile(text.value) : text;
  return parsed.ok ? parsed.value : null;
}

/**
 * Global packages as they were, with what is bundled in them; and the packages inside of them that npm would choose in
 * another version today, under names of their own.
 */
async function askRegistry(
  session: NpmSession,
  place: NpmPlace,
  actions: readonly PlanAction[],
): Promise<Sources> {
  const tops = actions.filter(({ name, arch }) => arch === place.path && isName(name));
  const entries = await lockOf(
    session,
    tops.map(({ name, from_version: version = '' }) => [name, version]),
  );
  const others = new Map<string, PlanAction>();
  for (const action of actions) {
    const location = locationIn(place, action);
    const { name, from_version: version = '' } = action;
    const isKnown = location === null || entries.get(location)?.version === version;
    if (!isKnown && isSafeArgument({ name, version })) others.set(location, action);
  }
  const aliased = await lockOf(
    session,
    [...others.values()].map(({ name, from_version: version }, i) => [aliasOf(i), `npm:${name}@${version}`]),
  );
  for (const [i, location] of [...others.keys()].entries()) {
    const entry = aliased.get(childOf('', aliasOf(i)));
    if (entry !== undefined) entries.set(location, entry);
  }
  return { entries };
}

function aliasOf(index: number): string {
  return `tidegate-replaced-${index}`;
}

/** What npm would install for these needs; empty where it cannot. */
async function lockOf(
  session: NpmSession,
  needs: readonly (readonly [string, string])[],
): Promise<Map<string, LockEntry>> {
  if (needs.length === 0) return new Map();
  const manifest = JSON.stringify({ dependencies: Object.fromEntries(needs) });
  const text = await lock(session, { 'package.json': manifest }, ['--install-strategy=shallow']);
  const parsed = text.ok ? parseLockfile(text.value) : text;
  return new Map(parsed.ok ? parsed.value.entries : []);
}

function fileIn(sources: Sources | null, place: NpmPlace, action: PlanAction): ReplacedFile | null {
  const location = locationIn(place, action);
  const entry = location === null ? undefined : sources?.entries.get(location);
  if (!sources || entry?.name !== action.name || entry.version !== action.from_version) return null;
  const carrier = entry.isBundled ? findBundler(sources.entries, entry.location) : entry;
  const sha512 = carrier?.integrity == null ? null : sha512Of(carrier.integrity);
  if (!carrier?.version || !carrier.resolved || !isAddress(carrier.resolved) || sha512 === null) return null;
  const { name, version, resolved: url } = carrier;
  return { name, version, url, sha512, origin: originOf(carrier) };
}

function hashed({ cache }: NpmSession, { sha512 }: ReplacedFile) {
  return sha256OfFile(cachedPath(cache, sha512));
}

/** Downloads the files of the replaced versions, as far as the registry still serves exactly the file of `back`. */
export async function fetchReplaced(
  paths: HostPaths,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<ReplacedFetch> {
  return withNpmSession(
    paths,
    async (session) => {
      const { places } = await findPlaces(session, paths);
      const [{ arch = '' } = {}] = actions;
      const place = findPlace(places, placePathOf(arch));
      if (place === null) return { files: [], reason: `${arch} is not an npm location of this host` };
      const wanted = await filesOf(
        session,
        place,
        actions.filter(({ back }) => back !== undefined),
      );
      const failed = await download(
        session,
        [...wanted.values()].map(({ url }) => url),
      );
      const files: KeptVersion[] = [];
      for (const [action, file] of wanted) {
        files.push(...(await bringOne(session, { action, file }, directory)));
      }
      return { files, reason: failed === null ? null : failed.detail };
    },
    { identity: await unprivileged() },
  );
}

async function bringOne(
  session: NpmSession,
  { action, file }: { action: PlanAction; file: ReplacedFile },
  directory: string,
): Promise<KeptVersion[]> {
  const { name, arch, from_version: version, back } = action;
  const { url, sha512, origin } = file;
  if (arch === undefined || version === undefined || back === undefined) return [];
  const filename = `${file.name.replace('/', '+')}-${file.version}.tgz`;
  const artifact = { filename, url, size_bytes: back.size_bytes, sha256: back.sha256, sha512 };
  const path = join(directory, filename);
  // One file may be that of several locations.
  if (!existsSync(path))
    await bring(cachedPath(session.cache, sha512), directory, { name, artifact, sha512 });
  if (!isIntact({ artifact }, path)) return [];
  const isBundled = file.name !== name || file.version !== version;
  return [
    {
      ...{ ecosystem: 'npm', name, arch, version, artifact },
      ...(isBundled && { source_name: file.name, source_version: file.version }),
      ...(origin !== null && { origin }),
    },
  ];
}
