import { createHash } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import {
  AGENT_STATE_TYPE,
  APPROVAL_TYPE,
  COMMAND_TYPE,
  type Envelope,
  KEYSET_TYPE,
} from '@tidegate/protocol/documents';
import { generatePrivateKeyHex, loadSigningKey, type SigningKey, signEnvelope } from '@tidegate/signing/sign';

// vectors/signed-documents.json: documents as a server signs them, and the verdict of one host on each. Keys, ids and
// times are fixed and Ed25519 is deterministic, so the file is the same every time.

const FLEET = '01900000-0000-7000-8000-0000000000f1';
const AGENT = '01900000-0000-7000-8000-0000000000a1';
const UPDATE = '01900000-0000-7000-8000-0000000000b1';
const TOKEN = '01900000-0000-7000-8000-0000000000c1';
const OTHER = '01900000-0000-7000-8000-00000000ffff';
const MACHINE = 'machine-1';
const NOW = '2026-01-02T12:00:00Z';
const [ISSUED, LATER, PAST] = ['2026-01-02T11:59:00Z', '2026-01-03T12:00:00Z', '2026-01-02T11:54:00Z'];
const KEYS_END = '2026-03-01T00:00:00Z';
const AFTER_KEYS = '2026-03-01T00:05:00Z';

const [first, second, stranger] = [keyOf(1), keyOf(2), keyOf(3)];
const actions = [
  {
    ...{ action: 'upgrade', name: 'curl', arch: 'amd64', from_version: '8.0', to_version: '8.1' },
    ...{ source_name: 'curl', source_version: '8.1', origin: 'Debian' },
    artifact: {
      ...{ filename: 'curl_8.1_amd64.deb', url: 'https://example.org/curl_8.1_amd64.deb', size_bytes: 5 },
      sha256: sha256('curl\n'),
    },
  },
];

const command = {
  ...{ v: 1, fleet_id: FLEET, epoch: 2, seq: 8, command_id: '01900000-0000-7000-8000-0000000000d1' },
  ...{ agent_id: AGENT, machine_sha256: sha256(MACHINE) },
  ...{ issued_at: ISSUED, not_before: ISSUED, expires_at: LATER, key_id: first.keyId, key_version: 1 },
  ...{ action: 'scan', params: {}, crit: [] },
};
const reboot = { boot_id: 'boot-1', warn_minutes: 5, cause: 'kernel update' };
const approval = {
  ...{ v: 1, token_id: TOKEN, fleet_id: FLEET, agent_id: AGENT, ecosystem: 'apt' },
  ...{ updates: [{ update_id: UPDATE, name: 'curl', from_version: '8.0', to_version: '8.1' }], actions },
  plan_sha256: sha256(canonicalJson(actions)),
  verdict: {
    vulnerability: 'clear',
    age: 'not_applicable',
    checked_at: ISSUED,
    source: 'mirror',
    snapshot: '1',
  },
  ...{ override: null, issued_at: ISSUED, expires_at: LATER },
};
const state = {
  ...{ v: 1, fleet_id: FLEET, agent_id: AGENT, server_time: NOW, epoch: 2, key_set_version: 3 },
  ...{ revoked_tokens: [], approvals_after: null },
};
const keySet = {
  ...{ v: 1, fleet_id: FLEET, version: 4, issued_at: ISSUED, expires_at: LATER },
  keys: [entryOf(first, 1), entryOf(second, 2)],
};

/** As in biome.json. */
const LINE_MAX_COLUMNS = 110;

/** The text of the file. */
export function signedVectors(): string {
  const file = {
    about:
      'Signed documents and what one host says of each: "accepted", or the failed check of docs/protocol/verification.md. A case may have a "now" of its own.',
    host: {
      ...{ fleet_id: FLEET, agent_id: AGENT, machine_id: MACHINE, now: NOW },
      trusted: { version: 3, expires_at: KEYS_END, keys: [entryOf(first, 1), revoked(entryOf(keyOf(4), 9))] },
      ...{ highest: { epoch: 2, seq: 7 }, seen: [OTHER] },
    },
    commands: commandCases(),
    approvals: approvalCases(),
    agent_states: stateCases(),
    key_sets: keySetCases(),
  };
  return `${JSON.stringify(file, null, 2).replace(/\[\n +"[^"\n]*"(?:,\n +"[^"\n]*")*\n +\]/g, onOneLine)}\n`;
}

