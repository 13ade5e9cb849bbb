import { expect, onTestFinished, test } from 'vitest';
import type { IdleCheckIn, Report } from './messages.ts';
import { createReports, UNTAKEN_MAX } from './reports.ts';

const FACTS = {
  connections: { open: 1, waiting: 0, max: null, ended: { answered: 0, waiting: 0 } },
  cpuSeconds: 1,
  residentBytes: 2,
};
const SEEN: IdleCheckIn = ['agent', 1, 60, '192.0.2.1'];

function open() {
  const sent: Report[] = [];
  let gate: Promise<void> = Promise.resolve();
  const reports = createReports({
    send: async (report) => {
      sent.push(report);
      await gate;
    },
    facts: () => FACTS,
  });
  onTestFinished(() => reports.stop());
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    onTestFinished(() => resolve());
    return resolve;
  };
  return { reports, sent, hold };
}

test('what was answered is reported in order, once, with what the worker uses', async () => {
  const { reports, sent } = open();
  reports.record(SEEN);
  reports.record(['other', 2, 30, null]);
  reports.took(0.123456);
  reports.refused('/route', 3);
  await expect.poll(() => sent.flatMap(({ checkIns }) => checkIns)).toHaveLength(2);
  await reports.stop();
  expect(sent.flatMap(({ checkIns }) => checkIns)).toEqual([SEEN, ['other', 2, 30, null]]);
  expect(sent.flatMap(({ tookMs }) => tookMs)).toEqual([0.123]);
  expect(sent.flatMap(({ refused }) => refused)).toEqual([['/route', 3]]);
  expect(sent[0]?.facts).toEqual(FACTS);
});

test('an idle worker reports too, so that the server knows that it lives', async () => {
  const { sent } = open();
  await expect.poll(() => sent.length).toBeGreaterThan(0);
  expect(sent[0]?.checkIns).toEqual([]);
});

test('a server that does not take the reports answers itself, until it has taken them', async () => {
  const { reports, sent, hold } = open();
  const release = hold();
  for (let n = 0; n < UNTAKEN_MAX - 1; n++) reports.record(SEEN);
  expect(reports.isFull()).toBe(false);
  reports.record(SEEN);
  await expect.poll(() => sent.length).toBeGreaterThan(0);
  expect(reports.isFull()).toBe(true);
  release();
  await expect.poll(() => reports.isFull()).toBe(false);
});
