import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { twilioPlayer } from '../../src/carriers/twilio/player.ts';
import { findCall, getCall } from '../../src/player/api-client.ts';
import { playCall } from '../../src/player/play-call.ts';
import { startApp } from '../support/process/app.ts';
import { sayWithFlite } from '../support/recognition/dialogue.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { normalisedWords } from '../support/recognition/word-errors.ts';

/*
 * Names that callers say, heard with and without the look-up of the caller in a CRM: through the whole program, from
 * the carrier's stream to the final. An API of one's own knows each caller by number; without the look-up the same
 * words come from a number that nobody has. Nothing was tuned to these names.
 *
 *   CONTACTS=40 npm run bench -- contacts      the first forty; CONTACTS_SHOW=1 prints what was heard in place of a name
 */

const surnames = (
  'Achterberg Applethwaite Babington Barraclough Beauclerk Bickersteth Blenkinsop Braithwaite Brockelhurst Cadwallader ' +
  'Calthorpe Castellano Chatterton Cholmondeley Clutterbuck Coppersmith Critchlow Culpepper Dalrymple Debenham ' +
  'Dellacroce Devereux Dinglehurst Duckworth Eatwell Elphinstone Entwistle Esterhazy Fanshawe Farquharson ' +
  'Featherstone Fitzwilliam Galbraith Garroway Gildersleeve Glanville Goodenough Gruffydd Haldane Hardcastle ' +
  'Heatherington Higginbotham Hollingsworth Honeychurch Hussain Iremonger Jellicoe Kirkbride Knatchbull Lascelles ' +
  'Leatherbarrow Liddington Lowenthal Macalister Mainwaring Marchbanks Mossberger Mulqueen Nethercott Norrington ' +
  'Okonkwo Oppenshaw Ormsby Padgett Papadakis Peasgood Pettigrew Plumstead Postlethwaite Prendergast ' +
  'Quartermain Radcliffe Rathbone Ridgeway Rosenthal Sackville Satterthwaite Schofield Shufflebottom Skeffington ' +
  'Spottiswood Stallworthy Strickland Swarbrick Tattersall Thistleton Throckmorton Tillotson Trevelyan Vanderbilt'
).split(' ');
const firstNames = 'Laura Omar Ingrid Tomas Fatima Gareth Denise Marcus Chloe Priya'.split(' ');
const companies = (
  'Amberline Bexleyware Corvanta Dunmere Elstead Ferndale Granwick Hexaplan Ivoria Jorvikson Kelstone Larkhaven ' +
  'Merivance Nordholm Ostervale Pelmira Quintara Ruskington Stellbridge Tavimore Ulverton Venturis Wolverley Yarmont ' +
  'Zenthorpe Aldermoor Brackwell Castelline Dorvane Everholt'
).split(' ');

const ofPersons = [
  (name: string) => `Hello, my name is ${name} and I have a question.`,
  (name: string) => `Good morning, this is ${name}, I am calling about my bill.`,
  (name: string) => `It should be under ${name}, please have a look.`,
];
const ofCompanies = [
  (name: string) => `I am calling from ${name} about our order.`,
  (name: string) => `The invoice for ${name} is wrong.`,
];

type CallerOfList = {
  number: string;
  name: string;
  company: string;
  wanted: string;
  sentence: string;
};

const callers: CallerOfList[] = [...surnames, ...companies].map((wanted, index) => {
  const isCompany = index >= surnames.length;
  const first = firstNames[index % firstNames.length] ?? '';
  const surname = isCompany ? (surnames[index % 7] ?? '') : wanted;
  const sentences = isCompany ? ofCompanies : ofPersons;
  const sentence = sentences[index % sentences.length]?.(isCompany ? wanted : `${first} ${wanted}`) ?? ''; // prettier-ignore
  return {
    number: `+1555010${String(1_000 + index)}`,
    name: `${first} ${surname}`,
    company: isCompany ? wanted : '',
    wanted,
    sentence,
  };
});

async function crmThatKnowsThem() {
  const byNumber = new Map(callers.map((caller, index) => [caller.number, { ...caller, index }]));
  const server = createServer((request, response) => {
    request.resume();
    const url = new URL(request.url ?? '/', 'http://crm');
    const found = byNumber.get(url.searchParams.get('phone') ?? '');
    const items =
      found === undefined || url.pathname !== '/contacts'
        ? []
        : [{ id: found.index, phones: [found.number], created_at: '', name: found.name, company: found.company }]; // prettier-ignore
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** The caller speaks when the line was open for so long: an agent says hello first. */
const silenceS = 1.5;
const callsAtOnce = 6;
const stranger = '+15550109999';

export async function run(): Promise<void> {
  const model = await realModel();
  if (!model) throw new Error('npx trunkline models pull moonshine-tiny-en');
  const crm = await crmThatKnowsThem();
  await using app = await startApp({
    env: {
      TRUNKLINE_MODEL: model.model,
      TRUNKLINE_MODELS: model.models,
      TRUNKLINE_CRM: 'generic',
      TRUNKLINE_CRM_URL: crm.url,
      TRUNKLINE_CRM_TOKEN: 'generic-token-0123456789',
    },
  });
  const chosen = callers.slice(0, Number(process.env['CONTACTS'] ?? callers.length));
  const right = { with: 0, without: 0, known: 0 };
  // All is spoken before the first call: the program that speaks holds this process up.
  const queue = chosen.flatMap((caller, index) => {
    const said = sayWithFlite(index % 2 === 0 ? 'rms' : 'slt', caller.sentence);
    return [true, false].map((isKnown) => ({ caller, said, isKnown }));
  });
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { caller, said, isKnown } = next;
      const { text, contact } = await heardOf(app.url, caller.number, said, isKnown);
      const isRight = normalisedWords(text).includes(caller.wanted.toLowerCase());
      if (isKnown && contact) right.known += 1;
      if (isRight) right[isKnown ? 'with' : 'without'] += 1;
      if (!isRight && isKnown && process.env['CONTACTS_SHOW'] !== undefined)
        console.log(`${caller.sentence} > ${text}`);
    }
  };
  await Promise.all(Array.from({ length: callsAtOnce }, worker));
  crm.server.closeAllConnections();
  crm.server.close();
  console.log(
    `names right of ${chosen.length}: ${right.with} with the look-up, ${right.without} without; contacts found ${right.known}`,
  );
}

async function heardOf(
  url: string,
  number: string,
  said: Int16Array,
  isKnown: boolean,
): Promise<{ text: string; contact: boolean }> {
  const samples = new Int16Array(said.length + (silenceS + 1) * 8_000);
  samples.set(said, silenceS * 8_000);
  const { callId } = twilioPlayer.newIds();
  const api = { url };
  await playCall({
    player: twilioPlayer,
    to: url.replace('http', 'ws'),
    api,
    callId,
    legs: [
      { leg: 'customer', samples, rateHz: 8_000 },
      { leg: 'agent', samples: new Int16Array(samples.length), rateHz: 8_000 },
    ],
    fromNumber: isKnown ? number : stranger,
  });
  for (let tries = 0; tries < 300; tries++) {
    const found = await findCall(api, callId);
    const call = found && (await getCall(api, found.id));
    if (call?.state === 'ended')
      return {
        text: call.transcript.map(({ text }) => text).join(' '),
        contact: 'contact' in call && call.contact !== null,
      };
    await sleep(200);
  }
  throw new Error(`the call ${callId} did not end`);
}
