/*
 * Forms of verbs, so far as a record of a call needs them: what an agent has done stands in the past, what somebody
 * will do in the infinitive.
 */

const irregular: readonly (readonly [base: string, past: string, participle: string])[] = [
  ['send', 'sent', 'sent'], ['put', 'put', 'put'], ['set', 'set', 'set'], ['reset', 'reset', 'reset'],
  ['take', 'took', 'taken'], ['make', 'made', 'made'], ['get', 'got', 'got'], ['give', 'gave', 'given'],
  ['write', 'wrote', 'written'], ['freeze', 'froze', 'frozen'], ['hold', 'held', 'held'], ['pay', 'paid', 'paid'],
  ['do', 'did', 'done'], ['cut', 'cut', 'cut'], ['find', 'found', 'found'], ['bring', 'brought', 'brought'],
  ['let', 'let', 'let'], ['go', 'went', 'gone'], ['withdraw', 'withdrew', 'withdrawn'], ['undo', 'undid', 'undone'],
  ['split', 'split', 'split'], ['draw', 'drew', 'drawn'], ['leave', 'left', 'left'], ['sell', 'sold', 'sold'],
  ['buy', 'bought', 'bought'], ['keep', 'kept', 'kept'], ['lift', 'lifted', 'lifted'], ['call', 'called', 'called'],
  ['see', 'saw', 'seen'], ['have', 'had', 'had'], ['speak', 'spoke', 'spoken'], ['begin', 'began', 'begun'],
]; // prettier-ignore
const participles = new Map(irregular.map(([, past, participle]) => [participle, past]));

/** Verbs of what an agent does for a customer; others are too common to be an action by themselves. */
const actions =
  'refund cancel book change update block order open log raise issue reset remove add credit transfer schedule reschedule move extend waive apply note register activate deactivate escalate approve confirm replace renew upgrade downgrade switch close email text reissue reactivate unlock lock process arrange place create reserve lift correct amend swap file submit report record dispatch ship fix restore restart request flag merge post mark stop end deliver rebook redirect reverse adjust deduct release suspend pause disable enable enroll enrol forward print mail freeze put send set take make connect resolve complete finalise finalize sign sort pencil pay split withdraw enter assign return exchange clear cap pass dispatch resubmit overnight decline flag shift pencil put post refer notify terminate honour honor prorate'.split(
    ' ',
  );

function formsOf(base: string): string[] {
  const known = irregular.find(([one]) => one === base);
  if (known) return [known[1], known[2]];
  if (base.endsWith('e')) return [`${base}d`];
  if (base.endsWith('y')) return [`${base.slice(0, -1)}ied`, `${base}ed`];
  return [`${base}ed`, `${base}${base.slice(-1)}ed`];
}

const actionForms = new Map(actions.flatMap((base) => formsOf(base).map((form) => [form, base])));

/** The verb whose participle this is, if it is one of an action for the customer. */
export function actionOf(participle: string): string | undefined {
  return actionForms.get(participle.toLowerCase());
}

export function isAction(base: string): boolean {
  return actions.includes(base);
}

/** True for the participle of any verb, as far as its form shows it. */
export function isParticiple(word: string): boolean {
  const lower = word.toLowerCase();
  return participles.has(lower) || (lower.length > 4 && /[a-z]ed$/.test(lower));
}

/** The past of the verb whose participle this is: "taken" gives "took". */
export function pastOf(participle: string): string {
  return participles.get(participle.toLowerCase()) ?? participle;
}

/** The past of an action's verb: "take" gives "took". */
export function pastOfBase(base: string): string {
  const known = irregular.find(([one]) => one === base);
  if (known) return known[1];
  if (base.endsWith('e')) return `${base}d`;
  if (/[^aeiou]y$/.test(base)) return `${base.slice(0, -1)}ied`;
  return doubled.test(base) ? `${base}${base.slice(-1)}ed` : `${base}ed`;
}

/** "Take" gives "taken": the form behind "I have". */
export function participleOf(base: string): string {
  return irregular.find(([one]) => one === base)?.[2] ?? pastOfBase(base);
}

const doubled =
  /^(?:cancel|log|swap|ship|stop|submit|resubmit|refer|transfer|drop|flag|cap|pop|enrol)$/;

const bases = new Map<string, string>([
  ...actionForms,
  ...irregular.flatMap(([base, past, participle]): [string, string][] => [
    [past, base],
    [participle, base],
  ]),
]);

/** The infinitive of a verb in the past, or undefined where it is not known. */
export function baseOf(past: string): string | undefined {
  return bases.get(past.toLowerCase());
}

/** The verb of an "-ing" form, if it is one of an action for the customer. */
export function actionGoingOn(word: string): string | undefined {
  const stem = /^([a-z]+)ing$/.exec(word.toLowerCase())?.[1];
  if (stem === undefined) return undefined;
  return [stem, `${stem}e`, stem.slice(0, -1)].find((one) => actions.includes(one));
}
