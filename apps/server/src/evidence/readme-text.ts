/** Stands in every bundle, for a person who has nothing else. */
export const README = `Evidence of software updates, made by a Tidegate server.

report.html      the answers for a reader, with the lines that each number comes from
manifest.json    the SHA-256 of every file, signed by the server (a DSSE envelope)
figures.ndjson   the numbers of the report, each with the rule by which it is counted
keys/            root documents and key sets: which keys the server had, and who vouched for them
approvals/       what was approved, by whom, as signed; and what the agents reported of it
decisions/       what the gate judged, on which facts
updates/         every update of the hosts, its history, and why it waits
events/          the log; events of other hosts and times only prove their place in it
policies/ statements/ origins/ exceptions/ rollouts/ rollouthosts/ divergences/ unfixed/ hosts/ inventory/
lines/           the beginning of the SHA-256 of each line, to find a changed one

Nothing here is compressed, and nothing is a secret.

Verify it with a key that you got on another way, and no server:
  tidegate verify-evidence FILE --pin PUBLIC-KEY-OR-SHA256-OF-ROOT
The format is in docs/evidence.md of Tidegate.
`;
