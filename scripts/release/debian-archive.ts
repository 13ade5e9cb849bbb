import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DebianArch } from './base-lock.ts';
import { sha256Of } from './tree.ts';

/** Of the machine that builds; it holds the keys of later releases as well. */
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

export interface DebianArchive {
  /** The newest version of a package. */
  newest(name: string): string;
  /** Downloads one package into `folder`, and returns its path; throws if the archive does not have that version. */
  download(name: string, version: string, folder: string): string;
  close(): void;
}

/**
 * Debian's archive by apt, with settings and lists of its own: any release and architecture, whatever this machine runs. The
 * mirrors are those of the machine. Apt verifies the signatures of the lists.
 */
export function openDebianArchive(suite: string, arch: DebianArch): DebianArchive {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-apt-'));
  for (const name of ['state/lists/partial', 'cache/archives/partial']) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  const config = join(folder, 'apt.conf');
  const env = { ...process.env, APT_CONFIG: config, LC_ALL: 'C' };
  const apt = (program: string, args: readonly string[], cwd = folder) =>
    execFileSync(program, [...args], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const close = () => rmSync(folder, { recursive: true, force: true });
  try {
    const sources = sourcesOf(suite);
    writeFileSync(join(folder, 'sources.list'), sources);
    writeFileSync(join(folder, 'state/status'), '');
    writeFileSync(
      config,
      `APT::Architecture "${arch}";
APT::Architectures { "${arch}"; };
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Dir::State "${folder}/state";
Dir::State::status "${folder}/state/status";
Dir::Cache "${folder}/cache";
Dir::Etc::sourcelist "${folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Acquire::Languages "none";
Acquire::Retries "3";
`,
    );
    apt('apt-get', ['-qq', 'update']);
  } catch (error) {
    close();
    throw error;
  }

  return {
    newest(name) {
      const [, version] = /^\s+Candidate: (\S+)$/m.exec(apt('apt-cache', ['policy', name])) ?? [];
      if (version === undefined || version === '(none)') throw new Error(`Debian ${suite} has no ${name}`);
      return version;
    },
    download(name, version, into) {
      mkdirSync(into, { recursive: true });
      const work = mkdtempSync(join(into, '.download-'));
      try {
        apt('apt-get', ['-qq', 'download', `${name}=${version}`], work);
        const [file] = readdirSync(work);
        if (file === undefined) throw new Error(`apt-get download left no file of ${name} ${version}`);
        const target = join(into, file);
        renameSync(join(work, file), target);
        return target;
      } finally {
        rmSync(work, { recursive: true, force: true });
      }
    },
    close,
  };
}

/** The mirrors of this machine, for another release. Updates of the release leave it only for newer ones. */
function sourcesOf(suite: string): string {
  const format = '$(ORIGIN)|$(LABEL)|$(REPO_URI)';
  const targets = execFileSync('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], {
    encoding: 'utf8',
  });
  const suites = new Map([
    ['Debian|Debian', suite],
    ['Debian|Debian-Security', `${suite}-security`],
  ]);
  const lines = targets.split('\n').flatMap((line) => {
    const [origin, label, uri] = line.split('|');
    const name = suites.get(`${origin}|${label}`);
    return name === undefined ? [] : [`deb [signed-by=${KEYRING}] ${uri} ${name} main\n`];
  });
  if (lines.length === 0) {
    throw new Error(
      'apt on this machine has no lists of Debian: the image is built on Debian, after apt-get update',
    );
  }
  return [...new Set(lines)].join('');
}

/** Throws unless this is the file that was pinned. */
export function mustBePinned(file: string, { name, sha256 }: { name: string; sha256: string }): void {
  const actual = sha256Of(file);
  if (actual === sha256) return;
  throw new Error(`${name} is not the package that base.lock.json names: its SHA-256 is ${actual}`);
}
