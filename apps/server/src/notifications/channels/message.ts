import type { Severity } from '@tidegate/protocol/event-types';
import type { ChannelConfig } from '@tidegate/protocol/notification-channels';
import type { Dispatcher } from 'undici';
import type { Destinations } from '../../platform/destinations.ts';

/** A channel as a sender gets it. `secret` is opened for this one call. */
export interface Channel {
  readonly id: string;
  readonly name: string;
  readonly config: ChannelConfig;
  readonly secret: string | null;
}

export interface Message {
  /** UUID, the same for each attempt: receivers recognise repeats by it. */
  readonly id: string;
  /** One line. Parts of it come from hosts and registries: each sender escapes for its own markup. */
  readonly subject: string;
  readonly severity: Severity;
  /** RFC 3339, UTC: when the message was made, not the attempt. */
  readonly at: string;
  readonly summary: string;
  readonly sections: readonly {
    readonly title: string;
    readonly items: readonly { readonly text: string; readonly link: string | null }[];
  }[];
  /** Opens the set that this message speaks of; null when the server does not know its own address. */
  readonly link: string | null;
  /** The `data` of a webhook, without secrets. */
  readonly payload: { readonly [key: string]: unknown };
}

export type SendOutcome =
  /** `answer`: the receiver's, one bounded line without secrets. */
  | { readonly kind: 'delivered'; readonly answer: string }
  | {
      readonly kind: 'failed';
      /** Another attempt with the same settings cannot succeed. */
      readonly isPermanent: boolean;
      /** What went wrong, in words, without secrets. */
      readonly reason: string;
      readonly answer: string | null;
      /** How long the receiver wants to be left alone. */
      readonly retryAfterMs: number | null;
    };

export interface SenderDeps {
  readonly outgoing: Outgoing;
  readonly now: () => number;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/** Connections to addresses that an operator entered. */
export interface Outgoing {
  readonly dispatcher: Dispatcher;
  readonly destinations: Destinations;
  /** Certificates in PEM that servers are trusted by in place of the public ones. */
  readonly ca: string | null;
}
