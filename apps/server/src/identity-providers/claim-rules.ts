/** Groups of one account that count, and the longest of them in characters. */
export const ACCOUNT_GROUPS_MAX = 2_000;
const GROUP_MAX_CHARS = 256;
const USERNAME_MAX_CHARS = 64;

export type Claims = Readonly<Record<string, unknown>>;

export type FoundGroups =
  | { kind: 'groups'; groups: readonly string[] }
  /** No such claim. */
  | { kind: 'missing' }
  /** The provider names a place to ask instead, as Entra does for an account of more than 200 groups. */
  | { kind: 'elsewhere' };

/** The claim with this name, or else what the dots in the name lead to. */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let at: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = Reflect.get(at, part);
  }
  return at;
}

/** The account's groups: a list of texts, or one text. Anything else in the list counts for nothing. */
export function groupsIn(claims: Claims, name: string): FoundGroups {
  const value = claimAt(claims, name);
  if (value === undefined || value === null) {
    const elsewhere = claimAt(claims, '_claim_names');
    const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, name);
    return { kind: isElsewhere ? 'elsewhere' : 'missing' };
  }
  const values: unknown[] = Array.isArray(value) ? value : [value];
  const groups = values
    .slice(0, ACCOUNT_GROUPS_MAX)
    .filter((one): one is string => typeof one === 'string' && one.length <= GROUP_MAX_CHARS);
  return { kind: 'groups', groups };
}

/** A valid name for a new operator, from what the provider calls the account. */
export function usernameIn(claims: Claims, name: string): string {
  const given = [name, 'preferred_username', 'email', 'sub']
    .map((one) => claimAt(claims, one))
    .find((value) => typeof value === 'string' && value !== '');
  const valid = String(given ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9._@-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, USERNAME_MAX_CHARS);
  return valid === '' ? 'operator' : valid;
}

/** The same name for the n-th try, where the names before it belong to others. */
export function numbered(username: string, n: number): string {
  if (n === 1) return username;
  const end = `-${n}`;
  return `${username.slice(0, USERNAME_MAX_CHARS - end.length)}${end}`;
}

/** Whether the sign-in was with a second factor: its acr, or one of its amr, is among these values. */
export function countsAsFactor(claims: Claims, values: readonly string[]): boolean {
  const { acr, amr } = claims;
  const said: unknown[] = [acr, ...(Array.isArray(amr) ? amr : [])];
  return said.some((value) => typeof value === 'string' && values.includes(value));
}
