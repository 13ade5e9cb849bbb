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
  const names = fc.array(fc.string({ unit: 'binary', maxLength: 500 }), { minLength: 1, maxLength: 100 });
  const media = fc.constantFrom(
    { maxLength: 2_000, lengthOf: utf16Length, escape: (text: string) => text.replace(/./gu, '\\$&') },
    { maxLength: 2_000, lengthOf: utf8Length, escape: asIs },
  );
  fc.assert(
    fc.property(names, media, (found, medium) => {
      const text = renderText(hostileMessage(found), medium);
      expect(medium.lengthOf(text)).toBeLessThanOrEqual(medium.maxLength);
      expect(text).not.toMatch(/[\p{Cs}\p{Cf}]/u);
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

test('a line has no control, invisible or bidirectional characters', () => {
  expect(visibleLine('a\r\nBcc: x\u202eb\u0000')).toBe('a Bcc: x b');
});
