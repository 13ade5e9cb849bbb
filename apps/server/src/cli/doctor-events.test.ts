import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../platform/db/open.ts';
import { type CliPlace, type Ran, servedPlaces } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';

interface LogPlace extends CliPlace {
  /** Runs statements on the database as anyone with its password could: without its triggers. */
  tamper(...statements: string[]): Promise<void>;
  doctor(...words: string[]): Promise<Ran>;
  /** Writes an export and the public keys; returns the words that verify it. */
  exported(name: string, ...words: string[]): Promise<{ file: string; words: string[] }>;
  file(name: string): string;
}

const keysOf = (it: CliPlace) => join(it.dataDir, 'public-keys.json');

const served = servedPlaces({
  async prepare(it) {
    const server = await it.start();
    writeFileSync(keysOf(it), await (await fetch(`${server.url}/api/v1/public-keys`)).text());
    await server.stop();
    for (const label of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
      await it.run(['tokens', 'add', '--label', label]);
  },
});

/** A server that has been running, with some ten events and everything signed. */
async function place(engine: TestEngine): Promise<LogPlace> {
  const it = await served(engine);
  const keys = keysOf(it);
  const file = (name: string) => join(it.dataDir, name);
  return {
    ...it,
    file,
    doctor: (...words) => it.run(['doctor', '--verify-events', ...words]),
    async exported(name, ...words) {
      const path = file(name);
      const ran = await it.run(['events', 'export', '--out', path, ...words]);
      expect(ran).toMatchObject({ code: 0, err: '' });
      return { file: path, words: ['--file', path, '--keys', keys] };
    },
    async tamper(...statements) {
      const database = openDatabase(it, databaseOptions());
      onTestFinished(() => database.close());
      const guards =
        database.engine === 'postgres'
          ? ['events', 'event_checkpoints'].map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`)
          : ['events_no_update', 'events_no_delete', 'event_checkpoints_no_delete'].map(
              (name) => `DROP TRIGGER ${name}`,
            );
      await database.transact(async (tx) => {
        for (const statement of [...guards, ...statements]) await sql.raw(statement).execute(tx);
      });
    },
  };
}

const CUT = [
  'DELETE FROM events WHERE position > 6',
  'UPDATE events_head SET position = 6, hash = (SELECT hash FROM events WHERE position = 6)',
];

describe.each(ENGINES)('tidegate doctor --verify-events on $name (16.4.2)', (engine) => {
  test('an intact log is reported as such, also while the server runs', async () => {
    const it = await place(engine);
    await it.start();
    const ran = await it.spawn(['doctor', '--verify-events', '--json']);
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({ ok: true, fault: null, from_position: 1, warnings: [] });
    expect((await it.doctor()).out).toMatch(/^The log of events is intact: \d+ rows, from the first event/);
  });

  test('a changed row is named, with exit status 1 (RT25)', async () => {
    const it = await place(engine);
    await it.tamper("UPDATE events SET content = '{}' WHERE position = 4");
    const ran = await it.doctor();
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/First bad row: position 4 \(event [0-9a-f-]{36}\): it does not match its hash/);
  });

  test('a log truncated together with its head and checkpoints is caught by the file beside it', async () => {
    const it = await place(engine);
    await it.exported('all.ndjson');
    await it.tamper(...CUT, 'DELETE FROM event_checkpoints WHERE position > 6');
    const ran = await it.doctor();
    expect(ran).toMatchObject({ code: 1, out: expect.stringContaining('First bad row: position 7') });
    expect(ran.out).toContain('kept in the file beside the database');
  });

  test('without that file, by the heads that hosts keep (T6)', async () => {
    const it = await place(engine);
    const whole = JSON.parse((await it.doctor('--json')).out);
    await it.tamper(...CUT, 'DELETE FROM event_checkpoints WHERE position > 6');
    const cut = await it.doctor();
    expect(cut).toMatchObject({ code: 0 });
    const head = {
      epoch: 1,
      position: whole.to_position,
      hash: whole.to_hash,
      server_time: '2026-11-21T09:00:00Z',
    };
    const status = { agent_id: 'web-1', events_head: head, events_rolled_back: null };
    writeFileSync(it.file('heads'), `${JSON.stringify(status)}\n${whole.to_hash}:${whole.to_position}\n`);
    for (const given of [it.file('heads'), `${whole.to_hash}:${whole.to_position}`]) {
      const ran = await it.doctor('--head', given);
      expect(ran).toMatchObject({ code: 1, out: expect.stringContaining('First bad row: position 7') });
    }
    expect((await it.doctor('--head', it.file('heads'))).out).toContain('agent web-1 saw signed');
  });

  test('an export is verified with the public keys alone, whole and in part', async () => {
    const it = await place(engine);
    const { file, words } = await it.exported('all.ndjson');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    // The verifying side has no installation.
    const env = { SERVICE_DATA_DIR: '/nowhere', SERVICE_DATABASE_URL: '' };
    const ran = await it.run(['doctor', '--verify-events', '--json', ...words], { env });
    const verified = JSON.parse(ran.out);
    expect(verified).toMatchObject({ ok: true, from_position: 1, signed_up_to: verified.to_position });
    const part = await it.exported('part.ndjson', '--from', '4');
    expect(JSON.parse((await it.doctor('--json', ...part.words)).out)).toMatchObject({
      ok: true,
      from_position: 4,
    });
    const unsigned = await it.exported('unsigned.ndjson', '--from', '4', '--to', '5');
    expect(await it.doctor(...unsigned.words)).toMatchObject({
      code: 1,
      err: expect.stringContaining('it proves nothing'),
    });
  });

  test.each<[string, (lines: string[]) => string[], string]>([
    [
      'a flipped letter',
      (lines) => lines.map((line) => line.replace('"label\\":\\"d\\"', '"label\\":\\"x\\"')),
      'was changed',
    ],
    [
      'a removed line',
      (lines) => lines.filter((line) => !line.includes('"position":5,')),
      'this row was removed',
    ],
    ['the end cut off', (lines) => lines.slice(0, -2), 'the file was cut off'],
    [
      'the end cut off behind a forged end',
      (lines) => [
        ...lines.slice(0, -3),
        `{"end":{"position":${lines.length - 5},"hash":"${'a'.repeat(64)}"}}`,
      ],
      'the end was cut off',
    ],
    [
      'an unknown kind of line',
      (lines) => lines.map((line, i) => (i === 6 ? '{"event":1}' : line)),
      'is no event',
    ],
    [
      'a line of no JSON',
      (lines) => lines.map((line, i) => (i === 6 ? line.slice(1) : line)),
      'line 7 of the file',
    ],
    [
      'a forged checkpoint',
      (lines) => lines.map((line) => line.replace(/"sig":"..../, '"sig":"AAAA')),
      'is not believed',
    ],
    [
      'an event after its end',
      (lines) => [...lines, ...lines.slice(-2, -1).map((line) => line.replace('"label', '"forged'))],
      'follows its end',
    ],
    [
      'an id that would clear the terminal',
      (lines) => lines.map((line) => line.replace(/("position":5,"id":")/, '$1\\u001b[2J')),
      '(event \\u{1b}[2J',
    ],
    ['another beginning', (lines) => lines.slice(1), 'is not the beginning of an export'],
  ])('an export with %s is not believed', async (_, forge, message) => {
    const it = await place(engine);
    const { file, words } = await it.exported('all.ndjson');
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const forged = forge(lines);
    expect(forged).not.toEqual(lines);
    writeFileSync(file, `${forged.join('\n')}\n`);
    expect(await it.doctor(...words)).toMatchObject({ code: 1, out: expect.stringContaining(message) });
  });

  test('a head newer than the export proves nothing; an older one does', async () => {
    const it = await place(engine);
    const { words } = await it.exported('all.ndjson');
    const status = (seen: string) =>
      JSON.stringify({
        agent_id: 'a',
        events_head: { epoch: 1, position: 99, hash: 'a'.repeat(64), server_time: seen },
      });
    writeFileSync(it.file('newer'), status('2026-11-21T10:00:00Z'));
    writeFileSync(it.file('older'), status('2026-11-21T08:00:00Z'));
    expect((await it.doctor('--head', it.file('newer'), ...words)).code).toBe(0);
    expect((await it.doctor('--head', it.file('older'), ...words)).code).toBe(1);
  });

  test.each<[string, string, number]>([
    ['doctor --head x', 'go with --verify-events', 2],
    ['doctor more', 'unknown words', 2],
    ['doctor --verify-events --file x', 'go together', 2],
    ['doctor --verify-events --keys x', 'go together', 2],
    ['doctor --verify-events --file nowhere --keys nowhere', 'nowhere does not exist', 1],
    ['doctor --threads 2', 'go with --verify-events', 2],
    ['doctor --verify-events --threads 17', 'needs a number from 1 to 16', 2],
    ['doctor --verify-events --file x --keys y --threads 2', 'by one thread', 2],
    ['doctor --verify-events --archive nowhere', 'nowhere does not exist', 1],
    ['events remove', 'needs --before and --archive', 2],
    ['events remove --before soon --archive x', 'a day such as', 2],
    ['events remove --before 2026-11-20 --archive x', 'events of the last 30 days stay', 1],
    ['events export --before 2026-01-01', 'goes with remove', 2],
    ['doctor --verify-events --head 12:ab', 'neither a file nor HEX:POSITION', 1],
    ['events', 'events needs', 2],
    ['events export --from 0', 'a whole number from 1', 2],
    ['events export --json', '--json goes with --out', 2],
    ['events export --out /nowhere/file', 'cannot be created (ENOENT)', 1],
  ])('%s says what is wrong', async (words, message, code) => {
    const it = await place(engine);
    expect(await it.run(words.split(' '))).toMatchObject({
      code,
      out: '',
      err: expect.stringContaining(message),
    });
  });

  test('without a private key here, no checkpoint can be trusted', async () => {
    const it = await place(engine);
    for (const name of readdirSync(it.file('keys'))) rmSync(join(it.file('keys'), name));
    expect(await it.doctor()).toMatchObject({
      code: 1,
      err: expect.stringContaining('no private signing key'),
    });
  });
});
