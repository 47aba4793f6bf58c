import { describe, expect, test } from 'vitest';
import {
  callLanguageOf,
  LegLanguage,
  maxLanguages,
} from '../../../../src/bridge/records/leg-language.ts';

let at = 0;
const final = (language: string, seconds = 2, confidence = 0.9) => {
  const start = at;
  if (seconds > 0) at += seconds;
  return { language, confidence, start, end: start + seconds };
};

describe('the language of a leg', () => {
  test('is told after two finals in a row, or five seconds of speech', () => {
    const leg = new LegLanguage();
    expect([leg.take(0, final('es')), leg.now]).toEqual([false, null]);
    expect([leg.take(0, final('es')), leg.now]).toEqual([true, 'es']);
    const long = new LegLanguage();
    expect([long.take(0, final('it', 6)), long.now]).toEqual([true, 'it']);
  });

  test('is not told by short, doubted or nameless finals', () => {
    const leg = new LegLanguage();
    for (const doubted of [final('ar', 0.5), final('nn', 4, 0.3), final('', 4), final('de', NaN)])
      for (let time = 0; time < 3; time++) expect(leg.take(0, doubted)).toBe(false);
    expect(leg.now).toBeNull();
  });

  test('is not English because a model that knows nothing else says so', () => {
    const leg = new LegLanguage();
    for (const confidence of [0.78, 0.7, 0.75]) leg.take(0, final('en', 4, confidence));
    expect(leg.now).toBeNull();
    for (const confidence of [0.94, 0.97]) leg.take(0, final('en', 4, confidence));
    expect(leg.now).toBe('en');
  });

  test('is not told because one final comes twice', () => {
    const leg = new LegLanguage();
    const once = final('es');
    expect([leg.take(0, once), leg.take(0, once), leg.now]).toEqual([false, false, null]);
  });

  test('changes only when another one is sure, and a wrong one between tells nothing', () => {
    const leg = new LegLanguage();
    for (const code of ['en', 'en', 'es', 'en', 'es']) leg.take(0, final(code));
    expect(leg.all).toEqual(['en']);
    expect(leg.take(0, final('es'))).toBe(true);
    expect([leg.now, leg.all]).toEqual(['es', ['en', 'es']]);
    leg.take(0, final('en', 6));
    expect([leg.now, leg.all]).toEqual(['en', ['es', 'en']]);
  });

  test('is the one that was asked for, whatever finals say', () => {
    const leg = new LegLanguage();
    expect(leg.asked(['fr'])).toBe(true);
    leg.take(0, final('es', 9));
    expect([leg.now, leg.of(0), leg.all]).toEqual(['fr', 'fr', ['fr']]);
    expect(leg.asked(['fr', 'de'])).toBe(false);
    expect(leg.take(0, final('de', 9))).toBe(true);
  });

  test('is none where the parties of one leg speak different ones', () => {
    const leg = new LegLanguage();
    leg.take(0, final('es', 9));
    leg.take(1, final('en', 9));
    expect([leg.now, leg.of(0), leg.of(1)]).toEqual([null, 'es', 'en']);
  });

  test('keeps a bounded list', () => {
    const leg = new LegLanguage(['en']);
    for (let each = 0; each < 100; each++) leg.take(0, final(`x${each}`, 9));
    expect(leg.all).toHaveLength(maxLanguages);
    expect(leg.now).toBe('x99');
  });
});

test('a call speaks the language of its customer, and that of its agent only without one', () => {
  const leg = (role: string, now: string | null) => ({ record: { role }, language: { now } });
  expect(callLanguageOf([leg('agent', 'en'), leg('customer', 'es')])).toBe('es');
  expect(callLanguageOf([leg('agent', 'en'), leg('customer', null)])).toBeUndefined();
  expect(callLanguageOf([leg('agent', 'en')])).toBe('en');
  expect(callLanguageOf([leg('mixed', 'de')])).toBe('de');
});
