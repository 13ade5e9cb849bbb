import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { BUILT_SERVER } from '../../scripts/release/build-server.ts';

const MAIN = join(BUILT_SERVER, 'server/tidegatectl.js');

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** `tidegatectl` as an operator runs it: a process that knows the address of a server and a file with a token. */
export interface Ctl {
  /** Runs it to its end. */
  run(...args: string[]): Promise<Said>;
  /** The same, with an input. */
  tell(input: string, ...args: string[]): Promise<Said>;
  /** What it prints; throws with what it says unless it succeeds. */
  out(...args: string[]): Promise<string>;
  /** The answer of the server. */
  json(...args: string[]): Promise<unknown>;
}

/** `token` null: no token file. */
export function ctlFor(server: string, { folder, token }: { folder: string; token: string | null }): Ctl {
  const tokenFile = join(folder, 'token');
  if (token !== null) writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
  const env = {
    ...{ PATH: SYSTEM_PATH, ...compiledModules(), TIDEGATE_SERVER: server },
    ...(token === null ? {} : { TIDEGATE_TOKEN_FILE: tokenFile }),
  };
  const tell: Ctl['tell'] = async (input, ...args) => {
    const child = spawn(process.execPath, [MAIN, ...args], { env, cwd: folder });
    // It may end before it has read its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { code: Number(code), out, err };
  };
  const run: Ctl['run'] = (...args) => tell('', ...args);
  const out: Ctl['out'] = async (...args) => {
    const said = await run(...args);
    if (said.code !== 0)
      throw new Error(`tidegatectl ${args.join(' ')} ended with ${said.code}: ${said.err}${said.out}`);
    return said.out;
  };
  return { run, tell, out, json: async (...args) => JSON.parse(await out(...args, '--json')) };
}
