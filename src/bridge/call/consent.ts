/** True if one of the phrases was said: whole words, in this order. Capitals and punctuation are ignored. */
export function withdraws(text: string, phrases: readonly string[]): boolean {
  if (phrases.length === 0) return false;
  const said = ` ${wordsOf(text)} `;
  return phrases.some((phrase) => {
    const words = wordsOf(phrase);
    return words !== '' && said.includes(` ${words} `);
  });
}

function wordsOf(text: string): string {
  return (
    text
      .toLowerCase()
      .normalize('NFKC')
      .match(/[\p{L}\p{N}'’]+/gu) ?? []
  )
    .join(' ')
    .replaceAll('’', "'");
}
