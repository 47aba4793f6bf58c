import { expect, test } from 'vitest';
import { isLoop, isNothing, windowOf } from '../../../../src/hearing/whisper/window-rules.ts';

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
