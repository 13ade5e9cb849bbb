import { type Static, Type } from 'typebox';
import { Count, nullable, nullish, strict, Timestamp, Uuid } from './scalars.ts';

/** The factors an operator can prove in addition to the password. */
export const FACTOR_METHODS = ['totp', 'passkey', 'recovery_code'] as const;
export const FactorMethod = Type.Enum(FACTOR_METHODS);
export type FactorMethod = Static<typeof FactorMethod>;

/** What a refusal with `step_up_required` may ask for. */
export const STEP_UP_METHODS = ['password', 'provider', ...FACTOR_METHODS] as const;
export type StepUpMethod = (typeof STEP_UP_METHODS)[number];

/** The second factors for sign-in; recovery codes only replace them. */
export const SECOND_FACTORS = ['totp', 'passkey'] as const satisfies readonly FactorMethod[];
export const SecondFactor = Type.Enum(SECOND_FACTORS);
export type SecondFactor = Static<typeof SecondFactor>;

/** Six digits of an authenticator app (RFC 6238). */
export const TotpCode = Type.String({ pattern: '^[0-9]{6}$', minLength: 6, maxLength: 6 });
/** A recovery code as it was shown; spaces, hyphens and case do not matter. */
export const RecoveryCode = Type.String({ minLength: 1, maxLength: 64 });

/** What is enrolled of an operator, in numbers that give nothing away. */
export const Factors = strict({ totp: Type.Boolean(), passkeys: Count, recovery_codes_left: Count });
export type Factors = Static<typeof Factors>;

/** Shown once, and inactive until a code of it was confirmed. */
export const TotpEnrolment = strict({
  secret: Type.String({ description: 'base32' }),
  otpauth_uri: Type.String({ description: 'the content of the QR code for an authenticator app' }),
});
export type TotpEnrolment = Static<typeof TotpEnrolment>;

export const TotpConfirmation = strict({ code: TotpCode });

/** Shown once; each of them works once. */
export const RecoveryCodes = strict({ recovery_codes: Type.Array(Type.String()) });
export type RecoveryCodes = Static<typeof RecoveryCodes>;

/** Longest encoded member of what an authenticator made, in characters. */
const ENCODED_MAX = 16_384;
const Encoded = Type.String({ pattern: '^[A-Za-z0-9_-]+$', minLength: 1, maxLength: ENCODED_MAX });
const CredentialId = Type.String({ pattern: '^[A-Za-z0-9_-]+$', minLength: 1, maxLength: 1_400 });
const Transports = Type.Array(Type.String({ minLength: 1, maxLength: 32 }), { maxItems: 16 });

/** Members that browsers make by themselves, and may make more of: PublicKeyCredential.toJSON() of WebAuthn. */
const credential = {
  id: CredentialId,
  rawId: CredentialId,
  type: Type.Literal('public-key'),
  authenticatorAttachment: nullish(Type.String({ maxLength: 32 })),
  clientExtensionResults: Type.Optional(Type.Object({})),
};

export const NewCredential = Type.Object({
  ...credential,
  response: Type.Object({
    clientDataJSON: Encoded,
    attestationObject: Encoded,
    transports: Type.Optional(Transports),
  }),
});
export type NewCredential = Static<typeof NewCredential>;

export const Assertion = Type.Object({
  ...credential,
  response: Type.Object({
    clientDataJSON: Encoded,
    authenticatorData: Encoded,
    signature: Encoded,
    userHandle: nullish(Type.String({ pattern: '^[A-Za-z0-9_-]*$', maxLength: 128 })),
  }),
});
export type Assertion = Static<typeof Assertion>;

/** A challenge works once, for five minutes; `options` goes to the browser as it is. */
export const PasskeyOptions = strict({
  challenge_id: Uuid,
  options: Type.Object({}, { description: 'PublicKeyCredential…OptionsJSON of WebAuthn' }),
});
export type PasskeyOptions = { challenge_id: string; options: object };

export const PasskeyAnswer = strict({ challenge_id: Uuid, credential: Assertion });
export type PasskeyAnswer = Static<typeof PasskeyAnswer>;

export const PASSKEY_NAME_MAX = 64;
const PasskeyName = Type.String({ minLength: 1, maxLength: PASSKEY_NAME_MAX });

export const NewPasskey = strict({ challenge_id: Uuid, name: PasskeyName, credential: NewCredential });
export const PasskeyChange = strict({ name: PasskeyName });

export const Passkey = strict({
  id: Uuid,
  name: PasskeyName,
  created_at: Timestamp,
  last_used_at: nullable(Timestamp),
  backed_up: Type.Boolean({ description: 'backed up by a password manager or platform account' }),
});
export type Passkey = Static<typeof Passkey>;

export const PasskeyAdded = strict({
  passkey: Passkey,
  recovery_codes: nullable(Type.Array(Type.String()), {
    description: "shown once, with the operator's first factor",
  }),
});
export type PasskeyAdded = Static<typeof PasskeyAdded>;

/** One of them: a fresh proof for the session that asks. */
export const StepUpRequest = Type.Union([
  strict({ password: Type.String({ minLength: 1, maxLength: 256 }) }),
  strict({ totp: TotpCode }),
  strict({ recovery_code: RecoveryCode }),
  PasskeyAnswer,
]);
export type StepUpRequest = Static<typeof StepUpRequest>;

export const StepUpAnswer = strict({ stepped_up_until: Timestamp });
export type StepUpAnswer = Static<typeof StepUpAnswer>;