/** Puts a list of strings on one line where it fits, as the formatter does. */
function onOneLine(list: string, offset: number, text: string): string {
  const line = list.replace(/\n +/g, ' ').replace('[ ', '[').replace(' ]', ']');
  const column = offset - text.lastIndexOf('\n', offset) - 1;
  return column + line.length < LINE_MAX_COLUMNS ? line : list;
}

function commandCases() {
  const of = (verdict: string, members: object) => ({
    verdict,
    envelope: signed(first, COMMAND_TYPE, { ...command, ...members }),
  });
  return [
    of('accepted', {}),
    of('accepted', { epoch: 3, seq: 1 }),
    of('accepted', { action: 'reboot', params: reboot }),
    of('accepted', { action: 'restart_services', params: { units: ['ssh.service', 'app@1.service'] } }),
    { verdict: 'malformed_envelope', envelope: { payload: 'e30=', signatures: [] } },
    { verdict: 'wrong_type', envelope: signed(first, APPROVAL_TYPE, command) },
    { verdict: 'unsigned', envelope: { ...signed(first, COMMAND_TYPE, command), signatures: [] } },
    { verdict: 'bad_signature', envelope: signed(stranger, COMMAND_TYPE, command) },
    {
      verdict: 'bad_signature',
      envelope: { ...signed(first, APPROVAL_TYPE, command), payloadType: COMMAND_TYPE },
    },
    { ...of('expired_keys', {}), now: AFTER_KEYS },
    { verdict: 'malformed_payload', envelope: signedText(first, COMMAND_TYPE, '{"v":1,"v":1}') },
    of('invalid_payload', { action: 'format_disk' }),
    of('invalid_payload', { extra: true }),
    of('invalid_payload', { action: 'reboot', params: {} }),
    of('invalid_payload', { action: 'reboot', params: { ...reboot, warn_minutes: 61 } }),
    of('invalid_payload', { action: 'reboot', params: { ...reboot, cause: 'one line\nand another' } }),
    ...['--now.service', '../ssh.service', 'ssh', 'init.scope', 'a b.service', 'a.service\n'].map((unit) =>
      of('invalid_payload', { action: 'restart_services', params: { units: [unit] } }),
    ),
    of('invalid_payload', { action: 'restart_services', params: { units: [] } }),
    of('invalid_payload', { action: 'restart_services', params: { units: ['a.service', 'a.service'] } }),
    of('unknown_critical', { crit: ['window'] }),
    of('wrong_fleet', { fleet_id: OTHER }),
    of('wrong_agent', { agent_id: OTHER }),
    of('wrong_machine', { machine_sha256: sha256('machine-2') }),
    of('wrong_key', { key_version: 2 }),
    of('stale_epoch', { epoch: 1, seq: 99 }),
    of('stale_seq', { seq: 7 }),
    of('not_yet_valid', { not_before: '2026-01-02T12:05:01Z' }),
    of('expired', { expires_at: '2026-01-02T11:55:00Z' }),
    of('already_seen', { command_id: OTHER }),
  ];
}

