/**
 * The answers of callers who are asked for something, and the values that a CRM should get. `pieces` are spoken one after
 * the other with the pauses between them, in seconds; `agent` asks before. The first half was looked at while rules were
 * written; the sentences, frames and numbers of the second half were not.
 */
export type Kind = 'digits' | 'phone' | 'card' | 'code' | 'date' | 'amount' | 'email' | 'name';
export type Secret = 'card' | 'expiry' | 'cvv' | 'ssn';

export type SpokenNumber = {
  kind: Kind | Secret | 'neutral';
  half: 'seen' | 'unseen';
  agent?: string;
  pieces: readonly string[];
  pausesS: readonly number[];
  /** The value as a field holds it; for a secret, the digits that may reach nobody. */
  value: string;
  /** Set if the recorded digits of the prompts can speak the pieces. */
  recorded: boolean;
};

/** The same numbers in each run. */
function newRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

type Random = () => number;

const names = 'zero one two three four five six seven eight nine'.split(' ');
const tens = 'zero ten twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const teens =
  'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(' ');
const nato =
  'alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey x-ray yankee zulu'.split(
    ' ',
  );

const pick = <T>(random: Random, from: readonly T[]): T =>
  from[Math.floor(random() * from.length)]!;
const digitsOf = (random: Random, count: number): string =>
  Array.from({ length: count }, () => String(Math.floor(random() * 10))).join('');

function spokenPair(pair: string): string {
  const [high = 0, low = 0] = Array.from(pair).map(Number);
  if (high === 0) return `oh ${names[low] ?? ''}`;
  if (high === 1) return teens[low] ?? '';
  return low === 0 ? (tens[high] ?? '') : `${tens[high] ?? ''} ${names[low] ?? ''}`;
}

/** Digit by digit; a zero is "oh" for some people. */
function spelled(digits: string, zero: string): string {
  return Array.from(digits)
    .map((digit) => (digit === '0' ? zero : names[Number(digit)]))
    .join(' ');
}

function grouped(digits: string, sizes: readonly number[]): string[] {
  let at = 0;
  const groups: string[] = [];
  for (let index = 0; at < digits.length; index++) {
    const size = sizes[index % sizes.length] ?? 3;
    groups.push(digits.slice(at, at + size));
    at += size;
  }
  return groups;
}

