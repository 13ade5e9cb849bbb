import { errors } from 'jose';
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { ForbiddenDestination } from '../platform/destinations.ts';
import { AnswerTooLarge } from './provider-fetch.ts';

/** Why a provider and this server did not come to an agreement, in words for the one who set it up. */
export interface ProviderFault {
  readonly reason: FaultReason;
  readonly text: string;
}

export type FaultReason =
  | ('private_address' | 'dns' | 'unreachable' | 'unknown_ca' | 'certificate' | 'timeout' | 'bad_answer')
  | ('issuer' | 'client' | 'code' | 'refused' | 'clock' | 'claim' | 'algorithm' | 'signature' | 'endpoint');

const UNKNOWN_CA = [
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
];
const UNREACHABLE = ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_SOCKET', 'EPIPE'];
const TIMEOUTS = [
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'OAUTH_TIMEOUT',
];
const CAUSES_MAX = 8;
/** Text of a provider that is repeated, in characters. */
const REPEATED_MAX = 300;

/** Null for what is no fault of the provider or its settings. */
export function explainFault(error: unknown): ProviderFault | null {
  const chain = causesOf(error);
  for (const one of chain) {
    const fault = explainOne(one);
    if (fault) return fault;
  }
  const known = chain.find((one) => one instanceof ClientError || one instanceof errors.JOSEError);
  return known
    ? { reason: 'bad_answer', text: `The provider's answer is not valid: ${said(known.message)}.` }
    : null;
}

function explainOne(error: Error): ProviderFault | null {
  if (error instanceof AuthorizationResponseError) {
    return { reason: 'refused', text: `The provider refused the sign-in: ${withReason(error)}.` };
  }
  if (error instanceof ResponseBodyError) return explainRefusal(error);
  if (error instanceof WWWAuthenticateChallengeError) return WRONG_SECRET;
  if (error instanceof ForbiddenDestination) return { reason: 'private_address', text: `${error.message}.` };
  if (error instanceof AnswerTooLarge) return { reason: 'bad_answer', text: `${error.message}.` };
  if (error instanceof errors.JOSEError) return explainToken(error);
  return explainCode(error);
}

function explainRefusal(error: ResponseBodyError): ProviderFault {
  const because = withReason(error);
  switch (error.error) {
    case 'invalid_client':
      return WRONG_SECRET;
    case 'unauthorized_client':
      return {
        reason: 'client',
        text: `The provider does not let this client sign people in by code: ${because}. Allow the authorization code flow for it; some providers also say this for a wrong secret.`,
      };
    case 'invalid_grant':
      return {
        reason: 'code',
        text: `The provider did not accept its own code: ${because}. The code was used before, is too old, or was given for another redirect URI.`,
      };
    default:
      return { reason: 'refused', text: `The provider refused: ${because}.` };
  }
}

function explainToken(error: errors.JOSEError): ProviderFault {
  switch (error.code) {
    case errors.JOSEAlgNotAllowed.code:
      return {
        reason: 'algorithm',
        text: `The provider signs with an algorithm that is not accepted. ${ALLOWED_ALGORITHMS}`,
      };
    case errors.JWSSignatureVerificationFailed.code:
      return {
        reason: 'signature',
        text: 'The signature of the token is wrong: no key that the provider publishes made it.',
      };
    case errors.JWKSNoMatchingKey.code:
      return {
        reason: 'signature',
        text: 'The token is signed with a key that the provider does not publish.',
      };
    case errors.JWTExpired.code:
      return {
        reason: 'clock',
        text: 'The token has expired: the clocks of the provider and of this server differ.',
      };
    case errors.JWTClaimValidationFailed.code:
      return { reason: 'claim', text: `The token is not for this sign-in: ${said(error.message)}.` };
    default:
      return {
        reason: 'bad_answer',
        text: `The token of the provider is not valid: ${said(error.message)}.`,
      };
  }
}

