import { isolated, withoutLoneMarks } from '@tidegate/protocol/isolated';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hostileMessage } from '../../testing/receiving-server.ts';
import { asIs, fitLine, renderText, utf8Length, utf16Length, visibleLine } from './render-message.ts';

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

test('a line has no control, invisible or bidirectional characters', () => {
  expect(visibleLine('a\r\nBcc: x\u202eb\u0000')).toBe('a Bcc: x b');
});
