import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { base64Length } from './base64.ts';
import { maximumPayloadBytes } from './dsse.ts';
import { generatePrivateKeyHex, loadSigningKey, signEnvelope } from './sign.ts';
import {
  type Envelope,
  KeyError,
  loadTrustedKey,
  maximumSignatures,
  signersOf,
  verifyEnvelope,
} from './verify.ts';

const command = 'application/vnd.tidegate.command.v1+json';
const approval = 'application/vnd.tidegate.approval.v1+json';
const body = new TextEncoder().encode('{"v":1,"action":"scan","name":"\u{1F40B}"}');

function keyPair(keyId: string, fill: number) {
  const privateKeyHex = generatePrivateKeyHex(new Uint8Array(32).fill(fill));
  const signing = loadSigningKey({ keyId, privateKeyHex });
  return { signing, trusted: loadTrustedKey({ keyId, publicKeyHex: signing.publicKeyHex }) };
}
const mine = keyPair('mine', 1);
const older = keyPair('older', 2);
const foreign = keyPair('foreign', 3);
const trusted = [older.trusted, mine.trusted];
const good = signEnvelope(mine.signing, command, body);
const goodSignature = { keyid: 'mine', sig: good.signatures[0]?.sig ?? '' };

function changed(members: Record<string, unknown>): unknown {
  return { ...good, ...members };
}

function withSignature(sig: unknown): unknown {
  return changed({ signatures: [{ keyid: 'mine', sig }] });
}

/** S plus the group order: the second spelling of a signature that a lax verifier takes (RFC 8032 section 5.1.7). */
function malleated(sig: string): string {
  const bytes = Buffer.from(sig, 'base64');
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  let sum = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + order;
  for (let at = 32; at < 64; at += 1, sum >>= 8n) bytes[at] = Number(sum & 255n);
  return bytes.toString('base64');
}

test('a signed envelope verifies to the very bytes and the id of the key', () => {
  expect(verifyEnvelope(good, trusted, command)).toEqual({ ok: true, payload: body, keyId: 'mine' });
  expect(verifyEnvelope(JSON.parse(JSON.stringify(good)), trusted, command).ok).toBe(true);
});

test('both base64 alphabets, padded or not, are read in payload and signature (DSSE)', () => {
  const payload = Buffer.from(body).toString('base64url');
  const sig = Buffer.from(goodSignature.sig, 'base64').toString('base64url');
  expect(
    verifyEnvelope({ payloadType: command, payload, signatures: [{ keyid: '', sig }] }, trusted, command),
  ).toEqual({
    ok: true,
    payload: body,
    keyId: 'mine',
  });
});

describe('the key id is a hint and decides nothing (E8, all active keys are tried)', () => {
  test.each([
    ['names another trusted key', 'older'],
    ['names a key that nobody has', 'nobody'],
    ['is empty', ''],
    ['is no string', 7],
  ])('a hint that %s', (_what, keyid) => {
    const envelope = changed({ signatures: [{ keyid, sig: goodSignature.sig }] });
    expect(verifyEnvelope(envelope, trusted, command)).toMatchObject({ ok: true, keyId: 'mine' });
  });

  test('an absent hint', () => {
    const envelope = changed({ signatures: [{ sig: goodSignature.sig }] });
    expect(verifyEnvelope(envelope, trusted, command)).toMatchObject({ ok: true, keyId: 'mine' });
  });

  test('a hint that names a trusted key does not vouch for a foreign signature', () => {
    const { signatures } = signEnvelope(foreign.signing, command, body);
    const envelope = changed({ signatures: [{ keyid: 'mine', sig: signatures[0]?.sig }] });
    expect(verifyEnvelope(envelope, trusted, command)).toEqual({ ok: false, reason: 'bad_signature' });
  });

  test("if one public key is trusted under two ids, the hint selects the signer's id", () => {
    const twin = loadTrustedKey({ keyId: 'twin', publicKeyHex: mine.trusted.publicKeyHex });
    expect(verifyEnvelope(good, [twin, mine.trusted], command)).toMatchObject({ ok: true, keyId: 'mine' });
  });
});

test('one good signature among foreign ones and ones of another algorithm is enough', () => {
  const signatures = [
    ...signEnvelope(foreign.signing, command, body).signatures,
    { keyid: 'other-algorithm', sig: Buffer.alloc(96, 1).toString('base64') },
    goodSignature,
  ];
  expect(verifyEnvelope(changed({ signatures }), trusted, command)).toMatchObject({
    ok: true,
    keyId: 'mine',
  });
});

