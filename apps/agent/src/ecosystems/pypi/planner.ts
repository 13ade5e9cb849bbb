import type { Identity } from '../../platform/run-program.ts';
import type { IndexClient } from './index-client.ts';
import type { Distribution } from './installed.ts';
import type { Interpreter } from './interpreter.ts';
import type { CoreMetadata } from './parse-metadata.ts';
import type { FoundPlaces, PypiPlace } from './places.ts';

export interface Planner {
  index: IndexClient;
  found: FoundPlaces;
  /** The user pip runs as. */
  identity: Identity | null;
  /** The users whose programs this process may run. */
  uids: ReadonlySet<number>;
  /** Where files of earlier versions are kept; null: nowhere. */
  kept: string | null;
}

/** A place that may be changed, with what a resolver sees there. */
export interface OpenPlace {
  place: PypiPlace;
  distributions: readonly Distribution[];
  interpreter: Interpreter;
  /** The system's packages that the place sees. */
  system: readonly CoreMetadata[];
}
