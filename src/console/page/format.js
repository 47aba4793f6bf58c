import { choice } from './choices.js';

/** @import { ApiCall, BookedCall, GapCause, Role } from './shapes.ts' */

/**
 * Formats seconds like a clock: 0:07, 12:40, 1:02:03.
 * @param {number} seconds
 */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const s = String(whole % 60).padStart(2, '0');
  const m = Math.floor(whole / 60) % 60;
  const hours = Math.floor(whole / 3600);
  return hours > 0 ? `${hours}:${String(m).padStart(2, '0')}:${s}` : `${m}:${s}`;
}

/** The time zone of the computer that shows the page. */
export const computerZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

let times = timesIn('');
useTimeZone(choice('time-zone'));

/** @param {string} zone */
function timesIn(zone) {
  const timeZone = zone === '' ? undefined : zone;
  /** @param {Intl.DateTimeFormatOptions} options */
  const format = (options) => new Intl.DateTimeFormat(undefined, { timeZone, ...options });
  /** @type {Intl.DateTimeFormatOptions} */
  const minute = { hour: '2-digit', minute: '2-digit' };
  return {
    zone,
    day: format({ dateStyle: 'short' }),
    thisDay: format(minute),
    otherDay: format({ month: 'short', day: 'numeric', ...minute }),
    toTheSecond: format({ timeStyle: 'medium' }),
    full: format({ dateStyle: 'medium', timeStyle: 'long' }),
    fullDay: format({ dateStyle: 'medium' }),
  };
}

/**
 * Sets the zone of all displayed times; '' is the computer's zone. A zone that the browser does not know changes
 * nothing.
 * @param {string} zone
 */
export function useTimeZone(zone) {
  try {
    times = timesIn(zone);
  } catch {
    times = timesIn('');
  }
}

/** The chosen zone, or '' for the computer's. */
export function zoneNow() {
  return times.zone;
}

export function zoneName() {
  return (times.zone || computerZone).replaceAll('_', ' ');
}

/**
 * The time of day, with seconds.
 * @param {Date} date
 */
export function timeOfDay(date) {
  return times.toTheSecond.format(date);
}

/**
 * The time of day, with the date unless it is today.
 * @param {string | null | undefined} iso
 */
export function moment(iso) {
  if (!iso) return '';
  const date = new Date(iso);
  const isToday = times.day.format(date) === times.day.format(new Date());
  return (isToday ? times.thisDay : times.otherDay).format(date);
}

/**
 * The full date and time with its zone.
 * @param {string | null | undefined} iso
 */
export function fullMoment(iso) {
  return iso ? times.full.format(new Date(iso)) : '';
}

/**
 * The day with its year.
 * @param {string} iso
 */
export function fullDay(iso) {
  return times.fullDay.format(new Date(iso));
}

const dayInWords = new Intl.DateTimeFormat(undefined, {
  ...{ weekday: 'short', year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' },
});

/**
 * A value of the API as a person writes it: a day with its weekday, an amount with its sign. Others stay as they are.
 * @param {string} value
 * @param {string | null} [currency]
 */
export function valueInWords(value, currency) {
  const [, amount = '', code = ''] = /^(-?\d+(?:\.\d+)?) ([A-Z]{3})$/.exec(currency ? `${value} ${currency}` : value) ?? []; // prettier-ignore
  if (code !== '')
    return new Intl.NumberFormat(undefined, {
      ...{ style: 'currency', currency: code },
      minimumFractionDigits: Number.isInteger(Number(amount)) ? 0 : 2,
    }).format(Number(amount));
  const day = /^\d{4}-\d{2}-\d{2}$/.test(value) ? new Date(value) : undefined;
  return day === undefined || Number.isNaN(day.getTime()) ? value : dayInWords.format(day);
}

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const spans = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'always', style: 'short' });

/**
 * The time since a moment, in the largest fitting unit.
 * @param {string} iso
 */
export function age(iso, nowMs = Date.now()) {
  const seconds = (nowMs - Date.parse(iso)) / 1_000;
  const span = spans.find(([, length]) => seconds >= length);
  if (span === undefined) return 'just now';
  const [unit, length] = span;
  return relative.format(-Math.floor(seconds / length), unit);
}

/**
 * The length of the phone call: up to now while it runs, up to the hang-up after its end.
 * @param {Pick<BookedCall, 'started_at' | 'hung_up_at' | 'ended_at' | 'duration'>} call
 */
export function lengthOf(call) {
  return call.duration ?? secondsBetween(call.started_at, call.hung_up_at ?? call.ended_at);
}

/**
 * @param {string} fromIso
 * @param {string | null} toIso
 */
