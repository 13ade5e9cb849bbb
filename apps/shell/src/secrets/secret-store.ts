/** Stores a secret per account: the operator's session with a server. */
export interface SecretStore {
  /** Where the secrets are, for the log. */
  readonly place: string;
  read(account: string): Promise<string | null>;
  write(account: string, secret: string): Promise<void>;
  remove(account: string): Promise<void>;
}

export interface StoreChoice {
  /** Opens the system's keyring; null if there is none. */
  openKeyring(): Promise<SecretStore | null>;
  openFile(): SecretStore;
}

/** The system's keyring if there is one, else a file that only its owner can read. */
export async function openSecretStore({ openKeyring, openFile }: StoreChoice): Promise<SecretStore> {
  return (await openKeyring()) ?? openFile();
}