const foreignSignatures = signEnvelope(foreign.signing, command, body).signatures;
test.each<[string, unknown, string]>([
  ['another payload', changed({ payload: Buffer.from('{"v":2}').toString('base64') }), 'bad_signature'],
  ['an empty payload', changed({ payload: '' }), 'bad_signature'],
  ['another type than the slot’s', signEnvelope(mine.signing, approval, body), 'wrong_payload_type'],
  [
    'a relabelled approval',
    { ...signEnvelope(mine.signing, approval, body), payloadType: command },
    'bad_signature',
  ],
  ['a type in another case', changed({ payloadType: command.toUpperCase() }), 'wrong_payload_type'],
  ['a type with a space behind', changed({ payloadType: `${command} ` }), 'wrong_payload_type'],
  ['a foreign key', changed({ signatures: foreignSignatures }), 'bad_signature'],
  ['no signature (strict mode, section 5)', changed({ signatures: [] }), 'unsigned'],
  ['an empty signature', withSignature(''), 'bad_signature'],
  [
    '63 bytes of signature',
    withSignature(Buffer.from(goodSignature.sig, 'base64').subarray(1).toString('base64')),
    'bad_signature',
  ],
  [
    '65 bytes of signature',
    withSignature(
      Buffer.concat([Buffer.from(goodSignature.sig, 'base64'), Buffer.alloc(1)]).toString('base64'),
    ),
    'bad_signature',
  ],
  ['64 zero bytes', withSignature(Buffer.alloc(64).toString('base64')), 'bad_signature'],
  ['S above the group order', withSignature(malleated(goodSignature.sig)), 'bad_signature'],
  ['white space in the signature', withSignature(`${goodSignature.sig}\n`), 'malformed'],
  ['white space in the payload', changed({ payload: ` ${good.payload}` }), 'malformed'],
  ['loose bits in the payload', changed({ payload: 'Zh==' }), 'malformed'],
  [
    'one unreadable signature beside a good one',
    changed({ signatures: [goodSignature, { keyid: '', sig: '!' }] }),
    'malformed',
  ],
  ['a signature above 1024 bytes', withSignature(Buffer.alloc(1027).toString('base64')), 'malformed'],
  [
    'too many signatures',
    changed({ signatures: Array(maximumSignatures + 1).fill(goodSignature) }),
    'too_large',
  ],
  [
    'too long a payload',
    changed({ payload: 'A'.repeat(base64Length(maximumPayloadBytes) + 4) }),
    'too_large',
  ],
  [
    'a payload of one byte too many',
    changed({ payload: Buffer.alloc(maximumPayloadBytes + 1).toString('base64') }),
    'too_large',
  ],
])('refused: %s', (_what, envelope, reason) => {
  expect(verifyEnvelope(envelope, trusted, command)).toEqual({ ok: false, reason });
});

test('without a trusted key nothing verifies', () => {
  expect(verifyEnvelope(good, [], command)).toEqual({ ok: false, reason: 'no_trusted_key' });
});

const revoked = Proxy.revocable({}, {});
revoked.revoke();
test.each<[string, unknown]>([
  ['undefined', undefined],
  ['null', null],
  ['a number', 1],
  ['a string', JSON.stringify(good)],
  ['a function', () => good],
  ['an array', [good]],
  ['an empty object', {}],
  ['a payload that is bytes', changed({ payload: body })],
  ['a type that is no string', changed({ payloadType: [command] })],
  ['signatures that are an object', changed({ signatures: { 0: goodSignature, length: 1 } })],
  ['signatures that are null', changed({ signatures: null })],
  ['a signature that is null', changed({ signatures: [null] })],
  ['a signature that is a string', changed({ signatures: [goodSignature.sig] })],
  ['a signature without sig', changed({ signatures: [{ keyid: 'mine' }] })],
  ['a hole among the signatures', changed({ signatures: new Array(1) })],
  ['a sig that is no string', withSignature(Buffer.from(goodSignature.sig, 'base64'))],
  [
    'a getter that throws',
    {
      ...good,
      get payload() {
        throw new Error('trap');
      },
    },
  ],
  ['a revoked proxy', revoked.proxy],
])('never throws: %s is malformed', (_what, envelope) => {
  expect(verifyEnvelope(envelope, trusted, command)).toEqual({ ok: false, reason: 'malformed' });
});

