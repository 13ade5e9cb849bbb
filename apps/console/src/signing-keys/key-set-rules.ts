import type { KeySetPayload, PublicKeysAnswer } from '@tidegate/protocol/documents';
import type { RootPayload } from '@tidegate/protocol/root-document';

/** The parts of the key set that are shown. The console trusts the server here; agents verify the signatures. */
export interface KeySetFacts {
  readonly version: number;
  readonly issuedAt: string;
  readonly expiresAt: string;
  /** Null: the fleet has no offline root. */
  readonly root: {
    readonly version: number;
    readonly sha256: string;
    /** How many keys must sign a change; null if the document was not sent. */
    readonly threshold: number | null;
    readonly keys: readonly string[];
  } | null;
}

/** Reads a response of E8 with its root documents; throws if it is malformed. */
export function readKeySet({ key_set, roots }: Pick<PublicKeysAnswer, 'key_set' | 'roots'>): KeySetFacts {
  const set: KeySetPayload = payloadOf(key_set.payload);
  const { root_version: version, root_sha256: sha256 } = set;
  const documents = (roots ?? []).map((root): RootPayload => payloadOf(root.payload));
  const document = documents.find((one) => one.version === version);
  return {
    version: set.version,
    issuedAt: set.issued_at,
    expiresAt: set.expires_at,
    root:
      version === undefined || sha256 === undefined
        ? null
        : { version, sha256, threshold: document?.threshold ?? null, keys: document?.keys ?? [] },
  };
}

function payloadOf(base64: string) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** `97 of 100 hosts hold it`; a host that never received it does not count. */
export function readinessText(held: number, hosts: number | null): string {
  if (hosts === null) return `${held} hosts hold it; the total is not known yet`;
  if (hosts === 0) return 'no host has joined yet';
  if (held >= hosts) return hosts === 1 ? 'the only host holds it' : `all ${hosts} hosts hold it`;
  return `${held} of ${hosts} hosts hold it`;
}

/** Whether every host holds a key; false while their number is unknown. */
export function isHeldByAll(held: number, hosts: number | null): boolean {
  return hosts !== null && held >= hosts;
}
