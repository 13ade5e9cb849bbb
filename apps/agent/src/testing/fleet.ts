import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import {
  AGENT_STATE_TYPE,
  type AgentStatePayload,
  APPROVAL_TYPE,
  type ApprovalPayload,
  type ApprovedUpdate,
  COMMAND_TYPE,
  type Envelope,
  KEYSET_TYPE,
  type SigningKeyEntry,
  STATE_TYPE,
  type StatePayload,
} from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import { ROOT_TYPE } from '@tidegate/protocol/root-document';
import { loadSigningKey, type SigningKey, signEnvelope } from '@tidegate/signing/sign';
import type { TrustedKeySet } from '../identity/config-file.ts';
import { timestamp } from '../platform/clock.ts';

/** When everything in these tests happens. */
export const NOW_MS = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 3_600_000;

export interface TestKey {
  key: SigningKey;
  entry: SigningKeyEntry;
}

export interface KeySetContent {
  version: number;
  keys: SigningKeyEntry[];
  signedBy?: TestKey;
  /** Root keys that sign as well, and the root that the set names. */
  rootSigners?: TestKey[];
  root?: Envelope;
  expiresMs?: number;
  fleetId?: string;
}

export interface RootContent {
  version: number;
  threshold: number;
  keys: TestKey[];
  signedBy: TestKey[];
  fleetId?: string;
}

/** A server's signing side, for tests alone. */
export interface TestFleet {
  fleetId: string;
  agentId: string;
  machineId: string;
  machineSha256: string;
  key: TestKey;
  trusted: TrustedKeySet;
  command(members?: object, signedBy?: TestKey): Envelope;
  approval(
    members?: Partial<ApprovalPayload>,
    signedBy?: TestKey,
  ): { envelope: Envelope; reference: ReturnType<typeof referenceTo> };
  keySet(content: KeySetContent): Envelope;
  root(content: RootContent): Envelope;
  state(members?: Partial<StatePayload>, signedBy?: TestKey): Envelope;
  agentState(members?: Partial<AgentStatePayload>, signedBy?: TestKey): Envelope;
}

export function createKey(version: number): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32).toString('hex');
  const publicHex = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
  const keyId = randomUUID();
  const entry: SigningKeyEntry = {
    key_id: keyId,
    version,
    public_key_hex: publicHex,
    status: 'active',
    created_at: timestamp(NOW_MS),
    revoked_at: null,
  };
  return { key: loadSigningKey({ keyId, privateKeyHex: seed + publicHex }), entry };
}

export function revoked(entry: SigningKeyEntry): SigningKeyEntry {
  return { ...entry, status: 'revoked', revoked_at: timestamp(NOW_MS) };
}

/** An update as an approval names it; by default the one of `demo` to 2.0. */
export function updateOf(updateId: string, members: Partial<ApprovedUpdate> = {}): ApprovedUpdate {
  return { update_id: updateId, name: 'demo', from_version: '1.0', to_version: '2.0', ...members };
}

