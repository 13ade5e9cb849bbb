import type { SecretStore } from './secret-store.ts';

const SERVICE = 'tidegate-shell';
/** A keyring that asks for its password waits for somebody; one that does not answer at all is none. */
const ANSWER_MAX_MS = 60_000;
const PROBE_MAX_MS = 5_000;
const PROBE = 'tidegate-shell-probe';

/**
 * The keyring of the desktop (Secret Service on Linux, the keychain on macOS, the credential manager on Windows). Null
 * where it does not answer: on Linux only the Secret Service counts, as the keyring of the kernel forgets at a reboot.
 */
export async function openKeyringStore(): Promise<SecretStore | null> {
  const options = { linux: { store: 'secret-service' } } as const;
  try {
    const { AsyncEntry } = await import('@napi-rs/keyring');
    const entry = (account: string) => new AsyncEntry(SERVICE, account, options);
    const patience = () => AbortSignal.timeout(ANSWER_MAX_MS);
    await entry(PROBE).getPassword(AbortSignal.timeout(PROBE_MAX_MS));
    return {
      place: 'the keyring of the system',
      read: async (account) => (await entry(account).getPassword(patience())) ?? null,
      write: (account, secret) => entry(account).setPassword(secret, patience()),
      async remove(account) {
        await entry(account).deletePassword(patience());
      },
    };
  } catch {
    // There is no keyring, or none that answers: whoever asked has another place.
    return null;
  }
}
