/** A signing key as the list returns it. */
export interface SigningKey {
  readonly key_id: string;
  readonly version: number;
  readonly public_key_hex: string;
  readonly status: 'active' | 'revoked';
  readonly created_at: string;
  readonly revoked_at: string | null;
  readonly in_use: boolean;
  /** With an offline root: not in a key set yet, so no host trusts it. */
  readonly awaits_root: boolean;
  /** Hosts that hold it. */
  readonly trusted_by: number;
}
