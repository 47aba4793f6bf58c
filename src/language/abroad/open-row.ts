import type { LanguageAbroad } from './number-words.ts';
import { tokensOf } from './numbers-abroad.ts';
import { rowsAbroad } from './rows-abroad.ts';

export type OpenRow = { start: number; digits: number; chars: string; bare: boolean };

/** Words beside digits that say nothing: "eh", "vale", "alors", "moment". */
const nothing =
  /^(?:eh|em|este|euh|ben|ah|ahm|ehm|uh|hm|y|e|et|und|en|es|est|ist|is|si|oui|ja|sim|sí|vale|bueno|alors|donc|also|moment|allora|espere|aspetti|ok|okay|pues|luego|puis|dann|poi|depois|dan)$/;

/** The row of digits that ends a text and could continue in the next one. */
export function openRowAbroad(text: string, language: LanguageAbroad): OpenRow | undefined {
  const tokens = tokensOf(text);
  const row = rowsAbroad(text, tokens, language, () => false).at(-1);
  if (!row || tokens.slice(row.to).some(({ plain }) => !nothing.test(plain))) return undefined;
  const bare = tokens.slice(0, row.from).every(({ plain }) => nothing.test(plain));
  return { start: row.start, digits: row.digits, chars: row.chars, bare };
}
