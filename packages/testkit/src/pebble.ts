import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createAuthority } from './certificates.ts';
import { freePort, isOpen, portOf } from './free-port.ts';
import { startLeash } from './leash.ts';
import { findTool, SYSTEM_PATH } from './run-tool.ts';
import { tmpDir } from './tmp.ts';

/** Let's Encrypt's ACME server for tests. */
export type Pebble = AsyncDisposable & {
  readonly directoryUrl: string;
  /** What its https certificate is trusted by, in PEM. */
  readonly ca: string;
};

export type PebbleOptions = {
  /** Where challenges are asked for; every name resolves to 127.0.0.1. */
  httpPort: number;
  tlsPort: number;
  /** Lifetime of its certificates, in seconds. */
  lifetimeSeconds?: number;
  /** External accounts by key id, with their keys in base64url. With any, every account needs one. */
  accounts?: Record<string, string>;
};

/** Why Pebble cannot run here, or null. */
export function missingPebble(): string | null {
  if (findPebble() !== null) return null;
  return 'Pebble is not installed (Debian: apt-get install pebble)';
}

function findPebble(): string | null {
  return findTool('pebble', `${process.env.PATH ?? ''}:${SYSTEM_PATH}`);
}

const STARTS_MAX = 5;
/**
 * The share of good nonces that it refuses, in percent. At 10 the ten retries of a request run out once in 10^11
 * requests; at 25 once in four million, and a run of all tests sends hundreds.
 */
const REFUSED_NONCES = '10';

/** Starts Pebble on a free port and waits until it listens; disposal ends it. Throws if it is not installed. */
export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  const program = findPebble();
  if (program === null) throw new Error(missingPebble() ?? '');
  const stack = new AsyncDisposableStack();
  const folder = stack.use(tmpDir());
  const authority = await createAuthority('Pebble');
  const own = await authority.issue(['127.0.0.1']);
  writeFileSync(join(folder.path, 'cert.pem'), own.cert);
  writeFileSync(join(folder.path, 'key.pem'), own.key);
  const dns = await startNameServer();
  stack.defer(dns.stop);
  // Pebble takes no socket and does not tell the port that it chose: another program may take a free one first.
  for (let start = 1; ; start++) {
    const port = await freePort();
    const config = join(folder.path, 'pebble.json');
    writeFileSync(config, configOf(options, { port, folder: folder.path }));
    const child = spawn(program, ['-strict', '-config', config, '-dnsserver', `127.0.0.1:${dns.port}`], {
      cwd: '/',
      env: { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: REFUSED_NONCES },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const closed = once(child, 'close');
    const leash = startLeash({ script: 'cat >/dev/null; kill -9 "$1" 2>/dev/null', args: [`${child.pid}`] });
    const end = async () => void (await Promise.all([leash.release(), closed]));
    const fault = await listening(child, port);
    if (fault === null) {
      stack.defer(end);
      return {
        directoryUrl: `https://127.0.0.1:${port}/dir`,
        ca: authority.cert,
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      };
    }
    await end();
    if (start === STARTS_MAX) {
      await stack.disposeAsync();
      throw new Error(`Pebble does not start: ${fault}`);
    }
  }
}

function configOf(options: PebbleOptions, { port, folder }: { port: number; folder: string }): string {
  const { httpPort, tlsPort, lifetimeSeconds, accounts } = options;
  return JSON.stringify({
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      certificate: join(folder, 'cert.pem'),
      privateKey: join(folder, 'key.pem'),
      ...{ httpPort, tlsPort, externalAccountBindingRequired: accounts !== undefined },
      ...(accounts === undefined ? {} : { externalAccountMACKeys: accounts }),
      ...(lifetimeSeconds === undefined ? {} : { certificateValidityPeriod: lifetimeSeconds }),
    },
  });
}

/** Null once it listens, or its last words. */
async function listening(child: ChildProcess, port: number): Promise<string | null> {
  const said: string[] = [];
  let hasEnded = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      said.push(chunk.toString());
      if (said.length > 100) said.shift();
    });
  }
  child.once('error', (error) => void said.push(error.message));
  child.once('close', () => {
    hasEnded = true;
  });
  // What it prints comes before it listens.
  while (!hasEnded) {
    if (await isOpen(port)) return null;
    await pause(10);
  }
  return said.join('');
}

const TYPE_A = 1;

/**
 * A name server that knows one answer: every name has the address 127.0.0.1, and nothing else. Debian's Pebble asks over
 * UDP, newer ones over TCP.
 */
async function startNameServer(): Promise<{ port: number; stop: () => Promise<void> }> {
  const tcp = createServer((client) => {
    client.on('error', () => client.destroy());
    client.on('data', (message: Buffer) => {
      const answer = answerTo(message.subarray(2));
      const length = Buffer.alloc(2);
      length.writeUInt16BE(answer.length);
      client.write(Buffer.concat([length, answer]));
    });
  });
  const port = await portOf(tcp);
  const udp = createSocket('udp4');
  udp.on('message', (query, peer) => udp.send(answerTo(query), peer.port, peer.address));
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  return {
    port,
    stop: async () => {
      const closed = once(udp, 'close');
      udp.close();
      tcp.close();
      await closed;
    },
  };
}

/** RFC 1035: the question repeated, and one answer that refers to its name. */
function answerTo(query: Buffer): Buffer {
  let end = 12;
  while (query[end]) end += 1 + (query[end] ?? 0);
  const question = query.subarray(12, end + 5);
  const hasAnswer = query.readUInt16BE(end + 1) === TYPE_A;
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8580, 2); // a response, authoritative, recursion wanted and available, no error
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(hasAnswer ? 1 : 0, 6);
  const answer = Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
  return Buffer.concat([header, question, ...(hasAnswer ? [answer] : [])]);
}
