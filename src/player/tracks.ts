/** The carrier's word for a party, on a stream of the customer's leg. */
export function trackOf(leg: 'customer' | 'agent'): 'inbound' | 'outbound' {
  return leg === 'customer' ? 'inbound' : 'outbound';
}
