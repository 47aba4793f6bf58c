/** Undefined for invalid JSON. The caller's schema then refuses it and says where. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text may be somebody's words, and the parser's error quotes it. Neither is passed on.
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
