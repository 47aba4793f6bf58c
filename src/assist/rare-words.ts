import { commonWords } from '../language/data/common-words.ts';
import type { PhraseTrigger, Trigger } from './playbook.ts';
import { ruleFileDigest, starterTexts } from './rule-files.ts';
import { isInScope, triggersIn, type CallScope, type LoadedPlaybook } from './rule-set.ts';

/** At most this many words of playbooks are listened for in one call: a long list makes its words appear everywhere. */
export const maxRareWords = 50;
/** Shorter words are heard in all others. */
const minLetters = 4;
/** A name of more words is heard by its parts. */
const maxNameWords = 3;

const kept = new WeakMap<LoadedPlaybook, readonly string[]>();
let starter: ReadonlySet<string> | undefined;

/**
 * The words of phrases that a recogniser would not expect, for the sessions of a call: names, and what no list of
 * everyday English has. Playbooks that come with the program give none: they are about everyday things, and every call
 * would listen for their words.
 */
export function rareWordsFor(playbooks: readonly LoadedPlaybook[], call: CallScope): string[] {
  starter ??= new Set(starterTexts('playbook').map(ruleFileDigest));
  const words = new Set<string>();
  for (const playbook of playbooks) {
    if (playbook.status === 'draft' || starter.has(playbook.digest)) continue;
    if (isInScope(playbook.scope, call)) for (const word of rareWordsOf(playbook)) words.add(word);
  }
  return [...words].slice(0, maxRareWords);
}

function rareWordsOf(playbook: LoadedPlaybook): readonly string[] {
  const known = kept.get(playbook);
  if (known !== undefined) return known;
  const names = new Set<string>();
  const words = new Set<string>();
  for (const { when } of playbook.rules)
    for (const trigger of triggersIn(when)) {
      const phrase = phraseOf(trigger);
      for (const text of phrase === undefined ? [] : textsOf(phrase, playbook)) {
        const said = text.match(/[\p{L}\p{M}'’]+/gu) ?? [];
        const isName = phrase?.sounds === true && said.length > 1 && said.length <= maxNameWords;
        if (isName && said.join(' ') === text.trim()) names.add(text.trim());
        for (const word of said) if (isRare(word)) words.add(word);
      }
    }
  const rare = [...names, ...words].slice(0, maxRareWords);
  kept.set(playbook, rare);
  return rare;
}

function phraseOf(trigger: Trigger): PhraseTrigger | undefined {
  return 'phrase' in trigger ? trigger.phrase : undefined;
}

/** The texts of a phrase with those of the lists that it names. */
function textsOf({ any = [], near = [] }: PhraseTrigger, { words }: LoadedPlaybook): string[] {
  return [...any, ...near.flat()].flatMap((text) => {
    const lists = [...text.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name);
    const listed = lists.flatMap((name) => (Object.hasOwn(words, name) ? (words[name] ?? []) : []));
    return [text.replaceAll(/\{[^}]*\}/g, ' '), ...listed];
  });
}

let common: ReadonlySet<string> | undefined;

function isRare(word: string): boolean {
  common ??= new Set(commonWords.split(/\s+/));
  const plain = word
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/'(?:s|ll|re|ve|d|m|t)$/, '');
  return plain.length >= minLetters && !basesOf(plain).some((base) => common?.has(base));
}

/** The word, and what it may be with its ending taken off: "tries" of "try", "stopped" of "stop". */
function basesOf(word: string): string[] {
  const stems = [/s$/, /es$/, /ed$/, /ing$/, /ly$/, /er$/, /est$/]
    .filter((ending) => ending.test(word))
    .map((ending) => word.replace(ending, ''));
  return [
    word,
    word.replace(/ies$|ied$/, 'y'),
    ...stems.flatMap((stem) => [stem, `${stem}e`, stem.replace(/(.)\1$/, '$1')]),
  ];
}
