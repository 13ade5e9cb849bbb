import { choice, file, flag, folder, many, type Program, text } from './declare.ts';

/** A small program with everything that a declaration can say. */
export const SAMPLE: Program = {
  name: 'sample-tool',
  summary: 'shows what a declaration can say',
  section: 1,
  common: { help: { ...flag('show this'), short: 'h' } },
  about: 'A paragraph.\n\n  term   its meaning\n         that goes on',
  commands: [
    {
      name: 'rows',
      summary: "rows: add, show; a row's life",
      calls: [
        { act: 'add', operands: ['NAME', 'red|green'], needs: ['from'], takes: ['kind'] },
        {
          act: 'show',
          operands: ['ID'],
          takes: ['into', 'kind'],
          options: { kind: choice(['new', 'old'], 'which') },
        },
        { act: 'root make', operands: ['FILE ...'], takes: ['all'] },
      ],
      options: {
        from: { ...many(file('where from. And more')), short: 'f' },
        kind: choice(['small', 'large'], 'how large'),
        into: folder('where to'),
        all: flag('all of them'),
      },
      about: "Starts with a word.\n'Quoted' and .dotted and back\\slash",
    },
    {
      name: 'mark',
      summary: 'mark a row',
      calls: [{ takes: ['note'] }],
      options: { note: text('TEXT', 'a note') },
      about: '',
    },
  ],
};
