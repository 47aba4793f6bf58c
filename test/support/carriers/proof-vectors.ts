import type { CarrierName } from '../../../src/carriers/all.ts';
import { CarriersConfig } from '../../../src/carriers/config.ts';
import type { UpgradeRequest } from '../../../src/carriers/carrier.ts';
import { upgradeRequest } from './carrier-fixture.ts';

/** An upgrade request with the settings of the bridge that receives it. */
export type ProofVector = { what: string; request: UpgradeRequest; config: CarriersConfig };

export type ProofVectors = { good: ProofVector[]; bad: ProofVector[] };

/*
 * Vectors for carriers that do not sign and show a shared secret instead. Carriers that sign have other vectors, made
 * with the vendors' libraries: `url-signature`, `plivo/signature`, `audiohook/signature`, `vonage/signature`.
 */

const basicSettings = {
  asterisk: ['asteriskUsername', 'asteriskPassword'],
  jambonz: ['jambonzUsername', 'jambonzPassword'],
  infobip: ['infobipUsername', 'infobipPassword'],
  bandwidth: ['bandwidthUsername', 'bandwidthPassword'],
  exotel: ['exotelUsername', 'exotelPassword'],
  freeswitch: ['freeswitchUsername', 'freeswitchPassword'],
} as const;

const listSettings = {
  telnyx: 'telnyxToken',
  signalwire: 'signalwireToken',
  freeswitch: 'freeswitchToken',
  ringcx: 'ringcxSecret',
} as const;

/** The carriers with vectors here. freeswitch has both kinds. */
export const secretCarriers = [
  ...new Set([...Object.keys(basicSettings), ...Object.keys(listSettings)]),
] as (keyof typeof basicSettings | keyof typeof listSettings)[];

export function proofVectors(carrier: (typeof secretCarriers)[number]): ProofVectors {
  const parts = [
    ...(carrier in basicSettings ? [basicVectors(carrier as keyof typeof basicSettings)] : []),
    ...(carrier in listSettings ? [listVectors(carrier as keyof typeof listSettings)] : []),
  ];
  return {
    good: parts.flatMap(({ good }) => good),
    bad: parts.flatMap(({ bad }) => bad),
  };
}

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

function vectorsOf(
  carrier: CarrierName,
  settings: Record<string, unknown>,
): (what: string, authorization: string | undefined, query?: string) => ProofVector {
  const config = { ...CarriersConfig.parse({}), ...settings };
  return (what, authorization, query = '') => ({
    what,
    config,
    request: upgradeRequest(
      `/carriers/${carrier}${query}`,
      authorization === undefined ? {} : { authorization },
    ),
  });
}

const people: [string, string][] = [
  ['trunkline', 'a-secret-of-the-tests'],
  ['u', '12345678'],
  ['user@example.com', 'Correct.Horse-Battery_Staple'],
  ['user name', 'with space and "quotes"'],
  ['Ümläut', 'pässwörd-ßecret'],
  ['用户', '密码密码密码密码'],
  ['emoji', '🔑🔑🔑🔑🔑🔑🔑🔑'],
  ['colon', 'in:the:password:is:fine'],
  ['percent', '%41%00%2f%2F%%%%'],
  ['plus', '++++////====----'],
  ['zero', '\u0001\u0002\u0003tabs\tand more'],
  ['long', 'x'.repeat(512)],
  ['x'.repeat(200), 'y'.repeat(200)],
  ['spaces', '   leading and trailing   '],
];