function explainCode(error: Error): ProviderFault | null {
  const code = textAt(error, 'code') ?? '';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return {
      reason: 'dns',
      text: `The name ${textAt(error, 'hostname') ?? 'of the provider'} is unknown to DNS: check the spelling of the issuer.`,
    };
  }
  if (UNKNOWN_CA.includes(code)) {
    return {
      reason: 'unknown_ca',
      text: 'The certificate of the provider comes from an unknown authority. Start the server with NODE_EXTRA_CA_CERTS set to the file of that authority.',
    };
  }
  if (code === 'CERT_HAS_EXPIRED') {
    return {
      reason: 'certificate',
      text: 'The certificate of the provider has expired, or the clock of this server is wrong.',
    };
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return { reason: 'certificate', text: 'The certificate of the provider is for another name.' };
  }
  if (TIMEOUTS.includes(code) || error.name === 'TimeoutError') {
    return { reason: 'timeout', text: 'The provider did not answer in 10 seconds.' };
  }
  if (UNREACHABLE.includes(code)) {
    return { reason: 'unreachable', text: `The provider cannot be reached: ${code}.` };
  }
  switch (code) {
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
      return explainAttribute(error);
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      return explainTime(error);
    case 'OAUTH_JWT_CLAIM_COMPARISON_FAILED':
      return {
        reason: 'claim',
        text: `The token is not for this sign-in: ${said(innermost(error).message)}.`,
      };
    case 'OAUTH_HTTP_REQUEST_FORBIDDEN':
    case 'OAUTH_REQUEST_PROTOCOL_FORBIDDEN':
      return { reason: 'endpoint', text: 'The provider names an address without https.' };
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
      return { reason: 'bad_answer', text: `The provider answered ${statusOf(error)}: check the issuer.` };
    case 'OAUTH_RESPONSE_IS_NOT_JSON':
    case 'OAUTH_PARSE_ERROR':
      return { reason: 'bad_answer', text: 'The provider did not answer with JSON: check the issuer.' };
    case 'OAUTH_MISSING_SERVER_METADATA':
    case 'OAUTH_INVALID_SERVER_METADATA':
      return {
        reason: 'endpoint',
        text: `The provider's description of itself is incomplete: ${said(innermost(error).message)}.`,
      };
    case 'OAUTH_INVALID_RESPONSE':
      return explainInvalid(error);
    default:
      return null;
  }
}

function explainAttribute(error: Error): ProviderFault {
  const detail = detailOf(error);
  if (detail.attribute !== 'issuer') {
    return {
      reason: 'claim',
      text: 'The provider answered for another account than the one that signed in.',
    };
  }
  const { body } = detail;
  const named = typeof body === 'object' && body !== null ? textAt(body, 'issuer') : null;
  return {
    reason: 'issuer',
    text: `The provider calls itself ${said(named ?? 'nothing')}: enter exactly that as the issuer.`,
  };
}

/** The clocks differ, or the sign-in is older than was asked. */
function explainTime(error: Error): ProviderFault {
  const { claim, now, claims } = detailOf(error);
  const at =
    typeof claim === 'string' && typeof claims === 'object' && claims !== null
      ? Reflect.get(claims, claim)
      : null;
  const apart = typeof at === 'number' && typeof now === 'number' ? Math.round(Math.abs(now - at)) : null;
  if (claim === 'auth_time') {
    return {
      reason: 'claim',
      text: `The provider did not ask for the sign-in again: the last one was ${apart} seconds ago.`,
    };
  }
  return clockFault(apart);
}

export function clockFault(secondsApart: number | null): ProviderFault {
  const by = secondsApart === null ? '' : ` by ${secondsApart} seconds or more`;
  return {
    reason: 'clock',
    text: `The clocks of the provider and of this server differ${by}. Set both by NTP.`,
  };
}

function explainInvalid(error: Error): ProviderFault {
  const { message } = innermost(error);
  const missing = /JWT "(\w+)".*missing/.exec(message)?.[1];
  if (missing === 'auth_time') {
    return {
      reason: 'claim',
      text: 'The token has no claim auth_time: this provider cannot prove that somebody signed in again. Confirm with a second factor of your account here.',
    };
  }
  if (missing !== undefined) return { reason: 'claim', text: `The token has no claim ${missing}.` };
  if (message.includes('"iss"')) {
    return {
      reason: 'issuer',
      text: 'The answer does not come from this provider: its issuer is missing, or another one.',
    };
  }
  return { reason: 'bad_answer', text: `The provider's answer is not valid: ${said(message)}.` };
}

/** Algorithms that ID tokens and logout tokens may be signed with: those whose key only the provider has. */
export const TOKEN_ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
export const ALLOWED_ALGORITHMS = `Allowed are ${TOKEN_ALGORITHMS.join(', ')}.`;

const WRONG_SECRET: ProviderFault = {
  reason: 'client',
  text: 'The provider does not accept the client id with this secret: copy both again. Check also whether it wants the secret in the header (client_secret_basic) or in the body (client_secret_post), and whether the secret has expired.',
};

function causesOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && chain.length < CAUSES_MAX; at = at.cause) chain.push(at);
  return chain;
}

function innermost(error: Error): Error {
  return causesOf(error).at(-1) ?? error;
}

/** What the library keeps of the check that failed: the innermost cause that is no error. */
function detailOf(error: Error): {
  claim?: unknown;
  now?: unknown;
  claims?: unknown;
  attribute?: unknown;
  body?: unknown;
} {
  const { cause } = innermost(error);
  return typeof cause === 'object' && cause !== null ? cause : {};
}

function statusOf(error: Error): string {
  const { cause } = innermost(error);
  return cause instanceof Response ? `status ${cause.status}` : 'with an unexpected status';
}

function withReason({
  error,
  error_description: description,
}: {
  error: string;
  error_description?: string | undefined;
}): string {
  return said(description === undefined ? error : `${error} (${description})`);
}

/** Repeats a provider's words on one line. */
function said(text: string): string {
  return text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .replace(/\.$/, '')
    .slice(0, REPEATED_MAX);
}

function textAt(value: object, name: string): string | null {
  const found: unknown = Reflect.get(value, name);
  return typeof found === 'string' ? found : null;
}
