/** In place of a hash: a provider alone logs this operator in, and decides its role and groups at each sign-in. */
export const NO_PASSWORD = 'none';

export function hasPassword({ password_hash }: { readonly password_hash: string }): boolean {
  return password_hash !== NO_PASSWORD;
}
