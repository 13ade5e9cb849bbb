/** NIST SP 800-63B-4, section 3.1.1.2: minimum for a password without a second factor, */
export const PASSWORD_MIN_ALONE = 15;
/** and with one. */
export const PASSWORD_MIN_WITH_FACTOR = 8;
const PRODUCT_NAME = 'tidegate';
/** Characters that must remain after removing the username and the product's name. */
const OWN_MIN = 8;

export interface PasswordFacts {
  password: string;
  username: string;
  hasSecondFactor: boolean;
  /** Called with the password in lower case and Unicode NFKC. */
  isCommon: (password: string) => boolean;
}

/** What is wrong with a new password, worded to follow "the password"; null when nothing is. No composition rules. */
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
    return 'is one of the most used and is guessed first: choose another';
  }
  const own = [plainOf(username), PRODUCT_NAME].reduce((rest, name) => rest.replaceAll(name, ''), plain);
  if (own !== plain && lengthOf(own) < OWN_MIN) {
    return `is mostly the username or the product's name: use at least ${OWN_MIN} other characters`;
  }
  return null;
}

/** Whether a password is long enough without a second factor. */
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

/** Counts Unicode code points. */
function lengthOf(text: string): number {
  return [...text].length;
}

/** The shortest text that this one repeats; the text itself when it repeats none. */
function unitOf(text: string): string {
  for (let length = 1; length <= text.length / 2; length++) {
    const unit = text.slice(0, length);
    if (text.length % length === 0 && unit.repeat(text.length / length) === text) return unit;
  }
  return text;
}
