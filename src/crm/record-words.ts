/*
 * The words around a call's record, in the language of its customer. A language that is not here reads English.
 */

export type RecordWords = {
  locale: string;
  page: string;
  recording: string;
  transcript: string;
  /** The names of the two parties. Any other role keeps its own. */
  roles: Record<string, string>;
  mood: string;
  moods: Record<string, string>;
  fromTo: (from: string, to: string) => string;
  outcome: string;
  outcomes: Record<string, string>;
  disposition: string;
  suggested: string;
  named: string;
  /** The names of the commonest kinds. Each other kind is called as its type. */
  kinds: Record<string, string>;
  linksUntil: (day: string) => string;
};

type ShortKinds = readonly [number: string, phone: string, amount: string, name: string, mail: string, time: string, address: string]; // prettier-ignore

function kindsOf([number, phone, amount, name, mail, time, address]: ShortKinds): Record<string, string> {
  return {
    ...{ NUMERICAL_PII: number, NUMBER: number, PHONE_NUMBER: phone, PHONE: phone, MONEY: amount, AMOUNT: amount },
    ...{ NAME: name, NAME_GIVEN: name, NAME_FAMILY: name, EMAIL_ADDRESS: mail, EMAIL: mail, TIME: time, ADDRESS: address },
  };
} // prettier-ignore

const english: RecordWords = {
  locale: 'en',
  page: 'Call in Trunkline',
  recording: 'Recording',
  transcript: 'Transcript',
  roles: {},
  mood: 'Mood of the customer',
  moods: { mixed: 'at times negative, at times positive' },
  fromTo: (from, to) => `${from} at first, ${to} at the end`,
  outcome: 'Outcome',
  outcomes: {},
  disposition: 'Disposition',
  suggested: 'suggested',
  named: 'Named in the call',
  kinds: {
    ...{ NUMERICAL_PII: 'Number', PHONE_NUMBER: 'Phone', MONEY: 'Amount', EMAIL_ADDRESS: 'Email' },
    ...{ NAME_GIVEN: 'Name', NAME_FAMILY: 'Name', EMAIL: 'Email' },
  },
  linksUntil: (day) => `Links open without a sign-in until ${day}.`,
};

