import { nullish } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { parseAs } from '../platform/parse-as.ts';
import { isOfVersion } from '../release-times/pypi-times.ts';

/** Attestations of one artifact that are examined. */
const ATTESTATIONS_MAX = 16;
const SLSA = 'https://slsa.dev/provenance/';

const NpmAnswer = Type.Object({
  attestations: Type.Array(Type.Object({ predicateType: Type.String(), bundle: Type.Unknown() })),
});

const PypiAttestation = Type.Object({
  version: Type.Literal(1),
  verification_material: Type.Object({
    certificate: Type.String(),
    transparency_entries: Type.Array(Type.Unknown()),
  }),
  envelope: Type.Object({ statement: Type.String(), signature: Type.String() }),
});

const PypiAnswer = Type.Object({
  attestation_bundles: Type.Array(Type.Object({ attestations: Type.Array(PypiAttestation) })),
});

const ProjectAnswer = Type.Object({
  files: Type.Array(
    Type.Object({
      filename: Type.String(),
      provenance: nullish(Type.String()),
    }),
  ),
});

/** Bundles of build provenance, without npm's own publish signature. Null: not such an answer. */
export function npmBundles(text: string): unknown[] | null {
  const answer = parseAs(NpmAnswer, text);
  return (
    answer?.attestations
      .filter(({ predicateType }) => predicateType.startsWith(SLSA))
      .slice(0, ATTESTATIONS_MAX)
      .map(({ bundle }) => bundle) ?? null
  );
}

/** Converts the attestations of PEP 740 to sigstore bundles. Null: not such an answer. */
export function pypiBundles(text: string): unknown[] | null {
  const answer = parseAs(PypiAnswer, text);
  return (
    answer?.attestation_bundles
      .flatMap(({ attestations }) => attestations)
      .slice(0, ATTESTATIONS_MAX)
      .map(({ verification_material: material, envelope }) => ({
        mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
        verificationMaterial: {
          certificate: { rawBytes: material.certificate },
          tlogEntries: material.transparency_entries,
        },
        dsseEnvelope: {
          payload: envelope.statement,
          payloadType: 'application/vnd.in-toto+json',
          signatures: [{ sig: envelope.signature, keyid: '' }],
        },
      })) ?? null
  );
}

/** Whether a file of the version has provenance, from the index of its project; null: not such an answer. */
export function hasProvenance(text: string, version: string): boolean | null {
  const files = parseAs(ProjectAnswer, text)?.files;
  return (
    files?.some((file) => typeof file.provenance === 'string' && isOfVersion(file.filename, version)) ?? null
  );
}
