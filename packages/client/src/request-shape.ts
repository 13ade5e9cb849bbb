/** A JSON Schema, as far as the document uses it for requests. */
export interface Schema {
  readonly type?: 'string' | 'boolean' | 'null' | 'integer' | 'number' | 'array' | 'object';
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly [keyword: string]: unknown;
}

/** What an operation takes, and of whom. */
export interface RequestShape {
  readonly summary: string;
  /** The least role of the caller; null: open to everybody. */
  readonly role: string | null;
  /** What an API token needs; null: no API token may call, or the operation is open to everybody. */
  readonly scope: string | null;
  readonly path: Readonly<Record<string, Schema>>;
  readonly query: Readonly<Record<string, Schema>>;
  /** Parameters of the query that have to be given. */
  readonly needs: readonly string[];
  readonly body: Schema | null;
}
