import { expect, test } from 'vitest';
import { HeardLanguage } from '../../../../src/hearing/engine/heard-language.ts';
import { LanguageChoice } from '../../../../src/hearing/engine/language-choice.ts';

/** A distribution with these probabilities; the rest is shared by two other languages. */
function heardAs(shares: Record<string, number>): ReadonlyMap<string, number> {
  const rest = 1 - Object.values(shares).reduce((sum, one) => sum + one, 0);
  const all = { nn: rest / 2, cy: rest / 2, ...shares };
  return new Map(Object.entries(all).map(([code, p]) => [code, Math.log(p)]));
}

/** Judges a piece and takes the answer as final. */
function hears(choice: HeardLanguage, shares: Record<string, number>, seconds = 3): string {
  const language = choice.judge(heardAs(shares), seconds);
  choice.accept(language);
  return language;
}

test('a language is settled once it is sure, not before, and left only for one that is clearly heard', () => {
  const choice = new HeardLanguage([], false);
  expect(hears(choice, { es: 0.6, pt: 0.3 })).toBe('es');
  expect(choice.settled, 'told in doubt').toBeUndefined();
  expect(hears(choice, { es: 0.7, pt: 0.2 })).toBe('es');
  expect(choice.settled).toBe('es');
  expect(hears(choice, { fr: 0.85 }), 'in doubt').toBe('es');
  expect(hears(choice, { fr: 0.99 }, 1.8), 'too short').toBe('es');
  expect(choice.judge(heardAs({ fr: 0.99 }), 3), 'a partial decides nothing').toBe('fr');
  expect(choice.settled).toBe('es');
  expect(hears(choice, { fr: 0.99 })).toBe('fr');
  expect(choice.settled).toBe('fr');
  const ofTwo = new HeardLanguage(['es', 'en'], false);
  expect([hears(ofTwo, { es: 0.9 }), hears(ofTwo, { fr: 0.99 })]).toEqual(['es', 'es']);
});

test('doubts add up: what the second utterance says can turn the first guess', () => {
  const choice = new HeardLanguage(['es', 'it'], false);
  expect(hears(choice, { es: 0.5, it: 0.4 })).toBe('es');
  expect(hears(choice, { es: 0.02, it: 0.97 })).toBe('it');
  expect(choice.settled).toBe('it');
});

test('a short word tells nothing: the first of the list is used, or what is known so far', () => {
  const choice = new HeardLanguage(['fr', 'de'], false);
  expect(hears(choice, { ar: 0.95 }, 0.6)).toBe('fr');
  expect(hears(choice, { de: 0.7 })).toBe('de');
  expect(hears(choice, { fr: 0.95 }, 0.6)).toBe('de');
  expect(choice.settled).toBeUndefined();
  expect(new HeardLanguage([], false).judge(heardAs({ ar: 0.95 }), 0.6)).toBe('en');
});

test('a language outside the list is never told, and makes none in the list sure', () => {
  const choice = new HeardLanguage(['es', 'en'], false);
  expect(hears(choice, { pt: 0.9, es: 0.08 })).toBe('es');
  expect(choice.settled).toBeUndefined();
});

test('with code switching each utterance decides for itself, and short ones stay', () => {
  const choice = new HeardLanguage(['es', 'en'], true);
  const told = [
    hears(choice, { es: 0.9 }),
    hears(choice, { en: 0.6, es: 0.3 }),
    hears(choice, { es: 0.99 }, 0.5),
    hears(choice, { es: 0.9 }),
  ];
  expect(told).toEqual(['es', 'en', 'en', 'es']);
  expect(choice.settled).toBeUndefined();
});

test('an audio that is judged twice before it is final counts once', () => {
  const choice = new HeardLanguage([], false);
  choice.judge(heardAs({ es: 0.6 }), 3);
  choice.judge(heardAs({ es: 0.6 }), 3);
  choice.accept('es');
  choice.accept('es');
  expect(choice.settled).toBeUndefined();
});

test('a stream of one language needs no judge, one of several tells what it found', () => {
  const of = (languages: string[]) =>
    new LanguageChoice(['en', 'es'], { languages, codeSwitching: false }, () => '', true);
  expect([of(['es']).judge, of(['es']).hint]).toEqual([undefined, 'es']);
  const choice = of([]);
  expect([choice.hint, choice.found, choice.ofPartial('Hola', 'es')]).toEqual([
    '',
    undefined,
    'es',
  ]);
  choice.judge?.(heardAs({ es: 0.95 }), 3);
  expect(choice.ofFinal('Hola, buenos días', 'es')).toBe('es');
  expect([choice.hint, choice.found], 'each piece is judged').toEqual(['', 'es']);
});
