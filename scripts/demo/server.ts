import { readConfig } from '../../apps/server/src/config.ts';
import { systemRandom } from '../../apps/server/src/platform/ids.ts';
import { createLog } from '../../apps/server/src/platform/log.ts';
import { startServer } from '../../apps/server/src/start.ts';
import { ADMIN, PASSWORD } from './people.ts';

export interface ServerOptions {
  readonly sources: { readonly env: Readonly<Record<string, string>> };
  readonly now: () => number;
  readonly port: number;
  /** Whether it has its first operator; it has by default. */
  readonly isSetUp?: boolean;
}

/** The server itself, in this process, with the time that it is given. Its log is written where TIDEGATE_DEMO_LOG is set. */
export async function openServer(
  dataDir: string,
  { sources, now, port, isSetUp = true }: ServerOptions,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const read = readConfig({
    ...sources.env,
    ...{ SERVICE_DATA_DIR: dataDir, SERVICE_HOST: '127.0.0.1', SERVICE_PORT: String(port) },
    ...(isSetUp && { SERVICE_ADMIN_USERNAME: ADMIN, SERVICE_ADMIN_PASSWORD: PASSWORD }),
    SERVICE_SESSION_IDLE_MINUTES: '240',
  });
  if (!read.ok) throw new Error(read.fault);
  const isLogged = process.env.TIDEGATE_DEMO_LOG !== undefined;
  const write = isLogged ? (line: string) => process.stderr.write(`${line}\n`) : () => {};
  const log = createLog({ level: 'info', format: 'text', write, now });
  const started = await startServer(read.config, { log, now, random: systemRandom });
  if (!started.ok) throw new Error(started.fault);
  return started;
}
