const controls = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

/** One line of text without characters that move a cursor, colour a terminal or change the direction of writing. */
export function printable(text: string): string {
  return text.replace(controls, '');
}

/** JSON text with those characters escaped, so a parser reads the same value. Line breaks between values stay. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(controls, (sign) =>
    sign === '\n' ? sign : `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
