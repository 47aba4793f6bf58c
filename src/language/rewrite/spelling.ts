import type { CustomSpellingConfig } from '../../protocol/addon-configs.ts';

/** Replaces each misspelling by its preferred spelling. Only whole words count, in any case. */
type Spelling = (text: string) => string;

export function spellingOf(dictionary: CustomSpellingConfig['spelling_dictionary']): Spelling {
  const preferred = new Map<string, string>();
  for (const [key, variants] of Object.entries(dictionary))
    for (const variant of variants) if (variant.trim()) preferred.set(norm(variant), key);
  if (preferred.size === 0) return (text) => text;
  // Longest first, so that "north gate bank" wins over "north gate".
  const variants = [...preferred.keys()].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}])(?:${variants.map((v) => escape(v).replaceAll(' ', '\\s+')).join('|')})(?![\\p{L}\\p{N}])`,
    'giu',
  );
  return (text) => text.replace(pattern, (found) => preferred.get(norm(found)) ?? found);
}

function norm(text: string): string {
  return text.trim().toLowerCase().replace(/\s+/g, ' ');
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}
