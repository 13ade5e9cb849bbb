import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { APPROVAL_TYPE, COMMAND_TYPE, type Envelope } from '@tidegate/protocol/documents';
import { countersign, signEnvelope } from '@tidegate/signing/sign';
import { createKey, revoked, type TestKey } from '../fleet.ts';
import type { JobWorld } from '../job-world.ts';
import { type Attack, carryOut, payloadText, reEnveloped } from './attack.ts';

const stranger = createKey(1);
const second = createKey(2);
const ops = createKey(1);
const NEUTRAL_POINT = `01${'00'.repeat(31)}`;

/** Teaches the host a second key of the server. */
const twoKeys = async (world: JobWorld) => {
  const keySet = world.fleet.keySet({ version: 2, keys: [world.fleet.key.entry, second.entry] });
  await carryOut(world, { keySet });
};

/** Wants one signature, or more, besides the server's. */
const wantsSignatures =
  (threshold: number, ...keys: TestKey[]) =>
  ({ policy }: JobWorld) => {
    const listed = keys.map(({ entry: { key_id, public_key_hex } }) => ({ key_id, public_key_hex }));
    const rule = { v: 1, require_second_signature: { keys: listed, threshold } };
    writeFileSync(policy.path, JSON.stringify(rule), { mode: 0o644 });
  };

const signedAs = (sig: Uint8Array) => (envelope: Envelope) => ({
  ...envelope,
  signatures: [{ keyid: envelope.signatures[0]?.keyid, sig: Buffer.from(sig).toString('base64') }],
});

const preAuthentication = ({ payloadType, payload }: Envelope) => {
  const body = Buffer.from(payload, 'base64');
  const head = `DSSEv1 ${payloadType.length} ${payloadType} ${body.length} `;
  return Buffer.concat([Buffer.from(head), body]);
};

/** The same signature with S + L, which a careless verifier takes as well. */
function malleated(envelope: Envelope): Uint8Array {
  const bytes = Buffer.from(envelope.signatures[0]?.sig ?? '', 'base64');
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  let s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + order;
  for (let at = 32; at < 64; at += 1, s >>= 8n) bytes[at] = Number(s & 0xffn);
  return bytes;
}

const BAD_SIGNATURE = {
  agent: 'command bad_signature',
  executor: 'command_refused bad_signature',
};
const SECOND_MISSING = {
  agent: 'host_policy second_signature_missing',
  executor: 'host_policy second_signature_missing',
};

