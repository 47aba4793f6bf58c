import { expect, test } from 'vitest';
import { queuedOf } from '../../../src/outbox/sender.ts';
import { startCall } from '../../support/bridge/spoken-call.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { crmRowsOf, deliverThrough, keepEvent, senderTo } from '../../support/crm/crm-schedule.ts';
import { HubspotDouble } from '../../support/crm/doubles/hubspot.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

test('a call that changes from English to Spanish reaches the CRM in Spanish, with the words of both', async () => {
  await using call = await startCall({ wrapUpS: 0 });
  const es = { language: 'es', wordS: 0.25 };
  await call.say('agent', 'Thank you for calling, how can I help you?', 0);
  await call.say('customer', 'Hello, I think I was charged too much.', 2);
  await call.say(
    'customer',
    'Perdone, mi inglés no es muy bueno, se lo explico en español.',
    4,
    es,
  );
  await call.say('agent', 'Claro que sí, dígame usted qué ha pasado.', 7, es);
  await call.say(
    'customer',
    'Me llamo Elena Prieto y quiero que me devuelvan cuarenta euros.',
    10,
    es,
  );
  await call.say(
    'agent',
    'Le he devuelto los cuarenta euros. Le enviaremos el recibo mañana.',
    14,
    es,
  );
  await call.say('customer', 'Perfecto, muchas gracias por su ayuda y hasta luego.', 18, es);
  await call.end();
  const told = await until(async () => {
    const events: AnyJson[] = await call.events();
    const ends = events.filter(({ type }) => /^call\.(?:completed|wrapped)$/.test(type));
    return ends.length === 2 ? ends : undefined;
  });
  expect(told.map(({ call: { language } }) => language)).toEqual(['es', 'es']);

  await using store = await temporaryStore();
  const crm = new HubspotDouble();
  const clock = new TestClock(1);
  await using sender = senderTo(crm, clock, crmRowsOf(store));
  for (const event of told) {
    await keepEvent(store, queuedOf(event));
    await deliverThrough(() => sender, queuedOf(event), clock);
  }
  const [record] = crm.recordsOf(told[0].call.id);
  const lines = record?.text
    .split('<br>')
    .map((line) => line.replace(/https?:.*/, 'ADDRESS').replaceAll('\u00A0', ' '));
  const day = lines?.[3]?.split(' · ').at(-1);
  expect(day).toMatch(/^\p{L}+, \d+ de \p{L}+ de \d{4}$/u);
  expect(lines).toEqual([
    `Llama: Elena Prieto. Motivo de la llamada: «Hello, I think I was charged too much». Hecho por el agente: «Le he devuelto los cuarenta euros». Compromiso del agente: «Le enviaremos el recibo mañana» (fecha: ${day}). Resultado: resuelto. Datos mencionados: importe 40,00 €; fecha ${day}.`,
    '',
    'Resultado: resuelto',
    `Datos mencionados: Nombre Elena Prieto · Importe 40 € · ${day}`,
    'Llamada en Trunkline: ADDRESS',
    'Grabación: ADDRESS',
    expect.stringMatching(/^Los enlaces se abren sin iniciar sesión hasta el /),
    '',
    'Transcripción',
    '[0:00] Agente: Thank you for calling, how can I help you?',
    '[0:02] Cliente: Hello, I think I was charged too much.',
    '[0:04] Cliente: Perdone, mi inglés no es muy bueno, se lo explico en español.',
    '[0:07] Agente: Claro que sí, dígame usted qué ha pasado.',
    '[0:10] Cliente: Me llamo Elena Prieto y quiero que me devuelvan cuarenta euros.',
    '[0:14] Agente: Le he devuelto los cuarenta euros. Le enviaremos el recibo mañana.',
    '[0:18] Cliente: Perfecto, muchas gracias por su ayuda y hasta luego.',
  ]);
});
