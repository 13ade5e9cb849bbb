declare module 'nsyslog-parser' {
  /** The members of a syslog message. */
  function parse(line: string): unknown;
  export = parse;
}
