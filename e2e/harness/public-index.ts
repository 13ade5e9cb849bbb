import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PIP = ['-m', 'pip', '--disable-pip-version-check'];
const PROBE_MAX_MS = 30_000;

/** Why the index cannot be used, checked through pip itself and then as the agent does; null if it can. */
export async function findWhyUnreachable(): Promise<string | null> {
  const timeout = { timeout: PROBE_MAX_MS };
  const asked = await run(
    '/usr/bin/python3',
    [...PIP, 'index', 'versions', '--retries=0', 'idna'],
    timeout,
  ).then(
    () => null,
    () => 'pip cannot list its versions',
  );
  if (asked !== null) return asked;
  return fetch(`${await configuredIndex()}/idna/`, { signal: AbortSignal.timeout(PROBE_MAX_MS) }).then(
    (response) => (response.ok ? null : `it answers ${response.status} to the agent`),
    () => 'the agent cannot reach it',
  );
}

export async function configuredIndex(): Promise<string> {
  const { stdout } = await run('/usr/bin/python3', [...PIP, 'config', 'list']);
  const [, url = 'https://pypi.org/simple'] = /index-url='([^']+)'/.exec(stdout) ?? [];
  return url.replace(/\/+$/, '');
}
