import type { AgentPackage } from '@tidegate/protocol/agent-packages-api';
import { isReachableSafely } from './enrolment-rules.ts';

export type Format = AgentPackage['format'];
export type Target = AgentPackage['target'];
export type Fetcher = 'curl' | 'wget';

/** The user that runs the agent, as in its units. */
const AGENT_USER = 'tidegate-agent';
const CA_FILE = 'server-ca.pem';
/** Where the agent looks for it. */
const CA_PLACE = `/etc/tidegate/${CA_FILE}`;
const DATA = '/var/lib/tidegate-agent /var/lib/tidegate-executor /var/spool/tidegate';
/** What the packages enable. */
export const UNITS =
  'tidegate-agent.service tidegate-executor.path tidegate-observer.path tidegate-observer.timer tidegate-probe.path';
/** What updates of the agent beside its successor add (`tidegate-agent side-by-side`). */
const SIDE_BY_SIDE = '/usr/lib/tidegate-agent /etc/systemd/system/tidegate-agent.service.d';
const UNIT_FILES = ['agent', 'executor', 'observer', 'probe', 'hooks@', 'apt-update']
  .map((name) => `/usr/lib/systemd/system/tidegate-${name}.*`)
  .join(' ');
const HAS_SYSTEMD = '[ -d /run/systemd/system ]';

const SAFE_WORD = /^[\w@%+=:,./-]+$/;
const FILE_NAME = /^[A-Za-z0-9][\w.+~-]*$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** The text as one word of a POSIX shell, whatever it holds. */
export function quote(text: string): string {
  return SAFE_WORD.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export interface LineFacts {
  readonly origin: string;
  readonly token: string;
  readonly file: AgentPackage;
  readonly fetcher: Fetcher;
  /** Of the certificate of the private CA that the server's is of; null: hosts trust public ones. */
  readonly caSha256: string | null;
}

/**
 * One line for a root shell: download, compare with the hash that stands in the line itself, install, preflight, enrol, start.
 * Each step runs only if the one before it succeeded, and each may be repeated. The token is in the environment of one
 * command: every user can see arguments. Null when the server's answer holds what no line should.
 */
export function installLine({ origin, token, file, fetcher, caSha256 }: LineFacts): string | null {
  if (!FILE_NAME.test(file.path) || !SHA256.test(file.sha256)) return null;
  if (caSha256 !== null && !SHA256.test(caSha256)) return null;
  const hasCa = caSha256 !== null;
  const at = `--server ${quote(origin)}${isReachableSafely(origin) ? '' : ' --allow-insecure-http'}`;
  const steps = [
    'd=$(mktemp -d)',
    `trap 'rm -rf "$d"' EXIT`,
    'cd "$d"',
    // Not yet trusted: only its hash decides.
    ...(hasCa ? [fetch[fetcher](quote(`${origin}/${CA_FILE}`), 'any'), compare(caSha256, CA_FILE)] : []),
    fetch[fetcher](quote(`${origin}/agents/${file.path}`), hasCa ? 'own' : 'public'),
    compare(file.sha256, file.path),
    ...install[file.format](file.path),
    ...(hasCa ? [`install -D -m 644 ${CA_FILE} ${CA_PLACE}`] : []),
    `tidegate-agent preflight ${at}`,
    `TIDEGATE_TOKEN=${quote(token)} tidegate-agent enrol ${at} --user ${AGENT_USER}`,
    `{ ! ${HAS_SYSTEMD} || systemctl restart tidegate-agent; }`,
  ];
  // Begins with a space: shells that are told so do not keep such lines in their history.
  return ` (${steps.join(' && ')})`;
}

/** Which certificates the download trusts. */
type Trust = 'public' | 'own' | 'any';

const fetch: Readonly<Record<Fetcher, (url: string, trust: Trust) => string>> = {
  curl: (url, trust) => `curl -fsSO${{ public: '', own: ` --cacert ${CA_FILE}`, any: 'k' }[trust]} ${url}`,
  wget: (url, trust) =>
    `wget -nv${{ public: '', own: ` --ca-certificate=${CA_FILE}`, any: ' --no-check-certificate' }[trust]} ${url}`,
};

function compare(sha256: string, file: string): string {
  return `echo '${sha256}  ${file}' | sha256sum -c -`;
}

/** What the scripts of the packages do, where there is none; updates of the agent lie beside it. */
const ADD_USER = `{ id ${AGENT_USER} >/dev/null 2>&1 || useradd --system --user-group --no-create-home --home-dir /var/lib/tidegate-agent --shell /usr/sbin/nologin ${AGENT_USER}; }`;

const install: Readonly<Record<Format, (file: string) => readonly string[]>> = {
  deb: (file) => [`apt-get install -y ./${file}`],
  rpm: (file) => [`dnf install -y ./${file}`],
  'tar.gz': (file) => [
    `tar -xzf ${file} -C / --strip-components=1 --no-overwrite-dir`,
    ADD_USER,
    `{ ! ${HAS_SYSTEMD} || { tidegate-agent side-by-side && systemctl enable --now ${UNITS}; }; }`,
  ],
};

/** One line for a root shell that removes the agent with its enrolment and what was kept for rollbacks. */
export function removalLine(format: Format): string {
  switch (format) {
    case 'deb':
      return `apt-get purge -y tidegate-agent && rm -f ${CA_PLACE}`;
    case 'rpm':
      return `dnf remove -y tidegate-agent && rm -rf ${DATA} ${CA_PLACE}`;
    case 'tar.gz':
      return `{ ! ${HAS_SYSTEMD} || systemctl disable --now ${UNITS}; } && rm -rf /usr/bin/tidegate-agent ${SIDE_BY_SIDE} ${UNIT_FILES} /usr/lib/sysusers.d/tidegate-agent.conf ${DATA} ${CA_PLACE}`;
  }
}
