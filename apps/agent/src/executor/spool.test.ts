import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { READY_MARK, resultPath } from '../jobs/job-folder.ts';
import { createJobWorld, type JobWorld } from '../testing/job-world.ts';
import { runSpool } from './run-spool.ts';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
/** Of tidegate-executor.service. */
const STARTS_MAX = 20;
const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;
if (!isRoot) console.log('skipped: a spool that another user fills: needs root');

let world: JobWorld;
let spool: string;
beforeEach(() => {
  world = createJobWorld();
  spool = join(world.folder, 'spool');
  chmodSync(world.folder, 0o755);
  mkdirSync(spool);
});
afterEach(() => world[Symbol.dispose]());

/** What `PathExistsGlob=…/jobs/<star>/ready` matches: links are followed to the folder, and not at the mark. */
function matched(): string[] {
  return readdirSync(spool, { encoding: 'buffer' }).flatMap((name) => {
    if (name[0] === 0x2e) return [];
    const mark = Buffer.concat([Buffer.from(`${spool}/`), name, Buffer.from(`/${READY_MARK}`)]);
    try {
      lstatSync(mark);
      return [name.toString('latin1')];
    } catch {
      return [];
    }
  });
}

/** The real executor, as its unit starts it but for the wait. */
async function start(): Promise<{ code: unknown; said: string }> {
  const args = ['execute', '--spool', spool, '--state', world.stateFolder, '--policy', world.policy.path];
  const child = spawn(process.execPath, ['--no-warnings', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const [code] = await once(child, 'close');
  return { code, said };
}

/** The path unit: starts the executor for as long as its pattern matches, until the limit of the service is reached. */
async function watch(): Promise<number> {
  let starts = 0;
  for (; matched().length > 0 && starts < STARTS_MAX; starts += 1) await start();
  return starts;
}

/** A folder in the spool, of a job by its name unless given. */
function folder(name: string = randomUUID()): string {
  const path = join(spool, name);
  mkdirSync(path);
  return path;
}

const PLANTED: [string, () => void | Promise<void>][] = [
  ['a mark that is a link to nowhere', () => symlinkSync('/nowhere', join(folder(), READY_MARK))],
  ['a mark that is a link to a file of root’s', () => symlinkSync('/etc/passwd', join(folder(), READY_MARK))],
  ['a mark that is a FIFO', () => void execFileSync('mkfifo', [join(folder(), READY_MARK)])],
  [
    'a mark that is a socket',
    async () => {
      const server = createServer();
      server.listen(join(folder('s'), READY_MARK));
      await once(server, 'listening');
      onTestFinished(() => void server.close());
    },
  ],
  [
    'a mark that is a full folder',
    () => mkdirSync(join(folder(), READY_MARK, 'a', 'b'), { recursive: true }),
  ],
  ['a folder of another name', () => writeFileSync(join(folder('not-a-job'), READY_MARK), '')],
  ['a folder whose name is no UTF-8', () => plantUnreadable()],
  [
    'a folder that nobody may enter',
    () => {
      const path = folder();
      writeFileSync(join(path, READY_MARK), '');
      if (isRoot) chownSync(path, NOBODY, NOBODY);
      chmodSync(path, 0);
    },
  ],
  [
    'a link to a folder elsewhere',
    () => {
      mkdirSync(join(world.folder, 'elsewhere'));
      writeFileSync(join(world.folder, 'elsewhere', READY_MARK), '');
      symlinkSync(join(world.folder, 'elsewhere'), join(spool, randomUUID()));
    },
  ],
  [
    'two thousand jobs at once',
    () => {
      for (let made = 0; made < 2_000; made += 1) writeFileSync(join(folder(), READY_MARK), '');
    },
  ],
  [
    'more folders than are looked at',
    () => {
      for (let made = 0; made < 10_100; made += 1) writeFileSync(join(folder(`x${made}`), READY_MARK), '');
    },
  ],
];

function plantUnreadable(): void {
  const name = Buffer.concat([Buffer.from(`${spool}/`), Buffer.from([0xff, 0xfe])]);
  mkdirSync(name);
  writeFileSync(Buffer.concat([name, Buffer.from(`/${READY_MARK}`)]), '');
}

describe.skipIf(!isRoot)('one run settles every content of the spool', () => {
  test.each(PLANTED)('%s', async (_, plant) => {
    await plant();
    chownSync(spool, NOBODY, NOBODY);
    expect(matched().length).toBeGreaterThan(0);
    expect(await watch()).toBe(1);
    expect(matched()).toEqual([]);
    expect(lstatSync(spool).uid).toBe(NOBODY); // it is still the agent's to fill
  });

  test('all of it at once, and files elsewhere are unchanged', async () => {
    for (const [, plant] of PLANTED.slice(0, 10)) await plant();
    chownSync(spool, NOBODY, NOBODY);
    expect(await watch()).toBe(1);
    expect(existsSync(join(world.folder, 'elsewhere', READY_MARK))).toBe(true);
    expect(readFileSync('/etc/passwd', 'utf8')).toContain('root');
    // Startable afterwards: a job is answered, though this machine has a network and so installs nothing.
    const job = world.leaveJob();
    expect(await watch()).toBe(1);
    const result = resultPath(world.stateFolder, job.split('/').at(-1) ?? '');
    expect(readFileSync(result, 'utf8')).toMatch(/"status":"(refused|success)"/);
  });

  test('a spool that another user could replace is not used', async () => {
    world.leaveJob();
    chownSync(world.folder, NOBODY, NOBODY);
    const { code, said } = await start();
    expect([code, said]).toEqual([1, expect.stringContaining('belongs to user 65534')]);
  });
});

describe('a run', () => {
  const options = (execute: Parameters<typeof runSpool>[0]['execute'], lingerMs = 0) => {
    let nowMs = 0;
    const pause = async (ms: number) => {
      nowMs += ms;
    };
    return { path: spool, lingerMs, execute, elapsedMs: () => nowMs, pause };
  };
  const fake = () => writeFileSync(join(folder(), READY_MARK), '');

  test('stays for its configured time and handles new jobs: 120 updates need one start', async () => {
    let left = 0;
    const next = () => {
      if (left < 120) world.leaveJob();
      left += 1;
    };
    next();
    const ran = await runSpool(
      options(async (job) => {
        const outcome = await world.execute(job);
        next();
        return outcome;
      }, 35_000),
    );
    expect(ran).toMatchObject({ ok: true, answered: 120, faults: [] });
    expect(world.installs).toHaveLength(120);
  });

  test('is never shorter than configured, so that 20 starts in 600 seconds are never reached', async () => {
    const given = options(async () => ({ ok: false, detail: 'x' }), 35_000);
    fake();
    await runSpool(given);
    expect(given.elapsedMs()).toBeGreaterThanOrEqual(35_000);
    expect(600_000 / 35_000).toBeLessThan(STARTS_MAX);
  });

  test('is not ended by a job that throws, and that job’s marker is removed too', async () => {
    fake();
    fake();
    let calls = 0;
    const throwing = async () => {
      calls += 1;
      throw new Error('unforeseen');
    };
    expect(await runSpool(options(throwing))).toMatchObject({ ok: true, answered: 0 });
    expect([calls, matched()]).toEqual([4, []]);
  });

  test('leaves jobs to another running executor', async () => {
    fake();
    let calls = 0;
    const busy = async () => {
      calls += 1;
      return calls < 3
        ? { ok: false as const, detail: 'held', isBusy: true }
        : { ok: false as const, detail: 'x' };
    };
    await runSpool(options(busy));
    expect([calls, matched()]).toEqual([4, []]);
  });

  test('starts no job after ten minutes: the rest of systemd’s limit is for the last installation', async () => {
    let begun = 0;
    fake();
    const given = options(async (_job) => {
      begun += 1;
      await given.pause(6 * 60_000);
      fake();
      const result = { status: 'success' as const };
      return { ok: true, result: { command_id: randomUUID(), failure: null, check: null, result } };
    });
    await runSpool(given);
    expect([begun, matched().length]).toEqual([2, 1]);
  });
});
