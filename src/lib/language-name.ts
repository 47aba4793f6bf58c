const english = new Intl.DisplayNames('en', { type: 'language' });

/** The name of a language in English words: `es` is Spanish. A code that nobody knows stays as it is. */
export function languageName(code: string): string {
  try {
    return english.of(code) ?? code;
  } catch {
    return code; // a service may call anything a language
  }
}
