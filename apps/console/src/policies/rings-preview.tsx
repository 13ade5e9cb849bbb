import { counted } from '@tidegate/protocol/count-words';
import type { Ring, RingsPreview, Unrepresented } from '@tidegate/protocol/rings';
import { TriangleAlert } from 'lucide-react';
import { gateText, haltText, membersText, ringWarnings, systemText } from './ring-words.ts';

/** The rings of a policy in their order, each with its hosts, and what the first one does not prove. */
export function RingsView({ rings, preview }: { rings: readonly Ring[]; preview: RingsPreview | undefined }) {
  const warnings = preview ? ringWarnings(rings, preview) : [];
  return (
    <div className="space-y-3">
      <ol className="space-y-2">
        {rings.map((ring, i) => {
          const gate = gateText(ring);
          const hosts = preview?.rings[i]?.hosts;
          return (
            <li key={ring.name} className="break-words">
              <p>
                <span className="font-medium">
                  {i + 1}. <bdi>{ring.name}</bdi>
                </span>
                : {membersText(ring.members)}
                {hosts !== undefined && ` (${counted(hosts, 'host')} now)`}
              </p>
              <p className="pl-4 text-muted">
                {gate === null ? '' : `Next ring when ${gate}. `}Halts when {haltText(ring)}.
              </p>
            </li>
          );
        })}
      </ol>
      {warnings.map((warning) => (
        <Warning key={warning}>
          <p>{warning}</p>
        </Warning>
      ))}
      {preview && preview.unrepresented.length > 0 && (
        <Warning>
          <UnrepresentedList systems={preview.unrepresented} />
        </Warning>
      )}
    </div>
  );
}

/** Systems that outer rings have and the first has not. */
export function UnrepresentedList({ systems }: { systems: readonly Unrepresented[] }) {
  return (
    <div className="min-w-0">
      <p className="font-medium">
        The first ring proves nothing about these systems: it has no host of them.
      </p>
      <ul className="list-disc pl-5">
        {systems.map((system) => {
          const text = systemText(system);
          return <li key={text}>{text}</li>;
        })}
      </ul>
    </div>
  );
}

function Warning({ children }: { children: React.ReactNode }) {
  return (
    <div className="flex items-start gap-2">
      <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-warn" />
      {children}
    </div>
  );
}
