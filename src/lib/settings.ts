import { z } from 'zod';

/**
 * A setting, described in a strict zod schema by `.meta({ env, description, secret })`. This file walks such a schema
 * and knows no setting itself.
 */
export type SettingField = {
  path: string[];
  schema: z.ZodType;
  env: string | undefined;
  description: string;
  secret: boolean;
};

type Meta = { env?: string; description?: string; secret?: boolean };

/** The schema inside the wrappers `default`, `optional`, `prefault` and `nullable`. */
function unwrap(schema: z.ZodType): z.ZodType {
  let inner = schema;
  while (
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodPrefault ||
    inner instanceof z.ZodNullable
  )
    inner = inner.unwrap() as z.ZodType;
  return inner;
}

function metaOf(schema: z.ZodType): Meta {
  const own = schema.meta() as Meta | undefined;
  if (own) return own;
  return schema instanceof z.ZodDefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodPrefault
    ? metaOf(schema.unwrap() as z.ZodType)
    : {};
}

/** Every setting in the order of the schema. Objects are expanded; a list or a map is one setting. */
export function settingFields(schema: z.ZodType, path: string[] = []): SettingField[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject && metaOf(schema).env === undefined)
    return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, field]) =>
      settingFields(field, [...path, name]),
    );
  const meta = metaOf(schema);
  return [
    {
      path,
      schema,
      env: meta.env,
      description: meta.description ?? '',
      secret: meta.secret ?? false,
    },
  ];
}

/** The names that a schema knows at a path, through lists, maps and unions. Empty if any name is allowed. */
export function namesAt(schema: z.ZodType, path: readonly string[]): string[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodUnion)
    return (inner.options as z.ZodType[]).flatMap((option) => namesAt(option, path));
  const [name, ...rest] = path;
  if (inner instanceof z.ZodObject) {
    const shape = inner.shape as Record<string, z.ZodType>;
    if (name === undefined) return Object.keys(shape);
    return Object.hasOwn(shape, name) && shape[name] ? namesAt(shape[name], rest) : [];
  }
  return inner instanceof z.ZodArray && name !== undefined
    ? namesAt(inner.element as z.ZodType, rest)
    : [];
}

/** The value of a variable's text for a setting. Text that does not fit stays text, and zod refuses it. */
export function fromText(schema: z.ZodType, text: string): unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodNumber)
    return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
  if (inner instanceof z.ZodBoolean) {
    if (/^(1|true|yes|on)$/i.test(text)) return true;
    return /^(0|false|no|off)$/i.test(text) ? false : text;
  }
  if (inner instanceof z.ZodArray)
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map((item) => fromText(inner.element as z.ZodType, item));
  return text;
}

export function valueAt(tree: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    tree,
  );
}

export function setAt(
  tree: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
): void {
  let place = tree;
  for (const key of path.slice(0, -1)) {
    const next = place[key];
    if (typeof next === 'object' && next !== null && !Array.isArray(next))
      place = next as Record<string, unknown>;
    else place = place[key] = {} as Record<string, unknown>;
  }
  const last = path.at(-1);
  if (last !== undefined) place[last] = value;
}