/** Makes a fleet of one agent whose documents are dated `nowMs`: the fixed time, or the present for real processes. */
export function createFleet(nowMs = NOW_MS): TestFleet {
  const machineId = randomUUID();
  const fleetId = randomUUID();
  const agentId = randomUUID();
  const machineSha256 = createHash('sha256').update(machineId).digest('hex');
  const key = createKey(1);
  const expires_at = timestamp(nowMs + 90 * 24 * HOUR_MS);
  const sign = (signedBy: TestKey, type: string, payload: object) =>
    signEnvelope(signedBy.key, type, new TextEncoder().encode(JSON.stringify(payload)));
  const signByAll = (signers: readonly TestKey[], type: string, payload: object): Envelope => {
    const envelopes = signers.map((signer) => sign(signer, type, payload));
    const [first = sign(key, type, payload)] = envelopes;
    return { ...first, signatures: envelopes.flatMap(({ signatures }) => signatures) };
  };
  return {
    fleetId,
    agentId,
    machineId,
    machineSha256,
    key,
    trusted: { fleet_id: fleetId, version: 1, expires_at, keys: [key.entry] },
    command: (members = {}, signedBy = key) =>
      sign(signedBy, COMMAND_TYPE, {
        v: 1,
        fleet_id: fleetId,
        epoch: 1,
        seq: 1,
        command_id: randomUUID(),
        agent_id: agentId,
        machine_sha256: machineSha256,
        issued_at: timestamp(nowMs),
        not_before: timestamp(nowMs),
        expires_at: timestamp(nowMs + 24 * HOUR_MS),
        key_id: signedBy.entry.key_id,
        key_version: signedBy.entry.version,
        action: 'scan',
        params: {},
        crit: [],
        ...members,
      }),
    approval: (members = {}, signedBy = key) => {
      const actions = members.actions ?? [];
      const envelope = sign(signedBy, APPROVAL_TYPE, {
        v: 1,
        token_id: randomUUID(),
        fleet_id: fleetId,
        agent_id: agentId,
        ecosystem: 'apt',
        updates: [updateOf(randomUUID())],
        actions,
        plan_sha256: planDigest(actions),
        verdict: {
          vulnerability: 'clear',
          age: 'not_applicable',
          checked_at: null,
          source: null,
          snapshot: null,
        },
        override: null,
        issued_at: timestamp(nowMs),
        expires_at: timestamp(nowMs + 7 * 24 * HOUR_MS),
        ...members,
      } satisfies ApprovalPayload);
      return { envelope, reference: referenceTo(envelope) };
    },
    keySet: ({
      version,
      keys,
      signedBy = key,
      expiresMs = nowMs + 90 * 24 * HOUR_MS,
      fleetId: named = fleetId,
      rootSigners = [],
      root,
    }) =>
      signByAll([signedBy, ...rootSigners], KEYSET_TYPE, {
        v: 1,
        fleet_id: named,
        version,
        issued_at: timestamp(nowMs),
        expires_at: timestamp(expiresMs),
        keys,
        ...(root && namedIn(root)),
      }),
    root: ({ version, threshold, keys, signedBy, fleetId: named = fleetId }) =>
      signByAll(signedBy, ROOT_TYPE, {
        v: 1,
        fleet_id: named,
        version,
        issued_at: timestamp(nowMs),
        threshold,
        keys: keys.map(({ entry }) => entry.public_key_hex),
      }),
    state: (members = {}, signedBy = key) =>
      sign(signedBy, STATE_TYPE, {
        v: 1,
        fleet_id: fleetId,
        server_time: timestamp(nowMs),
        epoch: 1,
        key_set_version: 1,
        events_head: null,
        ...members,
      } satisfies StatePayload),
    agentState: (members = {}, signedBy = key) =>
      sign(signedBy, AGENT_STATE_TYPE, {
        v: 1,
        fleet_id: fleetId,
        agent_id: agentId,
        server_time: timestamp(nowMs),
        epoch: 1,
        key_set_version: 1,
        revoked_tokens: [],
        approvals_after: null,
        ...members,
      } satisfies AgentStatePayload),
  };
}

/** An upgrade of `demo` that is made of the given file; `sizeBytes` where the plan says another size. */
export function upgradeOf(file: { name: string; bytes: Uint8Array; sizeBytes?: number }): PlanAction {
  return {
    action: 'upgrade',
    name: 'demo',
    from_version: '1.0',
    to_version: '2.0',
    artifact: {
      filename: file.name,
      url: `https://archive.test/${file.name}`,
      size_bytes: file.sizeBytes ?? file.bytes.length,
      sha256: createHash('sha256').update(file.bytes).digest('hex'),
    },
  };
}

export function planDigest(actions: readonly PlanAction[]): string {
  return createHash('sha256').update(canonicalJson(actions)).digest('hex');
}

function namedIn(root: Envelope): { root_version: number; root_sha256: string } {
  const bytes = Buffer.from(root.payload, 'base64');
  const { version }: { version: number } = JSON.parse(bytes.toString());
  return { root_version: version, root_sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** What a command names of its approval. */
export function referenceTo(envelope: Envelope) {
  const bytes = Buffer.from(envelope.payload, 'base64');
  const { token_id }: Pick<ApprovalPayload, 'token_id'> = JSON.parse(bytes.toString());
  return { token_id, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The bytes of an envelope as the agent sees them. */
export function bytesOf(envelope: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(envelope));
}
