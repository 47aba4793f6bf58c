import { placeIn } from './yaml-place.js';

/**
 * The part of JSON Schema that completion reads.
 * @typedef {{ $ref?: string, $defs?: Record<string, JsonSchema>, anyOf?: JsonSchema[], properties?: Record<string, JsonSchema>, additionalProperties?: JsonSchema | boolean, items?: JsonSchema, prefixItems?: JsonSchema[], enum?: (string | number)[], const?: unknown, type?: string, description?: string, required?: string[] }} JsonSchema
 */
/** @typedef {{ label: string, insert: string, note: string }} Completion */

const maxShown = 40;

/**
 * Finds what may stand at the caret by the schema: keys that are not there yet, or the values of the key. A completion
 * replaces a word of this `length`.
 * @param {JsonSchema} schema
 * @param {string} text
 * @param {number} caret
 * @returns {{ length: number, items: Completion[] }}
 */
export function completionsAt(schema, text, caret) {
  const place = placeIn(text, caret);
  if (place === undefined) return { length: 0, items: [] };
  const { path, word, isValue, has } = place;
  const wanted = word.toLowerCase();
  const found = schemasAt(schema, path).flatMap((one) => [
    ...(isValue ? [] : keysOf(schema, one, has)),
    ...valuesOf(one),
  ]);
  const items = [...new Map(found.map((item) => [item.label, item])).values()]
    .filter(({ label }) => label.toLowerCase().startsWith(wanted) && label !== word)
    .slice(0, maxShown);
  return { length: word.length, items };
}

/**
 * The schemas of a place. There are several where a value may have several forms.
 * @param {JsonSchema} root
 * @param {readonly string[]} path
 */
function schemasAt(root, path) {
  let here = formsOf(root, root);
  for (const name of path)
    here = here
      .flatMap((one) => {
        if (name === '[]') return [...(one.items ? [one.items] : []), ...(one.prefixItems ?? [])];
        const own = one.properties?.[name];
        if (own !== undefined) return [own];
        return typeof one.additionalProperties === 'object' ? [one.additionalProperties] : [];
      })
      .flatMap((one) => formsOf(root, one));
  return here;
}

/**
 * @param {JsonSchema} root
 * @param {JsonSchema} schema
 * @returns {JsonSchema[]}
 */
function formsOf(root, schema) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    const named = root.$defs?.[name];
    return named === undefined ? [] : formsOf(root, named);
  }
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((one) => formsOf(root, one));
  return [schema];
}

/**
 * @param {JsonSchema} root
 * @param {JsonSchema} schema
 * @param {readonly string[]} has
 * @returns {Completion[]}
 */
function keysOf(root, { properties = {}, required = [] }, has) {
  return Object.entries(properties)
    .filter(([name]) => !has.includes(name))
    .map(([name, of]) => ({
      label: name,
      insert: `${name}: `,
      note: [required.includes(name) ? 'needed' : '', noteOf(root, of)].filter(Boolean).join(', '),
    }));
}

/**
 * @param {JsonSchema} schema
 * @returns {Completion[]}
 */
function valuesOf({ enum: values, const: only, type }) {
  const all = values ?? (only !== undefined ? [only] : type === 'boolean' ? [true, false] : []);
  return all.map((value) => ({ label: String(value), insert: String(value), note: '' }));
}

/**
 * @param {JsonSchema} root
 * @param {JsonSchema} schema
 */
function noteOf(root, schema) {
  if (schema.description !== undefined) return schema.description;
  const [form] = formsOf(root, schema);
  if (form === undefined) return '';
  if (form.enum !== undefined) return form.enum.join(' or ');
  return { array: 'a list', object: 'a map', string: 'a text', boolean: 'true or false', number: 'a number', integer: 'a number' }[form.type ?? ''] ?? ''; // prettier-ignore
}