function basicVectors(carrier: keyof typeof basicSettings): ProofVectors {
  const [nameKey, passwordKey] = basicSettings[carrier];
  const of = (name: string | undefined, password: string | undefined) =>
    vectorsOf(carrier, {
      ...(name === undefined ? {} : { [nameKey]: name }),
      ...(password === undefined ? {} : { [passwordKey]: password }),
    });
  const good = people.flatMap(([name, password], at) =>
    ['Basic', 'basic', 'BASIC  '].map((scheme) =>
      of(name, password)(`person ${at} by ${scheme}`, `${scheme} ${base64(`${name}:${password}`)}`),
    ),
  );
  const name = 'trunkline';
  const password = 'a-secret-of-the-tests';
  const right = base64(`${name}:${password}`);
  const here = of(name, password);
  const wrongPairs: [string, string][] = [
    ['', ''],
    ['', password],
    [name, ''],
    [name, 'wrong-secret-of-the-tests'],
    ['somebody', password],
    [password, name],
    [name.toUpperCase(), password],
    [name, password.toUpperCase()],
    [`${name} `, password],
    [name, ` ${password}`],
    [name, `${password} `],
    [name, `${password}\n`],
    [name, `${password}\0`],
    [name, `${password}:`],
    [`${name}:${name}`, password],
    [name, password.slice(0, -1)],
    [name, password.slice(1)],
    [name, `${password}s`],
    [name, password + password],
    ['undefined', 'undefined'],
    ['null', 'null'],
    ['__proto__', 'constructor'],
    [name, 'x'.repeat(2_000)],
  ];
  const bad = [
    ...wrongPairs.map(([one, other], at) =>
      here(`wrong pair ${at}`, `Basic ${base64(`${one}:${other}`)}`),
    ),
    ...[
      '',
      'Basic',
      'Basic ',
      right,
      `Bearer ${right}`,
      `Digest ${right}`,
      `Basic${right}`,
      `Basic\t${right}`,
      `Basic ${right} `,
      `Basic ${right},`,
      `Basic ${right}, Basic ${right}`,
      `Basic ${base64('x:y')}, Basic ${right}`,
      ` Basic ${right}`,
      `Basic ${right.slice(0, -1)}`,
      `Basic ${right}=`,
      `Basic ${right}====`,
      `Basic =${right}`,
      `Basic %%%%`,
      `Basic ${base64(`${name}${password}`)}`,
      `Basic ${base64(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(`${name}:${password}`)]))}`,
      `Basic ${base64(base64(`${name}:${password}`))}`,
      `Basic ${name}:${password}`,
      `Basic ${'A'.repeat(8_000)}`,
      `Basic username="${name}", password="${password}"`,
    ].map((header, at) => here(`header ${at}`, header)),
    of(undefined, undefined)('no settings', `Basic ${right}`),
    of(undefined, undefined)(
      'no settings, and their text',
      `Basic ${base64('undefined:undefined')}`,
    ),
    of(name, undefined)('half of the settings', `Basic ${base64(`${name}:undefined`)}`),
    of(name, undefined)('half of the settings, and nothing', `Basic ${base64(`${name}:`)}`),
  ];
  return { good, bad };
}

const texts = [
  'a-secret-of-the-tests',
  '12345678',
  'A.B_C~D+E/F=G-H',
  'eyJhbGciOiJub25lIn0.e30.',
  '!"#$%&()*+,-./:;<=>?@[]^_`{|}~',
  'x'.repeat(512),
  'UPPER-and-lower',
];

function listVectors(carrier: keyof typeof listSettings): ProofVectors {
  const of = (...secrets: string[]) => vectorsOf(carrier, { [listSettings[carrier]]: secrets });
  const inAddress = carrier === 'ringcx';
  const good = texts.flatMap((text, at) => [
    ...['Bearer', 'bearer', 'BEARER  '].map((scheme) =>
      of(text)(`text ${at} by ${scheme}`, `${scheme} ${text}`),
    ),
    of(text, 'the-next-one')(`text ${at}, the old of two`, `Bearer ${text}`),
    of('the-one-before', text)(`text ${at}, the new of two`, `Bearer ${text}`),
    of('one-of-three', text, 'three-of-three')(`text ${at} of three`, `Bearer ${text}`),
    ...(inAddress
      ? [of(text)(`text ${at} in the address`, undefined, `?secret=${encodeURIComponent(text)}`)]
      : []),
  ]);
  const text = 'a-secret-of-the-tests';
  const here = of(text);
  const given = [
    'wrong-secret-of-the-tests',
    text.slice(0, -1),
    text.slice(1),
    `${text}s`,
    `${text}=`,
    text + text,
    text.toUpperCase(),
    `"${text}"`,
    `<${text}>`,
    `${text},`,
    `${text};`,
    `${text}, Bearer ${text}`,
    `x, Bearer ${text}`,
    `${text} ${text}`,
    ` x ${text}`,
    `${text} `,
    `${text}\t`,
    'undefined',
    'null',
    '[object Object]',
    '',
    ' ',
    'x'.repeat(4_000),
    'x'.repeat(8_000),
    base64(text),
    Buffer.from(text).toString('hex'),
    encodeURIComponent(`${text}/`),
    'á-secret-of-the-tests',
    `${text}\u00e9`,
    '__proto__',
  ];
  const headers = [
    '',
    'Bearer',
    text,
    `Bearer${text}`,
    `Bearer\t${text}`,
    ` Bearer ${text}`,
    `Basic ${text}`,
    `Basic ${base64(`${text}:`)}`,
    `Basic ${base64(`:${text}`)}`,
    `Token ${text}`,
    `Bearer: ${text}`,
    `Digest ${text}`,
  ];
  const bad = [
    ...given.map((one, at) => here(`text ${at}`, `Bearer ${one}`)),
    ...headers.map((header, at) => here(`header ${at}`, header)),
    of()('no secret is set', `Bearer ${text}`),
    of()('no secret is set, and an empty one', 'Bearer '),
    of('the-next-one')('the secret is gone', `Bearer ${text}`),
    ...(inAddress
      ? ['', 'secret=', 'secret=wrong', `secret=${text}x`, `secret=wrong&secret=${text}`, `Secret=${text}`, `secret[]=${text}`]
          .map((query, at) => here(`address ${at}`, undefined, `?${query}`)) // prettier-ignore
      : []),
  ];
  return { good, bad };
}
