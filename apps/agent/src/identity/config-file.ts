import { join } from 'node:path';
import { Envelope, SigningKeyEntry } from '@tidegate/protocol/documents';
import { ROOT_KEYS_MAX } from '@tidegate/protocol/root-document';
import {
  Ecosystem,
  nullable,
  PublicKeyHex,
  Sha256Hex,
  strict,
  Timestamp,
  Uuid,
} from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { OwnTag, REPORTED_TAGS_MAX } from '@tidegate/protocol/tags-api';
import { KeyError, loadTrustedKey } from '@tidegate/signing/verify';
import { type Static, Type } from 'typebox';
import { Check, Errors } from 'typebox/value';
import { HostPlaces } from '../ecosystems/host-places.ts';
import {
  errorCode,
  type FileLayer,
  ownUid,
  readTrusted,
  realFiles,
  writeDurably,
} from '../platform/file-layer.ts';
import { MachineIdSource } from './machine-id.ts';

/** Maximum size of config.json, in bytes; a key set of 256 keys is a fraction of it. */
const CONFIG_MAX_BYTES = 1024 * 1024;
/** R2: both tokens are secrets. */
const CONFIG_MODE = 0o600;
export const CONFIG_NAME = 'config.json';

/** The pinned offline root; once set, new keys need its signature. */
export const TrustedRoot = strict({
  version: Type.Integer({ minimum: 1 }),
  /** Of the payload of the root document. */
  sha256: Sha256Hex,
  threshold: Type.Integer({ minimum: 1, maximum: ROOT_KEYS_MAX }),
  keys: Type.Array(PublicKeyHex, { minItems: 1, maxItems: ROOT_KEYS_MAX }),
});
export type TrustedRoot = Static<typeof TrustedRoot>;

/** The trusted keys and their expiry, taken from a verified key set. */
export const TrustedKeySet = strict({
  fleet_id: Uuid,
  version: Type.Integer({ minimum: 1 }),
  expires_at: Timestamp,
  keys: Type.Array(SigningKeyEntry, { minItems: 1, maxItems: 512 }),
  root: Type.Optional(TrustedRoot),
});
export type TrustedKeySet = Static<typeof TrustedKeySet>;

/** `epoch` counts the incarnations of the server, `seq` the commands of one incarnation. */
export const HighestSeq = strict({
  epoch: Type.Integer({ minimum: 0 }),
  seq: Type.Integer({ minimum: 0 }),
});
export type HighestSeq = Static<typeof HighestSeq>;

/** Non-standard paths, for tests and containers; absent on ordinary hosts. */
export const HostLayout = strict({
  ...HostPlaces.properties,
  executor_state: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
  spool: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
});
export type HostLayout = Static<typeof HostLayout>;

/** config.json (R2; docs/protocol/verification.md, "What a host must keep"). */
export const AgentConfig = strict({
  server_url: Type.String({ pattern: '^https?://', maxLength: 2_048 }),
  agent_id: Uuid,
  machine_id_source: MachineIdSource,
  access_token: Type.String({ minLength: 1, maxLength: 8_192 }),
  refresh_token: Type.String({ minLength: 1, maxLength: 512 }),
  pending_request_id: nullable(Uuid),
  trusted_keys: TrustedKeySet,
  key_set: Envelope,
  highest_seq: HighestSeq,
  strict: Type.Boolean(),
  polling: strict({
    check_in_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
    scan_seconds: Type.Integer({ minimum: 1, maximum: 604_800 }),
  }),
  /** null: every ecosystem that is on the host. */
  ecosystems: nullable(Type.Array(Ecosystem, { maxItems: 4 })),
  allow_insecure_http: Type.Boolean(),
  /** What the host says of itself, without the prefix `host.`; absent: nothing, and the server keeps what it knows. */
  tags: Type.Optional(Type.Array(OwnTag, { maxItems: REPORTED_TAGS_MAX, uniqueItems: true })),
  paths: Type.Optional(HostLayout),
});
export type AgentConfig = Static<typeof AgentConfig>;

export type LoadOutcome =
  | { ok: true; config: AgentConfig }
  | { ok: false; reason: 'absent' | 'unreadable' | 'unsafe' | 'too_large' | 'invalid'; detail: string };

export type SaveOutcome = { ok: true } | { ok: false; detail: string };

/** The file in one folder: its current content and the only way to change it. */
export interface ConfigFile {
  readonly path: string;
  current(): AgentConfig;
  /**
   * Writes the changed content durably. On failure `current` is unchanged, every later change fails too, and the
   * process must end: the disk content is unknown until a new process reads it (RT9).
   */
  change(members: Partial<AgentConfig>): SaveOutcome;
}

/**
 * Reads config.json strictly; a file that others may read or have written is refused, not repaired. `ownerUid` is
 * the required owner; null when already checked.
 */
export function loadConfig(folder: string, ownerUid: number | null = ownUid()): LoadOutcome {
  const path = join(folder, CONFIG_NAME);
  const read = readTrusted(path, { maxBytes: CONFIG_MAX_BYTES, ownerUid, forbiddenMode: 0o077 });
  if (!read.ok) return read;
  const parsed = parseStrictJson(read.bytes);
  if (!parsed.ok) return { ok: false, reason: 'invalid', detail: `${path} ${parsed.reason}` };
  if (!Check(AgentConfig, parsed.value)) {
    const [fault] = Errors(AgentConfig, parsed.value);
    const where = fault === undefined ? '' : `: ${fault.instancePath || '/'} ${fault.message}`;
    return { ok: false, reason: 'invalid', detail: `${path} is not a valid agent configuration${where}` };
  }
  const unusable = unusableKey(parsed.value.trusted_keys);
  if (unusable !== null) return { ok: false, reason: 'invalid', detail: `${path}: ${unusable}` };
  return { ok: true, config: parsed.value };
}

/**
 * The fault of the first unusable trusted key; null when all are usable. Anybody can make signatures for a weak
 * key. The message names the key id.
 */
export function unusableKey({ keys }: TrustedKeySet): string | null {
  for (const { key_id, public_key_hex, status } of keys) {
    if (status === 'revoked') continue;
    try {
      loadTrustedKey({ keyId: key_id, publicKeyHex: public_key_hex });
    } catch (error) {
      if (error instanceof KeyError) return `a trusted key cannot be used (${error.code}): ${error.message}`;
      throw error;
    }
  }
  return null;
}

/** Holds a configuration that `loadConfig` returned. */
export function openConfig(folder: string, config: AgentConfig, files: FileLayer = realFiles): ConfigFile {
  let held = config;
  let failed: SaveOutcome = { ok: true };
  return {
    path: join(folder, CONFIG_NAME),
    current: () => held,
    change: (members) => {
      if (!failed.ok) return failed;
      const next = { ...held, ...members };
      const saved = saveConfig(folder, next, files);
      if (saved.ok) held = next;
      else failed = saved;
      return saved;
    },
  };
}

/** Writes config.json whole or not at all, with mode 0600. */
export function saveConfig(folder: string, config: AgentConfig, files: FileLayer = realFiles): SaveOutcome {
  const path = join(folder, CONFIG_NAME);
  const bytes = new TextEncoder().encode(`${JSON.stringify(config, null, 2)}\n`);
  try {
    writeDurably(path, bytes, { mode: CONFIG_MODE, files });
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: `${path} cannot be written (${errorCode(error)})` };
  }
}
