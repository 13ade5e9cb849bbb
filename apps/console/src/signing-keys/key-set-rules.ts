import type { KeySetPayload, PublicKeysAnswer } from '@tidegate/protocol/documents';
import type { RootPayload } from '@tidegate/protocol/root-document';

/** What is shown of the key set in force. The console believes the server here; agents verify the signatures. */
export interface KeySetFacts {
  readonly version: number;
  readonly issuedAt: string;
  readonly expiresAt: string;
  /** Null: the fleet has no offline root. */
  readonly root: {
    readonly version: number;
    readonly sha256: string;
    /** How many of how many keys sign a change; null where the document was not sent along. */
    readonly threshold: number | null;
    readonly keys: readonly string[];
  } | null;
}

/** Reads the answer of E8 with the root documents in it; throws where it is not what E8 says. */
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

/** `97 of 100 hosts hold it`; a host that was never told of it is not one that holds it. */
export function readinessText(held: number, hosts: number | null): string {
  if (hosts === null) return `${held} hosts hold it, of a number that is not known yet`;
  if (hosts === 0) return 'no host has joined yet';
  if (held >= hosts) return hosts === 1 ? 'the only host holds it' : `all ${hosts} hosts hold it`;
  return `${held} of ${hosts} hosts hold it`;
}

/** Whether every host holds a key; never where it is not known how many there are. */
export function isHeldByAll(held: number, hosts: number | null): boolean {
  return hosts !== null && held >= hosts;
}
