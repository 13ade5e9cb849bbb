/** Keeps a secret for each account: the operator's session with a server. */
export interface SecretStore {
  /** Where the secrets are, for a line of the log. */
  readonly place: string;
  read(account: string): Promise<string | null>;
  write(account: string, secret: string): Promise<void>;
  remove(account: string): Promise<void>;
}

export interface StoreChoice {
  /** Opens the keyring of the system; null where there is none. */
  openKeyring(): Promise<SecretStore | null>;
  openFile(): SecretStore;
}

/** The system's keyring where there is one, else a file that its owner alone can read. */
export async function openSecretStore({ openKeyring, openFile }: StoreChoice): Promise<SecretStore> {
  return (await openKeyring()) ?? openFile();
}
