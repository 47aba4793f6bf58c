import { describe, expect, test } from 'vitest';
import { capacityOf, overloaded } from '../../../../src/speech-service/recogniser/admission.ts';
import { LanguageChoice } from '../../../../src/speech-service/recogniser/language-choice.ts';
import { LoadMeter } from '../../../../src/speech-service/recogniser/load-meter.ts';
import { pauseOf } from '../../../../src/speech-service/recogniser/pause.ts';
import { loadTextLanguage } from '../../../../src/speech-service/recogniser/text-language.ts';

describe('the language of an utterance', () => {
  const ofText = (text: string) => (text.includes('bonjour') ? 'fr' : 'en');
  const none = { languages: [], codeSwitching: false };

  test('one language is used without looking', () => {
    const choice = new LanguageChoice(['en', 'fr'], { ...none, languages: ['fr'] }, ofText);
    expect([choice.hint, choice.ofFinal('hello', 'en')]).toEqual(['fr', 'fr']);
  });

  test('without code switching the first utterance decides', () => {
    const choice = new LanguageChoice(['en', 'fr'], none, ofText);
    expect([choice.hint, choice.ofPartial('hello', '')]).toEqual(['', 'en']);
    expect(choice.ofFinal('bonjour', '')).toBe('fr');
    expect([choice.hint, choice.ofFinal('hello', '')]).toEqual(['fr', 'fr']);
  });

  test('with code switching each utterance is detected, by the model where it says', () => {
    const choice = new LanguageChoice(['en', 'fr', 'de'], { ...none, codeSwitching: true }, ofText);
    expect(['bonjour', 'hello'].map((text) => choice.ofFinal(text, ''))).toEqual(['fr', 'en']);
    expect(choice.ofFinal('hello', '<|de|>')).toBe('de');
  });

  test('of the languages asked for only the covered ones count', () => {
    const choice = new LanguageChoice(
      ['en'],
      { languages: ['xx', 'en'], codeSwitching: true },
      ofText,
    );
    expect(choice.ofFinal('bonjour', '')).toBe('en');
  });

  test('text tells languages apart, and says nothing of too little', async () => {
    const language = await loadTextLanguage();
    const among = ['en', 'fr', 'de'];
    expect(language('Où est la gare, s’il vous plaît?', among)).toBe('fr');
    expect(language('Wo ist denn hier der Bahnhof?', among)).toBe('de');
    expect(language('ok', among)).toBe('');
  });
});

describe('capacity', () => {
  test('follows from the measured cost of a leg', () => {
    expect(capacityOf({ least: 0.025 })).toBe(30);
    expect(capacityOf({ least: 5 })).toBe(1);
    expect(capacityOf({ least: 1e-9 })).toBe(capacityOf(undefined));
  });

  test('lateness counts when it lasts and when there are streams to blame', () => {
    const late = { streams: 20, capacity: 20, lateness: [0, 900, 1200, 1000, 2000] };
    expect(overloaded(late)).toBe(true);
    expect(overloaded({ ...late, lateness: [900, 10, 1200, 1000] })).toBe(false);
    expect(overloaded({ ...late, lateness: [900, 900] })).toBe(false);
    expect(overloaded({ ...late, streams: 1 })).toBe(false);
  });

  test('busy is the share of time spent working, smoothed', () => {
    const meter = new LoadMeter();
    meter.report(1000, undefined);
    meter.worked(500);
    expect(meter.report(1500, 1400)).toEqual({ busy: 0.5, latenessMs: 100 });
    expect(meter.report(2000, undefined)).toEqual({ busy: 0.25, latenessMs: 0 });
  });
});

test('words of one breath are not cut apart by a short endpointing', () => {
  expect([pauseOf(0.05), pauseOf(0.3), pauseOf(1.2)]).toEqual([0.3, 0.3, 1.2]);
});
