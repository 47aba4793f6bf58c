import { isObject } from '../../lib/json.ts';
import { ownRecord } from '../parameters.ts';

/**
 * Parses a JSON object; undefined for anything else. `textAt` and its like read own fields only, so a name from
 * outside never reaches a prototype.
 */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // The text is no JSON. The caller counts it, and the text itself goes nowhere.
    return undefined;
  }
}

export function objectAt(
  value: Record<string, unknown>,
  name: string,
): Record<string, unknown> | undefined {
  const found = Object.hasOwn(value, name) ? value[name] : undefined;
  return isObject(found) ? found : undefined;
}

/** Reads a text of a sensible length. An empty one counts as absent. */
export function textAt(
  value: Record<string, unknown>,
  name: string,
  lengthAtMost = 512,
): string | undefined {
  const found = Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof found === 'string' && found !== '' && found.length <= lengthAtMost
    ? found
    : undefined;
}

/** Reads a whole number. Carriers write it as a number or as a text of digits. */
export function wholeAt(value: Record<string, unknown>, name: string): number | undefined {
  const found = Object.hasOwn(value, name) ? value[name] : undefined;
  const number = typeof found === 'string' && /^\d{1,15}$/.test(found) ? Number(found) : found;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0
    ? number
    : undefined;
}

/**
 * Node's decoder skips rubbish without a word, and only the length shows it. So a text with a character outside the
 * alphabet is refused, and so is one that is cut short or empty.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const length = text.length;
  if (length === 0 || length % 4 !== 0) return undefined;
  const padding =
    text.charCodeAt(length - 1) !== 61 ? 0 : text.charCodeAt(length - 2) !== 61 ? 1 : 2;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === (length / 4) * 3 - padding ? bytes : undefined;
}

const marker = Buffer.from('"payload":"');
const quote = 0x22;

type RawMedia = { head: string; payload: Buffer; tail: string };

/**
 * The fast path for the message that comes fifty times a second. It gives the text before and after the payload for
 * the codec's exact patterns, and the decoded payload. Undefined for a message of another form, which is then parsed
 * in full.
 */
export function rawMedia(data: Buffer): RawMedia | undefined {
  const at = data.indexOf(marker);
  if (at < 0) return undefined;
  const from = at + marker.length;
  const end = data.indexOf(quote, from);
  if (end < 0) return undefined;
  const payload = decodeBase64(data.toString('latin1', from, end));
  return (
    payload && { head: data.toString('latin1', 0, at), payload, tail: data.toString('latin1', end) }
  );
}

const parametersAtMost = 64;

/** Returns custom parameters as texts by their names. Values that are objects or lists are left out. */
export function textParameters(value: unknown): Record<string, string> {
  const entries = Array.isArray(value)
    ? value.flatMap(namedEntry)
    : isObject(value)
      ? Object.entries(value)
      : [];
  return ownRecord(
    entries
      .slice(0, parametersAtMost)
      .filter(([name, item]) => name !== '' && isPlain(item))
      .map(([name, item]) => [name, String(item)]),
  );
}

/** Reads one entry of a list such as `[{"name": ..., "value": ...}]`, which some carriers send. */
function namedEntry(item: unknown): [string, unknown][] {
  return isObject(item) && typeof item['name'] === 'string' ? [[item['name'], item['value']]] : [];
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
