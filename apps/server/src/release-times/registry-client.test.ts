import { type FakeNpmMetadata, startFakeNpmMetadata } from '@tidegate/testkit/fake-npm-metadata';
import { type FakePypiMetadata, startFakePypiMetadata } from '@tidegate/testkit/fake-pypi-metadata';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { filesOfProjectAnswer, filesOfVersionAnswer, pypiSays } from './pypi-times.ts';
import { createRegistryClient, type RegistryClient } from './registry-client.ts';

const LONG = process.env.TIDEGATE_LONG === '1';
const LIMITS = LONG ? { numRuns: 1e9, interruptAfterTimeLimit: 60_000 } : { numRuns: 300 };
const NOW_MS = Date.UTC(2026, 10, 21, 9);
const OLD = '2026-11-01T00:00:00.000Z';
const NEW = '2026-11-20T00:00:00.000Z';
const A = 'a'.repeat(64);
const B = 'b'.repeat(64);
const CLIENT_MAX_BYTES = 1024 * 1024;
/** A registry that answers is awaited, however busy the machine is. */
const PATIENCE_MS = 15_000;

let npm: FakeNpmMetadata;
let pypi: FakePypiMetadata;
let client: RegistryClient;
beforeEach(async () => {
  npm = await startFakeNpmMetadata();
  pypi = await startFakePypiMetadata();
  client = clientOf(PATIENCE_MS);
});
afterEach(async () => {
  await client.close();
  await npm.stop();
  await pypi.stop();
});

function clientOf(timeoutMs: number): RegistryClient {
  return createRegistryClient({
    config: { npmRegistryUrl: `${npm.url}/`, pypiUrl: pypi.url },
    now: () => NOW_MS,
    timeouts: { packumentMs: timeoutMs, indexMs: timeoutMs },
    packumentMaxBytes: CLIENT_MAX_BYTES,
    sleep: async () => {},
  });
}

/** A hanging server hangs longer than this. */
async function becomeImpatient(): Promise<void> {
  await client.close();
  client = clientOf(200);
}

async function npmTimes(name: string, ...versions: string[]) {
  const subjects = versions.map((version) => ({ ecosystem: 'npm' as const, name, version, artifact: null }));
  const answer = await client.askNpm(name, subjects);
  if (answer.kind !== 'answer') return answer;
  const times = Object.fromEntries(
    [...answer.says].map(([{ version }, { publishedAtMs }]) => [version, publishedAtMs]),
  );
  return { kind: answer.kind, source: answer.source, times };
}

async function askPypi(version: string, artifact: { filename: string; sha256?: string } | null) {
  const subject = { ecosystem: 'pypi' as const, name: 'some-pkg', version, artifact };
  const answer = await client.askPypi({ name: 'some-pkg', version }, [subject]);
  return answer.kind === 'answer' ? answer.says.get(subject) : answer.cause;
}

async function pypiTime(version: string, artifact: { filename: string; sha256?: string } | null) {
  const said = await askPypi(version, artifact);
  return typeof said === 'object' ? said.publishedAtMs : said;
}

