import { plainStart } from './plain-text.ts';

/** Text that another user may have chosen, as the server takes it: one line, nothing invisible, never empty. */
export function shownText(text: string, maxChars: number): string {
  const visible = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '\ufffd');
  const shown = plainStart(visible, maxChars);
  return shown === '' ? '\ufffd' : shown;
}
