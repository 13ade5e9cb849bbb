import type { Platform } from '../platform/platform.ts';
import type { Channel, Message, SenderDeps, SendOutcome } from './channels/message.ts';
import type { Base } from './compose-rules.ts';

export interface NotificationDeps {
  readonly platform: Platform;
  /** Seals the secrets of channels. */
  readonly channelKey: Buffer;
  readonly outgoing: SenderDeps['outgoing'];
  readonly send: (channel: Channel, message: Message, deps: SenderDeps) => Promise<SendOutcome>;
  /** SERVICE_BASE_URL. */
  readonly base: Base;
}
