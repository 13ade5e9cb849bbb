import fc from 'fast-check';
import { SEED } from './seed.ts';

/** Runs before each file of tests: a property draws from the seed of the run unless it names another. */
fc.configureGlobal({ seed: SEED });
