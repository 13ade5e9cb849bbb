import { existsSync, readFileSync } from 'node:fs';

/** The agent reports the system that it runs on, so a fake OSV must also know that one. */
export function ecosystemsOfThisHost(): string[] {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const version = /^VERSION_ID="?([^"\n]+)/m.exec(release)?.[1] ?? '12';
  const here = [`Debian:${version}`, `Ubuntu:${version}`, `Ubuntu:${version}:LTS`];
  return [...here, 'Debian:12', 'AlmaLinux:9', 'npm', 'PyPI'];
}
