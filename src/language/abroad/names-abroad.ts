import type { ValuedSpan } from '../types.ts';
import type { LanguageAbroad } from './number-words.ts';

/** Words right before a name, with their first letter in either size: titles, and how people say their own name. */
const leads: Record<LanguageAbroad, string> = {
  es: 'señora|señorita|señor|sra\\.|sr\\.|srta\\.|doña|don|doctora|doctor|se llama|habla con',
  fr: "madame|mademoiselle|monsieur|mme|mlle|m\\.|docteure?|s['’]appelle",
  de: 'frau|herrn?|doktor|dr\\.',
  it: 'signora|signorina|signor|sig\\.ra|sig\\.|dottoressa|dottor|si chiama',
  pt: 'senhora|senhor|sra\\.|sr\\.|dona|doutora|doutor|chama-se',
  nl: 'mevrouw|meneer|mijnheer|mevr\\.|dhr\\.|dokter',
};

/** The words with which people say who they themselves are. */
const own: Record<LanguageAbroad, string> = {
  es: 'me llamo|mi nombre es|soy|a nombre de|de parte de',
  fr: "je m['’]appelle|je me nomme|mon nom est|au nom de|de la part de",
  de: 'ich heiße|mein name ist|mein Name ist|hier ist|hier spricht|auf den namen|auf den Namen',
  it: 'mi chiamo|il mio nome è|sono|a nome di|a nome',
  pt: 'chamo-me|me chamo|(?:o )?meu nome é|é [ao]|sou [ao]|aqui é [ao]|daqui|em nome de',
  nl: 'ik heet|mijn naam is|u spreekt met|je spreekt met|op naam van|(?<=(?:^|[,.!?] ?))[mM]et',
};

/** Words that begin with a capital behind a lead and are no names. */
const noNames = new Set('Sie Ihnen Ihr Ihre Ich Wir Der Die Das Ja Nein Bitte Guten Danke Usted Señor Señora Madame Monsieur Vous Oui Non Merci Signora Signor Lei Buongiorno Senhor Senhora Obrigado Obrigada U Ik Ja Nee Doktor Doctor Doctora Direktor Kollege Kollegin'.split(' ')); // prettier-ignore

const name = "\\p{Lu}[\\p{L}\\p{M}'’-]{1,30}";
const small = 'de la|de los|del|de|da|dos|di|von der|von|van der|van den|van de|van|le|la|du';
const patterns = new Map<LanguageAbroad, RegExp>();

function patternOf(language: LanguageAbroad): RegExp {
  const known = patterns.get(language);
  if (known) return known;
  const either = eitherSize(`${leads[language]}|${own[language]}`);
  const made = new RegExp(
    `(?<![\\p{L}\\p{M}])(?:${either})\\s+((?:(?:${small}) )?${name}(?: (?:(?:${small}) )?${name}){0,2})`,
    'gu',
  );
  patterns.set(language, made);
  return made;
}

/** The words with their first letter in either size. */
function eitherSize(words: string): string {
  return words.split('|').map((lead) => lead.replace(/^\p{Ll}/u, (letter) => `[${letter}${letter.toUpperCase()}]`)).join('|'); // prettier-ignore
}

/** True if the speaker says their own name after these words. */
export function leadsToOwnName(before: string, language: LanguageAbroad): boolean {
  return new RegExp(`(?<![\\p{L}\\p{M}])(?:${eitherSize(own[language])})\\s+$`, 'u').test(before);
}

/** Names behind a title or behind the words with which people say who they are. Other names are not found. */
export function namesAbroad(text: string, language: LanguageAbroad): ValuedSpan[] {
  return [...text.matchAll(patternOf(language))].flatMap(({ 0: whole, 1: said = '', index }) => {
    if (noNames.has(said.split(' ')[0] ?? '')) return [];
    const start = index + whole.length - said.length;
    return [{ type: 'NAME', text: said, start, end: start + said.length, value: said }];
  });
}
