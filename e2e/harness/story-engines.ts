import { ENGINES, type TestEngine } from '../../apps/server/src/testing/engines.ts';

/**
 * The engines of a story that is about hosts, commands or people more than about the database: in the long lane all of
 * them, else the named one, so that the stories together use both. Falls back to what there is.
 */
export function storyEngines(usual: TestEngine['name']): readonly TestEngine[] {
  const one = ENGINES.filter(({ name }) => name === usual);
  return process.env.TIDEGATE_LONG === '1' || one.length === 0 ? ENGINES : one;
}
