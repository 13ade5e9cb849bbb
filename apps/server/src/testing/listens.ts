import type { Listening } from '../platform/listening.ts';

/** Of a server that has always listened to its hosts. */
export const LISTENS: Listening = { since: async () => 0, looked: () => {} };
