import type { LanguageAbroad } from './number-words.ts';

/** The kind of a row by the words around it. */
export type CueAbroad = 'card' | 'cvv' | 'phone' | 'iban' | 'id' | 'code' | 'number';

/** Words in small letters without accents. The nearest one before a row counts. */
const cues: Record<LanguageAbroad, Record<CueAbroad, string>> = {
  es: {
    cvv: 'cvv|cvc|codigo de (?:seguridad|verificacion)|(?:tres|cuatro) (?:numeros|digitos|cifras)|de atras|detras|reverso',
    card: 'tarjeta|visa|mastercard',
    phone: 'telefono|movil|celular|llam\\w+|fijo',
    iban: 'iban|cuenta|domicili\\w+',
    id: 'dni|nie|nif|documento|identidad|pasaporte|seguridad social',
    code: 'codigo|pedido|referencia|cliente|contrato|factura|expediente|clave|pin',
    number: 'numero',
  },
  fr: {
    cvv: 'cvv|cvc|code de (?:securite|verification)|cryptogramme|(?:trois|quatre) (?:chiffres|numeros)|au dos',
    card: 'carte|visa|mastercard',
    phone: 'telephone|portable|mobile|joindre|rappel\\w*|appel\\w*|fixe',
    iban: 'iban|compte|rib|prelev\\w+',
    id: 'secu|securite sociale|identite|passeport|siret|siren',
    code: 'code|commande|reference|client|contrat|facture|dossier',
    number: 'numero',
  },
  de: {
    cvv: 'cvv|cvc|prufziffer|prufnummer|sicherheitscode|(?:drei|vier) (?:zahlen|ziffern|stellen)|hinten|ruckseite',
    card: '\\w*karte|kartennummer|visa|mastercard',
    phone: 'telefon\\w*|handy\\w*|mobil\\w*|erreich\\w*|ruf\\w*|anruf\\w*|nummer unter',
    iban: 'iban|konto\\w*|buchen|abbuch\\w+',
    id: 'steuer\\w*|identifikationsnummer|ausweis\\w*|reisepass|sozialversicherung\\w*',
    code: 'code|bestell\\w*|referenz\\w*|kunden\\w*|vertrags?\\w*|rechnung\\w*|pin',
    number: 'nummer',
  },
  it: {
    cvv: 'cvv|cvc|codice di (?:sicurezza|verifica)|(?:tre|quattro) (?:numeri|cifre)|dietro|retro',
    card: 'carta|visa|mastercard',
    phone: 'telefono|cellulare|chiam\\w+|richiam\\w+|fisso',
    iban: 'iban|conto|addebit\\w+|bonifico',
    id: 'codice fiscale|documento|carta di identita|passaporto|partita iva',
    code: 'codice|ordine|riferimento|cliente|contratto|fattura|pratica|pin',
    number: 'numero',
  },
  pt: {
    cvv: 'cvv|cvc|codigo de (?:seguranca|verificacao)|(?:tres|quatro) (?:numeros|digitos)|de tras|atras|verso',
    card: 'cartao|visa|mastercard',
    phone: 'telefone|telemovel|celular|lig\\w+|fixo',
    iban: 'iban|conta|debito',
    id: 'nif|contribuinte|cpf|documento|identidade|passaporte|cartao de cidadao',
    code: 'codigo|encomenda|pedido|referencia|cliente|contrato|fatura|processo|pin',
    number: 'numero',
  },
  nl: {
    cvv: 'cvv|cvc|beveiligingscode|veiligheidscode|(?:drie|vier) (?:cijfers|nummers)|achterop',
    card: '\\w*kaart|kaartnummer|visa|mastercard',
    phone: 'telefoon\\w*|mobiel\\w*|bel|bellen|bereik\\w*|terugbel\\w*',
    iban: 'iban|rekening\\w*|afschrij\\w+|schrijf',
    id: 'bsn\\w*|burgerservicenummer|paspoort\\w*|identiteits\\w*',
    code: 'code|bestel\\w*|referentie\\w*|klant\\w*|contract\\w*|factuur\\w*|pin',
    number: 'nummer',
  },
};

/** A cue is at most this many characters before its row. */
const reach = 60;

/** The order counts where two cues overlap: "codice di sicurezza" holds "codice". */
const kinds: readonly CueAbroad[] = ['cvv', 'id', 'iban', 'card', 'phone', 'code', 'number'];

const patterns = new Map<LanguageAbroad, readonly [CueAbroad, RegExp][]>();

function patternsOf(language: LanguageAbroad): readonly [CueAbroad, RegExp][] {
  const known = patterns.get(language);
  if (known) return known;
  const made = kinds.map((kind): [CueAbroad, RegExp] => [
    kind,
    new RegExp(`(?<![\\p{L}\\p{N}])(?:${cues[language][kind]})(?![\\p{L}\\p{N}])`, 'gu'),
  ]);
  patterns.set(language, made);
  return made;
}

/** The nearest cue before a row, or the one right behind it. `before` and `after` are plain text. */
export function cueAbroad(
  before: string,
  after: string,
  language: LanguageAbroad,
): CueAbroad | undefined {
  let found: { kind: CueAbroad; at: number } | undefined;
  const near = before.slice(-reach);
  for (const [kind, pattern] of patternsOf(language)) {
    const last = [...near.matchAll(pattern)].at(-1);
    if (!last) continue;
    const at = last.index + last[0].length;
    if (found === undefined || at > found.at) found = { kind, at };
  }
  // "739 als Sicherheitscode"
  if (found?.kind === undefined || found.kind === 'code' || found.kind === 'number')
    for (const [kind, pattern] of patternsOf(language))
      if (kind === 'cvv' && [...after.slice(0, 35).matchAll(pattern)].length > 0) return kind;
  return found?.kind;
}
