import { readFileSync } from 'node:fs';

export type HalfOfCalls = 'seen' | 'unseen';
type TurnKind = 'said' | 'words' | 'half' | 'not' | 'other' | 'course' | 'customer' | 'agent';

/** Something that a party says, and the rules that it is about. */
export type TurnOfSet = {
  /** The section of the fixture: a rule, or `neutral`. */
  about: string;
  kind: TurnKind;
  role: 'customer' | 'agent';
  text: string;
  rules: readonly string[];
};

/** Rules that listen to the agent. All others listen to the customer, or to both. */
const ofAgents = new Set([
  'card-number',
  'recorded',
  'greeted',
  'verified',
  'next-step',
  'anything-else',
]);

/** The turns of `test/fixtures/assist/spoken-*.txt`. A course is several turns with bars between them. */
export function turnsOf(half: HalfOfCalls): TurnOfSet[] {
  const file = new URL(`../../fixtures/assist/spoken-${half}.txt`, import.meta.url);
  let about = '';
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line): TurnOfSet[] => {
      if (line.startsWith('## ')) about = line.slice(3).trim();
      const parts = /^([a-z]+)(?: \(([a-z-]+)\))?: (.*)$/.exec(line);
      if (parts === null) return [];
      const [, kind, also, said = ''] = parts;
      const isAbout = kind === 'said' || kind === 'words';
      const rules = [...(isAbout ? [about] : []), ...(also === undefined ? [] : [also])];
      const role = roleOf(about, kind as TurnKind);
      return said
        .split(' | ')
        .map((text) => ({ about, kind: kind as TurnKind, role, text, rules }));
    });
}

function roleOf(about: string, kind: TurnKind): TurnOfSet['role'] {
  if (kind === 'customer' || kind === 'agent') return kind;
  return ofAgents.has(about) === (kind === 'other') ? 'customer' : 'agent';
}
