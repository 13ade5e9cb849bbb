import { describe, expect, test } from 'vitest';
import { parseCommandLine } from './command-line.ts';
import { pageOfLink } from './deep-link-rules.ts';

const ID = '01900000-0000-7000-8000-000000000001';

test.each([
  [`tidegate://update/${ID}`, `/updates/${ID}`],
  [`tidegate://host/${ID}`, `/hosts/${ID}`],
  [`tidegate://command/${ID}`, `/commands/${ID}`],
  [`tidegate://update/${ID}?next=//evil.example`, null],
  [`tidegate://update/${ID}#x`, null],
  [`tidegate://user@update/${ID}`, null],
  [`tidegate://update:1/${ID}`, null],
  [`tidegate://update/${ID}/approve`, null],
  ['tidegate://update/../settings', null],
  [`tidegate://toString/${ID}`, null],
  [`https://update/${ID}`, null],
  ['update', null],
])('the link %s opens %s', (link, page) => {
  expect(pageOfLink(link)).toBe(page);
});

describe('the command line', () => {
  test('opens the overview of the first server by default', () => {
    expect(parseCommandLine([])).toMatchObject({
      ok: true,
      options: { path: '/', server: null, backend: 'auto' },
    });
  });

  test.each([
    [['--token', 'tg_secret'], '--token takes "-"'], // every user can read arguments
    [['--backend', 'electron'], '--backend is one of'],
    [['tidegate://nothing'], 'a link has the form'],
    [[`tidegate://update/${ID}`, 'more'], 'a link has the form'],
    [['--unknown'], '--unknown'],
  ])('%j is refused', (args, detail) => {
    expect(parseCommandLine(args)).toMatchObject({
      ok: false,
      help: false,
      detail: expect.stringContaining(detail),
    });
  });
});
