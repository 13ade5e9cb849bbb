import { type HerdOptions, runHerd } from './herd-agents.ts';

process.once('disconnect', () => process.exit());
process.once('message', (options: HerdOptions) => {
  runHerd(options).then(
    (herd) => process.send?.(herd, () => process.exit()),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
