import type { SignInStart } from '@tidegate/protocol/identity-providers-api';
import { post } from '../api/client.ts';

/** Sends the browser to an identity provider; it comes back to `next`. */
export async function goToProvider(path: string, body: object): Promise<void> {
  const { url } = await post<SignInStart>(path, body);
  location.assign(url);
}
