import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import type { PasskeyOptions } from '@tidegate/protocol/factors-api';

/** Whether this browser offers passkeys at this address (they need https or localhost). */
export function arePasskeysOffered(): boolean {
  return typeof PublicKeyCredential === 'function';
}

/** Asks the browser for a proof by a passkey. Throws if the operator declines or no passkey fits. */
export async function provePasskey({ challenge_id, options }: PasskeyOptions) {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  if (!isRequest(options)) throw new Error('The server sent passkey options in an unknown form.');
  return { challenge_id, credential: await withPlainErrors(startAuthentication({ optionsJSON: options })) };
}

/** Asks the browser to make a passkey. */
export async function makePasskey({ challenge_id, options }: PasskeyOptions) {
  const { startRegistration } = await import('@simplewebauthn/browser');
  if (!isCreation(options)) throw new Error('The server sent passkey options in an unknown form.');
  return { challenge_id, credential: await withPlainErrors(startRegistration({ optionsJSON: options })) };
}

/** The browser validates the other members. */
function isRequest(options: object): options is PublicKeyCredentialRequestOptionsJSON {
  return 'challenge' in options && typeof options.challenge === 'string';
}

function isCreation(options: object): options is PublicKeyCredentialCreationOptionsJSON {
  return 'challenge' in options && 'rp' in options && 'user' in options && 'pubKeyCredParams' in options;
}

async function withPlainErrors<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && error.name === 'NotAllowedError') {
      throw new Error('The passkey was not used: the request was declined or timed out.');
    }
    if (error instanceof Error && error.name === 'InvalidStateError') {
      throw new Error('This device is already one of your passkeys.');
    }
    throw error;
  }
}
