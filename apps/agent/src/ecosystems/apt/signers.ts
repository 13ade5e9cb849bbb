import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { runProgram } from '../../platform/run-program.ts';
import type { AptSession } from './session.ts';

const GPGV_TIMEOUT_MS = 10_000;
const GPGV_OUTPUT_MAX_BYTES = 64 * 1024;
/** Most keyrings that are read, and the largest. */
const KEYRINGS_MAX = 200;
const KEYRING_MAX_BYTES = 1024 * 1024;
/** Repositories whose signature is checked for one plan; of further ones no key is named. */
const RELEASES_MAX = 50;

/** One index of apt with the release file that vouches for it. */
export interface IndexTarget {
  readonly repository: string;
  readonly release: string;
}

const FORMAT = ['REPO_URI', 'METAKEY', 'FILENAME'].map((field) => `$(${field})`).join('|');

/** Who signed the repositories of a session; each release file is checked once. */
export interface Signers {
  /**
   * Names the OpenPGP key that signed the repository of each artifact: gpgv checks the release file that apt uses with
   * the keyrings of the host. No key is named where several keys signed, or where gpgv cannot check it: the server then
   * treats the package as one of an unknown key.
   */
  name(actions: readonly PlanAction[]): Promise<PlanAction[]>;
}

export function openSigners(session: AptSession, { etcDir }: { etcDir: string }): Signers {
  let opened: Promise<{ targets: IndexTarget[]; keyring: Buffer }> | null = null;
  const signers = new Map<string, string | null>();
  async function open() {
    return { targets: await readTargets(session), keyring: await gatherKeyrings(etcDir) };
  }
  return {
    name: async (actions) => {
      opened ??= open();
      const { targets, keyring } = await opened;
      const repositories = actions.map(({ artifact }) => repositoryOf(targets, artifact?.url ?? ''));
      for (const { release } of repositories.flat()) {
        if (signers.has(release) || signers.size >= RELEASES_MAX) continue;
        signers.set(release, await signerOf(release, keyring));
      }
      return actions.map((action, i) => {
        const keys = new Set((repositories[i] ?? []).map(({ release }) => signers.get(release) ?? null));
        const [key = null] = keys;
        return keys.size === 1 && key !== null ? { ...action, origin_key: key } : action;
      });
    },
  };
}

/** Every index of the repository that a file is from: its suites share one pool. */
function repositoryOf(targets: readonly IndexTarget[], url: string): IndexTarget[] {
  const found = targets.filter(({ repository }) => repository !== '' && url.startsWith(repository));
  const longest = Math.max(0, ...found.map(({ repository }) => repository.length));
  return found.filter(({ repository }) => repository.length === longest);
}

async function readTargets(session: AptSession): Promise<IndexTarget[]> {
  const answer = await session.run('apt-get', ['indextargets', '--format', FORMAT, 'Created-By: Packages']);
  return answer.ok ? parseTargets(answer.stdout) : [];
}

/** Reads `apt-get indextargets`. Empty if a line cannot be read: a file could be taken for one of another source. */
export function parseTargets(output: string): IndexTarget[] {
  const targets: IndexTarget[] = [];
  for (const line of output.split('\n')) {
    if (line === '') continue;
    const [repository = '', metaKey = '', file = '', ...more] = line.split('|');
    const listed = metaKey.replaceAll('/', '_');
    const at = listed === '' ? -1 : file.lastIndexOf(listed);
    if (at < 0 || more.length > 0) return [];
    targets.push({ repository, release: `${file.slice(0, at)}InRelease` });
  }
  return targets;
}

/** The one key that signed a release file; null where there is not exactly one, or it cannot be checked. */
async function signerOf(release: string, keyring: Buffer): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'tidegate-keys-'));
  try {
    const file = join(folder, 'keyring.gpg');
    await writeFile(file, keyring, { mode: 0o600 });
    const checked = await runProgram({
      program: 'gpgv',
      args: ['--homedir', folder, '--status-fd', '1', '--keyring', file, release],
      timeoutMs: GPGV_TIMEOUT_MS,
      maxOutputBytes: GPGV_OUTPUT_MAX_BYTES,
    });
    return checked.ok ? onlySigner(checked.stdout) : null;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Every key of the host's keyrings: which of them signed is what counts, not which apt asks for. */
async function gatherKeyrings(etcDir: string): Promise<Buffer> {
  const folders = [join(etcDir, 'keyrings'), join(etcDir, 'trusted.gpg.d'), '/usr/share/keyrings'];
  const files = [join(etcDir, 'trusted.gpg')];
  for (const name of folders) {
    const entries = await readdir(name).catch(() => []);
    files.push(
      ...entries.filter((entry) => /\.(gpg|asc|pgp)$/.test(entry)).map((entry) => join(name, entry)),
    );
  }
  const keys: Buffer[] = [];
  for (const file of files.slice(0, KEYRINGS_MAX)) {
    const bytes = await readKeyring(file);
    if (bytes !== null) keys.push(dearmored(bytes));
  }
  return Buffer.concat(keys);
}

/** Null where it cannot be read, is too large, or is a keybox, which cannot be joined with others. */
async function readKeyring(file: string): Promise<Buffer | null> {
  try {
    const found = await stat(file);
    if (!found.isFile() || found.size > KEYRING_MAX_BYTES) return null;
    const bytes = await readFile(file);
    return bytes.subarray(8, 12).toString('latin1') === 'KBXf' ? null : bytes;
  } catch {
    return null;
  }
}

/** The primary key of the one valid signature in gpgv's status lines; null if there are more, or others failed. */
export function onlySigner(status: string): string | null {
  if (/^\[GNUPG:\] (BADSIG|ERRSIG|EXPSIG|EXPKEYSIG|REVKEYSIG) /m.test(status)) return null;
  const signers = new Set(
    status
      .split('\n')
      .flatMap((line) => /^\[GNUPG:\] VALIDSIG .* ([0-9A-F]{40}|[0-9A-F]{64})$/.exec(line)?.[1] ?? []),
  );
  const [signer] = signers;
  return signers.size === 1 && signer !== undefined ? signer.toLowerCase() : null;
}

/** gpgv reads binary keyrings only. */
function dearmored(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1');
  const blocks = text.matchAll(
    /-----BEGIN PGP PUBLIC KEY BLOCK-----\r?\n(?:[^\r\n]+\r?\n)*\r?\n([\s\S]*?)(?:\r?\n=[A-Za-z0-9+/]{4})?\s*-----END PGP PUBLIC KEY BLOCK-----/g,
  );
  const parts = [...blocks].map(([, body = '']) => Buffer.from(body, 'base64'));
  return parts.length > 0 ? Buffer.concat(parts) : bytes;
}
