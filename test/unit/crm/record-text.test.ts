import { expect, test } from 'vitest';
import { callText } from '../../../src/crm/record-text.ts';

const wrapped = (language?: string) => ({
  type: 'call.wrapped',
  call: { language },
  data: {
    text: 'Motivo de la llamada: «Me han cobrado dos veces».',
    wrap_up: {
      outcome: { value: 'open' },
      disposition: null,
      mood: { from: 'negative', to: 'positive' },
      facts: [
        { kind: 'amount', value: '45.00', currency: 'EUR' },
        { kind: 'date', value: '2026-03-06' },
        { kind: 'number', value: '4711' },
      ],
    },
    page_url: 'https://calls.example/1',
    links_expire_at: '2026-03-20T00:00:00Z',
  },
});

test('the record of a Spanish call is Spanish in the CRM', () => {
  expect(callText(wrapped('es')).replaceAll('\u00A0', ' ')).toBe(
    `Motivo de la llamada: «Me han cobrado dos veces».

Resultado: pendiente
Ánimo del cliente: negativo al principio, positivo al final
Datos mencionados: Importe 45 € · viernes, 6 de marzo de 2026 · Número 4711
Llamada en Trunkline: https://calls.example/1
Los enlaces se abren sin iniciar sesión hasta el viernes, 20 de marzo de 2026.`,
  );
});

test.each([undefined, 'en', 'ru', 'constructor', '<b>'])('with the language %s it stays English', (language) => {
  const text = callText(wrapped(language));
  expect(text).toContain('Outcome: open');
  expect(text).toContain('Amount €45 · Friday 6 March 2026 · Number 4711');
}); // prettier-ignore
