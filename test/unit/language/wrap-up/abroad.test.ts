import { describe, expect, test } from 'vitest';
import { performTask } from '../../../../src/language/perform.ts';
import { textOfWrapUp } from '../../../../src/language/wrap-up/edited-text.ts';
import { Counts } from '../../../support/language/language-scores.ts';
import { callsAbroad, scoreWrapUps } from '../../../support/language/wrap-up-calls.ts';

/** A call of two parties, each line with the one who says it. */
const callOf = (lines: readonly string[]) =>
  lines.map((line, at) => ({
    role: line.startsWith('c:') ? 'customer' : 'agent',
    text: line.slice(2).trim(),
    start: at * 5,
    end: at * 5 + 4,
    utterance_id: `u${at}`,
  }));
const insightOf = (language: string, lines: readonly string[]) =>
  performTask('call', { turns: callOf(lines), summaryType: 'general', language, about: { day: '2026-03-04' } }).results!; // prettier-ignore

const calls: [string, string[], RegExp[]][] = [
  ['es', ['a: Buenos días, ¿en qué puedo ayudarle?', 'c: Buenos días. Llamo porque me han cobrado dos veces cuarenta y cinco euros.', 'a: Entiendo. Le he devuelto el segundo cargo. Le llamaremos el 6 de marzo para confirmarlo.', 'c: Gracias.'],
    [/Motivo de la llamada: «Llamo porque me han cobrado dos veces cuarenta y cinco euros»\./, /Hecho por el agente: «Le he devuelto el segundo cargo»\./, /Compromiso del agente: «Le llamaremos el 6 de marzo para confirmarlo» \(fecha: viernes, 6 de marzo de 2026\)\./, /Resultado: pendiente\./, /importe 45,00 €/]],
  ['fr', ['a: Bonjour, en quoi puis-je vous aider ?', 'c: Bonjour, je voudrais annuler mon abonnement.', 'a: J’ai annulé votre abonnement. Nous vous enverrons un courrier avant le 12 mars.', 'c: Parfait, merci.'],
    [/Motif de l’appel : « Bonjour, je voudrais annuler mon abonnement »\./, /Fait par l’agent : « J’ai annulé votre abonnement »\./, /Engagement de l’agent : « Nous vous enverrons un courrier avant le 12 mars » \(date : jeudi 12 mars 2026\)\./, /Résultat : résolu\./]],
  ['de', ['a: Guten Tag, was kann ich für Sie tun?', 'c: Guten Tag, ich möchte meine Adresse ändern.', 'a: Ich habe die neue Adresse eingetragen. Wir rufen Sie am 9. März zurück.', 'c: Danke schön.'],
    [/Anliegen: „Guten Tag, ich möchte meine Adresse ändern“\./, /Vom Agenten erledigt: „Ich habe die neue Adresse eingetragen“\./, /Zusage des Agenten: „Wir rufen Sie am 9\. März zurück“ \(Termin: Montag, 9\. März 2026\)\./, /Ergebnis: offen\./]],
  ['it', ['a: Buongiorno, come posso aiutarla?', 'c: Non ho ricevuto il pacco.', 'a: Ho inviato un nuovo pacco. La richiameremo domani.', 'c: Va bene.'],
    [/Motivo della chiamata: «Non ho ricevuto il pacco»\./, /Fatto dall’operatore: «Ho inviato un nuovo pacco»\./, /Impegno dell’operatore: «La richiameremo domani» \(data: giovedì 5 marzo 2026\)\./, /Esito: in sospeso\./]],
  ['pt', ['a: Bom dia, em que posso ajudar?', 'c: Queria cancelar a reserva.', 'a: Já cancelei a reserva. Vamos enviar um e-mail amanhã.', 'c: É tudo, obrigado.'],
    [/Motivo da chamada: «Queria cancelar a reserva»\./, /Feito pelo agente: «Já cancelei a reserva»\./, /Compromisso do agente: «Vamos enviar um e-mail amanhã»/, /Resultado: resolvido\./]],
  ['nl', ['a: Goedemorgen, waarmee kan ik u helpen?', 'c: Ik wil mijn abonnement opzeggen.', 'a: Ik heb uw abonnement opgezegd. We sturen u op 12 maart een bevestiging.', 'c: Dat was het, dank u.'],
    [/Reden van het gesprek: ‘Ik wil mijn abonnement opzeggen’\./, /Gedaan door de medewerker: ‘Ik heb uw abonnement opgezegd’\./, /Toezegging van de medewerker: ‘We sturen u op 12 maart een bevestiging’ \(datum: donderdag 12 maart 2026\)\./, /Resultaat: opgelost\./]],
]; // prettier-ignore