/** Key confusion (T6, T9). */
export const CONFUSED_KEYS: Attack[] = [
  {
    name: 'a command that names another trusted key than the one that signed it',
    before: twoKeys,
    parts: () => ({ command: { key_id: second.entry.key_id, key_version: 2 } }),
    agent: 'command wrong_key',
    executor: 'command_refused wrong_key',
  },
  {
    name: 'a command that names its key by another version',
    parts: () => ({ command: { key_version: 2 } }),
    agent: 'command wrong_key',
    executor: 'command_refused wrong_key',
  },
  {
    name: 'a command by a key that the same job revokes',
    before: twoKeys,
    parts: ({ fleet }) => ({
      keySet: fleet.keySet({ version: 3, keys: [revoked(fleet.key.entry), second.entry], signedBy: second }),
    }),
    ...BAD_SIGNATURE,
    learns: 'keys',
  },
  {
    name: 'a command by a key that is not in the set yet',
    parts: () => ({ signedBy: second }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'a key set that vouches for itself',
    parts: ({ fleet }) => ({
      signedBy: stranger,
      keySet: fleet.keySet({ version: 2, keys: [stranger.entry], signedBy: stranger }),
    }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'the state of the fleet in the place of the key set',
    parts: ({ fleet }) => ({ signedBy: second, keySet: fleet.state({ key_set_version: 2 }) }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'a key set of another fleet by a key that both have',
    parts: ({ fleet }) => ({
      signedBy: second,
      keySet: fleet.keySet({
        version: 2,
        keys: [fleet.key.entry, second.entry],
        fleetId: '01900000-0000-7000-8000-00000000f1ee',
      }),
    }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'a key set with a key of small order, under which anybody can sign',
    parts: ({ fleet }) => {
      const weak = { ...second.entry, public_key_hex: NEUTRAL_POINT };
      const keySet = fleet.keySet({ version: 2, keys: [fleet.key.entry, weak] });
      const point = Buffer.from(NEUTRAL_POINT, 'hex');
      return { signedBy: second, keySet, envelope: signedAs(Buffer.concat([point, Buffer.alloc(32)])) };
    },
    ...BAD_SIGNATURE,
  },
  {
    name: 'a foreign signature whose hint names a trusted key',
    parts: ({ fleet }) => ({
      envelope: (command) => {
        const bytes = Buffer.from(payloadText(command));
        const [foreign] = signEnvelope(stranger.key, COMMAND_TYPE, bytes).signatures;
        return { ...command, signatures: [{ ...foreign, keyid: fleet.key.entry.key_id }] };
      },
    }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'two foreign signatures',
    parts: () => ({
      envelope: (command) => ({
        ...command,
        signatures: [stranger, second].flatMap(
          ({ key }) => signEnvelope(key, COMMAND_TYPE, Buffer.from(payloadText(command))).signatures,
        ),
      }),
    }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'a good signature beside one that cannot be read',
    parts: () => ({
      envelope: (command) => ({ ...command, signatures: [...command.signatures, { keyid: '', sig: '!' }] }),
    }),
    agent: 'command malformed_envelope',
    executor: 'command_refused malformed_envelope',
  },
  {
    name: 'a good signature among more than anybody looks at',
    parts: () => ({
      envelope: (command) => ({ ...command, signatures: Array(17).fill(command.signatures[0]) }),
    }),
    agent: 'command malformed_envelope',
    executor: 'command_refused malformed_envelope',
  },
  {
    name: 'a signature over the payload alone, without its type',
    parts: ({ fleet }) => ({
      envelope: (command) => ({
        ...command,
        signatures: signEnvelope(fleet.key.key, '', Buffer.from(payloadText(command))).signatures,
      }),
    }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'a MAC with the public key as its secret',
    parts: ({ fleet }) => ({
      envelope: (command) => {
        const secret = Buffer.from(fleet.key.entry.public_key_hex, 'hex');
        return signedAs(createHmac('sha512', secret).update(preAuthentication(command)).digest())(command);
      },
    }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'the signature in its second form (S + L)',
    parts: () => ({ envelope: (command) => signedAs(malleated(command))(command) }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'a signature of zeroes',
    parts: () => ({ envelope: signedAs(new Uint8Array(64)) }),
    ...BAD_SIGNATURE,
  },
  {
    name: 'no signature (section 5)',
    parts: () => ({ envelope: (command) => ({ ...command, signatures: [] }) }),
    agent: 'command unsigned',
    executor: 'command_refused unsigned',
  },
  {
    name: 'an approval without a signature',
    spoil: reEnveloped('approval.json', (envelope) => ({ ...envelope, signatures: [] })),
    agent: 'approval unsigned',
    executor: 'approval_refused unsigned',
  },
  {
    name: 'an approval by a stranger',
    spoil: reEnveloped('approval.json', (envelope) =>
      signEnvelope(stranger.key, APPROVAL_TYPE, Buffer.from(payloadText(envelope))),
    ),
    agent: 'approval bad_signature',
    executor: 'approval_refused bad_signature',
  },
];

/** Where the host wants signatures besides the server's. */
export const TOO_FEW_SIGNATURES: Attack[] = [
  { name: 'the signature of the server alone', before: wantsSignatures(1, ops), ...SECOND_MISSING },
  {
    name: 'the signature of the server twice, once under the hint of the other key',
    before: wantsSignatures(1, ops),
    spoil: reEnveloped('approval.json', (envelope) => {
      const [server] = envelope.signatures;
      return { ...envelope, signatures: [server, { ...server, keyid: ops.entry.key_id }] };
    }),
    ...SECOND_MISSING,
  },
  {
    name: 'one second signature, counted twice',
    before: wantsSignatures(2, ops, second),
    spoil: reEnveloped('approval.json', (envelope) => {
      const [server, other] = countersign(ops.key, envelope).signatures;
      return { ...envelope, signatures: [server, other, { ...other, keyid: second.entry.key_id }] };
    }),
    ...SECOND_MISSING,
  },
  {
    name: 'a second signature over another approval',
    before: wantsSignatures(1, ops),
    spoil: (job, { fleet }) =>
      reEnveloped('approval.json', (envelope) => {
        const [, other] = countersign(ops.key, fleet.approval().envelope).signatures;
        return { ...envelope, signatures: [...envelope.signatures, other] };
      })(job),
    ...SECOND_MISSING,
  },
  {
    name: 'a second signature by another key of the server',
    before: async (world) => {
      await twoKeys(world);
      wantsSignatures(1, second)(world);
    },
    parts: ({ fleet }) => ({ state: fleet.agentState({ key_set_version: 2 }) }),
    spoil: reEnveloped('approval.json', (envelope) => countersign(second.key, envelope)),
    ...SECOND_MISSING,
  },
  {
    name: 'second signatures alone: the server has not signed',
    before: wantsSignatures(1, ops),
    spoil: reEnveloped('approval.json', (envelope) =>
      signEnvelope(ops.key, APPROVAL_TYPE, Buffer.from(payloadText(envelope))),
    ),
    agent: 'approval bad_signature',
    executor: 'approval_refused bad_signature',
  },
];
