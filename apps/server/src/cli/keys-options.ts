import { file, flag, text } from '@tidegate/command-line/declare';

/** The options of `tidegate keys`; each act picks its own. */
export const KEY_OPTIONS = {
  'private-key': file('import this private key: 128 hex digits'),
  'public-key': text(
    'HEX',
    'add only this public half, whose private half is given as a setting; the key of the release (verify)',
  ),
  force: flag('also the key in use, or the last one'),
  out: file('a new file for the result'),
  'every-host-is-enrolled-again': flag('confirms that every host has to be enrolled again'),
  threshold: text('M', 'how many holders have to sign'),
  key: file('a public key of a holder (init); the file of the private key (sign)', 'HEX|FILE'),
  json: flag('the result as JSON'),
};
