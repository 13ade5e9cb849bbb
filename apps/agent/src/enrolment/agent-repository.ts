import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { chooseProxy, type Environment, shownProxy } from '@tidegate/protocol/proxy-route';
import { errorCode, writeDurably } from '../platform/file-layer.ts';
import { askPublicly, type Fetched, readStart } from '../platform/public-files.ts';
import { type ProgramResult, runProgram } from '../platform/run-program.ts';

/** The release key, which the package of the agent brings; the agent looks for origins' keys in this folder as well. */
const KEY_FILE = '/usr/share/keyrings/tidegate-agent.asc';
const OWN_LINE =
  /^# Written by tidegate-agent enrol, which replaces it while it is unchanged: ([0-9a-f]{64})\n/;
const FILE_MAX_BYTES = 16 * 1024;
const RPM_TIMEOUT_MS = 60_000;
const SERVER_TIMEOUT_MS = 20_000;
/** A path that needs no quotes in the settings of apt and dnf. */
const PLAIN_PATH = /^\/[A-Za-z0-9._/+-]+$/;
const DEBIAN_ARCH: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** How apt or dnf reaches the server. */
interface Way {
  /** The file of the CA that vouches for it; null where the system's do. */
  caFile: string | null;
  /** null: as their own configuration says. */
  proxy: string | null;
}

/** The folder of package sources on this host, and how the server's repository is named there. */
interface Kind {
  sources: string;
  /** What only a signed repository has, and how it begins. */
  signed: { path: string; start: string };
  /** null: no such file is needed. */
  files(server: URL, way: Way): Record<string, string | null>;
}

const APT: Kind = {
  sources: '/etc/apt/sources.list.d/tidegate.sources',
  signed: { path: 'dists/stable/InRelease', start: '-----BEGIN PGP SIGNED MESSAGE-----' },
  files: (server, way) => ({
    '/etc/apt/sources.list.d/tidegate.sources': `Types: deb
URIs: ${server.href}
Suites: stable
Components: main
Architectures: ${DEBIAN_ARCH[process.arch] ?? process.arch}
Signed-By: ${KEY_FILE}
`,
    '/etc/apt/apt.conf.d/60tidegate-agent': aptWay(server, way),
  }),
};

const DNF: Kind = {
  sources: '/etc/yum.repos.d/tidegate.repo',
  signed: { path: 'repodata/repomd.xml.asc', start: '-----BEGIN PGP SIGNATURE-----' },
  files: (server, { caFile, proxy }) => ({
    '/etc/yum.repos.d/tidegate.repo': `[tidegate]
name=Agent of Tidegate
baseurl=${server.href}
gpgkey=file://${KEY_FILE}
repo_gpgcheck=1
gpgcheck=1
metadata_expire=1h
${caFile === null ? '' : `sslcacert=${caFile}\n`}${proxy === null ? '' : `proxy=${proxy}\n`}`,
  }),
};

function aptWay({ protocol, hostname }: URL, { caFile, proxy }: Way): string | null {
  const scheme = protocol.replace(':', '');
  const lines = [
    ...(caFile === null ? [] : [`Acquire::${scheme}::${hostname}::CAInfo "${caFile}";\n`]),
    ...(proxy === null ? [] : [`Acquire::${scheme}::Proxy::${hostname} "${proxy}";\n`]),
  ];
  return lines.length === 0 ? null : lines.join('');
}

export interface RepositoryRequest {
  serverUrl: string;
  /** Of the host. */
  root?: string;
  /** The file of the CA that vouches for the server, for apt and dnf; null where the system's do. */
  caFile: string | null;
  /** As in `createServerClient`. */
  serverCa: string | null;
  /** More words for rpm, on a host whose files are elsewhere. */
  rpmOptions?: readonly string[];
  /** Where the variables of a proxy are. */
  env?: Environment;
}

/** `note`: what root has to do besides; null if nothing. */
export type RepositoryOutcome =
  | { ok: true; file: string; note: string | null }
  | { ok: false; detail: string };

/** Has apt or dnf offer updates of the agent, unless root wants none of it. That this cannot be done is no fault of an enrolment. */
export async function offerUpdates(
  request: RepositoryRequest,
  { isWanted, refusal }: { isWanted: boolean; refusal: string | null },
): Promise<{ file: string | null; detail: string }> {
  const none = (why: string) => ({ file: null, detail: `Updates of the agent come by hand: ${why}` });
  if (!isWanted) return none('--no-repository');
  if (refusal !== null) return none(refusal);
  const written = await configureRepository(request);
  if (!written.ok) return none(written.detail);
  const note = written.note === null ? '' : `. ${written.note}`;
  return { file: written.file, detail: `${written.file} offers updates of the agent${note}` };
}

