import { expect, test } from 'vitest';
import {
  isLoop,
  isMisled,
  isNothing,
  windowOf,
} from '../../../../src/hearing/whisper/window-rules.ts';

test('a window is never shorter than 10 s, and leaves a second of quiet behind the speech', () => {
  expect([0.4, 8.9, 9, 9.1, 14.1, 27.9, 40].map(windowOf)).toEqual([10, 10, 10, 15, 20, 30, 30]);
});

const said = (text: string, about: { repetition?: number; ended?: boolean } = {}) => ({
  text,
  repetition: 1,
  ended: true,
  ...about,
});

test('a text that goes round, or had to be cut, is a loop; a menu is none', () => {
  const menu = 'Marque 1 para ventas, marque 2 para soporte, marque 3 para volver a escuchar.';
  expect(isLoop(said(menu, { repetition: 2.3 }))).toBe(false);
  expect(isLoop(said(menu, { repetition: 2.5 }))).toBe(true);
  expect(isLoop(said(menu, { ended: false }))).toBe(true);
  expect(isLoop(said('no sé qué no sé qué no sé qué'))).toBe(true);
  expect(isLoop(said('Bueno, Para el correo, para el correo. Para el correo'))).toBe(true);
  expect(isLoop(said('sí, sí, sí, claro'))).toBe(false);
});

test('noise has no words, and a short word that is unsure stays', () => {
  const read = (text: string, mean: number, noSpeech: number) => ({ text, mean, noSpeech });
  expect(isNothing(read('Grazie a tutti.', -1, 0.2), 5)).toBe(true);
  expect(isNothing(read('Grazie a tutti.', -0.43, 0.2), 5)).toBe(false);
  expect(isNothing(read('¡Sí!', -1.2, 0.2), 0.6), 'single words are unsure by nature').toBe(false);
  expect(isNothing(read('Oui.', -0.3, 0.6), 0.6)).toBe(true);
  expect(isNothing(read('Oui.', -0.3, 0.6), 25), 'in a long window the sign says little').toBe(
    false,
  );
  expect(isNothing(read(' ― ―', -0.1, 0.1), 5)).toBe(true);
});

test('after known words only a likely text that is no copy of them is believed', () => {
  const given = [1, 2, 3, 4, 5];
  const misled = (
    ids: number[],
    about: { mean?: number; givenMean?: number; text?: string } = {},
  ) =>
    isMisled(
      {
        text: 'para el correo',
        repetition: 1,
        ended: true,
        mean: -0.3,
        givenMean: -1,
        tokens: ids.map((id) => ({ text: '', ids: [id], start: 0, logProbability: 0, shared: 1 })),
        ...about,
      },
      given,
    );
  expect(misled([6, 7, 8])).toBe(false);
  expect(misled([6, 7, 8], { mean: -1 }), 'an unlikely text').toBe(true);
  expect(misled([6, 7, 8], { givenMean: -7 }), 'the words before were others').toBe(true);
  expect(misled([]), 'nothing').toBe(true);
  expect(misled([6, 7, 8], { text: 'no sé qué no sé qué no sé qué' }), 'a loop').toBe(true);
  expect(misled([2, 3, 4, 5, 9]), 'a copy').toBe(true);
  expect(misled([1, 2, 3, 4, 5]), 'all of it once more').toBe(true);
  expect(misled([3, 4, 5, 9]), 'three tokens may be said again').toBe(false);
});
