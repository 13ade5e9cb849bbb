import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLog, type LogOptions, MARKERS } from './log.ts';

// Third-party data is beside the repository and not part of it.
const file = path.join(
  import.meta.dirname,
  '../../../../../shared/data/vectors/big-list-of-naughty-strings/blns.json',
);
const isAbsent = !existsSync(file);
if (isAbsent) console.warn('skipped: the naughty strings are not in ../shared/data/vectors');

/** Cases that the list may lack: line ends of every kind, terminal escapes, bidirectional marks. */
const OUR_OWN = [
  'a\nb',
  'a\r\n[SECURITY] [server] [supply_chain] gate_overridden',
  'a\u0085b\u2028c\u2029d\u000be\u000cf',
  '\u001b[2K\u001b[1A',
  '\u202etxt.exe\u2066\u2069',
  '\ud800',
  '\u0000',
  'x time=1970-01-01 y="z"',
  '" level="error',
  '\u{e0041}\u{1d173}',
];

function logTo(lines: string[], options: Partial<LogOptions> = {}) {
  const write = (line: string) => lines.push(line);
  return createLog({ level: 'info', format: 'text', now: () => Date.UTC(2026, 10, 21), write, ...options });
}

/** Line ends, controls and format characters in the widest reading. */
const RAW = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

describe('text lines', () => {
  test.each(OUR_OWN)('field text %j stays on its line', (text) => {
    const lines: string[] = [];
    logTo(lines).info('agent reported', { hostname: text });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(RAW);
    expect(lines[0]).toMatch(/^\[INFO\] agent reported hostname=".*" time=2026-11-21T00:00:00\.000Z$/);
  });

  test.skipIf(isAbsent)('no naughty string forges a line or leaves its quotes', () => {
    const strings: string[] = JSON.parse(readFileSync(file, 'utf8'));
    expect(strings.length).toBeGreaterThan(400);
    const lines: string[] = [];
    const log = logTo(lines);
    for (const text of strings) {
      log.warn('agent reported', { hostname: text, n: 1 });
      log.warn(text);
    }
    expect(lines).toHaveLength(strings.length * 2);
    expect(lines.filter((line) => RAW.test(line))).toEqual([]);
    const shape = /^\[WARN\] agent reported hostname=([\w.:@/+~-]+|"(?:[^"\\]|\\.)*") n=1 time=\S+$/u;
    const fields = lines.filter((_, i) => i % 2 === 0);
    expect(fields.filter((line) => !shape.test(line))).toEqual([]);
  });

  test('long text is cut', () => {
    const lines: string[] = [];
    logTo(lines).info('x', { text: 'y'.repeat(100_000) });
    expect(lines[0]?.length).toBeLessThan(2_100);
  });
});

describe('markers (section 6), verbatim', () => {
  test.each([
    ['approvalBlocked', '[SECURITY] [server] [supply_chain] approval_blocked'],
    ['bulkApprovalBlocked', '[SECURITY] [server] [supply_chain] bulk_approval_blocked'],
    ['gateOverridden', '[SECURITY] [server] [supply_chain] gate_overridden'],
  ] as const)('%s is %s at every level and in both formats', (marker, text) => {
    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      const lines: string[] = [];
      logTo(lines, { level }).security(MARKERS[marker], { package: 'left-pad', ok: true });
      expect(lines).toEqual([`${text} package=left-pad ok=true time=2026-11-21T00:00:00.000Z`]);
      const json: string[] = [];
      logTo(json, { level, format: 'json' }).security(MARKERS[marker], { package: 'left-pad' });
      expect(JSON.parse(json[0] ?? '')).toMatchObject({ msg: text, package: 'left-pad' });
    }
  });

  test('the machine mismatch is never filtered', () => {
    const lines: string[] = [];
    logTo(lines, { level: 'error' }).machineMismatch({ agent_id: 'a' });
    expect(lines[0]).toMatch(/^\[WARN\] \[server\] \[middleware\] machine_id_mismatch agent_id=a /);
  });

  test('upstream failures are [WARNING], and the start line is [INFO] migrations applied N', () => {
    const lines: string[] = [];
    const log = logTo(lines);
    log.upstreamWarning('supply_chain advisories unreachable');
    log.info(`migrations applied ${22}`);
    expect(lines[0]).toMatch(/^\[WARNING\] supply_chain advisories unreachable time=/);
    expect(lines[1]).toMatch(/^\[INFO\] migrations applied 22( |$)/);
  });
});

describe('levels and JSON', () => {
  test.each([
    ['debug', 5],
    ['info', 4],
    ['warn', 3],
    ['error', 1],
  ] as const)('at %s %i of five lines are written', (level, count) => {
    const lines: string[] = [];
    const log = logTo(lines, { level });
    log.debug('a');
    log.info('b');
    log.warn('c');
    log.upstreamWarning('supply_chain d');
    log.error('e');
    expect(lines).toHaveLength(count);
  });

  test.each(OUR_OWN)('JSON keeps %j as one line that reads back', (text) => {
    const lines: string[] = [];
    logTo(lines, { format: 'json' }).info('agent reported', { hostname: text });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/[\n\r]/);
    const read = JSON.parse(lines[0] ?? '');
    expect(read).toMatchObject({
      msg: '[INFO] agent reported',
      level: 'info',
      time: '2026-11-21T00:00:00.000Z',
    });
    expect(read.hostname.toWellFormed()).toBe(text.toWellFormed());
  });
});
