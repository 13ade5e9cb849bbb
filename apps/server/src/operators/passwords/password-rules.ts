/** NIST SP 800-63B-4, section 3.1.1.2: where the password stands alone, */
export const PASSWORD_MIN_ALONE = 15;
/** and beside a second factor. */
export const PASSWORD_MIN_WITH_FACTOR = 8;
const PRODUCT_NAME = 'tidegate';
/** Characters that are left of a password without the names that go with it. */
const OWN_MIN = 8;

export interface PasswordFacts {
  password: string;
  username: string;
  hasSecondFactor: boolean;
  /** Asked in lower case, in Unicode's form NFKC. */
  isCommon: (password: string) => boolean;
}

/** What is wrong with a new password, to stand after "the password"; null where nothing is. No rules of composition. */
export function passwordFault({
  password,
  username,
  hasSecondFactor,
  isCommon,
}: PasswordFacts): string | null {
  const length = lengthOf(password);
  if (length < PASSWORD_MIN_WITH_FACTOR)
    return `has ${length} characters; allowed: ${allowed(hasSecondFactor)}`;
  if (!hasSecondFactor && length < PASSWORD_MIN_ALONE) {
    return `has ${length} characters; allowed: ${allowed(hasSecondFactor)}`;
  }
  const plain = plainOf(password);
  if (isCommon(plain) || isCommon(unitOf(plain)) || unitOf(plain).length < 4) {
    return 'is one of those that are tried first: choose another';
  }
  const own = [plainOf(username), PRODUCT_NAME].reduce((rest, name) => rest.replaceAll(name, ''), plain);
  if (own !== plain && lengthOf(own) < OWN_MIN) {
    return `is made of the username or the name of the product: allowed are at least ${OWN_MIN} other characters`;
  }
  return null;
}

/** Whether a password may stand without a second factor. */
export function isLongEnoughAlone(password: string): boolean {
  return lengthOf(password) >= PASSWORD_MIN_ALONE;
}

function allowed(hasSecondFactor: boolean): string {
  return hasSecondFactor
    ? `${PASSWORD_MIN_WITH_FACTOR} or more`
    : `${PASSWORD_MIN_ALONE} or more, or ${PASSWORD_MIN_WITH_FACTOR} with a second factor`;
}

function plainOf(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** Characters as Unicode counts them. */
function lengthOf(text: string): number {
  return [...text].length;
}

/** The shortest text of which this is a repetition; itself where it is none. */
function unitOf(text: string): string {
  for (let length = 1; length <= text.length / 2; length++) {
    const unit = text.slice(0, length);
    if (text.length % length === 0 && unit.repeat(text.length / length) === text) return unit;
  }
  return text;
}
