import { generateKeyPairSync } from 'node:crypto';
import type { Envelope, ServerKey, SigningKeyEntry } from '@tidegate/protocol/documents';
import { loadSigningKey, signEnvelope } from '@tidegate/signing/sign';
import { createCallerReader } from '../agents/read-callers.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import type { RequestTimes } from '../platform/http/http-limits.ts';
import { isAgentId, isMachineId } from '../platform/http/identities.ts';
import { createOpenConnections } from '../platform/http/open-connections.ts';
import { type App, createHttpServer } from '../platform/http/server.ts';
import { NO_SECOND_FACTOR } from '../platform/http/step-up.ts';
import type { Platform } from '../platform/platform.ts';
import { checkAnswers } from './check-answers.ts';

/** Who calls the routes of operators where a request names nobody else. */
export const SLICE_CALLER: OperatorCaller = {
  operatorId: '01900000-0000-7000-a000-000000000001',
  username: 'ada',
  role: 'admin',
  groups: null,
  sessionId: 'test',
  address: '127.0.0.1',
  secondFactor: NO_SECOND_FACTOR,
};

/**
 * An HTTP server for the tests of one slice: strict JSON and problems as in the real one, but it trusts the
 * caller that a request names. The slices that own the caller checks test them.
 */
export function createSliceApp(platform: Platform, times?: RequestTimes): App {
  const readCaller = createCallerReader(platform.database);
  const app = createHttpServer({
    log: platform.log,
    trustedProxies: [],
    tls: null,
    connections: createOpenConnections({ filesMax: null, onCrowded: () => {} }),
    ...(times && { times }),
    guards: {
      public: async () => {},
      anyone: async () => null,
      own: { judge: () => {}, countRefusal: () => {} },
      operator: async (request) => ({
        ...SLICE_CALLER,
        username: String(request.headers['x-test-operator'] ?? SLICE_CALLER.username),
        groups: groupsNamed(request.headers['x-test-groups']),
      }),
      agent: async (request) => {
        const agentId = request.headers['x-test-agent'];
        const familyId = request.headers['x-test-family'];
        const machineId = request.headers['x-machine-id'];
        if (typeof agentId !== 'string' || typeof familyId !== 'string') throw new Error('no agent named');
        const row = await readCaller({ agentId, familyId });
        if (!row || !isAgentId(agentId) || !isMachineId(machineId)) throw new Error('no such agent');
        return { ...row, agentId, familyId, machineId, bound: row.machineId !== null };
      },
    },
  });
  checkAnswers(app);
  return app;
}

/** Separated by commas; null, the whole fleet, omits the header. */
function groupsNamed(header: string | string[] | undefined): string[] | null {
  return typeof header === 'string' ? header.split(',') : null;
}

export interface TestKeyRing {
  fleetId: string;
  epoch(): number;
  isActive(keyId: string): boolean;
  signer(): { keyId: string; keyVersion: number; sign(type: string, bytes: Uint8Array): Envelope };
  keySet(): { version: number; keys: ServerKey[] };
  rows(): { key_id: string }[];
  entries(): SigningKeyEntry[];
  state(): Promise<string>;
  /** Revokes the active key and continues with a new one. */
  rotate(): void;
  restore(): void;
  /** Signatures made so far. */
  signatures: number;
}

/** Real signatures without a database. */
export function createTestKeyRing(): TestKeyRing {
  let version = 1;
  let epoch = 1;
  let key = newKey(version);
  const keys = [key];
  const rows = [{ key_id: key.keyId }];
  const ring: TestKeyRing = {
    fleetId: '01900000-0000-7000-b000-000000000001',
    epoch: () => epoch,
    isActive: (keyId) => keyId === key.keyId,
    signer: () => ({
      keyId: key.keyId,
      keyVersion: version,
      sign(type, bytes) {
        ring.signatures++;
        return signEnvelope(key, type, bytes);
      },
    }),
    keySet: () => ({
      version,
      keys: [
        {
          key_id: key.keyId,
          version,
          public_key_hex: key.publicKeyHex,
          status: 'active',
          created_at: '2026-01-01T00:00:00Z',
        },
      ],
    }),
    rows: () => rows,
    entries: () =>
      keys.map(({ keyId, publicKeyHex }, i) => ({
        ...{ key_id: keyId, version: i + 1, public_key_hex: publicKeyHex, revoked_at: null },
        ...{ status: 'active', created_at: '2026-01-01T00:00:00Z' },
      })),
    state: async () => '{"payloadType":"state","payload":"cGF5","signatures":[{"keyid":"k","sig":"c2ln"}]}',
    rotate() {
      key = newKey(++version);
      keys.push(key);
      rows.push({ key_id: key.keyId });
    },
    restore() {
      epoch++;
    },
    signatures: 0,
  };
  return ring;
}

function newKey(version: number) {
  const { privateKey } = generateKeyPairSync('ed25519');
  const jwk = privateKey.export({ format: 'jwk' });
  const privateKeyHex = [jwk.d, jwk.x]
    .map((half) => Buffer.from(half ?? '', 'base64url').toString('hex'))
    .join('');
  return loadSigningKey({
    keyId: `01900000-0000-7000-c000-${String(version).padStart(12, '0')}`,
    privateKeyHex,
  });
}
