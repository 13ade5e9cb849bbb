import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { findTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { onTestFinished } from 'vitest';
import { startChild } from './child.ts';
import { pause } from './operator.ts';

const START_MAX_MS = 30_000;
const PORT = 6432;

/** Why there is no PgBouncer here; null if there is. */
export function pgbouncerMissing(): string | null {
  const isThere = findTool('pgbouncer', SYSTEM_PATH) !== null;
  return isThere ? null : 'PgBouncer is not installed (Debian: apt-get install pgbouncer)';
}

/**
 * Debian's PgBouncer in transaction mode before the PostgreSQL of a URL, on a Unix socket, with fewer connections than its
 * clients have: transactions and reads of one client come to many of them. Returns the URL through it.
 */
export async function startPgbouncer(databaseUrl: string): Promise<string> {
  const direct = new URL(databaseUrl);
  // A socket's path has at most 107 bytes.
  const folder = mkdtempSync('/tmp/tidegate-pool-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // PgBouncer refuses root, and becomes the user of PostgreSQL's folder.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chmod(folder, 0o777);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(join(folder, 'users.txt'), `"${direct.username}" ""\n`, { mode: 0o644 });
  const settings = {
    ...{ listen_addr: '', unix_socket_dir: folder, listen_port: PORT },
    ...{ auth_type: 'trust', auth_file: join(folder, 'users.txt') },
    ...{ pool_mode: 'transaction', default_pool_size: 3, max_client_conn: 200 },
    ...(isRoot ? { user: 'postgres' } : {}),
  };
  writeFileSync(
    file,
    [
      '[databases]',
      `* = host=${direct.searchParams.get('host')} port=${direct.port || 5432}`,
      '[pgbouncer]',
      ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
    ].join('\n'),
    { mode: 0o644 },
  );
  const child = startChild('pgbouncer', [file], { env: { PATH: SYSTEM_PATH } });
  onTestFinished(async () => {
    if (!child.hasEnded()) child.signal('SIGTERM');
    await child.ended;
  });
  const socket = join(folder, `.s.PGSQL.${PORT}`);
  for (const untilMs = performance.now() + START_MAX_MS; !existsSync(socket); ) {
    const fault = child.hasEnded() ? 'ended' : performance.now() > untilMs ? 'does not listen' : null;
    if (fault !== null) throw new Error(`PgBouncer ${fault}: ${child.stderr.join('\n')}`);
    await pause(20);
  }
  const pooled = new URL(databaseUrl);
  pooled.port = String(PORT);
  pooled.searchParams.set('host', folder);
  pooled.searchParams.set('pgbouncer', 'true');
  return pooled.href;
}
