import { describe, expect, test } from 'vitest';
import { capacityOf, capacityOfAll, overloaded } from '../../../../src/hearing/pool/admission.ts';
import {
  LanguageChoice,
  loadTextLanguage,
} from '../../../../src/hearing/engine/language-choice.ts';
import { LegMeter, LoadMeter, ReadingPrice } from '../../../../src/hearing/engine/load.ts';
import { Pace } from '../../../../src/hearing/engine/stream-audio.ts';
import { pauseOf } from '../../../../src/hearing/pause.ts';

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

  test('only the covered ones of the requested languages count', () => {
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
    expect(capacityOf({ least: 0.02 })).toBe(32);
    expect(capacityOf({ least: 5 })).toBe(1);
    expect(capacityOf({ least: 1e-9 })).toBe(capacityOf(undefined));
  });

  test('is what the quietest measurement says, and never less than one session may ask for', () => {
    expect(capacityOfAll([{ least: 0.02 }, { least: 0.2 }], 2)).toBe(64);
    expect(capacityOfAll([{ least: 0.2 }], 2)).toBe(8);
    expect(capacityOfAll([], 1)).toBe(capacityOf(undefined));
  });

  test('lateness counts when it lasts and when there are streams to blame', () => {
    const late = { streams: 20, capacity: 20, lateness: [0, 900, 1200, 1000, 2000] };
    expect(overloaded(late)).toBe(true);
    expect(overloaded({ ...late, lateness: [900, 10, 1200, 1000] })).toBe(false);
    expect(overloaded({ ...late, lateness: [900, 900] })).toBe(false);
    expect(overloaded({ ...late, streams: 1 })).toBe(false);
  });

  test('busy is the share of time spent working, smoothed; what was needed of it decides', () => {
    const meter = new LoadMeter();
    meter.report(1000);
    meter.worked(300, true);
    meter.worked(200, false);
    expect(meter.report(1500)).toEqual({ busy: 0.5 });
    expect(meter.level(100, 40)).toEqual({ needed: 0.06, latenessMs: 100, togetherMs: 40 });
    expect(meter.report(2000)).toEqual({ busy: 0.25 });
  });

  test('the need is not a matter of one half second: five legs and ten are told apart', () => {
    const meter = new LoadMeter();
    meter.report(1000);
    const levels: number[] = [];
    for (let half = 1; half <= 60; half++) {
      meter.worked(half % 5 === 0 ? 120 : 8, true); // one final in two and a half seconds, and listening
      meter.report(1000 + 500 * half);
      levels.push(meter.level(0, 0).needed);
    }
    expect(Math.max(...levels)).toBeLessThan(0.09);
    expect(Math.min(...levels.slice(20))).toBeGreaterThan(0.04);
  });

  test('the price of a leg is learned from the cost of legs', () => {
    const meter = new LegMeter();
    expect(meter.learn(1_000, { processS: 3, readS: 1 }, 0.03)).toBeUndefined();
    meter.heard(30);
    const after = { processS: 3 + 0.6 + 2, readS: 1 + 2 };
    expect(meter.learn(6_000, after, 0.03)!.least).toBeCloseTo(0.02 + 0.03);
    meter.heard(10); // too little to say anything new of listening, but reading is learned all the time
    expect(meter.learn(7_000, { processS: 9, readS: 3 }, 0.05)!.least).toBeCloseTo(0.02 + 0.05);
  });

  test('one leg alone teaches no price: it pays for the process', () => {
    const meter = new LegMeter();
    meter.learn(0, { processS: 0, readS: 0 }, 0.01);
    meter.heard(20);
    expect(meter.learn(20_000, { processS: 4, readS: 1 }, 0.01)).toBeUndefined();
    meter.heard(40);
    const among = { processS: 4 + 0.8 + 1, readS: 2 };
    expect(meter.learn(24_000, among, 0.01)!.least).toBeCloseTo(0.02 + 0.01);
    meter.heard(20);
    const alone = { processS: 20, readS: 2 };
    expect(meter.learn(44_000, alone, 0.01)!.least).toBeCloseTo(0.02 + 0.01);
  });

  test('the price measured before the first leg stands until a better one is known, and one leg alone can only lower it', () => {
    const meter = new LegMeter();
    meter.measured(0.01);
    expect(meter.learn(0, { processS: 0, readS: 0 }, 0.01)!.least).toBeCloseTo(0.03 + 0.01);
    meter.heard(20);
    expect(meter.learn(20_000, { processS: 4, readS: 0 }, 0.01)!.least).toBeCloseTo(0.03 + 0.01);
    meter.heard(20);
    expect(meter.learn(40_000, { processS: 4.2, readS: 0 }, 0.01)!.least).toBeCloseTo(0.01 + 0.01);
    meter.heard(40);
    expect(meter.learn(45_000, { processS: 5, readS: 0 }, 0.02)!.least).toBeCloseTo(0.02 + 0.02);
  });

  test('a reading is expected to cost what readings cost', () => {
    const price = new ReadingPrice();
    const before = price.expectedMs(4);
    for (let i = 0; i < 60; i++) price.note(4, (2 * before) / 1000);
    expect(price.expectedMs(4)).toBeCloseTo(2 * before, 0);
    expect(price.share).toBeCloseTo((2 * before) / 4000, 2);
  });

  test('a machine that is short of CPU makes readings longer, but a leg costs what it did', () => {
    const price = new ReadingPrice();
    const before = price.expectedMs(4);
    for (let i = 0; i < 8; i++) price.note(4, before / 1000, (3 * before) / 1000);
    expect(price.expectedMs(4)).toBeCloseTo(3 * before, -1);
    expect(price.share).toBeCloseTo(before / 4000, 2);
  });

  test('audio that comes faster than anybody speaks is not live, and is live again when it has caught up', () => {
    const pace = new Pace(0);
    const live: boolean[] = [];
    for (let i = 0; i < 100; i++) live.push(pace.heard(10 * i, 0.04)); // four times as fast
    expect([live[0], live[60], live[99]]).toEqual([true, false, false]);
    for (let i = 0; i < 60; i++) live.push(pace.heard(1000 + 40 * i, 0.04));
    expect(live.at(-1)).toBe(true);
  });
});

test('the silence that ends an utterance is what was asked for, from one window on', () => {
  expect([pauseOf(0.01), pauseOf(0.05), pauseOf(0.3), pauseOf(1.2)]).toEqual([
    0.032, 0.05, 0.3, 1.2,
  ]);
});
