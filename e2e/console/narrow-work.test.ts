import { describeNarrow, type NarrowPage, testPages } from '../harness/narrow.ts';

const PAGES: readonly NarrowPage[] = [
  ['/', 'Overview'],
  ['/updates', 'Updates'],
  ['/updates/:update', /on web-/],
  ['/updates/:update/record', /^Record: /],
  ['/packages', 'Packages'],
  ['/updates/by-host', 'Updates by host'],
  ['/vulnerabilities', 'Vulnerabilities'],
  ['/unfixed', 'Vulnerabilities without a fix'],
  ['/hosts', 'Hosts'],
  ['/hosts/:host', /^web-/],
  ['/hosts/:host/inventory', /^Packages of web-/],
  ['/hosts/:host/history', /^History of web-/],
  ['/commands', 'Commands'],
  ['/commands/:command', /^Scan on web-/],
  ['/events', 'Events'],
  ['/events/:event', 'Event'],
  ['/calendar', 'Calendar'],
  ['/calendar?view=month', 'Calendar'],
  ['/calendar?view=week', 'Calendar'],
];

describeNarrow('overview, updates, hosts and activity in a narrow window', (scene) =>
  testPages(PAGES, scene),
);
