import type { SecretStore } from './secret-store.ts';

const SERVICE = 'tidegate-shell';
/** A locked keyring asks the user for its password. */
const ANSWER_MAX_MS = 60_000;
const PROBE = 'tidegate-shell-probe';

/**
 * The keyring of the desktop (Secret Service on Linux, the keychain on macOS, the credential manager on Windows). Null if
 * it does not answer. On Linux only the Secret Service counts, as the kernel's keyring is lost at a reboot.
 */
export async function openKeyringStore(): Promise<SecretStore | null> {
  const options = { linux: { store: 'secret-service' } } as const;
  try {
    const { AsyncEntry } = await import('@napi-rs/keyring');
    const entry = (account: string) => new AsyncEntry(SERVICE, account, options);
    const patience = () => AbortSignal.timeout(ANSWER_MAX_MS);
    // A keyring may answer but store nothing, so it must first store a probe.
    await entry(PROBE).setPassword(PROBE, patience());
    if ((await entry(PROBE).getPassword(patience())) !== PROBE) return null;
    await entry(PROBE).deletePassword(patience());
    return {
      place: 'the keyring of the system',
      read: async (account) => (await entry(account).getPassword(patience())) ?? null,
      write: (account, secret) => entry(account).setPassword(secret, patience()),
      async remove(account) {
        await entry(account).deletePassword(patience());
      },
    };
  } catch {
    // There is no keyring, or none that answers: the caller has another store.
    return null;
  }
}