describe('the record of a call in another language', () => {
  test.each(calls)('is told in %s, and every field names its proof', (language, lines, wanted) => {
    const { summary, wrap_up: record } = insightOf(language, lines);
    for (const one of wanted) expect(summary).toMatch(one);
    expect(record.reason?.utterance_ids).toEqual(['u1']);
    expect(record.done).toMatchObject([{ utterance_ids: ['u2'] }]);
    expect(record.promises).toMatchObject([{ who: 'agent', utterance_ids: ['u2'] }]);
    // An edited record is told in the same language.
    expect(textOfWrapUp(record, false, language)).toContain(summary.split('. ')[0]);
  });

  test.each(['es', 'fr', 'de', 'it', 'pt', 'nl'])(
    'says in %s where nothing is known, and invents nothing',
    (language) => {
      const { summary, wrap_up: record } = insightOf(language, ['a: Mmm.', 'c: Mmm.']);
      expect(summary).not.toMatch(/«|„|‘/);
      expect(summary.length).toBeGreaterThan(5);
      expect(record).toMatchObject({ reason: null, done: [], promises: [], facts: [], outcome: { value: 'unknown' } }); // prettier-ignore
    },
  );

  test.each([
    ['seen', 0.9],
    ['unseen', 0.85],
    ['later', 0.8],
  ] as const)('of whole calls is right and proven (%s)', (half, least) => {
    const score = scoreWrapUps(callsAbroad(half));
    const all = new Counts();
    for (const one of [score.reason, score.done, score.outcome, score.promises, score.facts]) {
      all.hits += one.hits;
      all.extra += one.extra;
      all.missed += one.missed;
    }
    expect(all.f1, score.lines.join('\n')).toBeGreaterThanOrEqual(least);
    expect(score.withoutSource).toEqual([]);
    expect(score.wrongNames).toEqual([]);
  });

  test('a question is no promise, and a customer’s own promise is theirs', () => {
    const { wrap_up: record } = insightOf('es', [
      'c: Quiero pagar la factura. ¿Me llamarán mañana?',
      'a: ¿Le llamaremos por la tarde?',
      'c: Les llamaré el 10 de marzo.',
    ]);
    expect(record.promises).toMatchObject([{ who: 'customer', until: '2026-03-10' }]);
  });

  test('a call that changes its language is told in that of most of its words', () => {
    const utterance = (text: string, language: string, start: number) => ({
      start, end: start + 2, confidence: 1, channel: 0, words: [], text, language,
    }); // prettier-ignore
    const { results } = performTask('summarization', {
      utterances: [
        utterance('Hello?', 'en', 0),
        utterance('Quería cambiar la dirección de mi contrato, por favor.', 'es', 3),
      ],
      type: 'general',
    });
    expect(results).toBe(
      'Motivo de la llamada: «Quería cambiar la dirección de mi contrato, por favor».',
    );
  });

  test('chapters are headed by what was said, without words of other languages', () => {
    const lines = Array.from({ length: 30 }, (_, at) =>
      at < 15
        ? 'c: Mi lavadora no funciona y el tambor hace ruido.'
        : 'c: La factura del seguro del coche es muy cara.',
    );
    const { chapters } = performTask('chapterization', {
      utterances: callOf(lines).map((turn) => ({ ...turn, confidence: 1, channel: 0, words: [], language: 'es' })),
      starts: [0, 15],
    }).results!; // prettier-ignore
    expect(chapters.map(({ headline }) => headline)).toEqual([
      'Mi lavadora no funciona y el tambor hace ruido',
      'La factura del seguro del coche es muy cara',
    ]);
    expect(chapters[0]!.keywords).not.toContain('que');
    expect(chapters[1]!.gist).toContain('factura');
  });

  test('a hostile text takes no time', () => {
    const long = ['ich habe '.repeat(1_000), 'le he '.repeat(1_000), 'ik heb een '.repeat(1_000)];
    for (const language of ['es', 'fr', 'de', 'it', 'pt', 'nl'])
      expect(
        insightOf(
          language,
          long.map((text) => `a: ${text}`),
        ).wrap_up.done,
      ).toEqual([]);
  });
});