/** As root, has apt or dnf take updates of the agent from the server. Files that root has changed stay. */
export async function configureRepository({
  serverUrl,
  root = '/',
  caFile,
  serverCa,
  rpmOptions = [],
  env = process.env,
}: RepositoryRequest): Promise<RepositoryOutcome> {
  if (!existsSync(join(root, KEY_FILE)))
    return refuse(`there is no ${KEY_FILE}: the agent was not installed from a signed package`);
  const kind = kindOf(root);
  if (kind === null) return refuse('neither apt nor dnf has installed the agent here');
  if (caFile !== null && !PLAIN_PATH.test(caFile))
    return refuse(
      `the file of the server's CA must have an absolute path of plain letters for apt and dnf, not ${caFile}`,
    );
  const server = repositoryOf(serverUrl);
  const { path, start } = kind.signed;
  const found = await startOf(`${server.href}/${path}`, { maxBytes: start.length, ca: serverCa });
  if (!found.ok) return refuse(`the server offers no signed repository of its agent (${found.reason})`);
  if (found.value !== start) return refuse('the server offers no signed repository of its agent');
  const { proxy, note } = proxyFor(server, env);
  const way = { caFile: server.protocol === 'https:' ? caFile : null, proxy };
  const files = Object.entries(kind.files(server, way));
  const stateOn = (file: string) => stateOf(join(root, file));
  const changed = files.find(([file, text]) => text !== null && stateOn(file) === 'changed');
  if (changed !== undefined) return refuse(`${changed[0]} was changed by hand, and stays as it is`);
  // dnf would ask a person first, and the executor takes no package whose key rpm does not have.
  const imported = kind === DNF ? await importKey(root, rpmOptions) : null;
  if (imported !== null && !imported.ok)
    return refuse(`rpm does not take the release key (${imported.detail})`);
  try {
    for (const [file, text] of files) {
      if (text === null) {
        if (stateOn(file) === 'ours') rmSync(join(root, file));
        continue;
      }
      const bytes = Buffer.from(`${ownLine(text)}${text}`);
      writeDurably(join(root, file), bytes, { mode: 0o644 });
    }
  } catch (error) {
    return refuse(`${kind.sources} cannot be written (${errorCode(error)})`);
  }
  return { ok: true, file: kind.sources, note };
}

/** Whether package sources of this host name the server's repository: where, and of which server. */
export function findRepository(root: string): { file: string; url: string | null } | null {
  for (const { sources } of [APT, DNF]) {
    const text = readIfThere(join(root, sources));
    if (text === null) continue;
    const [, url = null] = /^(?:URIs: |baseurl=)(\S+)$/m.exec(text) ?? [];
    return { file: sources, url };
  }
  return null;
}

/** Where a server has the repository. */
export function repositoryOf(serverUrl: string): URL {
  return new URL(`${serverUrl}/agents`);
}

/** The proxy of the agent's own requests, which apt and dnf do not know. Everybody may read their files, so no password goes there. */
function proxyFor(server: URL, env: Environment): { proxy: string | null; note: string | null } {
  const route = chooseProxy(server, env);
  if (route.kind !== 'proxy') return { proxy: null, note: null };
  const { username, password } = new URL(route.url);
  const proxy = shownProxy(route.url);
  if (username === '' && password === '') return { proxy, note: null };
  const note = `Name the proxy ${proxy} with its password to apt or dnf yourself, for this server, in a file that only root reads`;
  return { proxy: null, note };
}

function startOf(
  url: string,
  { maxBytes, ca }: { maxBytes: number; ca: string | null },
): Promise<Fetched<string>> {
  return askPublicly(url, { timeoutMs: SERVER_TIMEOUT_MS, ca }, async (response) => {
    if (response.status !== 200) return { ok: false, reason: `${response.status} for ${url}` };
    const { bytes } = await readStart(response, maxBytes);
    return { ok: true, value: bytes.toString('utf8') };
  });
}

function importKey(root: string, options: readonly string[]): Promise<ProgramResult> {
  const limits = { timeoutMs: RPM_TIMEOUT_MS, maxOutputBytes: FILE_MAX_BYTES };
  return runProgram({ program: 'rpm', args: [...options, '--import', join(root, KEY_FILE)], ...limits });
}

function kindOf(root: string): Kind | null {
  if (existsSync(join(root, '/var/lib/dpkg/info/tidegate-agent.list'))) return APT;
  return existsSync(join(root, '/etc/yum.repos.d')) ? DNF : null;
}

function stateOf(file: string): 'absent' | 'ours' | 'changed' {
  const text = readIfThere(file);
  if (text === null) return 'absent';
  const [line, sha256] = OWN_LINE.exec(text) ?? [];
  if (line === undefined) return 'changed';
  return sha256Of(text.slice(line.length)) === sha256 ? 'ours' : 'changed';
}

function ownLine(text: string): string {
  return `# Written by tidegate-agent enrol, which replaces it while it is unchanged: ${sha256Of(text)}\n`;
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').slice(0, FILE_MAX_BYTES);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function refuse(detail: string): { ok: false; detail: string } {
  return { ok: false, detail };
}
