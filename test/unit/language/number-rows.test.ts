import { describe, expect, test } from 'vitest';
import { numberRows } from '../../../src/language/redaction/number-rows.ts';
import { redactAll } from '../../../src/language/redaction/redact-all.ts';
import { redactStep } from '../../../src/language/redaction/redact.ts';

const shown = (text: string, language: string): string =>
  redactStep({ text, entityTypes: ['CREDIT_CARD'], form: 'MASK', language }).released[0]?.text ??
  '';

describe('in a language whose numbers are not proven to be found', () => {
  test.each([
    ['es', 'Mi tarjeta es 4111 1111 1111 1112, gracias.', 'Mi tarjeta es #### #### #### ####, gracias.'],
    ['es', 'Es el cuatro uno uno uno, cinco cinco.', 'Es el ###### ### ### #### ##### #####.'],
    ['es', 'Son treinta y cuatro, cincuenta y dos.', 'Son ####### # ####### ######### # ###.'],
    ['fr', 'Le code est quatre-vingt-douze, dix-sept.', 'Le code est ################### ########.'],
    ['fr', 'C’est le 06.12.34.56.78.', 'C’est le ##############.'],
    ['de', 'Meine Nummer ist vierundzwanzig, dreiundachtzig.', 'Meine Nummer ist ############### ##############.'],
    ['de', 'eins zwei drei vier', '#### #### #### ####'],
    ['it', 'Il numero è trentadue quarantuno.', 'Il numero è ######### ##########.'],
    ['pt', 'O cartão é quatro um um três.', 'O cartão é ###### ## ## ####.'],
    ['es', 'El número es 41 11, cinco seis siete.', 'El número es ## ### ##### #### #####.'],
    ['ru', 'Мой номер 4111 2222.', 'Мой номер #### ####.'],
  ])('%s: %s', (language, said, wanted) => {
    expect(shown(said, language)).toBe(wanted);
  }); // prettier-ignore

  test.each([
    ['es', 'Uno de los dos, a las tres de la tarde.'],
    ['fr', 'Il y a six personnes et deux enfants, un chat.'],
    ['de', 'Ich habe einen Hund und zwei Katzen, seit drei Jahren.'],
    ['it', 'Sono in due, alle sei e mezza.'],
    ['pt', 'Um momento, são duas ou três coisas.'],
    ['es', 'Tengo 25 años y 2 hijos.'],
  ])('a word or two of a number stay, in %s: %s', (language, said) => {
    expect(shown(said, language)).toBe(said);
  });

  test('English figures stay as they were, and foreign number words are covered there, too', () => {
    expect(numberRows('It was in 1998, order 47291, once or twice, six of us.', 'en')).toEqual([]);
    expect(numberRows('One two three four five', 'en')).toEqual([]);
    expect(shown('cuatro uno uno dos tres', 'en')).toBe('###### ### ### ### ####');
  });

  test('a recording hides them in each of its texts, also in one that waited for its rest', () => {
    const piece = (index: number, text: string) => ({
      voice: '0',
      index,
      text,
      words: [],
      language: 'es',
    });
    const said = [piece(0, 'Mi número es 612 345'), piece(1, '678.'), piece(2, 'Y el otro es 91 22')]; // prettier-ignore
    const common = { entityTypes: ['NAME'], form: 'MASK' as const };
    const first = redactAll({ ...common, pieces: said, isLast: false });
    const last = redactAll({ ...common, pieces: [], isLast: true, state: first.state });
    const texts = [...first.pieces, ...last.pieces].map(({ text }) => text);
    expect(texts[0]).toBe('Mi número es ### ###');
    expect(texts.at(-1)).toBe('Y el otro es ## ##');
  });

  test('a text without an end takes no time', () => {
    const long = 'vent'.repeat(20_000) + ' ' + 'uno '.repeat(20_000) + 'x';
    expect(numberRows(long, 'it').length).toBe(1);
  });
});
