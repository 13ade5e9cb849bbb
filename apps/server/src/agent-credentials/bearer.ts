/** The credential of an `Authorization: Bearer` header (RFC 6750, section 2.1); null without one. */
export function bearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.length > BEARER_MAX_CHARS) return null;
  return /^bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1] ?? null;
}

/** Longest accepted header, in characters: ours are under 500. */
const BEARER_MAX_CHARS = 4_096;
