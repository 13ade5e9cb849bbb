import { CAPABILITY_SCHEMA } from './parse.ts';
import type { JsonSchema } from './shape.ts';

const CAPABILITY = { $ref: '#/$defs/Capability' };
const CAPABILITIES = { type: 'array', items: CAPABILITY };

/** The three forms of a file (R8), around the schema that is made of the reader's own table of fields. */
export function schemaOfFile(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Capability file',
    description: 'Which permissions of the host the windows and webviews of the desktop shell have.',
    if: { type: 'array' },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, and no promise
    then: CAPABILITIES,
    else: {
      if: { type: 'object', required: ['capabilities'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, and no promise
      then: { type: 'object', properties: { capabilities: CAPABILITIES } },
      else: CAPABILITY,
    },
    $defs: {
      Capability: CAPABILITY_SCHEMA,
      Value: {
        description: 'What a scope holds; its form is up to the command.',
        anyOf: [
          { type: ['null', 'boolean', 'number', 'string'] },
          { type: 'array', items: { $ref: '#/$defs/Value' } },
          { type: 'object', additionalProperties: { $ref: '#/$defs/Value' } },
        ],
      },
    },
  };
}
