import { found, windowCases } from './window-vectors.ts';

// A process of its own, so that a test can set the zone of the machine: TZ is read once.
console.log(
  JSON.stringify({ offset: new Date(2026, 6, 1).getTimezoneOffset(), found: windowCases().map(found) }),
);
