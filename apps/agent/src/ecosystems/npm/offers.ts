import { compareVersions } from '@tidegate/versions';
import { allowsNode } from '@tidegate/versions/engines';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Parsed } from './lockfile.ts';
import { isSafeArgument, type NpmSession } from './session.ts';

/** Maximum number of names per npm query. */
const ASKED_MAX = 2_000;
const Answer = Type.Record(
  Type.String(),
  Type.Object({ wanted: Type.Optional(Type.String()), latest: Type.Optional(Type.String()) }),
);
const Failure = Type.Object({ error: Type.Object({ code: Type.Unknown(), summary: Type.String() }) });

const WithEngines = Type.Object({
  version: Type.String(),
  'engines.node': Type.Optional(Type.Unknown()),
});
const Versions = Type.Array(WithEngines);
/** The versions of the programs that npm runs with. */
const Programs = Type.Object({ node: Type.String({ maxLength: 64 }) });

/** A registry's versions of one package. Unknown packages are missing from the answer. */
export interface Offer {
  /** The newest version within the range, as npm picks it; null where there is none. */
  wanted: string | null;
  /** What the dist-tag `latest` names. */
  latest: string | null;
}

/** Asks the registry about all these packages at once. */
export async function readOffers(
  session: NpmSession,
  ranges: ReadonlyMap<string, string>,
): Promise<Parsed<Map<string, Offer>>> {
  if (ranges.size === 0) return { ok: true, value: new Map() };
  if (ranges.size > ASKED_MAX)
    return { ok: false, reason: `more than ${ASKED_MAX} packages would have to be queried` };
  const manifest = JSON.stringify({ dependencies: Object.fromEntries(ranges) });
  const cwd = await session.makeFolder({ 'package.json': manifest });
  const run = await session.run(['outdated', '--json'], { cwd });
  // It exits with 1 whenever anything is outdated.
  if (!run.ok && run.exitCode !== 1) return { ok: false, reason: run.detail };
  return parseOffers(run.stdout);
}

/** The version of the Node that npm runs with, as `24.1.0`. */
export async function readNodeVersion(session: NpmSession): Promise<Parsed<string>> {
  const cwd = await session.makeFolder({});
  const run = await session.run(['version', '--json'], { cwd });
  if (!run.ok) return { ok: false, reason: run.detail };
  const value = parseJson(run.stdout);
  if (!Check(Programs, value)) return { ok: false, reason: 'npm version answered in an unknown format' };
  return { ok: true, value: value.node };
}

/** The versions of a package within a range that are no pre-releases and that this Node may run, in any order. */
export async function readVersions(
  session: NpmSession,
  { name, range, node }: { name: string; range: string; node: string },
): Promise<Parsed<string[]>> {
  const cwd = await session.makeFolder({});
  // npm reads `*` as the tag `latest` here.
  const spec = `${name}@${/^[*xX\s]*$/.test(range) ? '>=0.0.0' : range}`;
  // The answer to `npm outdated` is in the cache of the session.
  // With one member npm answers with texts; each version has a name and a version.
  const args = ['view', '--json', '--prefer-offline', '--', spec, 'name', 'version', 'engines.node'];
  const run = await session.run(args, { cwd });
  if (!run.ok) return { ok: false, reason: run.detail };
  return parseVersions(run.stdout, { name, node });
}

/** npm shortens a list of one to its member. */
export function parseVersions(
  stdout: string,
  { name, node }: { name: string; node: string },
): Parsed<string[]> {
  if (stdout.trim() === '') return { ok: true, value: [] };
  const value = parseJson(stdout);
  if (Check(Failure, value)) return { ok: false, reason: `npm: ${value.error.summary.slice(0, 500)}` };
  const versions = Array.isArray(value) ? value : [value];
  if (!Check(Versions, versions)) return { ok: false, reason: 'npm view answered in an unknown format' };
  const allowed = versions.flatMap(({ version, 'engines.node': engines }) => {
    const isAllowed = typeof engines !== 'string' || allowsNode(engines, node);
    return isAllowed && versionOf(name, version) !== null ? [version] : [];
  });
  return { ok: true, value: allowed };
}

export function parseOffers(stdout: string): Parsed<Map<string, Offer>> {
  const value = parseJson(stdout);
  if (Check(Failure, value)) return { ok: false, reason: `npm: ${value.error.summary.slice(0, 500)}` };
  if (!Check(Answer, value)) return { ok: false, reason: 'npm outdated answered in an unknown format' };
  const offers = Object.entries(value).map(([name, { wanted, latest }]): [string, Offer] => [
    name,
    { wanted: versionOf(name, wanted), latest: versionOf(name, latest) },
  ]);
  return { ok: true, value: new Map(offers) };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function versionOf(name: string, version: string | undefined): string | null {
  return version !== undefined && isSafeArgument({ name, version }) ? version : null;
}

export type Judged = 'newer' | 'not_newer' | 'undecidable';

/** Whether a version updates the installed one. A prerelease never updates a release. */
export function judgeOffer({ current, offered }: { current: string; offered: string }): Judged {
  const order = compareVersions('npm', current, offered);
  if (order === 'undecidable') return 'undecidable';
  if (order !== -1) return 'not_newer';
  return isPrerelease(offered) && !isPrerelease(current) ? 'not_newer' : 'newer';
}

function isPrerelease(version: string): boolean {
  return (version.split('+')[0] ?? '').includes('-');
}