/** The last digit makes the sum of a card right. */
function cardNumber(random: Random, length = 16): string {
  const body = pick(random, ['4', '51', '53']) + digitsOf(random, length);
  const digits = body.slice(0, length - 1);
  let sum = 0;
  for (const [index, digit] of Array.from(digits).reverse().entries()) {
    const doubled = index % 2 === 0 ? Number(digit) * 2 : Number(digit);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return digits + String((10 - (sum % 10)) % 10);
}

const pausesOf = (random: Random, count: number, isSlow: boolean): number[] =>
  Array.from({ length: count }, () => (isSlow ? 0.4 + random() * 1.1 : 0.08 + random() * 0.17));

const seen = {
  digits: ['my account number is', 'the reference is', 'it is', ''],
  ask: ['What is your account number?', 'Can I have the reference, please?'],
  phone: ['my number is', 'you can reach me at', ''],
  askPhone: ['What is the best number to call you?'],
  card: ['the card number is', 'it is', ''],
  askCard: ['Could you read me the card number?', 'And the long number on the front?'],
  askExpiry: ['And the expiry date?', 'Expiry?'],
  askCvv: ['And the three digits on the back?', 'The security code?'],
  askSsn: ['What are the digits of your social security number?', 'Your social?'],
  code: ['the booking code is', 'the code is'],
  amount: ['they charged me', 'the bill was', 'I paid'],
  date: ['it was on', 'I was born on', 'it arrives on'],
  email: ['my email is', 'you can write to'],
  name: ['my last name is'],
};
const unseen: typeof seen = {
  digits: ['so the policy number would be', 'okay, that one is', 'yes, my customer number is', ''],
  ask: ['And which customer number do you have?', 'Would you tell me the policy number?'],
  phone: ['please call me back on', 'the mobile is', ''],
  askPhone: ['Under which number do we get hold of you?'],
  card: ['sure, one second, it reads', 'my visa is', ''],
  askCard: ['Go ahead with the number of your card.', 'Which card are we charging?'],
  askExpiry: ['When does it run out?', 'Valid until?'],
  askCvv: ['The small number next to the signature?', 'And the code?'],
  askSsn: ['Please confirm your social.', 'I need your social security number for that.'],
  code: ['the locator on my ticket says', 'it says order code'],
  amount: ['there is a charge of', 'my refund should be', 'that makes'],
  date: ['the appointment is on', 'she arrived on', 'the contract ends on'],
  email: ['send it to', 'the address is'],
  name: ['my surname, it is'],
};

const surnames = {
  seen: [
    'Hartwell',
    'Kowalski',
    'Brenner',
    'Osborne',
    'Whitlock',
    'Castellan',
    'Fairley',
    'Draper',
  ],
  unseen: ['Lindgren', 'Petrov', 'Ashdown', 'Mercado', 'Quigley', 'Voss', 'Hanley', 'Tremaine'],
};
const hosts = { seen: ['gmail', 'outlook'], unseen: ['yahoo', 'hotmail'] };
const given = {
  seen: ['maria', 'john', 'peter', 'susan'],
  unseen: ['anna', 'robert', 'laura', 'kevin'],
};
const months =
  'January February March April May June July August September October November December'.split(
    ' ',
  );
const ordinals =
  'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth'.split(
    ' ',
  );

type Made = Omit<SpokenNumber, 'half' | 'kind'>;
type Half = 'seen' | 'unseen';
type Maker = (random: Random, half: Half, isSlow: boolean) => Made;

/** A frame before the number, and a question before the frame or in place of it. */
function asked(
  random: Random,
  frames: readonly string[],
  questions: readonly string[],
  rest: { groups: string[]; isSlow: boolean; value: string; recorded?: boolean },
): Made {
  const frame = pick(random, frames);
  const isAsked = frame === '' || random() < 0.5;
  const pauses = pausesOf(random, rest.groups.length - 1, rest.isSlow);
  return {
    ...(isAsked ? { agent: pick(random, questions) } : {}),
    pieces: frame === '' ? rest.groups : [frame, ...rest.groups],
    pausesS: frame === '' ? pauses : [0.15, ...pauses],
    value: rest.value,
    recorded: rest.recorded === true && frame === '',
  };
}

const zeroOf = (random: Random) => (random() < 0.5 ? 'oh' : 'zero');
const of = (half: Half) => (half === 'seen' ? seen : unseen);

const makers: Record<SpokenNumber['kind'], Maker> = {
  digits(random, half, isSlow) {
    const value = digitsOf(random, 6 + Math.floor(random() * 4));
    const zero = zeroOf(random);
    const groups = grouped(value, [3]).map((group) => spelled(group, zero));
    if (random() < 0.2) groups.splice(1, 0, 'uh');
    return asked(random, of(half).digits, of(half).ask, { groups, isSlow, value, recorded: true });
  },
  phone(random, half, isSlow) {
    const area = pick(random, ['212', '415', '617', '303', '206']);
    const value = `${area}${String(2 + Math.floor(random() * 8))}${digitsOf(random, 6)}`;
    const zero = zeroOf(random);
    const groups = grouped(value, [3, 3, 4]).map((group) => spelled(group, zero));
    return asked(random, of(half).phone, of(half).askPhone, {
      groups,
      isSlow,
      value: `+1${value}`,
    });
  },
  card(random, half, isSlow) {
    const value = cardNumber(random);
    const isPairs = random() < 0.3;
    const groups = isPairs
      ? grouped(value, [4]).map(
          (group) => `${spokenPair(group.slice(0, 2))} ${spokenPair(group.slice(2))}`,
        )
      : grouped(value, [4]).map((group) => spelled(group, 'zero'));
    if (random() < 0.15) {
      const wrong = digitsOf(random, 4);
      if (wrong !== value.slice(8, 12)) groups.splice(2, 0, spelled(wrong, 'zero'), 'no wait');
    }
    return asked(random, of(half).card, of(half).askCard, { groups, isSlow, value });
  },
  expiry(random, half) {
    const month = 1 + Math.floor(random() * 12);
    const year = 27 + Math.floor(random() * 5);
    const value = `${String(month).padStart(2, '0')}${String(year)}`;
    const spoken = random() < 0.5 ? spokenPair(value.slice(0, 2)) : (months[month - 1] ?? '');
    return {
      agent: pick(random, of(half).askExpiry),
      pieces: [spoken, spokenPair(String(year))],
      pausesS: [0.2],
      value,
      recorded: false,
    };
  },
  cvv(random, half) {
    const value = digitsOf(random, 3);
    return {
      agent: pick(random, of(half).askCvv),
      pieces: [random() < 0.3 ? `uh ${spelled(value, 'oh')}` : spelled(value, 'zero')],
      pausesS: [],
      value,
      recorded: random() < 0.3,
    };
  },
  ssn(random, half, isSlow) {
    const value = `${String(1 + Math.floor(random() * 8))}${digitsOf(random, 8)}`;
    const groups = grouped(value, [3, 2, 4]).map((group) => spelled(group, 'oh'));
    return {
      agent: pick(random, of(half).askSsn),
      pieces: groups,
      pausesS: pausesOf(random, 2, isSlow),
      value,
      recorded: random() < 0.5,
    };
  },
  code(random, half, isSlow) {
    const letters = [Math.floor(random() * 26), Math.floor(random() * 26)];
    const digits = digitsOf(random, 4);
    const value = letters.map((at) => String.fromCharCode(65 + at)).join('') + digits;
    const spoken = letters.map((at) =>
      random() < 0.6 ? (nato[at] ?? '') : String.fromCharCode(65 + at),
    );
    return asked(random, of(half).code, of(half).ask, {
      groups: [spoken.join(' '), spelled(digits, 'zero')],
      isSlow,
      value,
    });
  },
  date(random, half) {
    const day = 1 + Math.floor(random() * 20);
    const month = Math.floor(random() * 12);
    const value = `${String(month + 1).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
    const text =
      random() < 0.5
        ? `${months[month] ?? ''} ${ordinals[day - 1] ?? ''}`
        : `the ${ordinals[day - 1] ?? ''} of ${months[month] ?? ''}`;
    return {
      pieces: [`${pick(random, of(half).date)} ${text}`],
      pausesS: [],
      value,
      recorded: false,
    };
  },
  amount(random, half) {
    const dollars = 20 + Math.floor(random() * 79);
    const cents = random() < 0.5 ? 0 : 21 + Math.floor(random() * 78);
    const text =
      `${spokenPair(String(dollars))} dollars` +
      (cents === 0 ? '' : ` and ${spokenPair(String(cents))} cents`);
    return {
      pieces: [`${pick(random, of(half).amount)} ${text}`],
      pausesS: [],
      value: `${String(dollars)}.${String(cents).padStart(2, '0')} USD`,
      recorded: false,
    };
  },
  email(random, half, isSlow) {
    const name = pick(random, given[half]);
    const surname = pick(random, surnames[half]).toLowerCase();
    const host = pick(random, hosts[half]);
    return {
      pieces: [`${pick(random, of(half).email)} ${name} dot ${surname}`, `at ${host} dot com`],
      pausesS: [isSlow ? 0.5 + random() * 0.5 : 0.1],
      value: `${name}.${surname}@${host}.com`,
      recorded: false,
    };
  },
  name(random, half, isSlow) {
    const value = pick(random, surnames[half]);
    const letters = Array.from(value.toUpperCase());
    return {
      pieces: [
        `${pick(random, of(half).name)} ${value}`,
        letters.slice(0, 4).join(', '),
        letters.slice(4).join(', '),
      ].filter((piece) => piece !== ''),
      pausesS: [0.3, isSlow ? 0.6 : 0.2],
      value,
      recorded: false,
    };
  },
  neutral(random, half) {
    const sentences =
      half === 'seen'
        ? [
            'I waited for two weeks and nobody called me back.',
            'We have three children and one of them is ill.',
            'The box arrived at four and it was open.',
            'Give me one second, I have to look for a pen.',
            'There were twenty people before me in the queue.',
            'I only need one of the two rooms.',
          ]
        : [
            'My husband spoke to five of your colleagues already.',
            'It takes ten minutes until the water is warm.',
            'Both of the first two were broken.',
            'You said that a hundred times.',
            'We moved here when my son was six.',
            'One of you should really know this by now.',
          ];
    return { pieces: [pick(random, sentences)], pausesS: [], value: '', recorded: false };
  },
};

/** The number of each kind in a half. */
const counts: Record<SpokenNumber['kind'], number> = {
  digits: 36,
  phone: 24,
  code: 16,
  date: 16,
  amount: 16,
  email: 12,
  name: 12,
  card: 26,
  expiry: 12,
  cvv: 12,
  ssn: 12,
  neutral: 30,
};

export const secretKinds: readonly SpokenNumber['kind'][] = ['card', 'expiry', 'cvv', 'ssn'];

/** All utterances of both halves, the same in each run. Every third number is said with pauses inside. */
export function spokenNumbers(): SpokenNumber[] {
  return (['seen', 'unseen'] as const).flatMap((half) => {
    const random = newRandom(half === 'seen' ? 7 : 4_711);
    return (Object.keys(counts) as SpokenNumber['kind'][]).flatMap((kind) =>
      Array.from({ length: counts[kind] }, (_, index) => ({
        kind,
        half,
        ...makers[kind](random, half, index % 3 === 0),
      })),
    );
  });
}
