import { readFileSync } from 'node:fs';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** Version of the program, from its package.json. */
export const VERSION: string = Value.Parse(Type.Object({ version: Type.String() }), manifest).version;
