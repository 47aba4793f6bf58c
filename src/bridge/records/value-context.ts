import type { ValueContext } from '../../language/types.ts';
import { callingCodeOf } from '../../language/text/phones.ts';
import type { CallRecord } from './call-record.ts';

/** The context for the values of a call's entities: its day, and its customer's country. */
export function valueContextOf({
  startedAt,
  direction,
  from,
  to,
}: Pick<CallRecord, 'startedAt' | 'direction' | 'from' | 'to'>): ValueContext {
  const [customer, other] = direction === 'outbound' ? [to, from] : [from, to];
  return {
    day: new Date(startedAt).toISOString().slice(0, 10),
    callingCode: callingCodeOf(customer) ?? callingCodeOf(other),
  };
}