describe('times from an npm registry (A7)', () => {
  test('one packument answers for every version, a scope is one path segment, and the source is named', async () => {
    npm.publish('@scope/name', '1.0.0', OLD);
    npm.publish('@scope/name', '2.0.0', NEW);
    npm.publish('@scope/name', '3.0.0', undefined);
    expect(await npmTimes('@scope/name', '1.0.0', '2.0.0', '3.0.0', '4.0.0')).toEqual({
      kind: 'answer',
      times: { '1.0.0': Date.parse(OLD), '2.0.0': Date.parse(NEW), '3.0.0': null, '4.0.0': null },
      source: npm.url,
    });
    expect(npm.requests).toEqual(['/@scope%2fname']);
  });

  test('the time of a version counts for its own artifact: a different hash under its name contradicts it', async () => {
    const integrity = `sha1-AAAA sha512-${Buffer.from('ab'.repeat(64), 'hex').toString('base64')}`;
    const dist = (one: unknown) => ({ dist: { integrity: one, tarball: 'x' } });
    npm.answerRaw(
      '/name',
      JSON.stringify({
        versions: { '1.0.0': dist(integrity), '2.0.0': dist('sha1-AAAA'), '3.0.0': dist(7), '4.0.0': {} },
        time: Object.fromEntries(['1.0.0', '2.0.0', '3.0.0', '4.0.0'].map((version) => [version, OLD])),
      }),
    );
    const says = async (version: string, sha512?: string) => {
      const artifact = { filename: 'name.tgz', ...(sha512 === undefined ? {} : { sha512 }) };
      const subject = { ecosystem: 'npm' as const, name: 'name', version, artifact };
      const answer = await client.askNpm('name', [subject]);
      return answer.kind === 'answer' && answer.says.get(subject);
    };
    const publishedAtMs = Date.parse(OLD);
    expect(await says('1.0.0', 'ab'.repeat(64))).toEqual({ publishedAtMs, standing: 'confirmed' });
    expect(await says('1.0.0', 'cd'.repeat(64))).toEqual({ publishedAtMs: null, standing: 'contradicted' });
    expect(await says('1.0.0')).toEqual({ publishedAtMs, standing: 'unknown' });
    // Old versions have no SHA-512 to compare the plan with.
    expect(await says('2.0.0', 'cd'.repeat(64))).toEqual({ publishedAtMs, standing: 'unknown' });
    expect(await says('3.0.0', 'cd'.repeat(64))).toEqual({ publishedAtMs: null, standing: 'unknown' });
    expect(await says('4.0.0', 'cd'.repeat(64))).toEqual({ publishedAtMs, standing: 'unknown' });
  });

  test('an unpublished version contradicts the plan although its time remains; an unknown package gives no verdict', async () => {
    npm.answerRaw(
      '/name',
      JSON.stringify({ versions: { '1.0.0': {} }, time: { '1.0.0': OLD, '6.6.6': OLD } }),
    );
    const standingOf = async (name: string) => {
      const artifact = { filename: 'name.tgz', sha512: 'cd'.repeat(64) };
      const subject = { ecosystem: 'npm' as const, name, version: '6.6.6', artifact };
      const answer = await client.askNpm(name, [subject]);
      return answer.kind === 'answer' && answer.says.get(subject);
    };
    expect(await standingOf('name')).toEqual({ publishedAtMs: null, standing: 'contradicted' });
    expect(await standingOf('private')).toEqual({ publishedAtMs: null, standing: 'unknown' });
  });

  test('a missing package has no times: that is an answer', async () => {
    expect(await npmTimes('gone', '1.0.0')).toMatchObject({ kind: 'answer', times: { '1.0.0': null } });
  });

  test.each(['..', '../x', 'a/b', '@a/..', '', 'a b', 'a?b', `x${' '.repeat(5_000)}`])(
    'the name %j is unsafe in a path: no query',
    async (name) => {
      expect(await npmTimes(name, '1.0.0')).toMatchObject({ kind: 'answer', times: { '1.0.0': null } });
      expect(npm.requests).toEqual([]);
    },
  );

  test.each([
    ['down', 'UND_ERR_SOCKET'],
    ['failing', 'status 503'],
    ['hang', 'timeout'],
    ['garbage', 'not a packument'],
    ['redirect', 'status 302'],
    ['cut', 'UND_ERR_SOCKET'],
    ['compressed', 'compressed'],
    ['endless', `more than ${CLIENT_MAX_BYTES} bytes`],
  ] as const)('%s is no answer, and redirects are not followed', async (mode, cause) => {
    npm.publish('name', '1.0.0', OLD);
    npm.mode = mode;
    if (mode === 'hang') await becomeImpatient();
    expect(await npmTimes('name', '1.0.0')).toEqual({ kind: 'failed', cause });
    expect(npm.requests.some((path) => path.startsWith('/redirected'))).toBe(false);
  });

  test('invalid UTF-8 is no answer', async () => {
    const times = '{"time":{"1.0.0":"2026-11-01T00:00:00.000Z"},"x":"';
    npm.answerRaw('/name', Buffer.concat([Buffer.from(times), Buffer.of(0xff), Buffer.from('"}')]));
    expect((await npmTimes('name', '1.0.0')).kind).toBe('failed');
  });

  test('a name and password in the address are not recorded', async () => {
    const { host } = new URL(npm.url);
    const other = createRegistryClient({
      config: { npmRegistryUrl: `http://ada:secret@${host}/`, pypiUrl: pypi.url },
      now: () => NOW_MS,
    });
    npm.publish('name', '1.0.0', OLD);
    expect(await other.askNpm('name', [])).toMatchObject({ source: npm.url });
    expect(await other.askNpm('..', [])).toMatchObject({ source: npm.url });
    await other.close();
  });
});

