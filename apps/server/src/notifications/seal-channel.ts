import { createHash } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { ChannelConfig } from '@tidegate/protocol/notification-channels';
import { Value } from 'typebox/value';
import type { RandomBytes } from '../platform/ids.ts';
import { openSecret, sealSecret } from '../platform/seal-secret.ts';
import type { ChannelRow } from './channel-store.ts';
import type { Channel } from './channels/message.ts';

/**
 * Seals the secret of a channel. It opens with the same configuration alone: otherwise whoever can write the row has
 * the server send the secret to an address of their choice.
 */
export function sealChannelSecret(
  secret: string | null,
  { key, id, config, random }: { key: Buffer; id: string; config: ChannelConfig; random: RandomBytes },
): string | null {
  if (secret === null) return null;
  return sealSecret(Buffer.from(secret), { key, owner: ownerOf(id, config), random });
}

/** A channel with its open secret; null: it was sealed with another configuration or another token secret. */
export function openChannel(row: ChannelRow, key: Buffer): Channel | null {
  const config = configOf(row);
  const { id, name, sealed_secret: sealed } = row;
  if (sealed === null) return { id, name, config, secret: null };
  const secret = openSecret(sealed, { key, owner: ownerOf(id, config) });
  return secret && { id, name, config, secret: secret.toString() };
}

export function configOf({ config }: Pick<ChannelRow, 'config'>): ChannelConfig {
  return Value.Parse(ChannelConfig, JSON.parse(config));
}

function ownerOf(id: string, config: ChannelConfig): string {
  return `notification channel ${id} ${createHash('sha256').update(canonicalJson(config)).digest('hex')}`;
}