const others: Record<string, RecordWords> = {
  es: {
    ...{ locale: 'es', page: 'Llamada en Trunkline', recording: 'Grabación', transcript: 'Transcripción', mood: 'Ánimo del cliente', outcome: 'Resultado', disposition: 'Clasificación', suggested: 'sugerida', named: 'Datos mencionados' },
    roles: { agent: 'Agente', customer: 'Cliente' },
    moods: { positive: 'positivo', neutral: 'neutro', negative: 'negativo', mixed: 'a ratos negativo, a ratos positivo', unknown: 'no consta' },
    outcomes: { resolved: 'resuelto', open: 'pendiente' },
    fromTo: (from, to) => `${from} al principio, ${to} al final`,
    kinds: kindsOf(['Número', 'Teléfono', 'Importe', 'Nombre', 'Correo', 'Hora', 'Dirección']),
    linksUntil: (day) => `Los enlaces se abren sin iniciar sesión hasta el ${day}.`,
  },
  fr: {
    ...{ locale: 'fr', page: 'Appel dans Trunkline', recording: 'Enregistrement', transcript: 'Transcription', mood: 'Humeur du client', outcome: 'Résultat', disposition: 'Classement', suggested: 'suggéré', named: 'Éléments cités' },
    roles: { agent: 'Agent', customer: 'Client' },
    moods: { positive: 'positive', neutral: 'neutre', negative: 'négative', mixed: 'tantôt négative, tantôt positive', unknown: 'inconnue' },
    outcomes: { resolved: 'résolu', open: 'en suspens' },
    fromTo: (from, to) => `${from} au début, ${to} à la fin`,
    kinds: kindsOf(['Numéro', 'Téléphone', 'Montant', 'Nom', 'E-mail', 'Heure', 'Adresse']),
    linksUntil: (day) => `Les liens s’ouvrent sans connexion jusqu’au ${day}.`,
  },
  de: {
    ...{ locale: 'de', page: 'Anruf in Trunkline', recording: 'Aufnahme', transcript: 'Mitschrift', mood: 'Stimmung des Kunden', outcome: 'Ergebnis', disposition: 'Einordnung', suggested: 'Vorschlag', named: 'Genannt wurden' },
    roles: { agent: 'Agent', customer: 'Kunde' },
    moods: { positive: 'positiv', neutral: 'neutral', negative: 'negativ', mixed: 'mal negativ, mal positiv', unknown: 'unbekannt' },
    outcomes: { resolved: 'erledigt', open: 'offen' },
    fromTo: (from, to) => `anfangs ${from}, am Ende ${to}`,
    kinds: kindsOf(['Nummer', 'Telefon', 'Betrag', 'Name', 'E-Mail', 'Uhrzeit', 'Adresse']),
    linksUntil: (day) => `Die Links öffnen sich ohne Anmeldung bis ${day}.`,
  },
  it: {
    ...{ locale: 'it', page: 'Chiamata in Trunkline', recording: 'Registrazione', transcript: 'Trascrizione', mood: 'Umore del cliente', outcome: 'Esito', disposition: 'Classificazione', suggested: 'suggerita', named: 'Dati citati' },
    roles: { agent: 'Operatore', customer: 'Cliente' },
    moods: { positive: 'positivo', neutral: 'neutro', negative: 'negativo', mixed: 'a tratti negativo, a tratti positivo', unknown: 'non noto' },
    outcomes: { resolved: 'risolto', open: 'in sospeso' },
    fromTo: (from, to) => `${from} all’inizio, ${to} alla fine`,
    kinds: kindsOf(['Numero', 'Telefono', 'Importo', 'Nome', 'E-mail', 'Ora', 'Indirizzo']),
    linksUntil: (day) => `I link si aprono senza accesso fino a ${day}.`,
  },
  pt: {
    ...{ locale: 'pt', page: 'Chamada no Trunkline', recording: 'Gravação', transcript: 'Transcrição', mood: 'Disposição do cliente', outcome: 'Resultado', disposition: 'Classificação', suggested: 'sugerida', named: 'Dados referidos' },
    roles: { agent: 'Agente', customer: 'Cliente' },
    moods: { positive: 'positiva', neutral: 'neutra', negative: 'negativa', mixed: 'ora negativa, ora positiva', unknown: 'desconhecida' },
    outcomes: { resolved: 'resolvido', open: 'pendente' },
    fromTo: (from, to) => `${from} no início, ${to} no fim`,
    kinds: kindsOf(['Número', 'Telefone', 'Valor', 'Nome', 'E-mail', 'Hora', 'Morada']),
    linksUntil: (day) => `As ligações abrem sem sessão até ${day}.`,
  },
  nl: {
    ...{ locale: 'nl', page: 'Gesprek in Trunkline', recording: 'Opname', transcript: 'Transcript', mood: 'Stemming van de klant', outcome: 'Resultaat', disposition: 'Indeling', suggested: 'voorstel', named: 'Genoemd' },
    roles: { agent: 'Medewerker', customer: 'Klant' },
    moods: { positive: 'positief', neutral: 'neutraal', negative: 'negatief', mixed: 'nu eens negatief, dan weer positief', unknown: 'onbekend' },
    outcomes: { resolved: 'opgelost', open: 'open' },
    fromTo: (from, to) => `eerst ${from}, aan het eind ${to}`,
    kinds: kindsOf(['Nummer', 'Telefoon', 'Bedrag', 'Naam', 'E-mail', 'Tijd', 'Adres']),
    linksUntil: (day) => `De links openen zonder aanmelding tot ${day}.`,
  },
}; // prettier-ignore

export function recordWordsOf(language: unknown): RecordWords {
  const code = typeof language === 'string' ? language : '';
  return Object.hasOwn(others, code) ? (others[code] ?? english) : english;
}
