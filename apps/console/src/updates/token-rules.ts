import type { Envelope } from '@tidegate/protocol/documents';

/** The event of an override, read from the signed token; null if the token has no override. */
export function overrideEvent({ payload }: Pick<Envelope, 'payload'>): string | null {
  try {
    const base64 = payload.replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const token: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (token === null || typeof token !== 'object' || !('override' in token)) return null;
    const { override } = token;
    if (override === null || typeof override !== 'object' || !('event_id' in override)) return null;
    return typeof override.event_id === 'string' ? override.event_id : null;
  } catch {
    return null;
  }
}