describe('times from a Python index (A7): one for each file', () => {
  const wheel = (version: string) => `some_pkg-${version}-py3-none-any.whl`;
  beforeEach(() => {
    pypi.publish('some-pkg', '1.0', [
      { filename: wheel('1.0'), sha256: A, uploadedAt: OLD },
      { filename: 'some_pkg-1.0.tar.gz', sha256: B, uploadedAt: NEW },
    ]);
    pypi.publish('some-pkg', '1.0.post1', [{ filename: wheel('1.0.post1'), sha256: A, uploadedAt: NEW }]);
  });

  describe.each([
    [true, ['/pypi/some-pkg/1.0/json']],
    [false, ['/pypi/some-pkg/1.0/json', '/simple/some-pkg/']],
  ])('with the JSON API: %s', (hasJsonApi, requests) => {
    test.each<[string, { filename: string; sha256?: string } | null, string | null, string]>([
      ['the file by its hash, whatever its name', { filename: 'other.whl', sha256: A }, OLD, 'confirmed'],
      ['another file of the version', { filename: 'some_pkg-1.0.tar.gz', sha256: B }, NEW, 'confirmed'],
      [
        'a different hash under its name',
        { filename: wheel('1.0'), sha256: 'c'.repeat(64) },
        null,
        'contradicted',
      ],
      [
        'a hash and a name of no listed file',
        { filename: 'x', sha256: 'c'.repeat(64) },
        null,
        'contradicted',
      ],
      ['no hash: the file by its name', { filename: wheel('1.0') }, OLD, 'unknown'],
      ['no file: the newest', null, NEW, 'unknown'],
    ])('%s', async (_what, artifact, at, standing) => {
      pypi.hasJsonApi = hasJsonApi;
      const publishedAtMs = at === null ? null : Date.parse(at);
      expect(await askPypi('1.0', artifact)).toEqual({ publishedAtMs, standing });
      expect(pypi.requests).toEqual(requests);
    });
  });

  test('a different spelling of a version matches, a different version does not', async () => {
    pypi.hasJsonApi = false;
    expect(await pypiTime('1.0.0', { filename: wheel('1.0'), sha256: A })).toBe(Date.parse(OLD));
    expect(await pypiTime('1.0.1', null)).toBeNull();
  });

  test('a file without a time makes the newest unknown, and an index older than PEP 700 has no times', async () => {
    pypi.publish('some-pkg', '2.0', [
      { filename: wheel('2.0'), sha256: A, uploadedAt: OLD },
      { filename: 'some_pkg-2.0.tar.gz', sha256: B, uploadedAt: undefined },
    ]);
    expect(await pypiTime('2.0', null)).toBeNull();
    expect(await pypiTime('2.0', { filename: 'x', sha256: A })).toBe(Date.parse(OLD));
    pypi.hasJsonApi = false;
    pypi.hasUploadTimes = false;
    expect(await pypiTime('1.0', null)).toBeNull();
  });

  test('an index without hashes does not contradict the plan, whatever the name of the file', () => {
    const files = [{ filename: wheel('1.0'), sha256: null, uploadedAt: OLD }];
    const says = (filename: string) => pypiSays(files, { filename, sha256: A }, NOW_MS);
    expect(says(wheel('1.0'))).toEqual({ publishedAtMs: Date.parse(OLD), standing: 'unknown' });
    expect(says('other.whl')).toEqual({ publishedAtMs: null, standing: 'unknown' });
  });

  test('a version missing in its project contradicts the plan; an unknown project gives no verdict', async () => {
    const artifact = { filename: wheel('9.9'), sha256: A };
    expect(await askPypi('9.9', artifact)).toEqual({ publishedAtMs: null, standing: 'contradicted' });
    pypi.answerRaw('/simple/some-pkg/', JSON.stringify({ meta: {}, files: [] }));
    expect(await askPypi('9.9', artifact)).toEqual({ publishedAtMs: null, standing: 'unknown' });
  });

  test('an unknown version has no time: that is an answer', async () => {
    expect(await pypiTime('9.9', null)).toBeNull();
    pypi.hasJsonApi = false;
    expect(await pypiTime('9.9', null)).toBeNull();
  });

  test.each(['..', '../1', 'x', '1/2', '1?', ''])('the version %j is unsafe in a path', async (version) => {
    expect(await pypiTime(version, null)).toBeNull();
    expect(pypi.requests).toEqual([]);
  });

  test.each([
    ['down', 'UND_ERR_SOCKET'],
    ['failing', 'status 503'],
    ['hang', 'TimeoutError'],
    ['garbage', 'not an answer of the index'],
    ['redirect', 'status 302'],
    ['endless', 'more than'],
  ] as const)('%s is no answer', async (mode, cause) => {
    pypi.mode = mode;
    if (mode === 'hang') await becomeImpatient();
    expect(await pypiTime('1.0', null)).toContain(cause);
    expect(pypi.requests.some((path) => path.startsWith('/redirected'))).toBe(false);
  });

  test(
    'no answer makes it throw, and a time is in the past or null',
    () => {
      const text = fc.oneof(
        fc.string(),
        fc.constantFrom(OLD, NEW, A, wheel('1.0'), '__proto__', '9999-01-01T00:00:00Z'),
      );
      const file = fc.record(
        {
          filename: text,
          upload_time_iso_8601: fc.oneof(text, fc.constant(null)),
          'upload-time': fc.oneof(text, fc.constant(null)),
          digests: fc.oneof(fc.record({ sha256: text }), fc.constant(null)),
          hashes: fc.record({ sha256: text }),
        },
        { requiredKeys: ['filename'] },
      );
      const answer = fc.oneof(
        fc.jsonValue(),
        fc.record({ urls: fc.array(fc.oneof(file, fc.jsonValue())), files: fc.array(file) }),
      );
      const run = fc.property(
        fc.oneof(
          fc.string(),
          answer.map((value) => JSON.stringify(value)),
        ),
        (body) => {
          for (const files of [filesOfVersionAnswer(body), filesOfProjectAnswer(body, '1.0')]) {
            if (files === null || files === 'unknown') continue;
            const { publishedAtMs } = pypiSays(files, { filename: wheel('1.0'), sha256: A }, NOW_MS);
            if (publishedAtMs !== null) expect(publishedAtMs).toBeLessThanOrEqual(NOW_MS);
          }
        },
      );
      fc.assert(run, LIMITS);
    },
    LONG ? 90_000 : 20_000,
  );
});
