import { generatePrivateKeyHex, loadSigningKey, signEnvelope } from '@tidegate/signing/sign';
import { loadTrustedKey } from '@tidegate/signing/verify';
import type { CheckpointSigner } from '../events/make-checkpoint.ts';
import type { CheckpointKeys } from '../events/open-checkpoint.ts';

export interface TestCheckpointSigner extends CheckpointSigner {
  trusted: CheckpointKeys;
  /** Sets the epoch, as a restore from backup does. */
  nextEpoch(): void;
}

/** One key that signs checkpoints, with the data that a verifier needs. */
export function createCheckpointSigner(seed = 1): TestCheckpointSigner {
  const keyId = `01900000-0000-7000-8000-00000000c${String(seed).padStart(3, '0')}`;
  const key = loadSigningKey({ keyId, privateKeyHex: generatePrivateKeyHex(Buffer.alloc(32, seed)) });
  let epoch = 1;
  return {
    fleetId: '01900000-0000-7000-8000-00000000f1ee',
    epoch: () => epoch,
    nextEpoch: () => void epoch++,
    signer: () => ({ sign: (type, bytes) => signEnvelope(key, type, bytes) }),
    trusted: {
      keys: [loadTrustedKey({ keyId, publicKeyHex: key.publicKeyHex })],
      revokedAtMs: new Map(),
    },
  };
}
