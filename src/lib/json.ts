/** Undefined for what is no JSON: the schema that the caller holds it against refuses that and says where. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text may hold what somebody said, and the parser's error quotes it: neither goes on.
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
