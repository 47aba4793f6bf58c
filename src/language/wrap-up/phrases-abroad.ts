import type { LanguageAbroad } from '../abroad/number-words.ts';
import type { CallFact } from './named-facts.ts';

type TellingsAbroad = {
  reason: string;
  done: string;
  agentPromised: string;
  customerPromised: string;
  until: string;
  resolved: string;
  open: string;
  named: string;
  caller: string;
  disposition: string;
  noReason: string;
  nothing: string;
  quotes: readonly [string, string];
  kinds: Record<CallFact['kind'], string>;
};

export const tellingsAbroad: Record<LanguageAbroad, TellingsAbroad> = {
  es: {
    reason: 'Motivo de la llamada', done: 'Hecho por el agente', agentPromised: 'Compromiso del agente', customerPromised: 'Compromiso del cliente', until: 'fecha',
    resolved: 'Resultado: resuelto.', open: 'Resultado: pendiente.', named: 'Datos mencionados', caller: 'Llama', disposition: 'Clasificación', noReason: 'El motivo de la llamada no consta.', nothing: 'No consta nada que resumir.', quotes: ['«', '»'],
    kinds: { name: 'nombre', number: 'número', amount: 'importe', date: 'fecha', time: 'hora', phone: 'teléfono', email: 'correo', address: 'dirección' },
  },
  fr: {
    reason: 'Motif de l’appel', done: 'Fait par l’agent', agentPromised: 'Engagement de l’agent', customerPromised: 'Engagement du client', until: 'date',
    resolved: 'Résultat : résolu.', open: 'Résultat : en suspens.', named: 'Éléments cités', caller: 'Appelant', disposition: 'Classement', noReason: 'Le motif de l’appel n’est pas connu.', nothing: 'Rien à résumer.', quotes: ['« ', ' »'],
    kinds: { name: 'nom', number: 'numéro', amount: 'montant', date: 'date', time: 'heure', phone: 'téléphone', email: 'e-mail', address: 'adresse' },
  },
  de: {
    reason: 'Anliegen', done: 'Vom Agenten erledigt', agentPromised: 'Zusage des Agenten', customerPromised: 'Zusage des Kunden', until: 'Termin',
    resolved: 'Ergebnis: erledigt.', open: 'Ergebnis: offen.', named: 'Genannt wurden', caller: 'Anrufer', disposition: 'Einordnung', noReason: 'Das Anliegen ist nicht bekannt.', nothing: 'Nichts zusammenzufassen.', quotes: ['„', '“'],
    kinds: { name: 'Name', number: 'Nummer', amount: 'Betrag', date: 'Datum', time: 'Uhrzeit', phone: 'Telefon', email: 'E-Mail', address: 'Adresse' },
  },
  it: {
    reason: 'Motivo della chiamata', done: 'Fatto dall’operatore', agentPromised: 'Impegno dell’operatore', customerPromised: 'Impegno del cliente', until: 'data',
    resolved: 'Esito: risolto.', open: 'Esito: in sospeso.', named: 'Dati citati', caller: 'Chiama', disposition: 'Classificazione', noReason: 'Il motivo della chiamata non è noto.', nothing: 'Niente da riassumere.', quotes: ['«', '»'],
    kinds: { name: 'nome', number: 'numero', amount: 'importo', date: 'data', time: 'ora', phone: 'telefono', email: 'e-mail', address: 'indirizzo' },
  },
  pt: {
    reason: 'Motivo da chamada', done: 'Feito pelo agente', agentPromised: 'Compromisso do agente', customerPromised: 'Compromisso do cliente', until: 'data',
    resolved: 'Resultado: resolvido.', open: 'Resultado: pendente.', named: 'Dados referidos', caller: 'Quem liga', disposition: 'Classificação', noReason: 'O motivo da chamada não é conhecido.', nothing: 'Nada a resumir.', quotes: ['«', '»'],
    kinds: { name: 'nome', number: 'número', amount: 'valor', date: 'data', time: 'hora', phone: 'telefone', email: 'e-mail', address: 'morada' },
  },
  nl: {
    reason: 'Reden van het gesprek', done: 'Gedaan door de medewerker', agentPromised: 'Toezegging van de medewerker', customerPromised: 'Toezegging van de klant', until: 'datum',
    resolved: 'Resultaat: opgelost.', open: 'Resultaat: open.', named: 'Genoemd', caller: 'Beller', disposition: 'Indeling', noReason: 'De reden van het gesprek is niet bekend.', nothing: 'Niets om samen te vatten.', quotes: ['‘', '’'],
    kinds: { name: 'naam', number: 'nummer', amount: 'bedrag', date: 'datum', time: 'tijd', phone: 'telefoon', email: 'e-mail', address: 'adres' },
  },
}; // prettier-ignore
