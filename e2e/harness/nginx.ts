import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createAuthority } from '@tidegate/testkit/certificates';
import { freePort, isOpen } from '@tidegate/testkit/free-port';
import { findTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { startChild } from './child.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/proxies/nginx.conf', import.meta.url));
const NAME = 'tidegate.example.org';
const CERTIFICATES = `/etc/letsencrypt/live/${NAME}`;

/** The real nginx with the example as its configuration: other ports and paths, and nothing else. */
export type Nginx = AsyncDisposable & {
  readonly httpsPort: number;
  readonly httpPort: number;
  /** What its certificate is trusted by, in PEM. */
  readonly ca: string;
};

/** Why nginx cannot run here, or null. */
export function missingNginx(): string | null {
  return findTool('nginx') === null ? 'nginx is not installed (Debian: apt-get install nginx-light)' : null;
}

const STARTS_MAX = 5;

/** Starts it in front of a server and waits until it listens. */
export async function startNginx(serverUrl: string): Promise<Nginx> {
  const program = findTool('nginx');
  if (program === null) throw new Error(missingNginx() ?? '');
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(tmpDir());
  const authority = await createAuthority();
  const pair = await authority.issue([NAME]);
  writeFileSync(join(path, 'fullchain.pem'), pair.cert);
  writeFileSync(join(path, 'privkey.pem'), pair.key);
  // nginx takes no socket and chooses no port: another program may take a free one first.
  for (let start = 1; ; start++) {
    const [httpPort, httpsPort] = [await freePort(), await freePort()];
    const example = replaceEach(readFileSync(EXAMPLE, 'utf8'), {
      'listen 80;': `listen 127.0.0.1:${httpPort};`,
      'listen 443 ssl http2;': `listen 127.0.0.1:${httpsPort} ssl http2;`,
      'server 127.0.0.1:8080;': `server ${new URL(serverUrl).host};`,
      [CERTIFICATES]: path,
    });
    writeFileSync(join(path, 'tidegate.conf'), example);
    writeFileSync(join(path, 'nginx.conf'), mainConfig(path));
    const child = startChild(program, ['-p', path, '-c', join(path, 'nginx.conf'), '-e', 'stderr'], {
      env: { PATH: SYSTEM_PATH },
    });
    while (!child.hasEnded() && !(await isOpen(httpsPort))) await pause(10);
    if (!child.hasEnded()) {
      stack.defer(async () => {
        child.signal('SIGTERM');
        await child.ended;
      });
      return { httpPort, httpsPort, ca: authority.cert, [Symbol.asyncDispose]: () => stack.disposeAsync() };
    }
    if (start === STARTS_MAX) {
      await stack.disposeAsync();
      throw new Error(`nginx does not start: ${child.stderr.join('\n')}`);
    }
  }
}

/** Throws if the example has no such text, so that this harness cannot test something else. */
function replaceEach(example: string, replacements: Record<string, string>): string {
  return Object.entries(replacements).reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the example has no ${from}`);
    return text.replaceAll(from, to);
  }, example);
}

/** What Debian's nginx.conf has around the example, in one folder and without a daemon. */
function mainConfig(path: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return [
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'daemon off;',
    `pid ${path}/nginx.pid;`,
    'events {}',
    'http {',
    '  access_log off;',
    '  gzip on;',
    ...temporary.map((name) => `  ${name}_temp_path ${path}/${name};`),
    `  include ${path}/tidegate.conf;`,
    '}',
  ].join('\n');
}