function secondsBetween(fromIso, toIso) {
  const to = toIso ? Date.parse(toIso) : Date.now();
  return Math.max(0, (to - Date.parse(fromIso)) / 1000);
}

const units = ['B', 'kB', 'MB', 'GB'];

/**
 * @param {number} count
 * @returns {string}
 */
export function bytes(count) {
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

/**
 * Whole percentages that add up to 100. The rounding error goes to the values that lost most by rounding.
 * @param {readonly number[]} shares
 */
export function percents(shares) {
  const floors = shares.map((share) => Math.floor(share * 100));
  const sum = shares.reduce((all, share) => all + share, 0);
  let rest = sum === 0 ? 0 : 100 - floors.reduce((all, one) => all + one, 0);
  const byLoss = shares
    .map((share, at) => ({ at, loss: share * 100 - Math.floor(share * 100) }))
    .sort((a, b) => b.loss - a.loss);
  for (const { at } of byLoss) {
    if (rest <= 0) break;
    floors[at] = (floors[at] ?? 0) + 1;
    rest--;
  }
  return floors.map((one) => `${one} %`);
}

/** @param {number} share */
export function percent(share) {
  return `${Math.round(share * 100)} %`;
}

export const roleNames = { customer: 'Customer', agent: 'Agent', mixed: 'Speaker' };
/** The name of a leg. A mixed leg carries everybody. */
export const legNames = { ...roleNames, mixed: 'All speakers' };

/** The number of voice colours in the style sheet. A seventh speaker has the first colour again. */
export const voices = 6;

/**
 * Names the speaker, as `protocol/people.ts` does: the role if it is known, otherwise a number that counts from one,
 * with a question mark while it may change. A test compares the two.
 * @param {{ role?: Role | undefined, speaker?: number | undefined, doubt?: string | undefined, speaker_provisional?:
 * boolean | undefined, channel?: number | undefined, channels?: number | undefined }} said
 */
export function personName(said) {
  const { role, speaker, channel = 0, channels = 1 } = said;
  if (speaker !== undefined) {
    const number = `${speaker + 1}${said.speaker_provisional || said.doubt ? '?' : ''}`;
    return channels > 1 ? `Channel ${channel + 1}, speaker ${number}` : `Speaker ${number}`;
  }
  if (role !== undefined) return roleNames[role];
  return channels > 1 ? `Channel ${channel + 1}` : 'Speaker';
}

export const jobStateNames = {
  queued: 'Queued',
  processing: 'Processing',
  done: 'Done',
  error: 'Failed',
};
/** @type {Record<GapCause, string>} */
export const gapCauses = {
  carrier: 'the carrier lost it on the way',
  journal: 'it could not be kept on disk',
  damaged: 'its copy on disk is damaged',
  service: 'the speech service lost it',
  deadline: 'its words did not come in time',
  sessions: 'the speech service ended too many sessions',
  refused: 'the speech service refused it',
  node: 'the node that had it is lost',
};

/**
 * A note such as `12.3 s without words: the carrier lost it on the way`. Undefined for a complete call.
 * @param {Pick<BookedCall, 'incomplete'>} call
 */
export function missingOf({ incomplete }) {
  if (!incomplete) return undefined;
  const { seconds, causes } = incomplete;
  const why =
    causes.length === 1
      ? causes.map((one) => gapCauses[one.cause]).join()
      : causes.map((one) => `${gapCauses[one.cause]} (${one.seconds.toFixed(1)} s)`).join(', ');
  return `${seconds.toFixed(1)} s without words: ${why}`;
}

export const stateNames = { live: 'Live', finishing: 'Finishing', ended: 'Ended' };

/**
 * The two parties, or the carrier's id of a call that names nobody.
 * @param {Pick<ApiCall, 'from' | 'to' | 'carrier_call_id'>} call
 */
export function parties(call) {
  if (call.from || call.to) return `${call.from ?? 'unknown'} → ${call.to ?? 'unknown'}`;
  return call.carrier_call_id;
}

/** @param {string} text */
export function titleOf(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * The other party of a call as the CRM knows it, in one line. The CRM's words are text, whatever they say.
 * @param {ApiCall['contact']} contact
 */
export function contactText(contact) {
  if (!contact) return '';
  const { name, company, tickets } = contact;
  const open = tickets.map(({ title }) => title).join(', ');
  return [name, company, open && `Open: ${open}`].filter(Boolean).join(' · ');
}

const languages = new Intl.DisplayNames(undefined, { type: 'language' });

/**
 * The name of a language in words: `es` is Spanish. Empty where the language is in doubt.
 * @param {string | null | undefined} code
 */
export function languageName(code) {
  if (!code) return '';
  try {
    return languages.of(code) ?? code;
  } catch {
    return code; // a service may call anything a language
  }
}
