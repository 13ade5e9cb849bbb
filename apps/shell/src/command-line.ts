import { parseArgs } from 'node:util';
import { pageOfLink } from './deep-link-rules.ts';

export const USAGE = `Usage: npm run shell -- [OPTIONS] [tidegate://update/ID]

Opens the console in its own window. The session stays in this process; the page never has it.

  --server NAME|URL    a server of the configuration file, or an address; default: the first one of the file, or
                       http://localhost:8080
  --backend NAME       webview (the system's own), chromium, or auto (default: webview if it works, else chromium)
  --capabilities PATH  a capability file (R8) or a folder of them, instead of the console's own; can be repeated
  --config FILE        the configuration file (~/.config/tidegate/shell.json)
  --token -            reads an API token from standard input and keeps it for this server
  --forget             deletes the session with this server, then exits
  --servers            lists the servers of the configuration file, then exits
  --no-sandbox         Chromium without its sandbox: for tests that run as root
  --help               show this text

A link opens that page: tidegate://update/ID, tidegate://host/ID, tidegate://command/ID.
Exit status: 0 closed, 1 failed, 2 wrong usage.
`;

export const BACKENDS = ['auto', 'webview', 'chromium'] as const;
export type BackendChoice = (typeof BACKENDS)[number];

export interface Options {
  readonly server: string | null;
  readonly backend: BackendChoice;
  readonly capabilities: readonly string[];
  readonly config: string | null;
  readonly readsToken: boolean;
  readonly forgets: boolean;
  readonly listsServers: boolean;
  readonly noSandbox: boolean;
  /** Page of the console to open. */
  readonly path: string;
}

export type Parsed = { ok: true; options: Options } | { ok: false; help: boolean; detail: string };

const OPTIONS = {
  server: { type: 'string' },
  backend: { type: 'string' },
  capabilities: { type: 'string', multiple: true },
  config: { type: 'string' },
  token: { type: 'string' },
  forget: { type: 'boolean' },
  servers: { type: 'boolean' },
  'no-sandbox': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export function parseCommandLine(args: readonly string[]): Parsed {
  const read = readArgs(args);
  if (typeof read === 'string') return wrong(read);
  const { values, positionals } = read;
  if (values.help) return { ok: false, help: true, detail: '' };
  const backend = BACKENDS.find((name) => name === (values.backend ?? 'auto'));
  if (backend === undefined) return wrong(`--backend is one of ${BACKENDS.join(', ')}`);
  // Every user of the machine can read arguments.
  if (values.token !== undefined && values.token !== '-') return wrong('--token takes "-": standard input');
  const [link, ...more] = positionals;
  const path = link === undefined ? '/' : pageOfLink(link);
  if (path === null || more.length > 0) return wrong('a link has the form tidegate://update/ID');
  return {
    ok: true,
    options: {
      ...{ server: values.server ?? null, backend, path, config: values.config ?? null },
      ...{ capabilities: values.capabilities ?? [], noSandbox: values['no-sandbox'] ?? false },
      readsToken: values.token === '-',
      forgets: values.forget ?? false,
      listsServers: values.servers ?? false,
    },
  };
}

function readArgs(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const wrong = (detail: string): Parsed => ({ ok: false, help: false, detail });
