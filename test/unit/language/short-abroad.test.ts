import { expect, test } from 'vitest';
import { redactStep } from '../../../src/language/redaction/redact.ts';

function shown(language: string, question: string, text: string): string {
  const about = { asked: [question], entityTypes: ['PCI', 'SSN'], form: 'MARKER' as const, language };
  const first = redactStep({ ...about, text, mayHold: true, state: { numbers: {} } });
  const rest = redactStep({ ...about, text: '', flush: true, state: first.state });
  return [...first.released, ...rest.released].map((one) => one.text).join(' / ');
} // prettier-ignore

test.each([
  ['es', '¿Los tres números de atrás?', 'Nueve tres siete.'],
  ['es', '¿Y el código?', 'es nueve tres siete'],
  ['es', '¿Cuándo caduca?', 'nueve del veintisiete'],
  ['es', '¿Fecha de vencimiento?', 'Septiembre del veintisiete.'],
  ['fr', 'Et le cryptogramme ?', 'neuf trois sept'],
  ['fr', "La date d'expiration ?", 'septembre vingt-sept'],
  ['de', 'Und die Prüfziffer?', 'neun drei sieben'],
  ['de', 'Wie lange ist sie gültig?', 'neun siebenundzwanzig'],
  ['it', 'E il codice?', 'nove tre sette'],
  ['it', 'Quando scade?', 'nove ventisette'],
  ['pt', 'E o código?', 'nove três sete'],
  ['pt', 'Qual é a validade?', 'nove vinte sete'],
  ['nl', 'En de code?', 'negen drie zeven'],
  ['nl', 'Wanneer verloopt hij?', 'negen zevenentwintig'],
  // In an English call, to an English question.
  ['en', 'And the expiry?', 'Nueve veintisiete.'],
  ['en', 'And the three digits on the back?', 'nueve tres siete'],
  ['en', 'Your social?', 'cuatro uno ocho'],
])('a short secret in another language is covered behind its question (%s: %s)', (...about) => {
  expect(shown(...about)).toMatch(/^(?:es )?\[[A-Z_]+_1\]\.?$/);
});

test.each([
  ['es', '¿Qué edad tiene?', 'Nueve años, cumple diez.'],
  ['fr', 'Combien de temps ?', 'Trois ou quatre semaines.'],
  ['de', 'Seit wann?', 'Seit neun Jahren.'],
  ['en', 'And the expiry?', 'One moment, I have it in my bag.'],
  ['en', 'And the expiry?', 'I have six of them, but once is enough.'],
])('a number that nobody asked for as a secret stays (%s: %s)', (...about) => {
  expect(shown(...about)).toBe(about[2]);
});
