import { isolated, withoutLoneMarks } from '@tidegate/protocol/isolated';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hostileMessage } from '../../testing/receiving-server.ts';
import {
  asIs,
  fitLine,
  renderText,
  shownLine,
  utf8Length,
  utf16Length,
  visibleLine,
} from './render-message.ts';

const plain = { lengthOf: utf16Length, escape: asIs };

test('what does not fit is counted, and the link stays', () => {
  const message = hostileMessage(Array.from({ length: 90 }, (_, i) => `host-${i}`));
  const text = renderText(message, { ...plain, maxLength: 400 });
  const shown = text.match(/^• host-/gm)?.length ?? 0;
  expect(shown).toBeGreaterThan(5);
  expect(text).toContain(`… and ${90 - shown} more`);
  expect(text.endsWith(message.link ?? 'none')).toBe(true);
});

test('what fits is whole', () => {
  expect(renderText(hostileMessage(['a', 'b']), { ...plain, maxLength: 1_000 })).toBe(
    'Fix waits for a\n\nAn exploited fix waits on 2 hosts.\n\nHosts\n• a\n• b\n\nhttps://tidegate.example/notices/01920000-0000-7000-8000-000000000001',
  );
});

test('no text is longer than its service takes, however it is escaped and counted', () => {
  const marked = fc.string({
    unit: fc.constantFrom('a', '\u05d0', '\u2068', '\u2069', '\u202e'),
    maxLength: 500,
  });
  const name = fc.oneof(fc.string({ unit: 'binary', maxLength: 500 }), marked, marked.map(isolated));
  const names = fc.array(name, { minLength: 1, maxLength: 100 });
  const media = fc.constantFrom(
    { maxLength: 2_000, lengthOf: utf16Length, escape: (text: string) => text.replace(/./gu, '\\$&') },
    { maxLength: 2_000, lengthOf: utf8Length, escape: asIs },
  );
  fc.assert(
    fc.property(names, media, (found, medium) => {
      const text = renderText(hostileMessage(found), medium);
      expect(medium.lengthOf(text)).toBeLessThanOrEqual(medium.maxLength);
      expect(text).not.toMatch(/(?![\u2068\u2069])[\p{Cs}\p{Cf}]/u);
      // Every isolate ends in its line, so that no name turns the next one.
      for (const line of text.split('\n')) expect(withoutLoneMarks(line)).toBe(line);
    }),
  );
});

test('a line is cut before it is escaped', () => {
  const entities = {
    maxLength: 12,
    lengthOf: utf16Length,
    escape: (text: string) => text.replaceAll('<', '&lt;'),
  };
  expect(fitLine('<<<<<<<<', entities)).toBe('&lt;&lt;…');
});

test('the isolates around names stay, and a line that is cut ends them', () => {
  const [name, other] = [isolated('\u05e9\u05dc\u05d5\u05dd\u202e'), isolated('\u05d0')];
  expect(visibleLine(`${name}: ${other} failed`)).toBe(`${name}: ${other} failed`);
  expect(visibleLine(`${name}: failed`, 4)).toBe('\u2068\u05e9\u2069…');
  expect(visibleLine(`${name}: failed`, 2)).toBe('…');
  expect(visibleLine('a\u2069b\u2068c')).toBe('a\ufffdb\u2068c\u2069');
});

test.each([
  ['https://evil.example', 'https[:]//evil.example'],
  ['HTTPS://evil.example/login', 'HTTPS[:]//evil[.]example/login'],
  ['see <tg://resolve?domain=x>', 'see <tg[:]//resolve?domain=x>'],
  ['www.evil.example', 'www[.]evil.example'],
  ['evil.example/login', 'evil[.]example/login'],
  ['evil.example:8443', 'evil[.]example:8443'],
  ['\u0438\u043c\u044f.\u0440\u0444/x', '\u0438\u043c\u044f[.]\u0440\u0444/x'],
  // Names of hosts, versions, times and paths are as they were.
  [
    'web-1.example.org: openssl 1:3.0.17-1~deb12u3 failed',
    'web-1.example.org: openssl 1:3.0.17-1~deb12u3 failed',
  ],
  ['2026-11-28 09:29 UTC, /etc/apt/sources.list', '2026-11-28 09:29 UTC, /etc/apt/sources.list'],
])('%s is no address that a reader would follow', (text, shown) => {
  expect(shownLine(text)).toBe(shown);
  expect(fitLine(text, { ...plain, maxLength: 400 })).toBe(shown);
  expect(renderText(hostileMessage([text]), { ...plain, maxLength: 1_000 })).toContain(`• ${shown}\n`);
});

test('a line has no control, invisible or bidirectional characters', () => {
  expect(visibleLine('a\r\nBcc: x\u202eb\u0000')).toBe('a Bcc: x b');
});
