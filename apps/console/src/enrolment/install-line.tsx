import type { AgentPackage, AgentPackages } from '@tidegate/protocol/agent-packages-api';
import { type ReactNode, useState } from 'react';
import { CopyText } from '../ui/copy-text.tsx';
import { Select } from '../ui/field.tsx';
import { Fold } from '../ui/fold.tsx';
import { type Fetcher, type Format, installLine, removalLine, type Target } from './line-rules.ts';

const SYSTEMS: Readonly<Record<Format, string>> = {
  deb: 'Debian, Ubuntu',
  rpm: 'Fedora, Alma, RHEL',
  'tar.gz': 'Another Linux',
};
const PROCESSORS: Readonly<Record<Target, string>> = {
  'linux-x64': 'x86-64 (x86_64, amd64)',
  'linux-arm64': 'Arm (aarch64, arm64)',
};
const FETCHERS: Readonly<Record<Fetcher, string>> = { curl: 'curl', wget: 'wget' };

/** The line for a host, by what the host is. `packages` has at least one file. */
export function InstallLine({
  origin,
  token,
  packages,
}: {
  origin: string;
  token: string;
  packages: AgentPackages;
}) {
  const { files, ca_sha256: caSha256 } = packages;
  const [format, setFormat] = useState<Format>(files[0]?.format ?? 'deb');
  const [target, setTarget] = useState<Target>(files[0]?.target ?? 'linux-x64');
  const [fetcher, setFetcher] = useState<Fetcher>('curl');
  const file = files.find((one) => one.format === format && one.target === target);
  const line = file ? installLine({ origin, token, file, fetcher, caSha256 }) : null;
  return (
    <div className="space-y-3">
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
        <Choice
          label="System"
          of={SYSTEMS}
          offered={offered(files, 'format')}
          value={format}
          onChange={setFormat}
        />
        <Choice
          label="Processor"
          of={PROCESSORS}
          offered={offered(files, 'target')}
          value={target}
          onChange={setTarget}
        />
        <Choice label="Download with" of={FETCHERS} value={fetcher} onChange={setFetcher} />
      </div>
      {line === null ? (
        <p className="text-warn">This server has no package for this system on this processor.</p>
      ) : (
        <div className="rounded-md bg-sunken px-2 py-1.5">
          <CopyText text={line} label="Copy the line" />
        </div>
      )}
      <p>
        It downloads the agent from this server, compares it with the SHA-256 in the line, installs it, checks
        what the host needs, enrols the host and starts the agent. If a step fails, nothing after it runs: do
        what the message says, then paste the line again.
      </p>
      {caSha256 !== null && (
        <p>
          This server's certificate is of a private CA. The line fetches the CA's certificate, compares it
          with its SHA-256 and stores it as <code>/etc/tidegate/server-ca.pem</code>. The agent then trusts no
          other CA for this server.
        </p>
      )}
      <Fold summary="Containers, hosts without systemd, shell history, removing the agent">
        <ul className="list-disc space-y-2 pl-5">
          <li>
            In a container the line stops before it uses the token, and says what is missing. Add the option
            that it names, such as <code>--machine-id-source file:/path</code>, after <code>preflight</code>{' '}
            and <code>enrol</code>.
          </li>
          <li>
            Without systemd, keep this running:{' '}
            <CopyText text="tidegate-agent run" label="Copy the command" />
          </li>
          {format === 'tar.gz' && (
            <li>
              With systemd, new versions of the agent are offered as updates once the file{' '}
              <code>release.pem</code> of those who publish the releases is in <code>/etc/tidegate</code>.
            </li>
          )}
          <li>
            The line begins with a space: bash with <code>HISTCONTROL=ignoreboth</code> does not keep such
            lines in its history.
          </li>
          <li>
            To find out why an enrolled host does not work:{' '}
            <CopyText text="runuser -u tidegate-agent -- tidegate-agent doctor" label="Copy the command" />
          </li>
          <li>
            To remove the agent, its enrolment and the files kept for rollbacks, run this as root, then revoke
            the host here: <CopyText text={removalLine(format)} label="Copy the line" />
          </li>
        </ul>
      </Fold>
    </div>
  );
}

function offered<K extends 'format' | 'target'>(files: readonly AgentPackage[], by: K) {
  return new Set<string>(files.map((file) => file[by]));
}

function Choice<T extends string>({
  label,
  of,
  offered: some,
  value,
  onChange,
}: {
  label: string;
  of: Readonly<Record<T, string>>;
  /** Only these; all when absent. */
  offered?: ReadonlySet<string>;
  value: T;
  onChange: (value: T) => void;
}): ReactNode {
  const isChoice = (text: string): text is T => Object.hasOwn(of, text);
  const names = Object.keys(of).filter(isChoice);
  return (
    <Select
      label={label}
      value={value}
      onChange={({ target }) => {
        if (isChoice(target.value)) onChange(target.value);
      }}
    >
      {names
        .filter((name) => some?.has(name) ?? true)
        .map((name) => (
          <option key={name} value={name}>
            {of[name]}
          </option>
        ))}
    </Select>
  );
}
