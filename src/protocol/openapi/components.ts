import { z } from 'zod';

export type JsonObject = Record<string, unknown>;

/**
 * JSON Schemas of everything with a name. A request's schema describes what may be sent (fields with defaults are
 * optional), an answer's what will come (they are present).
 */
export class Components {
  readonly #input = generate('input');
  readonly #output = generate('output');
  readonly #used = new Map<string, 'input' | 'output'>();

  /** A reference to a named schema, or the schema itself if it has no name. */
  reference(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
    const name = z.globalRegistry.get(schema)?.id;
    if (name !== undefined) {
      this.#use(name, io);
      return { $ref: refOf(name) };
    }
    const inline = z.toJSONSchema(schema, { io, override: tidy }) as JsonObject;
    const { $schema: _, $defs: __, ...rest } = inline;
    const withRefs = rewriteRefs(rest) as JsonObject;
    for (const inner of namesIn(withRefs)) this.#use(inner, io);
    return withRefs;
  }

  schemas(): JsonObject {
    const names = [...this.#used.keys()].sort();
    return Object.fromEntries(names.map((name) => [name, this.#schemaOf(name)]));
  }

  #schemaOf(name: string): JsonObject {
    const io = this.#used.get(name) ?? 'output';
    const schema = (io === 'input' ? this.#input : this.#output)[name];
    if (!schema) throw new Error(`no schema is named ${name}`);
    return schema;
  }

  #use(name: string, io: 'input' | 'output'): void {
    const known = this.#used.get(name);
    if (known === io) return;
    if (known !== undefined) {
      // One name is used for input and output, which is allowed only while both look the same.
      if (JSON.stringify(this.#input[name]) !== JSON.stringify(this.#output[name]))
        throw new Error(`schema ${name} differs between requests and answers: name them apart`);
      return;
    }
    this.#used.set(name, io);
    for (const inner of namesIn(this.#schemaOf(name))) this.#use(inner, io);
  }
}

function generate(io: 'input' | 'output'): Record<string, JsonObject> {
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    io,
    uri: refOf,
    override: tidy,
    unrepresentable: 'any',
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const { $schema: _, $id: __, id: ___, ...rest } = schema as JsonObject;
      return [name, rest];
    }),
  );
}

function refOf(name: string): string {
  return `#/components/schemas/${name}`;
}

/** Removes details of no use to a reader: the engine's bounds of integers, and patterns beside a format. */
function tidy({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: JsonObject;
}): void {
  if (jsonSchema['format'] !== undefined) delete jsonSchema['pattern'];
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum'];
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum'];
  delete jsonSchema['id'];
  const def = zodSchema._zod.def;
  // Plain objects may get more fields, since readers must ignore unknown ones.
  if (def.type === 'object' && def.catchall === undefined)
    delete jsonSchema['additionalProperties'];
}

function rewriteRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewriteRefs);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? inner.replace(/^#\/\$defs\//, '#/components/schemas/')
        : rewriteRefs(inner),
    ]),
  );
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string'
      ? [inner.replace('#/components/schemas/', '')]
      : namesIn(inner),
  );
}
