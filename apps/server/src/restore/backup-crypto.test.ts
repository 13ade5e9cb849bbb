import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { describe, expect, test } from 'vitest';
import { backUp, restore } from '../testing/backups.ts';
import { ENGINES } from '../testing/engines.ts';
import { createHousehold, type Household } from '../testing/restored-server.ts';
import { readIdentities, recipientFault } from './backup-crypto.ts';

const [sqlite] = ENGINES;
if (!sqlite) throw new Error('SQLite is always there');
const onSqlite = sqlite;

async function backedUp(options: Parameters<typeof backUp>[1] = {}) {
  const home = await createHousehold(onSqlite);
  await (await home.start()).stop();
  return { home, to: (await backUp(home, options)).to };
}

/** Changes rows and the SHA-256 of the last line, like an attacker with the file and no secret. */
function forge(
  bytes: Buffer,
  change: (text: string) => string,
  end: (last: object) => object = (last) => last,
): Buffer {
  const lines = gunzipSync(bytes).toString().trimEnd().split('\n');
  const content = change(`${lines.slice(0, -1).join('\n')}\n`);
  const last: object = JSON.parse(lines.at(-1) ?? '');
  const sha256 = createHash('sha256').update(content).digest('hex');
  return gzipSync(`${content}${JSON.stringify(end({ ...last, sha256 }))}\n`);
}

const database = ({ config }: Household) => readFileSync(join(config.dataDir, 'tidegate.db'));

describe('a backup that somebody else wrote', () => {
  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['with another name of the admin', (bytes) => forge(bytes, (text) => text.replaceAll('olga', 'eve_'))],
    [
      'with nothing changed but the MAC',
      (bytes) =>
        forge(
          bytes,
          (text) => text,
          (last) => ({ ...last, mac: '0'.repeat(64) }),
        ),
    ],
    [
      'without a MAC',
      (bytes) =>
        forge(
          bytes,
          (text) => text,
          ({ ...last }) => ({ ...last, mac: undefined }),
        ),
    ],
    [
      'of the form that has no MAC',
      (bytes) =>
        forge(
          bytes,
          (text) => text.replace('"v":2', '"v":1'),
          (last) => ({ ...last, mac: undefined }),
        ),
    ],
  ])('%s: refused before anything is touched, unless told otherwise', async (_, change) => {
    const { home, to } = await backedUp();
    writeFileSync(to, change(readFileSync(to)));
    const before = database(home);
    expect(await restore(home, to)).toEqual({
      ok: false,
      fault: expect.stringContaining('nothing here shows that this installation made it'),
    });
    expect(database(home).equals(before)).toBe(true);
    expect(await restore(home, to, { acceptUnverified: true })).toMatchObject({
      ok: true,
      authenticity: 'unverified',
    });
  });

  test('an unchanged one is accepted, also on a machine that has only the secret', async () => {
    const { home, to } = await backedUp();
    expect(await restore(home, to)).toMatchObject({ ok: true, authenticity: 'own' });
    const jwtSecret = readFileSync(join(home.config.dataDir, 'jwt-secret'), 'utf8').trim();
    const target = await createHousehold(onSqlite, { jwtSecret });
    expect(await restore(target, to)).toMatchObject({ ok: true, authenticity: 'own' });
    expect(await restore(await createHousehold(onSqlite), to)).toMatchObject({ ok: false });
  });

  test('one that contains its secret is accepted without a local one, with a warning; otherwise the local one decides', async () => {
    const { to } = await backedUp({ withKeys: true });
    expect(await restore(await createHousehold(onSqlite), to)).toMatchObject({
      ok: true,
      authenticity: 'carried',
    });
    const other = await createHousehold(onSqlite, { jwtSecret: 'y'.repeat(40) });
    expect(await restore(other, to)).toMatchObject({ ok: false });
  });
});

describe('a backup that is encrypted to a recipient', () => {
  async function encrypted() {
    const identity = await generateX25519Identity();
    const recipient = await identityToRecipient(identity);
    return { identity, ...(await backedUp({ recipients: [recipient] })) };
  }

  test('reveals nothing without its identity and is restored with it', async () => {
    const { identity, home, to } = await encrypted();
    const bytes = readFileSync(to);
    expect(bytes.subarray(0, 22).toString()).toBe('age-encryption.org/v1\n');
    expect(bytes.includes('olga')).toBe(false);
    expect(await restore(home, to)).toEqual({ ok: false, fault: expect.stringContaining('--identity') });
    const other = await generateX25519Identity();
    expect(await restore(home, to, { identities: [other] })).toEqual({
      ok: false,
      fault: expect.stringContaining('no identity decrypts it'),
    });
    expect(await restore(home, to, { identities: [other, identity] })).toMatchObject({
      ok: true,
      authenticity: 'own',
    });
  });

  test('truncated or changed in one byte it touches nothing', async () => {
    const { identity, home, to } = await encrypted();
    const bytes = readFileSync(to);
    const before = database(home);
    for (const at of [bytes.length - 1, Math.floor(bytes.length / 2), 30]) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      for (const content of [damaged, bytes.subarray(0, at)]) {
        writeFileSync(to, content);
        expect(await restore(home, to, { identities: [identity] })).toMatchObject({ ok: false });
      }
    }
    expect(database(home).equals(before)).toBe(true);
  });

  const hasAge = existsSync('/usr/bin/age');
  test.skipIf(!hasAge)('is opened by the program age, and age encrypts what restore takes', async () => {
    const { identity, home, to } = await encrypted();
    const keys = join(home.config.dataDir, 'identity.txt');
    writeFileSync(keys, `# a key\n${identity}\n`, { mode: 0o600 });
    const plain = execFileSync('/usr/bin/age', ['--decrypt', '-i', keys, to]);
    expect(gunzipSync(plain).toString()).toContain('"format":"tidegate-backup"');
    const again = join(home.config.dataDir, 'again.age');
    execFileSync('/usr/bin/age', ['-r', await identityToRecipient(identity), '-o', again], { input: plain });
    expect(
      await restore(home, again, { identities: readIdentities(readFileSync(keys, 'utf8')) ?? [] }),
    ).toMatchObject({
      ok: true,
    });
    rmSync(keys);
  });
});

test('recipients and identities are parsed strictly, and a secret is never repeated', async () => {
  const identity = await generateX25519Identity();
  expect(recipientFault(await identityToRecipient(identity))).toBeNull();
  for (const wrong of [identity, 'age1', 'olga', '']) {
    expect(recipientFault(wrong)).toMatch(/^a recipient is no public key of age; allowed: age1…/);
  }
  expect(readIdentities(`# c\n\n${identity}\r\n`)).toEqual([identity]);
  for (const wrong of ['', '# nothing', 'AGE-SECRET-KEY-1', 'hello'])
    expect(readIdentities(wrong)).toBeNull();
});
