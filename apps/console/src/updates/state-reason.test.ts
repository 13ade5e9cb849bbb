import { expect, test } from 'vitest';
import { stateReasonText } from './state-reason.ts';

test.each([
  ['vulnerability: known_vulnerability', /known vulnerability/],
  ['no_plan', /did not say in time/],
  ['installation failed: the script of sudo ended with status 1', /^installation failed: the script/],
  ['constructor', /^constructor$/],
])('%s', (reason, text) => {
  expect(stateReasonText(reason)).toMatch(text);
});
