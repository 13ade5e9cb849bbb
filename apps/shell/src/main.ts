import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { loadCapabilities } from './capability-files.ts';
import { type Options, parseCommandLine, USAGE } from './command-line.ts';
import { chooseServer, readConfig } from './config-file.ts';
import { readConsole } from './console/serve-console.ts';
import { connectServer } from './console/server-connection.ts';
import { openSession } from './console/session.ts';
import { createLog } from './log.ts';
import { openConsoleShell } from './open-console.ts';
import { findPlaces } from './places.ts';
import { openFileStore } from './secrets/file-store.ts';
import { openKeyringStore } from './secrets/keyring-store.ts';
import { openSecretStore } from './secrets/secret-store.ts';
import { createNotifier } from './watch/notify.ts';
import { watchFleet } from './watch/watch-fleet.ts';

const CONSOLE = fileURLToPath(new URL('../../console/dist', import.meta.url));
const CAPABILITIES = fileURLToPath(new URL('../capabilities', import.meta.url));
const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
const WINDOW = { width: 1280, height: 800 };
const API_TOKEN = /^tg_[\w-]{20,200}$/;

const log = createLog((line) => process.stderr.write(line));

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseCommandLine(args);
  if (parsed.ok) return run(parsed.options);
  if (parsed.help) process.stdout.write(USAGE);
  else process.stderr.write(`tidegate-shell: ${parsed.detail}. Try --help.\n`);
  return parsed.help ? EXIT.ok : EXIT.usage;
}

async function run(options: Options): Promise<number> {
  const { env } = process;
  const places = findPlaces(env);
  const config = readConfig(options.config ?? places.configFile);
  if (!config.ok) return stop(config.detail, EXIT.usage);
  if (options.listsServers) {
    for (const { name, url } of config.servers) process.stdout.write(`${name}\t${url}\n`);
    return EXIT.ok;
  }
  const server = chooseServer(config.servers, options.server);
  if (!server.ok) return stop(server.detail, EXIT.usage);
  const store = await openSecretStore({
    openKeyring: openKeyringStore,
    openFile: () => openFileStore(places.secretsFile),
  });
  if (options.forgets) {
    await store.remove(server.url);
    return EXIT.ok;
  }
  if (options.readsToken) {
    const token = (await text(process.stdin)).trim();
    if (!API_TOKEN.test(token)) return stop('standard input holds no API token (tg_…)', EXIT.usage);
    await store.write(server.url, token);
  }
  log.info('sessions are kept', { in: store.place });
  const session = await openSession(store, server.url);
  const connection = connectServer(server.url, session);
  const console = readConsole(CONSOLE);
  if (!console.ok) return stop(console.detail, EXIT.failed);
  const rules = loadCapabilities(options.capabilities.length > 0 ? options.capabilities : [CAPABILITIES]);
  if (!rules.ok) return stop(rules.detail, EXIT.usage);
  for (const warning of rules.warnings) log.warn('capability file', { warning });
  const now = () => performance.now();
  const backend = { choice: options.backend, noSandbox: options.noSandbox, env, now, ...places };
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  const created = await openConsoleShell({
    ...{ acl: rules.acl, log, serve: console.serve, connection, backend },
    ...{ serverName: server.name, ending: ending.signal },
  });
  if (!created.ok) return stop(created.detail, EXIT.failed);

  const { shell } = created;
  const title = `Tidegate: ${server.name}`;
  const opened = await shell.openWindow('main', { title, path: options.path, ...WINDOW });
  if (opened.kind !== 'done') {
    await shell.close();
    return stop(opened.kind === 'failed' ? opened.detail : 'the backend cannot open windows', EXIT.failed);
  }
  log.info('window open', { server: server.url });
  const notify = createNotifier(log, env);
  const watching = watchFleet(
    { connection, session, since: new Date().toISOString() },
    {
      waiting(count) {
        const badge = count === null || count === 0 ? null : String(count);
        for (const window of shell.windows.windows())
          shell.windows
            .setBadge(window, badge)
            .catch((error: Error) => log.warn('no badge', { why: error.message }));
      },
      critical: ({ type, at }) => notify(`Tidegate: ${type}`, `A critical event on ${server.name} at ${at}.`),
    },
    ending.signal,
  );
  const interrupted = new Promise<string>((resolve) => {
    ending.signal.addEventListener('abort', () => resolve('a signal was received'));
  });
  log.info('ended', { cause: await Promise.race([shell.ended, interrupted]) });
  ending.abort();
  await Promise.all([watching, shell.close()]);
  return EXIT.ok;
}

function stop(detail: string, code: number): number {
  process.stderr.write(`tidegate-shell: ${detail}\n`);
  return code;
}

process.exitCode = await main(process.argv.slice(2));
