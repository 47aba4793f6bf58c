import { plain, type LanguageAbroad } from '../abroad/number-words.ts';
import { splitSentences } from '../text/sentences.ts';
import type { SpokenTurn } from '../types.ts';
import { wordsIn } from './clauses.ts';

const mostHeadline = 70;
const fewestWords = 4;

/** Words without a topic of their own, in small letters without accents, and those of politeness. */
const empty: Record<LanguageAbroad, ReadonlySet<string>> = {
  es: of('que los las una uno con por para como pero mas muy este esta esto eso esa ese del sus mis hay han has fue ser soy son estoy tengo tiene tienen puede puedo quiero queria usted ustedes vale bien gracias hola buenos buenas dias tardes favor senor senora cuando donde desde hasta porque entonces tambien ahora aqui sobre todo toda nada algo otra otro hace hacer momento claro perfecto ayudarle'),
  fr: of('que qui les des une est pas pour avec sur dans mais vous nous votre vos notre nos mon mes ses son cette ces ete ont suis avez avons sont etes tres bien plus tout tous toute merci bonjour oui non donc alors aussi comme quand depuis parce voila peut puis faire fait monsieur madame voudrais moment cela plait accord deja encore'),
  de: of('der die das den dem des und ich sie wir ihr ihnen mir mich uns ein eine einen einem einer ist sind war hat habe haben wird werden kann konnen nicht auch noch nur schon aber oder wenn dann dass mit von fur auf aus bei nach zum zur bitte danke guten tag morgen gut herr frau also sehr hier jetzt was wie wer ihre ihren meine meinen mein moment gern gerne mochte'),
  it: of('che gli una uno con per come piu molto questa questo quella quello del della delle dei nel nella sono sei siamo hanno avete abbiamo stato stata essere puo posso vorrei volevo lei voi noi mio mia suo sua bene grazie buongiorno buonasera signor signora quando dove perche anche adesso ora allora tutto tutta niente fatto fare momento prego scusi'),
  pt: of('que uma uns com por para como mas mais muito este esta isto isso essa esse dos das nos nas seu sua meu minha sao foi ser estou tenho tem pode posso quero queria voce senhor senhora bem obrigado obrigada bom boa dia tarde favor quando onde desde ate porque entao tambem agora aqui sobre tudo nada outra outro fazer momento claro'),
  nl: of('het een van voor met dat die deze dit niet ook nog maar als dan wel geen zijn was ben bent heb hebt heeft hebben kan kunt wil zal zou ik wij jullie mijn uw uit aan bij naar over door goed graag dank bedankt goedemorgen goedemiddag mevrouw meneer wat wie waar hoe even hier daar moment alstublieft'),
}; // prettier-ignore

function of(words: string): ReadonlySet<string> {
  return new Set(words.split(' '));
}

export function isTopicAbroad(word: string, language: LanguageAbroad): boolean {
  return !empty[language].has(plain(word));
}

/** The headline of a chapter and its summary: sentences that were said in it. */
export function chapterToldAbroad(turns: readonly SpokenTurn[], language: LanguageAbroad): { headline: string; summary: string } {
  const sentences = turns.flatMap(({ text }) => splitSentences(text).map(({ start, end }) => text.slice(start, end)));
  const long = sentences.filter((one) => wordsIn(one) >= fewestWords);
  const topics = (one: string): number => one.split(/\s+/).filter((word) => word.length > 3 && isTopicAbroad(word.replace(/[^\p{L}]/gu, ''), language)).length;
  const ranked = long.slice(0, 40).toSorted((one, other) => topics(other) - topics(one));
  const chosen = ranked.slice(0, 2);
  const headline = chosen[0] ?? sentences[0] ?? '';
  const cut = headline.length <= mostHeadline ? headline.replace(/[.!…]+$/u, '') : `${headline.slice(0, mostHeadline).replace(/\s+\S*$/u, '')}…`;
  return { headline: cut, summary: (chosen.length === 0 ? sentences.slice(0, 1) : long.filter((one) => chosen.includes(one))).join(' ') };
} // prettier-ignore
