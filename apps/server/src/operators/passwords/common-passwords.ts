import { dictionary } from '@zxcvbn-ts/language-common';
import { Refusal } from '../../platform/http/refusal.ts';
import { passwordFault } from './password-rules.ts';

/** Some 49,000 passwords, the most frequent in leaks, in lower case. */
const COMMON: ReadonlySet<string> = new Set(dictionary['passwords-common']);

/** Whether the password is on the list of the most used ones. */
export function isCommonPassword(password: string): boolean {
  return COMMON.has(password);
}

/** Throws `invalid_request` saying what is wrong with a new password; `path` names its field. */
export function demandSoundPassword(
  asked: { password: string; username: string; hasSecondFactor: boolean },
  path: '/password' | '/new_password',
): void {
  const fault = passwordFault({ ...asked, isCommon: isCommonPassword });
  if (fault === null) return;
  throw new Refusal('invalid_request', {
    detail: `The password ${fault}.`,
    errors: [{ path, message: fault }],
  });
}
