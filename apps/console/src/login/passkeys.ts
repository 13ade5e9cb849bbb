import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import type { PasskeyOptions } from '@tidegate/protocol/factors-api';

/** Whether this browser, at this address, has passkeys at all (it takes https, or localhost). */
export function arePasskeysOffered(): boolean {
  return typeof PublicKeyCredential === 'function';
}

/** Asks the browser for a proof by a passkey. Throws where the person turned it down, or none fits. */
export async function provePasskey({ challenge_id, options }: PasskeyOptions) {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  if (!isRequest(options))
    throw new Error('The server asked for a passkey in a form that is not known here.');
  return { challenge_id, credential: await turnedDownAsError(startAuthentication({ optionsJSON: options })) };
}

/** Asks the browser to make a passkey. */
export async function makePasskey({ challenge_id, options }: PasskeyOptions) {
  const { startRegistration } = await import('@simplewebauthn/browser');
  if (!isCreation(options))
    throw new Error('The server asked for a passkey in a form that is not known here.');
  return { challenge_id, credential: await turnedDownAsError(startRegistration({ optionsJSON: options })) };
}

/** The browser judges the rest of them. */
function isRequest(options: object): options is PublicKeyCredentialRequestOptionsJSON {
  return 'challenge' in options && typeof options.challenge === 'string';
}

function isCreation(options: object): options is PublicKeyCredentialCreationOptionsJSON {
  return 'challenge' in options && 'rp' in options && 'user' in options && 'pubKeyCredParams' in options;
}

async function turnedDownAsError<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && error.name === 'NotAllowedError') {
      throw new Error('The passkey was not used: it was turned down, or took too long.');
    }
    if (error instanceof Error && error.name === 'InvalidStateError') {
      throw new Error('This device is among your passkeys already.');
    }
    throw error;
  }
}
