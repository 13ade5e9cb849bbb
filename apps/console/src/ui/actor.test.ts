import { expect, test } from 'vitest';
import { actorText } from './actor.ts';

test.each([
  ['ada', 'ada'],
  ['constructor', 'constructor'],
  ['policy', 'a policy'],
  ['policy/01a19bd3-c08f-72a8-89d6-ce45c9e0345b', 'a policy'],
  ['sweep', 'the server'],
  ['scan', 'the host'],
])('%s is %s', (actor, text) => {
  expect(actorText(actor)).toBe(text);
});
