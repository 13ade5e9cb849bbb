import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from './run-tool.ts';

const IDENTITY = 'Tidegate test <packages@example.invalid>';

/** A throw-away OpenPGP key. */
export type DnfSigner = {
  /** The public half, armoured; every user can read it. */
  readonly keyFile: string;
  readonly env: { GNUPGHOME: string };
  /** Leaves `<path>.asc`. */
  signDetached(path: string): Promise<void>;
  /** Ends the agent that gpg has started. */
  stop(): Promise<void>;
};

export async function createDnfSigner(folder: string): Promise<DnfSigner> {
  const home = join(folder, 'gnupg');
  await mkdir(home, { recursive: true });
  await chmod(home, 0o700);
  const env = { GNUPGHOME: home };
  const gpg = (...args: string[]) => runTool('gpg', ['--batch', '--quiet', ...args], { env });
  await gpg('--passphrase', '', '--quick-gen-key', IDENTITY, 'rsa2048', 'sign', 'never');
  const keyFile = join(folder, 'RPM-GPG-KEY-test');
  await writeFile(keyFile, await gpg('--armor', '--export'));
  await chmod(keyFile, 0o644);
  return {
    keyFile,
    env,
    signDetached: async (path) => {
      await rm(`${path}.asc`, { force: true });
      await gpg('--armor', '--detach-sign', '--output', `${path}.asc`, path);
    },
    stop: async () => void (await runTool('gpgconf', ['--homedir', home, '--kill', 'gpg-agent'])),
  };
}

/** Signs rpm files in place; a signature that is there is replaced. */
export async function signRpms(signer: DnfSigner, files: readonly string[]): Promise<void> {
  if (files.length === 0) return;
  const macros = ['--define', `_gpg_name ${IDENTITY}`, '--define', '__gpg /usr/bin/gpg'];
  await runTool('rpmsign', [...macros, '--addsign', ...files], { env: { HOME: '/', ...signer.env } });
}