test('members that DSSE does not name are ignored, as they are not signed', () => {
  expect(verifyEnvelope(changed({ note: 'x' }), trusted, command).ok).toBe(true);
});

test('a payload that changes between two reads is not returned unverified', () => {
  const answers = [good.payload, Buffer.from('{"v":2}').toString('base64')];
  const shifting = new Proxy(good, {
    getOwnPropertyDescriptor: (target, name) => {
      const member = Object.getOwnPropertyDescriptor(target, name);
      return name === 'payload' ? { ...member, value: answers.shift() } : member;
    },
  });
  expect(verifyEnvelope(shifting, trusted, command)).toMatchObject({ ok: true, payload: body });
});

describe('only own data properties are read', () => {
  const [signature = goodSignature] = good.signatures;
  const { signatures, ...withoutSignatures } = good;

  test.each<[string, unknown]>([
    ['an envelope inherited whole', Object.create(good)],
    ['a type', inheriting({ payloadType: good.payloadType }, { payload: good.payload, signatures })],
    ['a payload', inheriting({ payload: good.payload }, { payloadType: good.payloadType, signatures })],
    ['signatures', inheriting({ signatures }, withoutSignatures)],
    ['a signature inherited whole', changed({ signatures: [Object.create(signature)] })],
    ['a sig', changed({ signatures: [inheriting({ sig: signature.sig }, { keyid: 'mine' })] })],
    ['a list of signatures', changed({ signatures: Object.create(signatures) })],
    [
      'a signature in a hole of the list',
      changed({ signatures: Object.setPrototypeOf(new Array(1), signatures) }),
    ],
    [
      'a computed payload',
      {
        ...good,
        get payload() {
          return good.payload;
        },
      },
    ],
    [
      'a computed sig',
      changed({
        signatures: [
          {
            keyid: 'mine',
            get sig() {
              return signature.sig;
            },
          },
        ],
      }),
    ],
  ])('%s is no member', (_what, envelope) => {
    expect(verifyEnvelope(envelope, trusted, command)).toEqual({ ok: false, reason: 'malformed' });
    expect(signersOf(envelope, trusted, command)).toEqual([]);
  });

  test("a signature that only the list's iterator yields does not count", () => {
    const envelope = changed({ signatures: iterating(signatures) });
    expect(verifyEnvelope(envelope, trusted, command)).toEqual({ ok: false, reason: 'unsigned' });
  });

  test('an inherited key id is no hint', () => {
    const twin = loadTrustedKey({ keyId: 'twin', publicKeyHex: mine.trusted.publicKeyHex });
    const hinting = changed({ signatures: [inheriting({ keyid: 'mine' }, { sig: signature.sig })] });
    expect(verifyEnvelope(hinting, [twin, mine.trusted], command)).toMatchObject({ ok: true, keyId: 'twin' });
  });

  test('an envelope from another realm is read like any other', () => {
    const foreignRealm: unknown = runInNewContext('JSON.parse(text)', { text: JSON.stringify(good) });
    expect(verifyEnvelope(foreignRealm, trusted, command)).toMatchObject({ ok: true, payload: body });
  });

  test('a polluted prototype does not change an envelope, whatever members are missing or added', () => {
    const members = ['payloadType', 'payload', 'signatures', 'keyid', 'sig', '0', 'length', 'value', 'get'];
    const added = ['reason', 'ok', 'padding', 'saltLength', 'dsaEncoding', 'context'];
    const values: Record<string, unknown> = { ...good, ...signature, 0: signature, length: 1 };
    fc.assert(
      fc.property(
        fc.subarray(members),
        fc.subarray([...members, ...added]),
        fc.constantFrom(Object.prototype, Array.prototype),
        fc.anything(),
        (left, names, prototype, other) => {
          const sparse = withoutMembers(left);
          const clean = verifyEnvelope(sparse, trusted, command);
          const polluted = withPollution(
            prototype,
            names.map((name) => [name, values[name] ?? other]),
            () => [verifyEnvelope(sparse, trusted, command), signersOf(sparse, trusted, command)] as const,
          );
          expect(polluted[0]).toEqual(clean);
          expect(polluted[1]).toHaveLength(clean.ok ? 1 : 0);
          const lacking = ['payloadType', 'payload', 'signatures', 'sig'].some((name) => left.includes(name));
          expect(clean.ok).toBe(!lacking && !left.includes('0'));
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

function inheriting(inherited: object, own: object): unknown {
  return Object.assign(Object.create(inherited), own);
}

/** An empty list whose iterator gives entries. */
function iterating(entries: unknown[]): unknown {
  return Object.assign([], { [Symbol.iterator]: () => entries.values() });
}

/** The good envelope without some of its members, or those of its signature. */
function withoutMembers(names: readonly string[]): object {
  const kept = (from: object) =>
    Object.fromEntries(Object.entries(from).filter(([name]) => !names.includes(name)));
  const list = names.includes('0') ? new Array(1) : [kept(goodSignature)];
  return kept({ ...good, signatures: list });
}

/** Gives all objects these members for as long as `work` runs. */
function withPollution<T>(
  prototype: object,
  members: readonly (readonly [string, unknown])[],
  work: () => T,
): T {
  const before = members.map(([name]) => [name, Object.getOwnPropertyDescriptor(prototype, name)] as const);
  for (const [name, value] of members) {
    if (prototype === Array.prototype && name === 'length') continue;
    // Without a prototype: with `get` or `value` polluted, no other object is a descriptor any more.
    const member = Object.assign(Object.create(null), { value, writable: true, configurable: true });
    Object.defineProperty(prototype, name, member);
  }
  try {
    return work();
  } finally {
    for (const [name, member] of before) {
      if (member === undefined) Reflect.deleteProperty(prototype, name);
    }
  }
}

test.each([
  ['malformed', 'empty', ''],
  ['malformed', '63 digits', mine.trusted.publicKeyHex.slice(1)],
  ['malformed', '65 digits', `${mine.trusted.publicKeyHex}0`],
  ['malformed', 'no hex', 'z'.repeat(64)],
  ['malformed', 'no point of the curve', `02${'00'.repeat(31)}`],
  ['weak', 'all zero', '00'.repeat(32)],
  ['weak', 'neutral point', `01${'00'.repeat(31)}`],
  ['weak', 'not canonical', `ee${'ff'.repeat(30)}7f`],
])('loading a trusted key refuses as %s: %s (R4)', (code, _what, publicKeyHex) => {
  expect(() => loadTrustedKey({ keyId: 'k', publicKeyHex })).toThrow(
    expect.objectContaining({ name: 'KeyError', code }),
  );
});

test('a trusted key has an id', () => {
  expect(() => loadTrustedKey({ keyId: '', publicKeyHex: mine.trusted.publicKeyHex })).toThrow(KeyError);
});

test('any document round-trips, and no single changed byte of type, body or signature does', () => {
  const anyByte = fc.nat().map((n) => n % 1000);
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }),
      fc.uint8Array({ minLength: 1, maxLength: 99 }),
      anyByte,
      (type, bytes, n) => {
        const envelope: Envelope = signEnvelope(mine.signing, type, bytes);
        expect(verifyEnvelope(envelope, trusted, type)).toEqual({ ok: true, payload: bytes, keyId: 'mine' });

        const payload = flipped(bytes, n);
        expect(verifyEnvelope({ ...envelope, payload }, trusted, type)).toEqual({
          ok: false,
          reason: 'bad_signature',
        });
        const sig = flipped(Buffer.from(envelope.signatures[0]?.sig ?? '', 'base64'), n);
        expect(verifyEnvelope({ ...envelope, signatures: [{ keyid: '', sig }] }, trusted, type)).toEqual({
          ok: false,
          reason: 'bad_signature',
        });
        const payloadType = `${type}.`;
        expect(verifyEnvelope({ ...envelope, payloadType }, trusted, payloadType).ok).toBe(false);
      },
    ),
    { numRuns: 60 },
  );
});

test('bytes cannot move between type and body: the lengths are signed (DSSE)', () => {
  const envelope = signEnvelope(mine.signing, 'a', new TextEncoder().encode('bc'));
  const moved = { ...envelope, payloadType: 'ab', payload: Buffer.from('c').toString('base64') };
  expect(verifyEnvelope(moved, trusted, 'ab')).toEqual({ ok: false, reason: 'bad_signature' });
});

function flipped(bytes: Uint8Array, n: number): string {
  const copy = Buffer.from(bytes);
  const at = n % copy.length;
  copy[at] = (copy[at] ?? 0) ^ (1 << (n % 8));
  return copy.toString('base64');
}