function approvalCases() {
  const reference = (bytes: object) => ({ token_id: TOKEN, sha256: sha256(JSON.stringify(bytes)) });
  const of = (verdict: string, members: object, type = APPROVAL_TYPE, key = first) => {
    const payload = { ...approval, ...members };
    return {
      verdict,
      update_ids: [UPDATE],
      reference: reference(payload),
      envelope: signed(key, type, payload),
    };
  };
  const unbound = [{ ...actions[0], artifact: undefined }];
  return [
    of('accepted', {}),
    of('wrong_type', {}, COMMAND_TYPE),
    of('bad_signature', {}, APPROVAL_TYPE, stranger),
    { ...of('expired_keys', {}), now: AFTER_KEYS },
    of('malformed', { skip_verify: true }),
    { ...of('not_the_referenced_one', {}), reference: { token_id: TOKEN, sha256: sha256('another') } },
    of('not_the_referenced_one', { token_id: OTHER }),
    of('wrong_fleet', { fleet_id: OTHER }),
    of('wrong_agent', { agent_id: OTHER }),
    of('wrong_updates', { updates: [{ ...approval.updates[0], update_id: OTHER }] }),
    of('wrong_updates', { updates: [...approval.updates, { ...approval.updates[0], update_id: OTHER }] }),
    { ...of('wrong_updates', {}), update_ids: [UPDATE, OTHER] },
    { ...of('wrong_updates', {}), update_ids: [UPDATE, UPDATE] },
    of('expired', { expires_at: PAST }),
    of('plan_digest_differs', { plan_sha256: sha256('another') }),
    of('unsound_plan', { actions: unbound, plan_sha256: sha256(canonicalJson(unbound)) }),
  ];
}

function stateCases() {
  const facts = { approval: { token_id: TOKEN, issued_at: ISSUED }, epoch: 2, newest_shown: ISSUED };
  const of = (verdict: string, members: object) => ({
    ...{ verdict, ...facts },
    envelope: signed(first, AGENT_STATE_TYPE, { ...state, ...members }),
  });
  return [
    of('accepted', {}),
    { ...of('absent', {}), envelope: null },
    of('wrong_fleet', { fleet_id: OTHER }),
    of('wrong_agent', { agent_id: OTHER }),
    of('stale_epoch', { epoch: 1 }),
    of('stale_keys', { key_set_version: 2 }),
    of('newer_keys', { key_set_version: 4 }),
    of('rolled_back', { server_time: PAST }),
    { ...of('older_than_approval', { server_time: PAST }), newest_shown: null },
    { ...of('too_old', {}), now: '2026-01-02T12:15:01Z' },
    of('taken_back', { revoked_tokens: [TOKEN] }),
    of('approval_too_old', { approvals_after: ISSUED }),
  ];
}

function keySetCases() {
  const of = (verdict: string, members: object, key = first) => ({
    verdict,
    envelope: signed(key, KEYSET_TYPE, { ...keySet, ...members }),
  });
  return [
    of('accepted', {}),
    of('not_vouched_for', {}, second),
    of('malformed', { keys: [] }),
    of('wrong_fleet', { fleet_id: OTHER }),
    of('not_newer', { version: 3 }),
    of('expired', { expires_at: NOW }),
    of('key_changed', { keys: [{ ...entryOf(first, 1), public_key_hex: second.publicKeyHex }] }),
    of('revocation_undone', { keys: [entryOf(first, 1), entryOf(keyOf(4), 9)] }),
    of('unusable_key', {
      keys: [entryOf(first, 1), { ...entryOf(second, 2), public_key_hex: '0'.repeat(64) }],
    }),
    of('no_active_key', { keys: [revoked(entryOf(first, 1))] }),
  ];
}

function keyOf(number: number): SigningKey {
  const keyId = `01900000-0000-7000-8000-0000000000e${number}`;
  return loadSigningKey({ keyId, privateKeyHex: generatePrivateKeyHex(new Uint8Array(32).fill(number)) });
}

function entryOf({ keyId, publicKeyHex }: SigningKey, version: number) {
  const common = { key_id: keyId, version, public_key_hex: publicKeyHex };
  return { ...common, status: 'active', created_at: '2026-01-01T00:00:00Z', revoked_at: null };
}

function revoked(entry: ReturnType<typeof entryOf>) {
  return { ...entry, status: 'revoked', revoked_at: ISSUED };
}

function signed(key: SigningKey, type: string, payload: object): Envelope {
  return signedText(key, type, JSON.stringify(payload));
}

function signedText(key: SigningKey, type: string, text: string): Envelope {
  return signEnvelope(key, type, new TextEncoder().encode(text));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
